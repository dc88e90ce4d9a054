"""One publisher in nanomsg's form, to as many subscribers as come.

The mappings of the scalability protocols (nanomsg RFCs sp-tcp-mapping-01 and sp-ipc-mapping-01):
both ends begin with eight bytes that say what they are, then each message has its length in front.
A subscriber picks topics itself, so nothing is read from it.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import struct
import threading
from types import TracebackType

_PUBLISHER, _SUBSCRIBER = 32, 33
_GREETING = struct.Struct(">4sHH")
_MAGIC = b"\0SP\0"
_MESSAGE_OF_IPC = b"\x01"
GREETING_SECONDS = 2
SEND_SECONDS = 1
MOST = 16


class AddressError(Exception):
    """Why nobody can listen there, in one sentence."""


class Publisher:
    """Listens at `ipc://PATH` or `tcp://HOST:PORT` until closed. Slow subscribers are cut off."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._listener, self._path, self._head = _listen(address)
        self._listener.settimeout(0.2)
        self._lock = threading.Lock()
        self._subscribers: list[socket.socket] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    @property
    def is_heard(self) -> bool:
        """Whether anybody has subscribed."""
        return bool(self._subscribers)

    def send(self, message: bytes) -> None:
        """Sends a message to all that listen; who does not take it is gone."""
        data = self._head + struct.pack(">Q", len(message)) + message
        with self._lock:
            for subscriber in list(self._subscribers):
                try:
                    subscriber.sendall(data)
                except OSError:
                    self._subscribers.remove(subscriber)
                    subscriber.close()

    def _accept(self) -> None:
        while not self._ended.is_set():
            try:
                subscriber, _ = self._listener.accept()
            except TimeoutError:
                self._forget_closed()
                continue
            except OSError:  # it has been closed
                return
            if self._is_subscriber(subscriber):
                with self._lock:
                    self._subscribers.append(subscriber)
            else:
                subscriber.close()

    def _is_subscriber(self, subscriber: socket.socket) -> bool:
        subscriber.settimeout(GREETING_SECONDS)
        try:
            subscriber.sendall(_GREETING.pack(_MAGIC, _PUBLISHER, 0))
            greeting = subscriber.recv(_GREETING.size, socket.MSG_WAITALL)
        except OSError:
            return False
        subscriber.settimeout(SEND_SECONDS)
        return greeting == _GREETING.pack(_MAGIC, _SUBSCRIBER, 0) and (
            len(self._subscribers) < MOST
        )

    def _forget_closed(self) -> None:
        """Who has closed its end shows that by being readable and having nothing to say."""
        with self._lock:
            for subscriber in list(self._subscribers):
                with contextlib.suppress(BlockingIOError, TimeoutError):
                    if not subscriber.recv(1, socket.MSG_DONTWAIT):
                        self._subscribers.remove(subscriber)
                        subscriber.close()

    def __enter__(self) -> Publisher:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._listener.close()
        self._thread.join()
        for subscriber in self._subscribers:
            subscriber.close()
        if self._path is not None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path)


def _listen(address: str) -> tuple[socket.socket, str | None, bytes]:
    """The socket, its file if it has one, and what stands in front of a message's length."""
    scheme, _, place = address.partition("://")
    try:
        if scheme == "ipc" and place:
            _clear(place)
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(place)
            listener.listen()
            return listener, place, _MESSAGE_OF_IPC
        host, _, port = place.rpartition(":")
        if scheme == "tcp" and host and port.isdigit() and int(port) < 2**16:
            everywhere = "" if host == "*" else host.strip("[]")
            return socket.create_server((everywhere, int(port))), None, b""
    except OSError as error:
        raise AddressError(f"nobody can listen at {address}: {error}") from error
    raise AddressError(f"{address} is not an address; ipc://FILE and tcp://HOST:PORT are.")


def _clear(path: str) -> None:
    """Takes away the socket of a switch that is gone, and nothing else."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            return
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(path)
            except ConnectionRefusedError:
                os.unlink(path)
