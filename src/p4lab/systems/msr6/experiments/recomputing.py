"""The control plane of `p4/msr6` in which things take time, as in the restoration experiment.

the link fails   the routers at its ends see it (detection); no router acts on it by itself
+ distance       the controller hears of it
+ computation    what comes first: trees (TE, RLB), or unicast routes (BE)
+ distance, rows written: side by side at all routers, row after row at each
+ computation    what comes second: routes, or the tables of bit strings, which follow them
+ distance, rows written
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Literal

from p4lab.control.listeners import Membership
from p4lab.model.control import Driver
from p4lab.model.entries import Entries, TableEntry, diff
from p4lab.systems.frr.plane import Agenda, Delays, Step
from p4lab.systems.frr.plane import Family as StepFamily
from p4lab.systems.msr6.entries import Sources, msr6_entries
from p4lab.systems.msr6.plane import Msr6ControlPlane
from p4lab.systems.msr6.settings import Msr6Settings
from p4lab.topology import NO_FAILURES, Failures, Link, Topology

Family = Literal["routes", "trees"]
ROUTES = frozenset({"ipv6_routes"})
BIT_STRINGS = frozenset({"bift"})
"""Tables that only BE reads"""


class Recomputing(Msr6ControlPlane):
    """Knows one failure of a link between routers. `timeline` keeps what that has led to.

    Trees need no other computation than routes do: both are shortest paths. The tables of BE are
    those of BIER, and take as long.
    """

    def __init__(
        self,
        topology: Topology,
        driver_for_router: Callable[[str], Driver],
        settings: Msr6Settings,
        sources: Sources,
        delays: Delays,
    ) -> None:
        self.delays = delays
        self.timeline: list[Step] = []
        self.order: tuple[tuple[Family, int], ...] = (
            (("routes", delays.ip_computation), ("trees", delays.bier_computation))
            if settings.encoding == "be"
            else (("trees", delays.ip_computation), ("routes", 0))
        )
        self._agenda = Agenda()
        self._busy = False
        self._down = {
            (family, router.name): NO_FAILURES
            for family in ("routes", "trees")
            for router in topology.routers
        }
        super().__init__(topology, driver_for_router, settings, sources)

    def timer(self, now: int) -> None:
        self._agenda.run(now)
        super().timer(now)

    def next_timer(self) -> int | None:
        due = [at for at in (self._agenda.due, super().next_timer()) if at is not None]
        return min(due, default=None)

    @property
    def settled(self) -> bool:
        """Whether the tables of all routers follow from what is known."""
        return not self._busy

    def link_changed(self, now: int, link: Link, up: bool) -> None:
        """The news that a link has failed has arrived at `now`."""
        self.failures = Failures(self.failures.links | {link.ends})
        self._busy = True
        self._react(now, iter(self.order))
        self._agenda.run(now)

    def _react(self, now: int, families: Iterator[tuple[Family, int]]) -> None:
        family, computation = next(families, (None, 0))
        if family is None:
            self._busy = False
            return
        written: StepFamily = "ip" if family == "routes" else "bier"

        def write(at: int) -> None:
            if computation:
                self.timeline.append(Step("computation", written, now, at))
            last = at
            for router, changed in self._changes(family, self.failures).items():
                done = at + self.delays.distance + changed * self.delays.row
                last = max(last, done + self.delays.distance)
                self._agenda.add(done, partial(take_effect, router))
                self.timeline.append(Step("update", written, at, done, router, changed))
            self._agenda.add(last, lambda then: self._react(then, families))

        def take_effect(router: str, at: int) -> None:
            self._down[family, router] = self.failures
            self._wanted[router] = self._wanted_of(router)
            self._push()

        self._agenda.add(now + computation, write)

    def until_trees(self, down: Failures) -> int:
        """Nanoseconds from a failure until all routers have the rows of their trees."""
        delays = self.delays
        total = delays.detection + delays.distance
        for family, computation in self.order:
            rows = max(self._changes(family, down).values(), default=0)
            total += computation + delays.distance + rows * delays.row
            if family == "trees":
                return total
            total += delays.distance
        raise AssertionError("every order has trees")

    def _changes(self, family: Family, down: Failures) -> dict[str, int]:
        """How many rows of a family change with a failure, by router, where any do."""
        before, after = self._tables(NO_FAILURES), self._tables(down)
        counts = {
            name: len(diff(_of(before[name], family), _of(after[name], family))) for name in after
        }
        return {name: count for name, count in counts.items() if count}

    def compute(self) -> dict[str, Entries]:
        return {router.name: self._wanted_of(router.name) for router in self.topology.routers}

    def _wanted_of(self, router: str) -> Entries:
        families: tuple[Family, ...] = ("routes", "trees")
        rows = (
            _of(self._tables(self._down[family, router])[router], family) for family in families
        )
        return frozenset().union(*rows)

    def _tables(self, down: Failures) -> dict[str, Entries]:
        return tables(self.topology, self.membership, self.settings, self._sources, down)


@lru_cache(maxsize=16)
def tables(
    topology: Topology,
    membership: Membership,
    settings: Msr6Settings,
    sources: Sources,
    down: Failures = NO_FAILURES,
) -> dict[str, Entries]:
    """Everything every router needs, without what only other encodings read."""
    unread = frozenset() if settings.encoding == "be" else BIT_STRINGS
    found = msr6_entries(topology, membership, settings, sources, down)
    return {
        name: frozenset(row for row in rows if _table(row) not in unread)
        for name, rows in found.items()
    }


def _of(rows: Entries, family: Family) -> Entries:
    """Routes, or all the rest."""
    return frozenset(row for row in rows if (_table(row) in ROUTES) == (family == "routes"))


def _table(row: object) -> str:
    return row.table if isinstance(row, TableEntry) else ""
