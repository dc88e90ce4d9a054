"""A client of the runtime API, by the library's own means, and a switch without interfaces."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TApplicationException, TMessageType
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

from bmv2_program import PROGRAM
from p4lab import _engine
from p4lab.thrift.interface import SERVICES, TYPES
from p4lab.thrift.serving import serving

CPU_PORT = 510


class Client:
    """Calls by name; a call that is refused raises what the interface says."""

    def __init__(self, port: int) -> None:
        self._socket = TSocket("127.0.0.1", port)
        self._socket.setTimeout(10_000)
        self._transport = TBufferedTransport(self._socket)
        self._transport.open()
        self._protocol = TBinaryProtocol(self._transport)
        self._lock = threading.Lock()

    def __call__(self, call: str, *values: Any, service: str | None = None) -> Any:
        service = service or next(name for name, own in SERVICES.items() if call in own)
        method = SERVICES[service][call]
        with self._lock:
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
        if getattr(result, "refusal", None) is not None:
            raise result.refusal
        return getattr(result, "success", None)

    def close(self) -> None:
        self._transport.close()


class Lab:
    """A switch with its server, and a client."""

    def __init__(self, forwarder: _engine.Forwarder, port: int, notifications: str) -> None:
        self.forwarder, self.port, self.notifications = forwarder, port, notifications
        self.call = Client(port)

    def packet(self, source: int, kind: int = 0) -> None:
        """A frame from the CPU's port, and all that comes of it."""
        frame = bytes(6) + source.to_bytes(6, "big") + kind.to_bytes(2, "big") + bytes(50)
        self.forwarder.send_from_cpu(frame)
        self.forwarder.stats()  # answered when the frame has been


@contextmanager
def lab(folder: Path, text: str = PROGRAM, config: str | None = None) -> Iterator[Lab]:
    program = _engine.compile_text("all.p4", text).program
    assert program is not None
    address = f"ipc://{folder}/notifications.ipc"
    forwarder = _engine.Forwarder(program, [], _engine.Inbox(), cpu_port=CPU_PORT)
    try:
        served = serving(
            forwarder,
            program,
            port=0,
            host="127.0.0.1",
            config=config,
            device_id=3,
            notifications=address,
        )
        with served as port:
            own = Lab(forwarder, port, address)
            try:
                yield own
            finally:
                own.call.close()
    finally:
        forwarder.stop()


def exact(*data: bytes) -> list[Any]:
    return [TYPES["Match"](0, exact=TYPES["Exact"](part)) for part in data]


def lpm(data: bytes, length: int) -> list[Any]:
    return [TYPES["Match"](1, lpm=TYPES["Lpm"](data, length))]


def ternary(data: bytes, mask: bytes) -> list[Any]:
    return [TYPES["Match"](2, ternary=TYPES["Ternary"](data, mask))]


def ranged(low: bytes, high: bytes) -> list[Any]:
    return [TYPES["Match"](4, range=TYPES["Range"](low, high))]


def options(priority: int = 0) -> Any:
    return TYPES["Options"](priority)
