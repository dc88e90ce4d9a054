"""A client of BFRT: one switch, bound to the program that it runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from p4lab.model.entries import Exact, Match
from p4lab.targets.tofino.bfrt import BfrtError, Verb
from p4lab.targets.tofino.form import TableForm
from p4lab.targets.tofino.messages import msg
from p4lab.targets.tofino.rows import Row, Value, is_cell
from p4lab.targets.tofino.schema import FIXED, PORT
from p4lab.targets.tofino.tools import listens
from p4lab.targets.tofino.wire import ALL_PIPES, CALL, Wire, WireError

CLIENT_IDS = range(1, 9)  # a server knows its clients by small numbers; 0 is the SDE's tests'
PATIENCE = 300.0  # seconds for a driver to come up: models take minutes
PAUSE = 1.0
LOOK = 0.2  # seconds between looks at whether to stop watching
KINDS = {"insert": "INSERT", "modify": "MODIFY", "delete": "DELETE"}


def connect(
    address: str,
    program: str,
    *,
    patience: float = PATIENCE,
    alive: Callable[[], bool] = lambda: True,
) -> BfrtClient:
    """Subscribes to a switch and binds to its program, as soon as there is one, as long as `alive`.
    Raises BfrtError."""
    deadline = time.monotonic() + patience
    while not listens(address, CALL):
        if not alive() or time.monotonic() > deadline:
            raise BfrtError(f"{address}: nothing answers there; is bf_switchd running?")
        time.sleep(min(PAUSE, patience))
    while True:
        try:
            return _subscribe(address, program)
        except BfrtError:
            if not alive() or time.monotonic() > deadline:
                raise
            time.sleep(min(PAUSE, patience))


def _subscribe(address: str, program: str) -> BfrtClient:
    """Takes the first client id that is free, and asks which program there is."""
    refusal = ""
    for number in CLIENT_IDS:
        try:
            wire = Wire(address, number)
        except WireError as error:
            refusal = str(error)
            continue
        try:
            with _told(address, "the program is asked for"):
                running = wire.programs()
            if program not in running:
                raise BfrtError(
                    f"{address}: the switch runs {', '.join(running) or 'no program'}, not "
                    f"{program}: stop its bf_switchd and p4lab starts another, or start it with "
                    "this program (docs/hardware.md)."
                )
            with _told(address, "the program is bound"):
                wire.bind(program)
        except BfrtError:
            wire.close()
            raise
        return BfrtClient(wire, running[program], address, program)
    raise BfrtError(f"{address}: the server takes no client: {refusal}")


@contextmanager
def _told(address: str, what: str) -> Iterator[None]:
    """Turns what goes wrong into one sentence."""
    try:
        yield
    except WireError as error:
        raise BfrtError(f"{address}: {what}: {error}", not_there=error.not_there) from error
    except KeyError as error:
        raise BfrtError(f"{address}: {what}: {error.args[0]}") from error
    except ValueError as error:  # no such field, no such size, or an answer that is no JSON
        raise BfrtError(f"{address}: {what}: {error}") from error


class BfrtClient:
    """A connection. Make it with `connect`."""

    def __init__(
        self, wire: Wire, tables: Sequence[dict[str, Any]], address: str, program: str
    ) -> None:
        self.address = address
        self.program = program
        self._wire = wire
        self._tables = {told["name"]: TableForm(told) for told in tables}
        self._watching: threading.Thread | None = None
        self._stop_watching = threading.Event()

    def read(self, table: str, keys: Sequence[tuple[tuple[str, Match], ...]]) -> list[Row | None]:
        found: list[Row | None] = []
        for key in keys:
            # The pipes' own state is in the chip, all else is what the driver has written.
            entries = self._get(table, key, from_chip=is_cell(key))
            found.append(self._table(table).row(table, entries[0]) if entries else None)
        return found

    def read_all(self, table: str) -> list[Row]:
        form = self._table(table)
        return [form.row(table, entry) for entry in self._get(table, (), from_chip=False)]

    def read_default(self, table: str) -> Row | None:
        form = self._table(table)
        asked = msg.Entity(table_entry=form.entry(default=True))
        try:
            with _told(self.address, f"the default entry of {table} is read"):
                found = self._wire.read([asked])
        except BfrtError as error:
            if error.not_there:
                return None
            raise
        there = [entry for entry in found if entry.is_default_entry and entry.HasField("data")]
        return form.row(table, there[0]) if there else None

    def _get(
        self,
        table: str,
        key: Sequence[tuple[str, Match]],
        *,
        from_chip: bool,
        fields: Sequence[str] = (),
    ) -> list[Any]:
        """The entry with a key, or all: of these fields, or of all. Asking the chip itself takes
        longer, and some tables refuse it."""
        form = self._table(table)
        try:
            with _told(self.address, f"{table} is read"):
                entry = form.entry(key)
                entry.table_flags.from_hw = from_chip
                form.ask(entry, fields)
                found = self._wire.read([msg.Entity(table_entry=entry)])
        except BfrtError as error:
            if error.not_there:
                return []
            raise
        return [each for each in found if not each.is_default_entry and each.HasField("data")]

    def write(self, verb: Verb, rows: Sequence[Row]) -> None:
        if not rows:
            return
        name, form = rows[0].table, self._table(rows[0].table)
        # A transaction of the driver's is for tables of the program alone: sessions and the packet
        # generator refuse it, and ports and groups do not take part.
        together = not (name in FIXED or rows[0].is_cell or rows[0].is_default)
        with _told(self.address, f"{verb} in {name}"):
            for pipe, batch in _by_pipe(rows):
                updates = [_update(form, verb, item) for item in batch]
                self._wire.write(updates, together=together, pipe=pipe)

    def counted(
        self, table: str, key: str, numbers: Sequence[int], fields: Sequence[str] = ()
    ) -> list[dict[str, Value]]:
        form = self._table(table)
        found = []
        for number in numbers:
            asked = [(key, Exact(number))]
            # What is set of a port is not in the chip.
            entries = self._get(table, asked, from_chip=table != PORT, fields=fields)
            found.append(form.fields(entries[0]) if entries else {})
        return found

    def all_counted(self, table: str) -> dict[int, dict[str, Value]]:
        form, found = self._table(table), {}
        for entry in self._get(table, (), from_chip=True):
            ((_, match),) = form.key(entry)
            assert isinstance(match, Exact)
            found[match.value] = form.fields(entry)
        return found

    def clear(self, table: str) -> None:
        update = msg.Update(type=msg.Update.DELETE)
        update.entity.table_entry.table_id = self._table(table).number
        with _told(self.address, f"{table} is cleared"):
            self._wire.write([update], together=False)

    def has(self, table: str) -> bool:
        return self._find(table) is not None

    def watch(self, told: Callable[[int, bool], None]) -> None:
        self._notify(True)
        self._watching = threading.Thread(
            target=self._watch, args=(told,), name=f"ports of {self.address}", daemon=True
        )
        self._watching.start()

    def _notify(self, enable: bool) -> None:
        update = msg.Update(type=msg.Update.INSERT)
        attribute = update.entity.table_attribute
        attribute.table_id = self._table(PORT).number
        attribute.port_status_notify.enable = enable
        with _told(self.address, "port states are asked for"):
            self._wire.write([update], together=False)

    def _watch(self, told: Callable[[int, bool], None]) -> None:
        while not self._stop_watching.is_set():
            if news := self._wire.port_news(LOOK):
                told(*news)

    def unwatch(self) -> None:
        if self._watching is not None:
            self._stop_watching.set()
            self._watching.join()
            self._watching = None
            self._notify(False)

    def close(self) -> None:
        try:
            self.unwatch()
        finally:
            self._wire.close()

    def _table(self, name: str) -> TableForm:
        found = self._find(name)
        if found is None:
            raise BfrtError(f"{self.address}: {self.program} has no table {name}")
        return found

    def _find(self, name: str) -> TableForm | None:
        """By its full name, or by what only its name ends in: who has the port metadata is the
        program's to say."""
        if name in self._tables:
            return self._tables[name]
        found = [form for full, form in self._tables.items() if full.endswith(f".{name}")]
        return found[0] if len(found) == 1 else None


def _update(form: TableForm, verb: Verb, item: Row) -> Any:
    update = msg.Update(type=msg.Update.Type.Value(KINDS[verb]))
    entry = form.entry(item.key, default=item.is_default)
    if verb != "delete":
        form.fill(entry, item.data, item.action)
    update.entity.table_entry.CopyFrom(entry)
    return update


def _by_pipe(rows: Sequence[Row]) -> list[tuple[int, list[Row]]]:
    """Cells that pipes have each for themselves are written to each for itself."""
    alike = [item for item in rows if not (item.is_cell and _is_apart(item))]
    found = [(ALL_PIPES, alike)] if alike else []
    for item in rows:
        if item.is_cell and _is_apart(item):
            ((name, values),) = item.data
            assert isinstance(values, tuple)
            for pipe, value in enumerate(values):
                found.append((pipe, [Row(item.table, item.key, ((name, value),))]))
    return found


def _is_apart(cell: Row) -> bool:
    return any(isinstance(value, tuple) for _, value in cell.data)
