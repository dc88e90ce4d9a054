"""The gateway beside a switch that runs: its packets by P4Runtime, its datagrams by real sockets.

    inbox = Inbox()
    driver = P4RuntimeDriver(..., on_packet=inbox.put)
    process = Process(gateway, driver, inbox, sockets, authorization, ours)
    process.run(lambda: ended)

The process may end at any moment, by kill -9, too: what it has told anyone is on disk, and the next
one goes on with it.
"""

from __future__ import annotations

import selectors
import socket
import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from p4lab.model.control import PacketIn
from p4lab.systems.bng.gateway import Gateway
from p4lab.systems.bng.radius.coa import DynamicAuthorization
from p4lab.systems.bng.radius.sockets import Sockets

SECOND = 10**9
LONGEST_WAIT = 0.2
"""Seconds until the switch and the end of the run are looked at again"""
ROOM, ROOM_OF_A_LINE = 20_000, 200
"""Packets that may wait for the gateway, of all lines and of one: more are a flood, and lost"""
LINE = slice(2, 4)
"""Where the program's header says which line a packet is from (p4/bng/README.md)"""
AT_ONCE = 500
"""Packets that are heard before anything is written and said"""


class Connection(Protocol):
    """What is asked of the driver besides the gateway's own affairs."""

    @property
    def is_connected(self) -> bool:
        """Whether packets still come from the switch."""

    def restore(self) -> None:
        """Connect anew. Raises ValueError if the switch is not there."""


class Inbox:
    """Packets from the thread that hears the switch. It can be waited for in a selector."""

    def __init__(self) -> None:
        self.lost = 0
        self._packets: deque[PacketIn] = deque()
        # By the line in the program's header. Each is written by one thread only.
        self._put: Counter[bytes] = Counter()
        self._taken: Counter[bytes] = Counter()
        self._out, self._in = socket.socketpair()
        self._out.setblocking(False)
        self._in.setblocking(False)

    def fileno(self) -> int:
        """Readable when packets are there."""
        return self._out.fileno()

    def put(self, packet: PacketIn) -> None:
        """From one other thread."""
        line = packet.header[LINE]
        waiting = self._put[line] - self._taken[line]
        if waiting >= ROOM_OF_A_LINE or len(self._packets) >= ROOM:
            self.lost += 1
            return
        self._put[line] += 1
        self._packets.append(packet)
        with suppress(BlockingIOError):  # it is awake already
            self._in.send(b".")

    def take(self) -> list[PacketIn]:
        """Packets in their order, not all of a flood at once."""
        with suppress(BlockingIOError):
            self._out.recv(ROOM)
        found = [self._packets.popleft() for _ in range(min(len(self._packets), AT_ONCE))]
        self._taken.update(packet.header[LINE] for packet in found)
        if self._packets:
            with suppress(BlockingIOError):
                self._in.send(b".")
        return found

    def close(self) -> None:
        """Nobody waits any more."""
        self._out.close()
        self._in.close()


class Process:
    """`changes` is the socket on which CoA and Disconnect come in."""

    def __init__(
        self,
        gateway: Gateway,
        connection: Connection,
        inbox: Inbox,
        radius: Sockets,
        authorization: DynamicAuthorization,
        changes: socket.socket,
    ) -> None:
        self._gateway, self._connection, self._inbox = gateway, connection, inbox
        self._radius, self._authorization, self._changes = radius, authorization, changes
        changes.setblocking(False)
        self._poll = selectors.DefaultSelector()
        for one in (inbox, radius, changes):
            self._poll.register(one, selectors.EVENT_READ)

    def run(self, is_over: Callable[[], bool]) -> None:
        """Until that is true. Raises ValueError if the switch is gone and does not come back."""
        with self._poll:
            while not is_over():
                self._poll.select(self._patience())
                if not self._connection.is_connected:
                    self._connection.restore()
                    self._gateway.reconcile()
                self._step()

    def _patience(self) -> float:
        """Seconds until something is due."""
        due = self._gateway.deadline
        left = LONGEST_WAIT if due is None else (due - time.monotonic_ns()) / SECOND
        return min(LONGEST_WAIT, max(0.0, left))

    def _step(self) -> None:
        """Hear all that is there, do what is due, and only then answer."""
        now, gateway = time.monotonic_ns(), self._gateway
        for packet in self._inbox.take():
            gateway.heard(now, packet)
        for heard in self._radius.receive():
            gateway.answered(now, heard.service, heard.port, heard.data)
        replies = self._changed(now)
        gateway.tick(now)
        self._radius.send(gateway.flush(now))
        for reply, source in replies:
            with suppress(OSError):  # who has gone asks again
                self._changes.sendto(reply, source)

    def _changed(self, now: int) -> list[tuple[bytes, Any]]:
        """What servers want of sessions is done; gives what they are to be told."""
        replies: list[tuple[bytes, Any]] = []
        for _ in range(AT_ONCE):
            try:
                request, source = self._changes.recvfrom(4096)
            except BlockingIOError:
                break
            reply = self._authorization.heard(now, time.time_ns(), source, request)
            if reply is not None:
                replies.append((reply, source))
        return replies
