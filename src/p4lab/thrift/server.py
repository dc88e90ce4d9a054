"""The server: a thread for each client, calls one at a time, and no way to hurt the switch.

Names of services stand in front of those of calls (Thrift's multiplexed protocol), as bmv2's
clients send them. What is not of this form ends the connection and nothing else.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.protocol.TProtocol import TProtocolException
from thrift.Thrift import TApplicationException, TMessageType, TProcessor, TType
from thrift.TMultiplexedProcessor import TMultiplexedProcessor
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from p4lab.thrift.desk import Desk
from p4lab.thrift.interface import SERVICES
from p4lab.thrift.shapes import Method

MOST_CLIENTS = 64
MOST_BYTES = 4 << 20  # of a call; the largest that makes sense is a program
MOST_ITEMS = 1 << 20
_log = logging.getLogger(__name__)


class _Metered(TBufferedTransport):  # type: ignore[misc] # the library has no types
    """A transport that ends a call which is too long."""

    def __init__(self, transport: TSocket) -> None:
        super().__init__(transport)
        self.left = MOST_BYTES

    def read(self, size: int) -> bytes:
        if size > self.left:
            raise TTransportException(TTransportException.SIZE_LIMIT, "the call is too long")
        data: bytes = super().read(size)
        self.left -= len(data)
        return data


class Service(TProcessor):  # type: ignore[misc] # the library has no types
    """One service: its calls, and who answers them."""

    def __init__(self, methods: Mapping[str, Method], answers: Mapping[str, Any], desk: Desk):
        missing = methods.keys() - answers.keys()
        assert not missing, f"nobody answers {', '.join(sorted(missing))}"
        self._methods, self._answers, self._desk = methods, answers, desk

    def process(self, given: Any, back: Any) -> None:
        """Answers one call."""
        name, _, number = given.readMessageBegin()
        method = self._methods.get(name)
        if method is None:
            given.skip(TType.STRUCT)
            given.readMessageEnd()
            return _fail(back, name, number, TApplicationException.UNKNOWN_METHOD, "not here")
        arguments = method.arguments()
        arguments.read(given)
        given.readMessageEnd()
        values = [getattr(arguments, name) for name in method.given]
        if None in values:
            missing = method.given[values.index(None)]
            text = f"{missing} is missing"
            return _fail(back, name, number, TApplicationException.PROTOCOL_ERROR, text)
        result = method.result()
        try:
            with self._desk.lock:
                found = self._answers[name](*values)
            if hasattr(result, "success"):
                result.success = found
        except Exception as error:
            if method.refuses is None or not isinstance(error, method.refuses):
                _log.exception("%s", name)
                text = str(error.args[0] if error.args else error)
                return _fail(back, name, number, TApplicationException.INTERNAL_ERROR, text)
            result.refusal = error
        _reply(back, name, TMessageType.REPLY, number, result)
        return None


def _fail(back: Any, name: str, number: int, kind: int, text: str) -> None:
    failure = TApplicationException(kind, f"{name}: {text}")
    _reply(back, name, TMessageType.EXCEPTION, number, failure)


def _reply(back: Any, name: str, kind: int, number: int, body: Any) -> None:
    back.writeMessageBegin(name, kind, number)
    body.write(back)
    back.writeMessageEnd()
    back.trans.flush()


class Server:
    """Listens until closed. Raises OSError if nobody can listen there."""

    def __init__(self, address: tuple[str, int], desk: Desk, answers: Mapping[str, Any]) -> None:
        self._processor = TMultiplexedProcessor()
        for service, methods in SERVICES.items():
            self._processor.registerProcessor(service, Service(methods, answers, desk))
        self._listener = socket.create_server(address)
        self._clients: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._listener.getsockname()[1])

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:  # it has been closed
                return
            with self._lock:
                if len(self._clients) >= MOST_CLIENTS:
                    client.close()
                    continue
                self._clients.add(client)
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        """Answers a client until it goes, or says something that is not a call."""
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        plain = TSocket()
        plain.setHandle(client)
        transport = _Metered(plain)
        protocol = TBinaryProtocol(
            transport, string_length_limit=MOST_BYTES, container_length_limit=MOST_ITEMS
        )
        try:
            while True:
                transport.left = MOST_BYTES
                self._processor.process(protocol, protocol)
        except (TTransportException, TProtocolException, OSError, EOFError):
            pass  # it has gone, or its bytes were not a call: either way it is done
        except (UnicodeDecodeError, ValueError, TypeError, OverflowError, RecursionError) as error:
            _log.info("a client has sent no call: %s", error)
        finally:
            with self._lock:
                self._clients.discard(client)
            client.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(OSError):  # wakes whoever waits in accept
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()
        with self._lock:
            for client in self._clients:
                with contextlib.suppress(OSError):
                    client.shutdown(socket.SHUT_RDWR)
