"""The SDE's own BFRT client, `bfrt_grpc.client` from SDE_INSTALL, behind `bfrt.Bfrt`."""

from __future__ import annotations

import importlib
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from p4lab.model.entries import Exact, Lpm, Match, Range, Ternary
from p4lab.targets.tofino.bfrt import BfrtError, Verb
from p4lab.targets.tofino.rows import Row, Value, is_cell, row
from p4lab.targets.tofino.schema import FIXED, PORT
from p4lab.targets.tofino.tools import clients, listens

CLIENT_IDS = range(1, 9)  # a server knows its clients by small numbers; 0 is the SDE's tests'
CALL = 1  # seconds for a subscription to be answered
PATIENCE = 300.0  # seconds for a driver to come up: models take minutes
PAUSE = 1.0
NOT_FOUND = 5  # gRPC's code
LOOK = 0.2  # seconds between looks at whether to stop watching

# What the driver knows; asking the chip itself takes longer, and some tables refuse it.
KNOWN = {"from_hw": False}
COUNTED = {"from_hw": True}


def load_client(home: Path) -> Any:
    """The module `bfrt_grpc.client`. Raises BfrtError."""
    found = clients(home)
    if not found:
        raise BfrtError(f"{home} has no bfrt_grpc/client.py: build the SDE with gRPC.")
    # As the SDE's own scripts have it: generated modules import each other from three places.
    package = found[0]
    for place in (package, package.parent.parent, package.parent):
        if str(place) not in sys.path:
            sys.path.insert(0, str(place))
    try:
        client = importlib.import_module("bfrt_grpc.client")
    except ImportError as error:
        raise BfrtError(
            f"the SDE's BFRT client does not load in Python {sys.version.split()[0]}: {error}. "
            "It needs the packages grpcio, protobuf, googleapis-common-protos and six."
        ) from error
    except TypeError as error:  # what protobuf says to code that was generated before its 3.20
        raise BfrtError(
            f"the SDE's BFRT client was made for an older protobuf: {str(error).splitlines()[0]} "
            "Set PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION=python and start again."
        ) from error
    # It tells every call on standard error; what matters comes as an exception.
    logging.getLogger("bfruntime_grpc_client").setLevel(logging.CRITICAL)
    return client


def connect(
    client: Any,
    address: str,
    program: str,
    *,
    patience: float = PATIENCE,
    alive: Callable[[], bool] = lambda: True,
) -> SdeBfrt:
    """Subscribes to a switch and binds to its program, as soon as there is one, as long as `alive`.
    Raises BfrtError."""
    deadline = time.monotonic() + patience
    while not listens(address, CALL):
        if not alive() or time.monotonic() > deadline:
            raise BfrtError(f"{address}: nothing answers there; is bf_switchd running?")
        time.sleep(min(PAUSE, patience))
    while True:
        try:
            return _subscribe(client, address, program)
        except BfrtError:
            if not alive() or time.monotonic() > deadline:
                raise
            time.sleep(min(PAUSE, patience))


def _subscribe(client: Any, address: str, program: str) -> SdeBfrt:
    """Takes the first client id that is free, and asks which program there is."""
    refusal = ""
    for number in CLIENT_IDS:
        try:
            # One try: a server that does not answer a client id at once refuses it. No digests,
            # no idle timeouts: the client keeps what nobody takes.
            wanted = client.Notifications(False, False, True)
            interface = client.ClientInterface(
                address, number, 0, notifications=wanted, timeout=CALL, num_tries=1
            )
        except RuntimeError as error:
            refusal = str(error)
            continue
        with _told(client, address, "the program is asked for"):
            info = interface.bfrt_info_get()
            running = info.p4_name_get()
        if running != program:
            interface.tear_down_stream()
            raise BfrtError(
                f"{address}: the switch runs {running}, not {program}: stop its bf_switchd and "
                "p4lab starts another, or start it with this program (docs/hardware.md)."
            )
        with _told(client, address, "the program is bound"):
            interface.bind_pipeline_config(program)
        return SdeBfrt(client, interface, info, address, program)
    raise BfrtError(f"{address}: the server takes no client: {refusal}")


@contextmanager
def _told(client: Any, address: str, what: str) -> Iterator[None]:
    """Turns what the client raises into one sentence."""
    try:
        yield
    except client.BfruntimeRpcException as error:
        told = f"{address}: {what}: {_reason(error)}"
        raise BfrtError(told, not_there=_not_there(error)) from error
    # Its words for names and sizes, and for answers that it does not understand.
    except (KeyError, ValueError, TypeError, RuntimeError, AssertionError) as error:
        raise BfrtError(f"{address}: {what}: {error}") from error


def _reason(error: Any) -> str:
    for number, single in error.sub_errors_get():
        return f"row {number + 1}: {single.message or f'code {single.canonical_code}'}"
    grpc_error = error.grpc_error_get()
    return str(grpc_error.details() or grpc_error.code().name)


def _not_there(error: Any) -> bool:
    """Whether nothing else went wrong than that there is no such row."""
    singles = [single for _, single in error.sub_errors_get()]
    return bool(singles) and all(
        single.canonical_code == NOT_FOUND or "not found" in single.message.lower()
        for single in singles
    )


class SdeBfrt:
    """A connection. Make it with `connect`."""

    def __init__(self, client: Any, interface: Any, info: Any, address: str, program: str) -> None:
        self.address = address
        self.program = program
        self._client = client
        self._interface = interface
        self._info = info
        self._target = client.Target(device_id=0)
        request = importlib.import_module("bfrt_grpc.bfruntime_pb2").WriteRequest
        self._together, self._single = request.ROLLBACK_ON_ERROR, request.CONTINUE_ON_ERROR
        self._watching: threading.Thread | None = None
        self._stop_watching = threading.Event()

    def read(self, table: str, keys: Sequence[tuple[tuple[str, Match], ...]]) -> list[Row | None]:
        found: list[Row | None] = []
        for key in keys:
            # The pipes' own state is in the chip, all else is what the driver has written.
            rows = list(self._get(table, [key], COUNTED if is_cell(key) else KNOWN))
            found.append(self._row(table, self._match(rows[0][1]), rows[0][0]) if rows else None)
        return found

    def read_all(self, table: str) -> list[Row]:
        found = self._get(table, None, KNOWN)
        return [self._row(table, self._match(key), data) for data, key, *_ in found]

    def _get(
        self, table: str, keys: Any, flags: dict[str, bool], fields: Sequence[str] = ()
    ) -> list[Any]:
        """What is there, as the client has it: of these fields, or of all."""
        place = self._table(table)
        try:
            with _told(self._client, self.address, f"{table} is read"):
                asked = None if keys is None else [self._key(place, key) for key in keys]
                wanted = None
                if fields:
                    names = [self._client.DataTuple(name) for name in fields]
                    wanted = place.make_data(names, get=True)
                return list(place.entry_get(self._target, asked, flags, wanted))
        except BfrtError as error:
            if error.not_there:
                return []
            raise

    def read_default(self, table: str) -> Row | None:
        place = self._table(table)
        try:
            with _told(self._client, self.address, f"the default entry of {table} is read"):
                for data, _ in place.default_entry_get(self._target, KNOWN):
                    return self._row(table, (), data)
        except BfrtError as error:
            if not error.not_there:
                raise
        return None

    def write(self, verb: Verb, rows: Sequence[Row]) -> None:
        if not rows:
            return
        table = self._table(rows[0].table)
        with _told(self._client, self.address, f"{verb} in {rows[0].table}"):
            if rows[0].is_default:
                self._write_default(table, verb, rows[0])
                return
            for target, batch in self._by_pipe(rows):
                self._write_rows(table, verb, target, batch)

    def _by_pipe(self, rows: Sequence[Row]) -> list[tuple[Any, Sequence[Row]]]:
        """Cells that pipes have each for themselves are written to each for itself."""
        cells = [item for item in rows if item.is_cell and _apart(item)]
        alike = [item for item in rows if item not in cells]
        found: list[tuple[Any, Sequence[Row]]] = [(self._target, alike)] if alike else []
        for item in cells:
            ((name, values),) = item.data
            assert isinstance(values, tuple)
            for pipe, value in enumerate(values):
                own = Row(item.table, item.key, ((name, value),))
                found.append((self._client.Target(device_id=0, pipe_id=pipe), [own]))
        return found

    def _write_rows(self, table: Any, verb: Verb, target: Any, rows: Sequence[Row]) -> None:
        # A transaction of the driver's is for tables of the program alone: sessions and the packet
        # generator refuse it, and ports and groups do not take part.
        rigid = rows[0].table in FIXED or rows[0].is_cell
        atomicity = self._single if rigid else self._together
        keys = [self._key(table, item.key) for item in rows]
        if verb == "delete":
            table.entry_del(target, keys, atomicity=atomicity)
            return
        data = [table.make_data(self._data(item), item.action) for item in rows]
        call = table.entry_add if verb == "insert" else table.entry_mod
        call(target, keys, data, atomicity=atomicity)

    def _write_default(self, table: Any, verb: Verb, item: Row) -> None:
        if verb == "delete":
            table.default_entry_reset(self._target)
        else:
            table.default_entry_set(self._target, table.make_data(self._data(item), item.action))

    def counted(
        self, table: str, key: str, numbers: Sequence[int], fields: Sequence[str] = ()
    ) -> list[dict[str, Value]]:
        flags = KNOWN if table == PORT else COUNTED  # what is set is not in the chip
        found = []
        for number in numbers:
            rows = self._get(table, [((key, Exact(number)),)], flags, fields)
            found.append(_fields(rows[0][0]) if rows else {})
        return found

    def all_counted(self, table: str) -> dict[int, dict[str, Value]]:
        found = {}
        for data, key, *_ in self._get(table, None, COUNTED):
            ((_, match),) = self._match(key)
            assert isinstance(match, Exact)
            found[match.value] = _fields(data)
        return found

    def clear(self, table: str) -> None:
        place = self._table(table)
        with _told(self._client, self.address, f"{table} is cleared"):
            place.entry_del(self._target)

    def watch(self, told: Callable[[int, bool], None]) -> None:
        self._notify(True)
        self._watching = threading.Thread(
            target=self._watch, args=(told,), name=f"ports of {self.address}", daemon=True
        )
        self._watching.start()

    def _notify(self, enable: bool) -> None:
        with _told(self._client, self.address, "port states are asked for"):
            self._table(PORT).attribute_port_status_change_set(self._target, enable=enable)

    def _watch(self, told: Callable[[int, bool], None]) -> None:
        while not self._stop_watching.is_set():
            try:
                news = self._interface.portstatus_notification_get(timeout=LOOK)
            except RuntimeError:  # nothing has come
                continue
            number = news.table_entry.key.fields[0].exact.value
            told(int.from_bytes(number, "big"), news.port_up)

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
            self._interface.tear_down_stream()

    def _table(self, name: str) -> Any:
        try:
            return self._info.table_get(name)
        except KeyError:
            raise BfrtError(f"{self.address}: {self.program} has no table {name}") from None

    def _key(self, table: Any, key: Sequence[tuple[str, Match]]) -> Any:
        return table.make_key([self._key_tuple(name, match) for name, match in key])

    def _key_tuple(self, name: str, match: Match) -> Any:
        make = self._client.KeyTuple
        if isinstance(match, Ternary):
            return make(name, match.value, mask=match.mask)
        if isinstance(match, Lpm):
            return make(name, match.value, prefix_len=match.prefix_len)
        if isinstance(match, Range):
            return make(name, low=match.low, high=match.high)
        assert isinstance(match, Exact)
        return make(name, match.value)

    def _data(self, item: Row) -> list[Any]:
        return [self._data_tuple(item.table, name, value) for name, value in item.data]

    def _data_tuple(self, table: str, name: str, value: Value) -> Any:
        make = self._client.DataTuple
        if isinstance(value, bool):
            return make(name, bool_val=value)
        if isinstance(value, str):
            return make(name, str_val=value)
        if isinstance(value, tuple):
            kind = FIXED[table][1].get(name, "")
            if kind == "bool[]":
                return make(name, bool_arr_val=list(value))
            return make(name, int_arr_val=list(value))
        return make(name, value)

    def _match(self, key: Any) -> list[tuple[str, Match]]:
        found: list[tuple[str, Match]] = []
        for name, values in key.to_dict().items():
            if "mask" in values:
                found.append((name, Ternary(values["value"], values["mask"])))
            elif "prefix_len" in values:
                found.append((name, Lpm(values["value"], values["prefix_len"])))
            elif "low" in values:
                found.append((name, Range(values["low"], values["high"])))
            else:
                found.append((name, Exact(values["value"])))
        return found

    def _row(self, table: str, key: Sequence[tuple[str, Match]], data: Any) -> Row:
        """Of the chip's own tables only the fields that can be written again. What is alike in all
        pipes is one value."""
        action = data.to_dict().get("action_name")
        values = _fields(data)
        known = FIXED[table][1] if table in FIXED else values
        plain = {name: value for name, value in values.items() if name in known}
        if is_cell(key):
            plain = {name: _alike(value) for name, value in plain.items()}
        return row(table, key, plain.items(), action)


def _fields(data: Any) -> dict[str, Value]:
    """Data of the client's by name, its remarks on them left out."""
    values = data.to_dict()
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in values.items()
        if name not in ("action_name", "is_default_entry") and value is not None
    }


def _apart(cell: Row) -> bool:
    return any(isinstance(value, tuple) for _, value in cell.data)


def _alike(value: Value) -> Value:
    return value[0] if isinstance(value, tuple) and len(set(value)) == 1 else value
