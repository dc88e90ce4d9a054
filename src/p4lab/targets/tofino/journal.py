"""How a switch was before we touched it, in a file, so that it can be put back whatever happens.

The first time a row is touched, how it was is written down and forced to disk; only then the row is
changed. So a run that ends in any way leaves a file with which the next one, or
`p4lab run ... --undo`, puts everything back. Putting back compares with what is there, so it may be
interrupted and repeated.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from p4lab.command import command
from p4lab.model.entries import Exact, Lpm, Match, Range, Ternary
from p4lab.targets.tofino.bfrt import Bfrt, BfrtError, Verb
from p4lab.targets.tofino.rows import Row, Value, is_cell
from p4lab.targets.tofino.schema import FIXED, PORT

VERSION = 1
ENABLE = "$PORT_ENABLE"

Name = tuple[str, tuple[tuple[str, Match], ...]]
"""A table and a key: what identifies a row"""


def state_folder() -> Path:
    """Where journals are: one per switch."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "p4lab"


def journal_path(address: str) -> Path:
    """The journal of the switch at an address."""
    safe = "".join(letter if letter.isalnum() else "-" for letter in address)
    return state_folder() / f"tofino-{safe}.journal"


@dataclass(frozen=True)
class Change:
    """A row is to be as it says (`put`), or not to be at all (`drop`)."""

    kind: Literal["put", "drop"]
    row: Row


class Journal:
    """The file. Lines of JSON: the switch, then one row each, with what it was."""

    def __init__(self, path: Path, program: str) -> None:
        self.path = path
        self.program = program

    def load(self) -> dict[Name, Row | None]:
        """Rows as they were, in the order in which they were touched; empty without a file. A line
        that was not written to its end was not followed by its change. Raises BfrtError."""
        try:
            lines = self.path.read_text(encoding="utf-8").split("\n")
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError) as error:
            raise BfrtError(f"{self.path} cannot be read: {error}") from error
        found: dict[Name, Row | None] = {}
        try:
            head = json.loads(lines[0])
            if head["version"] != VERSION or head["program"] != self.program:
                raise BfrtError(
                    f"{self.path} is from a run with {head['program']}; the switch runs "
                    f"{self.program} now: if nothing of that run is left, delete the file."
                )
            for line in lines[1:-1]:
                name, before = _read(json.loads(line))
                found.setdefault(name, before)
        except (ValueError, KeyError, TypeError, IndexError) as error:
            if len(lines) <= 1:  # not even the first line: nothing was changed
                return {}
            raise BfrtError(
                f"{self.path} is not a journal of p4lab ({error}): look at the switch, then "
                f"delete it."
            ) from error
        return found

    def note(self, items: Iterable[tuple[Name, Row | None]]) -> None:
        """Writes rows down as they are, and comes back when the disk has them. Raises BfrtError."""
        text = "".join(json.dumps(_written(name, before)) + "\n" for name, before in items)
        if not text:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                if file.tell() == 0:
                    head = {"version": VERSION, "program": self.program}
                    file.write(json.dumps(head) + "\n")
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise BfrtError(f"{self.path} cannot be written: {error.strerror}") from error

    def remove(self) -> None:
        """All is as it was."""
        self.path.unlink(missing_ok=True)


class Ledger:
    """What we have changed on a switch. Changes are all or nothing, and can all be taken back."""

    def __init__(self, bfrt: Bfrt, journal: Journal) -> None:
        self._bfrt = bfrt
        self._journal = journal
        self._before: dict[Name, Row | None] = {}
        self._now: dict[Name, Row | None] = {}
        self._whole: set[str] = set()  # tables that have been read as a whole

    def recover(self) -> int:
        """Puts back what an earlier run has left; how many rows that were. Raises BfrtError."""
        self._before = self._journal.load()
        found = len(self._before)
        self.restore()
        return found

    def write(self, changes: Sequence[Change]) -> None:
        """Carries changes out in their order. If the switch refuses one, those before it are taken
        back and BfrtError is raised."""
        self._learn([change.row.name for change in changes])
        done: dict[Name, Row | None] = {}
        steps = []
        for change in changes:
            name = change.row.name
            wanted = change.row if change.kind == "put" else None
            done.setdefault(name, self._now[name])
            steps += _steps(self._now[name], wanted, name)
            self._now[name] = wanted
        try:
            self._carry_out(steps)
        except BaseException as error:
            self._take_back(done, error)
            raise

    def _take_back(self, done: dict[Name, Row | None], cause: BaseException) -> None:
        """Part of a batch has been carried out, and nobody knows how much of it."""
        problems = self._bring(dict(reversed(done.items())))
        self._now |= done
        if problems:
            raise BfrtError(
                f"{cause}; taking the batch back failed as well: {problems[0]}. "
                f"{self._journal.path} has how the switch was: {command()} run ... --undo"
            ) from cause

    def forget(self) -> None:
        """What the switch holds may have changed meanwhile: from now on it is looked at again."""
        self._now.clear()
        self._whole.clear()

    def held(self, rows: Sequence[Row]) -> set[Row]:
        """Those of our rows that the switch holds as they say. Raises BfrtError."""
        self._learn([row.name for row in rows])
        found = ((row, self._now[row.name]) for row in rows)
        return {row for row, now in found if now is not None and _holds(now, row)}

    def restore(self) -> None:
        """Puts the switch back as it was. Raises BfrtError with the first thing that could not be,
        after all the others."""
        problems = self._silence()
        problems += self._bring(dict(reversed(self._before.items())))
        if problems:
            more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
            raise BfrtError(
                f"the switch is not as it was: {problems[0]}{more}. {self._journal.path} has the "
                f"rest: {command()} run ... --undo tries again."
            )
        self._before.clear()
        self.forget()
        self._journal.remove()

    def _silence(self) -> list[str]:
        """Our ports go down first, so that no packet meets half a configuration."""
        keys = [key for table, key in self._before if table == PORT]
        try:
            there = self._find(PORT, keys) if keys else []
            up = [row for row in there if row is not None and dict(row.data).get(ENABLE)]
            self._carry_out([("modify", _enabled(row, False)) for row in up])
        except BfrtError as error:
            return [str(error)]
        return []

    def _bring(self, wanted: dict[Name, Row | None]) -> list[str]:
        """Makes rows what they shall be, whatever they are now; what went wrong."""
        problems = []
        for name, row in wanted.items():
            try:
                there = self._read(name)
                if there != row:
                    self._carry_out(_steps(there, row, name))
            except BfrtError as error:
                problems.append(str(error))
        return problems

    def _read(self, name: Name) -> Row | None:
        table, key = name
        if not key:
            return self._bfrt.read_default(table)
        return self._find(table, [key])[0]

    def _find(self, table: str, keys: Sequence[tuple[tuple[str, Match], ...]]) -> list[Row | None]:
        """Rows by key. A port that nobody has added cannot be asked for: servers call that an
        error of many kinds. But all ports that there are can be listed."""
        if table != PORT:
            return self._bfrt.read(table, keys)
        ports = {row.key: row for row in self._bfrt.read_all(PORT)}
        return [ports.get(key) for key in keys]

    def _learn(self, names: Sequence[Name]) -> None:
        """Finds out and writes down how rows are that we have not touched yet."""
        fresh = [name for name in dict.fromkeys(names) if name not in self._now]
        for table, group in groupby(sorted(fresh, key=lambda name: name[0]), lambda name: name[0]):
            keys = [name[1] for name in group]
            if table in FIXED or is_cell(keys[0]):
                found = self._find(table, keys)
                self._now |= {(table, key): row for key, row in zip(keys, found, strict=True)}
                continue
            if table not in self._whole and any(keys):
                self._now |= {row.name: row for row in self._bfrt.read_all(table)}
                self._whole.add(table)
            for key in keys:
                default = None if key else self._bfrt.read_default(table)
                self._now.setdefault((table, key), default)
        new = {name: self._now[name] for name in fresh if name not in self._before}
        self._journal.note(new.items())
        self._before |= new

    def _carry_out(self, steps: Sequence[tuple[Verb, Row]]) -> None:
        """One request for all rows of a table in a row that need the same."""
        for (verb, _, default), group in groupby(
            steps, key=lambda step: (step[0], step[1].table, step[1].is_default)
        ):
            rows = [row for _, row in group]
            for batch in [[row] for row in rows] if default else [rows]:
                self._bfrt.write(verb, batch)


def _steps(now: Row | None, wanted: Row | None, name: Name) -> list[tuple[Verb, Row]]:
    """What makes a row that is `now` what it shall be."""
    if wanted is None:
        gone = now or Row(*name, data=())
        return [] if now is None and name[1] else [("delete", gone)]
    if wanted.is_default:
        return [("modify", wanted)]
    if now is not None and _holds(now, wanted):
        return []
    if name[0] == PORT:
        return _port_steps(now, wanted)
    return [("insert" if now is None else "modify", wanted)]


def _port_steps(now: Row | None, wanted: Row) -> list[tuple[Verb, Row]]:
    """Speed and FEC are a port's from its birth, and its loopback begins when it is enabled. So it
    is made again, disabled, and then enabled, unless that is all that changes."""
    on = bool(dict(wanted.data).get(ENABLE))
    switched: list[tuple[Verb, Row]] = [("modify", _enabled(wanted, on))]
    if now is not None and _holds(now, _with(wanted, bool(dict(now.data).get(ENABLE)))):
        return switched
    born: list[tuple[Verb, Row]] = [("insert", _with(wanted, False))]
    died: list[tuple[Verb, Row]] = [("delete", now)] if now else []
    return died + born + (switched if on else [])


def _holds(now: Row, wanted: Row) -> bool:
    """Whether a row says all that is wanted; a switch tells more fields than one writes."""
    said = {pair for pair in wanted.data if pair[1] != ()}  # an empty list is not told
    return now.action == wanted.action and said <= set(now.data)


def _with(row: Row, on: bool) -> Row:
    data = dict(row.data) | {ENABLE: on}
    return Row(row.table, row.key, tuple(sorted(data.items())), row.action)


def _enabled(row: Row, on: bool) -> Row:
    return Row(row.table, row.key, ((ENABLE, on),), row.action)


# ---- Rows in JSON --------------------------------------------------------------------------------

_KINDS: dict[str, type[Exact] | type[Lpm] | type[Ternary] | type[Range]] = {
    "exact": Exact,
    "lpm": Lpm,
    "ternary": Ternary,
    "range": Range,
}


def _written(name: Name, before: Row | None) -> dict[str, Any]:
    table, key = name
    item: dict[str, Any] = {
        "table": table,
        "key": [[field, type(match).__name__.lower(), *astuple(match)] for field, match in key],
        "before": None,
    }
    if before is not None:
        item["before"] = {"action": before.action, "data": [list(pair) for pair in before.data]}
    return item


def _read(item: dict[str, Any]) -> tuple[Name, Row | None]:
    key = tuple((field, _KINDS[kind](*values)) for field, kind, *values in item["key"])
    name = (item["table"], key)
    if item["before"] is None:
        return name, None
    data: list[tuple[str, Value]] = [
        (field, tuple(value) if isinstance(value, list) else value)
        for field, value in item["before"]["data"]
    ]
    return name, Row(item["table"], key, tuple(data), item["before"]["action"])
