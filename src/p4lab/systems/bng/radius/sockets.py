"""The sockets of a RADIUS client, and the one on which CoA comes in."""

from __future__ import annotations

import selectors
import socket
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from p4lab.systems.bng.radius.client import ACCESS, ACCOUNTING, Datagram

ROOM = 1 << 20
"""Bytes of a socket's buffer: answers to 256 requests come at once"""


class Heard(NamedTuple):
    """A datagram of a server."""

    service: str
    port: int
    data: bytes


class Sockets:
    """`ports` sockets for each of the two services of a server at `host`. Use it in `with`."""

    def __init__(self, host: str, access: int, accounting: int, ports: int) -> None:
        self._poll = selectors.DefaultSelector()
        self._by_name: dict[tuple[str, int], socket.socket] = {}
        for service, far in ((ACCESS, access), (ACCOUNTING, accounting)):
            for port in range(ports):
                one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, ROOM)
                one.connect((host, far))
                one.setblocking(False)
                self._poll.register(one, selectors.EVENT_READ, (service, port))
                self._by_name[service, port] = one

    def __enter__(self) -> Sockets:
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._by_name.values():
            one.close()
        self._poll.close()

    def fileno(self) -> int:
        """For a selector of one's own: readable when `receive` has something."""
        return self._poll.fileno()

    def send(self, datagrams: Iterable[Datagram]) -> int:
        """Send; gives how many the kernel did not take. A server that is not there answers with an
        ICMP error, which comes up here or in `receive`: to us it is one that does not answer."""
        lost = 0
        for service, port, data in datagrams:
            try:
                self._by_name[service, port].send(data)
            except (ConnectionRefusedError, BlockingIOError):
                lost += 1
        return lost

    def receive(self, timeout: float | None = 0) -> Iterator[Heard]:
        """All that has come in, after at most `timeout` seconds without any."""
        for key, _ in self._poll.select(timeout):
            service, port = key.data
            while True:
                try:
                    data = key.fileobj.recv(4096)  # type: ignore[union-attr]
                except BlockingIOError:
                    break
                except ConnectionRefusedError:
                    continue
                yield Heard(service, port, data)
