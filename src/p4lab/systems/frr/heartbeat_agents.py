"""What sends a router's heartbeats, and hears from its switch which neighbours are silent.

The data plane has long acted on the silence when this hears of it: the news are for the controller.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from p4lab.model.control import Driver, PacketIn
from p4lab.systems.frr.heartbeat import End, Heartbeat, ends, found_down, heartbeat_frame
from p4lab.systems.frr.link_agents import PortNews
from p4lab.systems.frr.plane import Agenda, FrrControlPlane, Step
from p4lab.topology import Link


class HeartbeatAgents:
    """On every router, what sends its heartbeats and hears from its switch which ports are silent.

    Pass it to a network in place of the control plane, which must have been made with the same
    `heartbeat`. A link is up for the controller when both its ends say so. In the beginning nobody
    has heard anything: that becomes news when it lasts as long as any other silence.
    """

    def __init__(
        self,
        plane: FrrControlPlane,
        driver_for_router: Callable[[str], Driver],
        heartbeat: Heartbeat,
    ) -> None:
        self.plane = plane
        self.heartbeat = heartbeat
        self.news: list[PortNews] = []
        """All that has changed so far; `told` is when we heard of it, by the network's clock"""
        self._drivers = {
            router.name: driver_for_router(router.name) for router in plane.topology.routers
        }
        self._ends = ends(plane.topology)
        self._down: set[End] = set(self._ends)
        self._number = 0
        self._next = 0
        self._agenda = Agenda()
        self._begin: int | None = None
        self._settled_in = False

    def beat(self) -> None:
        """One heartbeat on every port to a router."""
        self._number += 1
        for end in self._ends:
            self._send(end)

    def _send(self, end: End) -> None:
        frame = heartbeat_frame(self.plane.topology, end, self._number, end in self._down)
        self._drivers[end[0]].packet_out(end[1], frame)

    @property
    def settled(self) -> bool:
        """Whether all news that came were told and turned into tables."""
        return self._agenda.due is None and self.plane.settled

    @property
    def all_up(self) -> bool:
        """Whether no switch takes a port for down, as far as we know."""
        return not self._down

    def packet_in(self, now: int, router: str, packet: PacketIn) -> None:
        """As a network tells its controller; heartbeats that come back are for us."""
        down = found_down(packet.frame)
        if down is None:
            self.plane.packet_in(now, router, packet)
        elif ((router, packet.port) in self._down) != down:
            self._learn(now, (router, packet.port), down)

    def _learn(self, now: int, end: End, down: bool) -> None:
        (self._down.add if down else self._down.discard)(end)
        self._send(end)  # once more: the one that came back has not reached the neighbour
        self.news.append(PortNews(*end, not down, now))
        neighbour = self.plane.topology.neighbour(*end)
        if self._settled_in and neighbour is not None:
            self._tell(now, self.plane.topology.link(end[0], neighbour))

    def _tell(self, now: int, link: Link) -> None:
        """The controller hears of a link, unless it knows."""
        up = not {(link.a, link.a_port), (link.b, link.b_port)} & self._down

        def notify(at: int) -> None:
            if self.plane.failures.has(link) == up:
                self.plane.timeline.append(Step("notification", None, now, at))
                self.plane.link_changed(at, link, up)

        self._agenda.add(now + self.plane.delays.distance, notify)

    def _settle_in(self, now: int) -> None:
        self._settled_in = True
        for link in self.plane.topology.links:
            if not link.is_access:
                self._tell(now, link)

    def timer(self, now: int) -> None:
        """Do what is due at `now`."""
        if now >= self._next:
            self.beat()
            self._next = now - now % self.heartbeat.interval + self.heartbeat.interval
        self._work(now)

    def _work(self, now: int) -> None:
        if self._begin is None:
            self._begin = now
            self._agenda.add(now + self.heartbeat.limit, self._settle_in)
        self._agenda.run(now)
        self.plane.timer(now)

    def next_timer(self) -> int:
        """When `timer` must be called at the latest."""
        due = (self._next, self._agenda.due, self.plane.next_timer())
        return min(at for at in due if at is not None)


class LinuxHeartbeatAgents(HeartbeatAgents):
    """The same in real time: a thread sends, so that nothing else that we do delays a heartbeat.
    A context manager."""

    def __enter__(self) -> LinuxHeartbeatAgents:
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._tick, name="heartbeats", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join()

    def _tick(self) -> None:
        interval = self.heartbeat.interval / 1e9
        due = time.monotonic()
        while not self._ending.wait(max(0.0, due - time.monotonic())):
            self.beat()
            due = max(due + interval, time.monotonic())  # what is late is not made up for

    def timer(self, now: int) -> None:
        """Do what is due at `now`."""
        self._work(now)
        self._next = now + self.heartbeat.interval
