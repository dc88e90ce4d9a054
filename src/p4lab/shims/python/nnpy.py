"""A subscriber's part of nnpy, the bindings of nanomsg: how controllers hear digests.

The wire is that of nanomsg's TCP and IPC transports, version 0: both sides send eight bytes that
name their protocol; then each message has its length in eight bytes in front (IPC: a byte 1 before
that).
"""

from __future__ import annotations

import socket
import struct

AF_SP = 1
SUB = 33
SUB_SUBSCRIBE = 1
SUB_UNSUBSCRIBE = 2
DONTWAIT = 1
_HELLO = struct.Struct("!4sHH")
_MARK = b"\0SP\0"
_LENGTH = struct.Struct("!Q")


class NNError(Exception):
    """What nanomsg refuses."""

    def __init__(self, error_no: int, *args: object) -> None:
        super().__init__(error_no, *args)
        self.error_no = error_no


class Socket:
    """A socket that hears one publisher."""

    def __init__(self, domain: int, protocol: int) -> None:
        if (domain, protocol) != (AF_SP, SUB):
            raise NNError(93, "only subscribers (AF_SP, SUB) are here")
        self._socket: socket.socket | None = None
        self._local = False
        self._wanted: set[bytes] = set()

    def connect(self, address: str | bytes) -> int:
        """To `ipc://FILE` or `tcp://HOST:PORT`."""
        text = address.decode() if isinstance(address, bytes) else address
        kind, _, place = text.partition("://")
        self._local = kind == "ipc"
        if self._local:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._socket.connect(place)
        else:
            host, _, port = place.rpartition(":")
            self._socket = socket.create_connection((host, int(port)))
        self._socket.sendall(_HELLO.pack(_MARK, SUB, 0))
        if self._exactly(_HELLO.size)[:4] != _MARK:
            raise NNError(71, f"{text} does not speak nanomsg's protocol")
        return 1

    def setsockopt(self, level: int, option: int, value: str | bytes | int) -> None:
        """Subscribes to messages that begin with `value`."""
        start = value.encode() if isinstance(value, str) else value
        if level != SUB or not isinstance(start, bytes):
            return  # timeouts and buffers: a controller waits for ever
        if option == SUB_SUBSCRIBE:
            self._wanted.add(start)
        elif option == SUB_UNSUBSCRIBE:
            self._wanted.discard(start)

    def recv(self, flags: int = 0) -> bytes:
        """The next message that is wanted."""
        while True:
            if self._local:
                self._exactly(1)
            (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size))
            message = self._exactly(length)
            if message.startswith(tuple(self._wanted)):
                return message

    def close(self) -> None:
        """Ends the connection."""
        if self._socket is not None:
            self._socket.close()

    def _exactly(self, size: int) -> bytes:
        if self._socket is None:
            raise NNError(107, "connect comes first")
        data = b""
        while len(data) < size:
            more = self._socket.recv(size - len(data))
            if not more:
                raise NNError(104, "the switch has gone")
            data += more
        return data
