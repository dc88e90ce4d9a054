"""The running control plane with fast reroute: what happens from the moment a link fails.

    the link fails   the routers at its ends see it (detection), note it in the data plane and from
                     then on use their backups
    + distance       the controller hears of it
    + computation    new unicast routes
    + distance, rows written, row after row (in which order of routers: `_waves`)
    + computation    new BIER tables, which follow the unicast routes
    + distance, rows written
    + distance, rows new backups, for the next failure

`LinkAgents` is the first part, `FrrControlPlane` the rest. Times are nanoseconds since any fixed
moment; all of them are parameters (`Delays`) and are kept, with what they led to, in `timeline`.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import lru_cache
from itertools import count
from math import inf
from typing import Literal, Protocol

from p4lab.control.igmp import IgmpTimers
from p4lab.control.igp import underlay
from p4lab.control.listeners import Member
from p4lab.model.control import ControlPlane, Driver, PacketIn
from p4lab.model.entries import Entries, diff
from p4lab.systems.bier.entries import bier_entries
from p4lab.systems.bier.plane import BierControlPlane
from p4lab.systems.frr.entries import FULL, Protection, backup_entries, port_status, route_entries
from p4lab.systems.frr.heartbeat import Heartbeat, watch_entries
from p4lab.topology import NO_FAILURES, Failures, Link, Topology

Stage = Literal["detection", "notification", "computation", "update"]
Family = Literal["ip", "bier", "backup"]
FAMILIES: tuple[Family, ...] = ("ip", "bier", "backup")
"""The order in which tables are written: BIER follows the unicast routes, and what only helps in
the next failure comes last."""


@dataclass(frozen=True)
class Delays:
    """How long the steps after a failure take, in nanoseconds.

    `distance` is one way between a router and the controller, `row` the time that a router takes
    to write one row. Backups are computed together with the BIER tables.
    """

    detection: int = 0
    distance: int = 0
    ip_computation: int = 0
    bier_computation: int = 0
    row: int = 0

    def computation(self, family: Family) -> int:
        """How long the controller computes the tables of a family."""
        return {"ip": self.ip_computation, "bier": self.bier_computation}.get(family, 0)

    def varied(self, draw: random.Random, spread: float) -> Delays:
        """The same, each drawn from a normal distribution with standard deviation `spread`
        times its mean, and not below zero."""
        means = {field.name: getattr(self, field.name) for field in fields(self)}
        return Delays(
            **{name: max(0, round(draw.gauss(mean, spread * mean))) for name, mean in means.items()}
        )


AT_ONCE = Delays()


@dataclass(frozen=True)
class Step:
    """Something that took from `begin` to `end`: at a router, or at the controller (None)."""

    stage: Stage
    family: Family | None
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


class TimedControlPlane(ControlPlane, Protocol):
    """A control plane in which things take time, as `delays` says. `timeline` keeps what links that
    change have led to, and `failures` has those that are known to be down."""

    topology: Topology
    delays: Delays
    timeline: list[Step]
    failures: Failures

    @property
    def settled(self) -> bool:
        """Whether the tables of all routers follow from what is known."""


class FrrControlPlane(BierControlPlane):
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
        heartbeat: Heartbeat | None = None,
    ) -> None:
        """`bsl` in bits. With `heartbeat`, switches watch their neighbours themselves, and
        HeartbeatAgents must send heartbeats. Raises NumberError."""
        self.protection = protection
        self.delays = delays
        self.timeline: list[Step] = []
        self._watched = watch_entries(topology, heartbeat) if heartbeat else {}
        self._agenda = Agenda()
        self._busy = False
        self._reacted_to = NO_FAILURES
        # What each router's tables take for broken: it changes table by table, router by router.
        self._down = {
            family: {router.name: NO_FAILURES for router in topology.routers} for family in FAMILIES
        }
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
            igmp = self._queriers[link.a]
            self._apply(now, link.a, (igmp.port_up if up else igmp.port_down)(now, link.a_port))
        if not self._busy:
            self._react(now)
            self._agenda.run(now)

    def seen(self, link: Link, up: bool) -> tuple[tuple[str, int, bytes], ...]:
        """The port states of both ends."""
        ends = [(link.a, link.a_port)]
        if not link.is_access:
            ends.append((link.b, link.b_port))
        return tuple((router, *port_status(port, not up)) for router, port in ends)

    @property
    def settled(self) -> bool:
        """Whether the tables of all routers follow from what is known."""
        return not self._busy

    def _react(self, now: int) -> None:
        """Bring all tables to what is known now, one family after the other."""
        self._busy = True
        known = self.failures
        waves = self._waves(self._reacted_to, known)
        families = iter(FAMILIES)

        def compute(at: int) -> None:
            family = next(families, None)
            if family is None:
                self._busy = False
                self._reacted_to = known
                if self.failures != known:
                    self._react(at)
                return
            duration = self.delays.computation(family)

            def write(then: int) -> None:
                if duration:
                    self.timeline.append(Step("computation", family, at, then))
                self._write(then, family, known, iter(waves), compute)

            self._agenda.add(at + duration, write)

        compute(now)

    def _waves(self, before: Failures, known: Failures) -> list[list[str]]:
        """Which routers are written together, one wave after the other.

        Without fast reroute all at once, since those beside the failure are waited for. With it
        nobody waits, and the order can be one in which no two routers send packets to each other:
        when a link goes down those far from it first, when it is back those next to it (RFC 6976).
        """
        names = [router.name for router in self.topology.routers]
        if not self.protection.ip or self.protection.bier == "none":
            return [names]
        changed = {end for link in before.links ^ known.links for end in link}
        worse = bool(known.links - before.links)
        distances = underlay(self.topology, before if worse else known).distances
        ranks: dict[float, list[str]] = {}
        for name in names:
            rank = min(
                (distances[name][end] for end in changed & set(distances[name])), default=inf
            )
            ranks.setdefault(rank, []).append(name)
        return [ranks[rank] for rank in sorted(ranks, reverse=worse)]

    def _write(
        self,
        now: int,
        family: Family,
        known: Failures,
        waves: Iterator[list[str]],
        then: Callable[[int], None],
    ) -> None:
        """Each router gets its rows when they have arrived and were written; then go on."""
        wave = next(waves, None)
        if wave is None:
            self._agenda.add(now, then)
            return
        state, delays = self._down[family], self.delays
        after = self._tables(family, known)
        last = now
        for router in wave:
            before = self._tables(family, state[router])
            changed = len(diff(before[router], after[router]))
            if not changed:
                state[router] = known
                continue
            done = now + delays.distance + changed * delays.row
            last = max(last, done + delays.distance)

            def write(at: int, router: str = router, changed: int = changed) -> None:
                state[router] = known
                self.timeline.append(Step("update", family, now, at, router, changed))
                self._wanted[router] = self._wanted_of(router)
                self._push()

            self._agenda.add(done, write)
        self._agenda.add(last, lambda at: self._write(at, family, known, waves, then))

    def compute(self) -> dict[str, Entries]:
        return {router.name: self._wanted_of(router.name) for router in self.topology.routers}

    def _wanted_of(self, router: str) -> Entries:
        rows = (self._tables(family, self._down[family][router])[router] for family in FAMILIES)
        return self._watched.get(router, frozenset()).union(*rows)

    def _tables(self, family: Family, down: Failures) -> dict[str, Entries]:
        if family == "ip":
            return route_entries(self.topology, down)
        if family == "bier":
            return _bier_tables(self.topology, self.membership, self.bsl, down)
        return backup_entries(self.topology, self.bsl, down, self.protection)


@lru_cache(maxsize=8)
def _bier_tables(
    topology: Topology, membership: frozenset[Member], bsl: int, down: Failures
) -> dict[str, Entries]:
    return bier_entries(topology, membership, bsl, down)


class LinkAgents:
    """On every router, what sees that a cable is dead: it tells its switch, then the controller.

    Pass it to a network in place of the control plane, and tell it of every link that is cut.
    """

    def __init__(
        self, plane: TimedControlPlane, driver_for_router: Callable[[str], Driver]
    ) -> None:
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

        def detect(at: int) -> None:
            if self._state[link.ends] != up:
                return  # it was back before anybody saw it
            for router, port, frame in self.plane.seen(link, up):
                self._drivers[router].packet_out(port, frame)
                self.plane.timeline.append(Step("detection", None, now, at, router))
            self._agenda.add(at + delays.distance, lambda then: notify(at, then))

        def notify(seen: int, at: int) -> None:
            self.plane.timeline.append(Step("notification", None, seen, at))
            self.plane.link_changed(at, link, up)

        self._agenda.add(now + delays.detection, detect)

    def reconcile(self, router: str) -> None:
        """The router's switch was started anew and has forgotten which of its ports are down."""
        for ends, up in self._state.items():
            if not up and router in ends:
                (other,) = ends - {router}
                port = self.plane.topology.port(router, other)
                self._drivers[router].packet_out(*port_status(port, True))

    @property
    def settled(self) -> bool:
        """Whether all news have been seen, told, and turned into tables."""
        return self._agenda.due is None and self.plane.settled

    def packet_in(self, now: int, router: str, packet: PacketIn) -> None:
        """As a network tells its controller."""
        self.plane.packet_in(now, router, packet)

    def timer(self, now: int) -> None:
        """Do what is due at `now`."""
        self._agenda.run(now)
        self.plane.timer(now)

    def next_timer(self) -> int | None:
        """When `timer` must be called at the latest."""
        due = [at for at in (self._agenda.due, self.plane.next_timer()) if at is not None]
        return min(due, default=None)
