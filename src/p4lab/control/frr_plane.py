"""The running control plane with fast reroute: what happens from the moment a link fails.

    the link fails        the routers at its ends see it (detection), note it in the data plane
                          and from then on use their backups
    + notification        the controller hears of it
    + computation         new unicast routes and alternates
    + rows                written, router by router at the same time, row after row
    + computation         then new BIER tables, which follow the unicast routes
    + rows                written

`LinkAgents` is the first part, `FrrControlPlane` the rest. Times are nanoseconds since any fixed
moment; all of them are parameters (`Delays`) and are kept, with what they led to, in `timeline`.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, fields
from itertools import count
from typing import Literal

from p4lab.control.entries import Entries, diff
from p4lab.control.frr import FULL, Protection, multicast_entries, port_status, unicast_entries
from p4lab.control.igmp import IgmpTimers
from p4lab.control.plane import ControlPlane, Driver
from p4lab.topology import NO_FAILURES, Failures, Link, Topology


@dataclass(frozen=True)
class Delays:
    """How long the steps after a failure take, in nanoseconds; `row` is the time of one write."""

    detection: int = 0
    notification: int = 0
    ip_computation: int = 0
    bier_computation: int = 0
    row: int = 0

    def varied(self, draw: random.Random, spread: float) -> Delays:
        """The same, each drawn from a normal distribution with standard deviation `spread`
        times its mean, and not below zero."""
        means = {field.name: getattr(self, field.name) for field in fields(self)}
        return Delays(
            **{name: max(0, round(draw.gauss(mean, spread * mean))) for name, mean in means.items()}
        )


AT_ONCE = Delays()

Stage = Literal["detection", "notification", "computation", "update"]
Family = Literal["link", "ip", "bier"]


@dataclass(frozen=True)
class Step:
    """Something that took from `begin` to `end`: at a router, or at the controller (None)."""

    stage: Stage
    family: Family
    begin: int
    end: int
    router: str | None = None
    rows: int = 0


class Agenda:
    """What is to be done, and when."""

    def __init__(self) -> None:
        self._items: list[tuple[int, int, Callable[[int], None]]] = []
        self._order = count()

    def add(self, due: int, act: Callable[[int], None]) -> None:
        heapq.heappush(self._items, (due, next(self._order), act))

    @property
    def due(self) -> int | None:
        return self._items[0][0] if self._items else None

    def run(self, now: int) -> None:
        """Do what is due by `now`, in order, each thing at its own time."""
        while self._items and self._items[0][0] <= now:
            due, _, act = heapq.heappop(self._items)
            act(due)


class FrrControlPlane(ControlPlane):
    """The control plane of `p4/bier-frr`. `timeline` keeps what links that change have led to.

    One controller does one thing after the other: news that come in meanwhile are looked at when
    the tables of the last ones are written.
    """

    def __init__(
        self,
        topology: Topology,
        bsl: int,
        driver_for_router: Callable[[str], Driver],
        timers: IgmpTimers | None = None,
        *,
        protection: Protection = FULL,
        delays: Delays = AT_ONCE,
    ) -> None:
        """`bsl` in bits. Raises BierNumberError."""
        self.protection = protection
        self.delays = delays
        self.timeline: list[Step] = []
        self._agenda = Agenda()
        self._busy = False
        # What each router's tables take for broken: it changes router by router.
        self._ip_down = {router.name: NO_FAILURES for router in topology.routers}
        self._bier_down = dict(self._ip_down)
        super().__init__(topology, bsl, driver_for_router, timers)

    def timer(self, now: int) -> None:
        self._agenda.run(now)
        super().timer(now)

    def next_timer(self) -> int | None:
        due = [at for at in (self._agenda.due, super().next_timer()) if at is not None]
        return min(due, default=None)

    def link_changed(self, now: int, link: Link, up: bool) -> None:
        """The news that a link has failed or is back has arrived at `now`."""
        links = self.failures.links - {link.ends} if up else self.failures.links | {link.ends}
        if links == self.failures.links:
            return
        self.failures = Failures(links)
        if link.is_access:
            igmp = self._igmp[link.a]
            self._apply(link.a, (igmp.port_up if up else igmp.port_down)(now, link.a_port))
        if not self._busy:
            self._react(now)
            self._agenda.run(now)

    @property
    def settled(self) -> bool:
        """Whether the tables of all routers follow from what is known."""
        return not self._busy

    def _react(self, now: int) -> None:
        known, delays = self.failures, self.delays
        self._busy = True

        def write_unicast(at: int) -> None:
            rows = unicast_entries(self.topology, known, self.protection)
            self.timeline.append(Step("computation", "ip", now, at))
            self._write(at, "ip", known, rows, compute_multicast)

        def compute_multicast(at: int) -> None:
            def write_multicast(then: int) -> None:
                rows = multicast_entries(
                    self.topology, self.membership, self.bsl, known, self.protection
                )
                self.timeline.append(Step("computation", "bier", at, then))
                self._write(then, "bier", known, rows, finish)

            self._agenda.add(at + delays.bier_computation, write_multicast)

        def finish(at: int) -> None:
            self._busy = False
            if self.failures != known:
                self._react(at)

        self._agenda.add(now + delays.ip_computation, write_unicast)

    def _write(
        self,
        now: int,
        family: Literal["ip", "bier"],
        known: Failures,
        rows: dict[str, Entries],
        then: Callable[[int], None],
    ) -> None:
        """Each router gets its rows when there was time to write them; then go on."""
        state = self._ip_down if family == "ip" else self._bier_down
        before = self._unicast() if family == "ip" else self._multicast()
        last = now
        for router in self._wanted:
            changed = len(diff(before[router], rows[router]))
            if not changed:
                state[router] = known
                continue
            done = now + changed * self.delays.row
            last = max(last, done)

            def write(at: int, router: str = router, changed: int = changed) -> None:
                state[router] = known
                self.timeline.append(Step("update", family, now, at, router, changed))
                self._recompute()

            self._agenda.add(done, write)
        self._agenda.add(last, then)

    def _compute(self) -> dict[str, Entries]:
        unicast, multicast = self._unicast(), self._multicast()
        return {name: unicast[name] | multicast[name] for name in unicast}

    def _unicast(self) -> dict[str, Entries]:
        return {
            name: unicast_entries(self.topology, down, self.protection)[name]
            for name, down in self._ip_down.items()
        }

    def _multicast(self) -> dict[str, Entries]:
        tables = {
            down: multicast_entries(self.topology, self.membership, self.bsl, down, self.protection)
            for down in set(self._bier_down.values())
        }
        return {name: tables[down][name] for name, down in self._bier_down.items()}


class LinkAgents:
    """On every router, what sees that a cable is dead: it tells its switch, then the controller.

    Pass it to a network in place of the control plane, and tell it of every link that is cut.
    """

    def __init__(self, plane: FrrControlPlane, driver_for_router: Callable[[str], Driver]) -> None:
        self.plane = plane
        self._drivers = {
            router.name: driver_for_router(router.name) for router in plane.topology.routers
        }
        self._agenda = Agenda()
        self._state: dict[frozenset[str], bool] = {}

    def link_changed(self, now: int, link: Link, up: bool) -> None:
        """The link has been cut, or joined, at `now`. Its ends see it when it stays so."""
        self._state[link.ends] = up
        delays = self.plane.delays
        ends = [link.a] if link.is_access else [link.a, link.b]

        def detect(at: int) -> None:
            if self._state[link.ends] != up:
                return  # it was back before anybody saw it
            for router in ends:
                port = link.a_port if router == link.a else link.b_port
                self._drivers[router].packet_out(*port_status(port, not up))
                self.plane.timeline.append(Step("detection", "link", now, at, router))
            self._agenda.add(at + delays.notification, lambda then: notify(at, then))

        def notify(seen: int, at: int) -> None:
            self.plane.timeline.append(Step("notification", "link", seen, at))
            self.plane.link_changed(at, link, up)

        self._agenda.add(now + delays.detection, detect)

    def packet_in(self, now: int, router: str, port: int, frame: bytes) -> None:
        """As a network tells its controller."""
        self.plane.packet_in(now, router, port, frame)

    def timer(self, now: int) -> None:
        """Do what is due at `now`."""
        self._agenda.run(now)
        self.plane.timer(now)

    def next_timer(self) -> int | None:
        """When `timer` must be called at the latest."""
        due = [at for at in (self._agenda.due, self.plane.next_timer()) if at is not None]
        return min(due, default=None)
