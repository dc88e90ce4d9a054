"""A switch's runtime API over Thrift, from the other side: calls, and what its program has."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TApplicationException, TException, TMessageType
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from p4lab.thrift.interface import SERVICES

SECONDS = 30  # that one call may take
OFFERED = ("standard", "simple_switch", "simple_pre_lag")
"""What simple_switch has"""


class RemoteError(Exception):
    """What stands in the way of a call, in one sentence."""


class RefusedError(Exception):
    """The switch's refusal of a call; `code` is that of the runtime API."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Remote(AbstractContextManager["Remote"]):
    """Calls by name. Raises RefusedError, and RemoteError where there is no answer."""

    def __init__(self, host: str, port: int) -> None:
        self._place = f"{host}:{port}"
        socket = TSocket(host, port)
        socket.setTimeout(SECONDS * 1000)
        self._transport = TBufferedTransport(socket)
        try:
            self._transport.open()
        except TTransportException as error:
            raise RemoteError(f"no switch speaks Thrift at {self._place}.") from error
        self._protocol = TBinaryProtocol(self._transport)

    def __call__(self, call: str, *values: Any) -> Any:
        service = next(name for name in OFFERED if call in SERVICES[name])
        method = SERVICES[service][call]
        try:
            self._protocol.writeMessageBegin(f"{service}:{call}", TMessageType.CALL, 1)
            method.arguments(*values).write(self._protocol)
            self._protocol.writeMessageEnd()
            self._transport.flush()
            _, kind, _ = self._protocol.readMessageBegin()
            if kind == TMessageType.EXCEPTION:
                error = TApplicationException()
                error.read(self._protocol)
                raise error
            result = method.result()
            result.read(self._protocol)
            self._protocol.readMessageEnd()
        except (TException, OSError, EOFError) as error:
            raise RemoteError(f"{self._place} does not answer {call}: {error}") from error
        if getattr(result, "refusal", None) is not None:
            raise RefusedError(result.refusal.code)
        return getattr(result, "success", None)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._transport.close()


@dataclass(frozen=True)
class Key:
    """A key of a table: its field, kind (exact, lpm, ternary, range) and width in bits."""

    field: str
    kind: str
    width: int


@dataclass(frozen=True)
class Table:
    """A table by its full name; `kind` is that of its most general key."""

    name: str
    kind: str
    keys: tuple[Key, ...]
    actions: tuple[str, ...]
    profile: str | None


@dataclass(frozen=True)
class Known:
    """What the JSON of a program says: everything by its full name."""

    tables: Mapping[str, Table]
    actions: Mapping[str, Sequence[tuple[str, int]]]
    arrays: Mapping[str, Mapping[str, int]]
    """Sizes, by kind (counter, meter, register) and name"""

    @staticmethod
    def of(text: str) -> Known:
        """Reads p4c's JSON, or ours."""
        config = json.loads(text)
        owners = {one["name"]: one["header_type"] for one in config.get("headers", [])}
        types = {
            one["name"]: {field[0]: field[1] for field in one["fields"]}
            for one in config.get("header_types", [])
        }

        def key(written: dict[str, Any]) -> Key:
            header, field = written["target"]
            width = 1 if field == "$valid$" else types[owners[header]][field]
            return Key(f"{header}.{field}", written["match_type"], width)

        tables = {
            one["name"]: Table(
                one["name"],
                one["match_type"],
                tuple(map(key, one["key"])),
                tuple(one["actions"]),
                one.get("action_profile"),
            )
            for pipeline in config.get("pipelines", [])
            for one in pipeline["tables"]
        }
        actions = {
            one["name"]: [(data["name"], data["bitwidth"]) for data in one["runtime_data"]]
            for one in config.get("actions", [])
        }
        arrays = {
            kind: {one["name"]: one.get("size", 0) for one in config.get(f"{kind}_arrays", [])}
            for kind in ("counter", "meter", "register")
        }
        return Known(tables, actions, arrays)


def found(what: str, name: str, known: Mapping[str, Any]) -> str:
    """The full name of what may be written by its end. Raises RemoteError."""
    if name in known:
        return name
    ends = [full for full in known if full.endswith(f".{name}")]
    if len(ends) != 1:
        raise RemoteError(f"Invalid {what} name ({name})")
    return ends[0]
