"""What a network of Tofinos hears of its own ports: the chips tell their drivers, these tell us.

Pass it to a network in place of the control plane, or let it `follow` the switches of a rack.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from p4lab.model.control import ControlPlane, PacketIn
from p4lab.targets.tofino.driver import TofinoDriver
from p4lab.topology import Link, Topology

LOOK = 1_000_000  # nanoseconds between two looks at what has come
LINKS_SECONDS = 10.0  # for links to come up: 100 Gb/s take some seconds, more with negotiation
PAUSE = 0.2
POLL_SECONDS = 3.0  # between two questions to switches that say nothing


@dataclass(frozen=True)
class PortNews:
    """A port of the topology that has got or lost its link."""

    router: str
    port: int
    up: bool


class PortAgents:
    """Lets a switch take its backups as soon as one of its ports loses its link; with `reroute` the
    routes are computed around it then, and back when the link is."""

    def __init__(
        self,
        topology: Topology,
        plane: ControlPlane,
        drivers: Mapping[str, TofinoDriver],
        *,
        reroute: bool = False,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`say` hears of every change that was acted on. Raises BfrtError."""
        self.plane = plane
        self._topology = topology
        self.news: list[PortNews] = []
        """All that has changed so far"""
        self._drivers = dict(drivers)
        self._reroute = reroute
        self._say = say
        self._down: set[tuple[str, int]] = set()
        self._waiting: queue.SimpleQueue[PortNews] = queue.SimpleQueue()
        self._next = 0
        for router, driver in self._drivers.items():
            driver.watch(self._teller(router))

    def _teller(self, router: str) -> Callable[[int, bool], None]:
        been_up: set[int] = set()

        def tell(port: int, up: bool) -> None:
            # A port that was made and is not enabled yet has lost nothing.
            if up:
                been_up.add(port)
            if port in been_up:
                self._waiting.put(PortNews(router, port, up))

        return tell

    def link_seen(self, link: Link, up: bool) -> None:
        """The chips see that themselves."""

    def expect_links(self, patience: float = LINKS_SECONDS) -> None:
        """Gives links time to come up, and takes those that do not for down. Raises BfrtError."""
        deadline = time.monotonic() + patience
        while (dead := self._without_link()) and time.monotonic() < deadline:
            time.sleep(PAUSE)
        for router, port in dead:
            self._act(PortNews(router, port, up=False))

    def _without_link(self) -> list[tuple[str, int]]:
        return [
            (router, port)
            for router, driver in self._drivers.items()
            for port, up in driver.links().items()
            if not up
        ]

    def follow(self) -> None:
        """Acts on what comes, for ever: an exception ends it. Now and then the switches are asked,
        so that one that has ended is noticed (BfrtError)."""
        while True:
            try:
                self._act(self._waiting.get(timeout=POLL_SECONDS))
            except queue.Empty:
                self._compare()

    def _compare(self) -> None:
        for router, driver in self._drivers.items():
            for port, up in driver.links().items():
                self._act(PortNews(router, port, up))

    def _act(self, news: PortNews) -> None:
        place = (news.router, news.port)
        if (place in self._down) != news.up:
            return  # nothing new
        self.news.append(news)
        (self._down.discard if news.up else self._down.add)(place)
        topology = self._topology
        neighbour = topology.neighbour(*place)
        if neighbour is None:
            return
        self.plane.port_seen(news.router, news.port, news.up)
        link = topology.link(news.router, neighbour)
        if self._reroute and not link.is_access:  # hosts stay where they are
            self.plane.link_changed(time.monotonic_ns(), link, not self._down & _ends(link))
        state = "is up again" if news.up else "has no link"
        way = "routes are recomputed" if self._reroute else "backups take over"
        self._say(f"{news.router}: the port to {neighbour} {state}; {way}")

    # ---- As a network tells its controller

    def packet_in(self, now: int, router: str, packet: PacketIn) -> None:
        """`router` has sent a frame from `port` to its CPU port."""
        self.plane.packet_in(now, router, packet)

    def timer(self, now: int) -> None:
        """Do what is due at `now`."""
        while not self._waiting.empty():
            self._act(self._waiting.get())
        due = self.plane.next_timer()
        if due is not None and due <= now:
            self.plane.timer(now)
        self._next = now + LOOK

    def next_timer(self) -> int:
        """When `timer` must be called at the latest."""
        due = self.plane.next_timer()
        return self._next if due is None else min(due, self._next)


def _ends(link: Link) -> set[tuple[str, int]]:
    return {(link.a, link.a_port)} | (set() if link.is_access else {(link.b, link.b_port)})
