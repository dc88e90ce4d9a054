"""A slow RADIUS server: a relay in front of a real one that lets each answer wait.

    with Slow(server.access_port, server.accounting_port, (2.0, 5.0)) as slow:
        Sockets("127.0.0.1", slow.access_port, slow.accounting_port, ports=8)

Local users with a `delay` are the same in virtual time.
"""

from __future__ import annotations

import heapq
import selectors
import socket
import threading
import time
from itertools import count
from random import Random

Address = tuple[str, int]


class Slow:
    """Answers wait for a time between `delay` (shortest and longest, in seconds); the seed says
    for how long. It runs in a thread of its own."""

    def __init__(
        self, access: int, accounting: int, delay: tuple[float, float], seed: int = 0
    ) -> None:
        self._delay, self._random = delay, Random(seed)
        self._poll = selectors.DefaultSelector()
        self._waiting: list[tuple[float, int, socket.socket, Address, bytes]] = []
        self._order = count()
        self._sockets: list[socket.socket] = []
        self._far: dict[tuple[int, Address], socket.socket] = {}
        self._over, self._stop = socket.socketpair()
        self._poll.register(self._over, selectors.EVENT_READ, None)
        self.access_port = self._listen(access)
        self.accounting_port = self._listen(accounting)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Slow:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.send(b"x")
        self._thread.join()
        for one in (*self._sockets, self._over, self._stop):
            one.close()
        self._poll.close()

    def _listen(self, far: int) -> int:
        one = self._socket()
        one.bind(("127.0.0.1", 0))
        self._poll.register(one, selectors.EVENT_READ, far)
        port: int = one.getsockname()[1]
        return port

    def _socket(self) -> socket.socket:
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        one.setblocking(False)
        self._sockets.append(one)
        return one

    def _run(self) -> None:
        while True:
            wait = max(0.0, self._waiting[0][0] - time.monotonic()) if self._waiting else None
            for key, _ in self._poll.select(wait):
                if key.data is None:
                    return
                self._relay(key.fileobj, key.data)  # type: ignore[arg-type]
            while self._waiting and self._waiting[0][0] <= time.monotonic():
                _, _, near, client, data = heapq.heappop(self._waiting)
                near.sendto(data, client)

    def _relay(self, one: socket.socket, about: int | tuple[socket.socket, Address]) -> None:
        """Requests go on at once, each client's from a socket of its own; answers wait."""
        while True:
            try:
                data, source = one.recvfrom(4096)
            except BlockingIOError:
                return
            except ConnectionRefusedError:
                continue
            if isinstance(about, int):
                far = self._far.get((about, source)) or self._connect(one, about, source)
                far.send(data)
            else:
                due = time.monotonic() + self._random.uniform(*self._delay)
                heapq.heappush(self._waiting, (due, next(self._order), *about, data))

    def _connect(self, near: socket.socket, port: int, client: Address) -> socket.socket:
        far = self._socket()
        far.connect(("127.0.0.1", port))
        self._poll.register(far, selectors.EVENT_READ, (near, client))
        self._far[port, client] = far
        return far
