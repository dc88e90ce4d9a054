"""Counts the probes on Linux interfaces, for switches that do not count them themselves."""

from __future__ import annotations

import select
import socket
import threading
import time
from collections.abc import Sequence

from p4lab.hosts.buffers import enlarge
from p4lab.network.base import NetworkError
from p4lab.packets.probe import Probe
from p4lab.plurals import count_of

ETH_P_ALL = 3
PACKET_OUTGOING = 4
SOL_PACKET, PACKET_STATISTICS = 263, 6
BUFFER = 32 << 20  # bytes of every socket
LONGEST = 10_000  # bytes of a frame
LOOK = 0.1  # seconds between looks at whether to stop
AT_ONCE = 1000  # frames of an interface, before the others have their turn
LAST = 2.0  # seconds for what is left at the end: of frames in a loop there is always one more


class ProbeCounter:
    """A thread that sees every frame on some interfaces of the namespace it was made in."""

    def __init__(self, interfaces: Sequence[str]) -> None:
        """Raises OSError."""
        self._counts = {name: [0, 0] for name in interfaces}
        self._sockets: dict[int, tuple[str, socket.socket]] = {}
        for name in interfaces:
            seen = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
            enlarge(seen, BUFFER)
            seen.bind((name, ETH_P_ALL))
            seen.setblocking(False)
            self._sockets[seen.fileno()] = (name, seen)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._count, daemon=True)
        self._thread.start()

    def probes(self, interface: str) -> tuple[int, int]:
        """How many probes have left by an interface and come in. Raises NetworkError if the kernel
        had to leave some out."""
        sent, received = self._counts[interface]
        return sent, received

    def check(self) -> None:
        """Raises NetworkError if frames passed that were not counted."""
        for name, seen in self._sockets.values():
            data = seen.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8)
            lost = int.from_bytes(data[4:8], "little")
            if lost:
                raise NetworkError(
                    f"{count_of(lost, 'frame')} on {name} passed uncounted: this machine is too "
                    "busy; send fewer packets (--packets) or longer apart."
                )

    def _count(self) -> None:
        poll = select.epoll()
        for number in self._sockets:
            poll.register(number, select.EPOLLIN)
        end = float("inf")
        while time.monotonic() < end:
            events = poll.poll(LOOK)
            if self._stopping.is_set():
                if not events:
                    return
                end = min(end, time.monotonic() + LAST)
            for number, _ in events:
                name, seen = self._sockets[number]
                self._drain(seen, self._counts[name])

    @staticmethod
    def _drain(seen: socket.socket, counts: list[int]) -> None:
        for _ in range(AT_ONCE):
            try:
                frame, address = seen.recvfrom(LONGEST)
            except (BlockingIOError, OSError):
                return
            if Probe.of(frame) is not None:
                counts[0 if address[2] == PACKET_OUTGOING else 1] += 1

    def stop(self) -> None:
        """Counts what has been seen and ends the thread."""
        self._stopping.set()
        self._thread.join()
        for _, seen in self._sockets.values():
            seen.close()
        self._sockets.clear()
