"""The SDE's own BFRT client, `bfrt_grpc.client` from SDE_INSTALL, behind `bfrt.Bfrt`."""

from __future__ import annotations

import importlib
import logging
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from p4lab.control.entries import Exact, Lpm, Match, Range, Ternary
from p4lab.targets.tofino.bfrt import BfrtError, Verb
from p4lab.targets.tofino.rows import Row, Value, row
from p4lab.targets.tofino.schema import FIXED
from p4lab.targets.tofino.tools import clients

CLIENT_IDS = range(1, 9)  # a server knows its clients by small numbers; 0 is the SDE's tests'
CALL = 1  # seconds for a subscription to be answered
PATIENCE = 300.0  # seconds for a driver to come up: models take minutes
PAUSE = 1.0
NOT_FOUND = 5  # gRPC's code


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
    while not _listens(address):
        if not alive() or time.monotonic() > deadline:
            raise BfrtError(f"{address}: nobody answers there; is bf_switchd running?")
        time.sleep(min(PAUSE, patience))
    while True:
        try:
            return _subscribe(client, address, program)
        except BfrtError:
            if not alive() or time.monotonic() > deadline:
                raise
            time.sleep(min(PAUSE, patience))


def _listens(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=CALL).close()
    except OSError:
        return False
    return True


def _subscribe(client: Any, address: str, program: str) -> SdeBfrt:
    """Takes the first client id that is free, and asks which program there is."""
    refusal = ""
    for number in CLIENT_IDS:
        try:
            # One try: a server that does not answer a client id at once refuses it.
            interface = client.ClientInterface(address, number, 0, timeout=CALL, num_tries=1)
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
        self._atomicity = importlib.import_module(
            "bfrt_grpc.bfruntime_pb2"
        ).WriteRequest.ROLLBACK_ON_ERROR

    def read(self, table: str, keys: Sequence[tuple[tuple[str, Match], ...]]) -> list[Row | None]:
        found: list[Row | None] = []
        place = self._table(table)
        for key in keys:
            try:
                with _told(self._client, self.address, f"{table} is read"):
                    rows = self._rows(table, place.entry_get(self._target, [self._key(place, key)]))
            except BfrtError as error:
                if not error.not_there:
                    raise
                rows = []
            found.append(rows[0] if rows else None)
        return found

    def read_all(self, table: str) -> list[Row]:
        place = self._table(table)
        try:
            with _told(self._client, self.address, f"{table} is read"):
                return self._rows(table, place.entry_get(self._target, None))
        except BfrtError as error:
            if error.not_there:
                return []
            raise

    def read_default(self, table: str) -> Row | None:
        place = self._table(table)
        try:
            with _told(self._client, self.address, f"the default entry of {table} is read"):
                for data, _ in place.default_entry_get(self._target, {"from_hw": False}):
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
            keys = [self._key(table, item.key) for item in rows]
            if verb == "delete":
                table.entry_del(self._target, keys, atomicity=self._atomicity)
                return
            data = [table.make_data(self._data(item), item.action) for item in rows]
            call = table.entry_add if verb == "insert" else table.entry_mod
            call(self._target, keys, data, atomicity=self._atomicity)

    def _write_default(self, table: Any, verb: Verb, item: Row) -> None:
        if verb == "delete":
            table.default_entry_reset(self._target)
        else:
            table.default_entry_set(self._target, table.make_data(self._data(item), item.action))

    def counters(self, table: str, ports: Sequence[int]) -> dict[int, dict[str, Value]]:
        found = self.read(table, [(("$DEV_PORT", Exact(port)),) for port in ports])
        return {
            port: dict(item.data) if item else {} for port, item in zip(ports, found, strict=True)
        }

    def close(self) -> None:
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

    def _rows(self, table: str, answer: Iterator[Any]) -> list[Row]:
        return [self._row(table, self._match(key), data) for data, key, *_ in answer]

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
        """Of the chip's own tables only the fields that can be written again."""
        values = data.to_dict()
        action = values.pop("action_name", None)
        values.pop("is_default_entry", None)
        known = FIXED[table][1] if table in FIXED else values
        plain = [
            (name, tuple(value) if isinstance(value, list) else value)
            for name, value in values.items()
            if name in known and value is not None
        ]
        return row(table, key, plain, action)
