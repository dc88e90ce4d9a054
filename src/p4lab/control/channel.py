"""gRPC's channel to a server in the network of the thread that opens it.

gRPC connects in threads of its own, which stay in the network namespace where the first of them
began. In a process that has been in another, it is therefore given a Unix socket, which belongs to
no network, and a relay goes on from there by TCP.
"""

from __future__ import annotations

import socket
import tempfile
import threading
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import grpc

from p4lab.hosts import kernel

CONNECT = 5.0  # seconds
MOST = 1 << 16  # bytes at a time


class Channel:
    """Close it in the end."""

    def __init__(self, address: str, options: Sequence[tuple[str, int | str]] = ()) -> None:
        """`address` is a host and a port."""
        self._relay = Relay(address) if kernel.has_left_network() else None
        place = self._relay.name if self._relay else address
        # What gRPC makes of a path is no name of a server to every server.
        named = [*options, ("grpc.default_authority", address)]
        self.grpc = grpc.insecure_channel(place, named)

    def close(self) -> None:
        self.grpc.close()
        if self._relay is not None:
            self._relay.close()


class Relay:
    """A Unix socket; who connects to it is connected with a TCP server in this thread's network."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._server = (host.strip("[]"), int(port))
        self._stack = ExitStack()
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="p4lab-"))
        path = Path(folder, "relay")
        self.name = f"unix:{path}"
        """How gRPC calls it"""
        self._socket = self._stack.enter_context(socket.socket(socket.AF_UNIX))
        self._socket.bind(str(path))
        self._socket.listen()
        threading.Thread(target=self._accept, name=f"relay to {address}", daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                near, _ = self._socket.accept()
                # A thread is in the network of the one that starts it.
                threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        """Carries bytes while both sides are there: gRPC sees an end, and connects anew."""
        with near, suppress(OSError), socket.create_connection(self._server, CONNECT) as far:
            far.settimeout(None)
            far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            back = threading.Thread(target=_carry, args=(far, near), daemon=True)
            back.start()
            _carry(near, far)
            back.join()

    def close(self) -> None:
        """Takes no more connections; those that there are end as soon as either side ends them."""
        # What waits in `accept` does not wake up when its socket is closed.
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._stack.close()


def _carry(source: socket.socket, sink: socket.socket) -> None:
    """What one side says to the other, until one of them ends."""
    with suppress(OSError):
        while data := source.recv(MOST):
            sink.sendall(data)
    for end in (source, sink):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
