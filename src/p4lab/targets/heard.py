"""What switches say to their control plane, from whatever thread it comes."""

from __future__ import annotations

import queue
import time

from p4lab.model.control import PacketIn
from p4lab.network.switches import News


class Heard:
    """Frames for the controller, each with the nanoseconds since this began."""

    def __init__(self) -> None:
        self._began = time.monotonic_ns()
        self._queue: queue.SimpleQueue[News] = queue.SimpleQueue()

    @property
    def now(self) -> int:
        return time.monotonic_ns() - self._began

    def put(self, router: str, packet: PacketIn) -> None:
        """`router` has sent a packet to its CPU port."""
        self._queue.put((self.now, router, packet))

    def next(self, timeout: float) -> News | None:
        """The oldest; None after `timeout` seconds without one."""
        try:
            return self._queue.get(timeout=timeout) if timeout > 0 else self._queue.get_nowait()
        except queue.Empty:
            return None
