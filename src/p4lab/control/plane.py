"""What control planes have in common: entries that follow from what is known, and are pushed.

    class Router(EntryPlane):
        def compute(self) -> dict[str, Entries]:
            return entries_of(self.topology, self.failures)

Time is passed in as nanoseconds since any fixed moment. A plane reads no clock, opens no
connection and knows no target: a `Driver` per router does what it says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from p4lab.model.control import Driver, PacketIn, RefusedError
from p4lab.model.entries import Entries, diff
from p4lab.topology import Failures, Link, Topology


class EntryPlane:
    """A control plane that writes what `compute` says, and only the difference when it changes.

    `failures` are the links that it knows to be down, and `ignored` counts packets without effect
    by reason. The first error of a driver passes through to the caller when all routers had their
    turn; the router it belongs to keeps its old entries and gets the difference with the next
    change.
    """

    def __init__(self, topology: Topology, driver_for_router: Callable[[str], Driver]) -> None:
        """Computes the entries; nothing is written before `start`. Raises what `compute` raises."""
        self.topology = topology
        self.failures = Failures()
        self.ignored: Counter[str] = Counter()
        self._wanted = self.compute()
        self._written: dict[str, Entries] = {}
        self._drivers = {router.name: driver_for_router(router.name) for router in topology.routers}

    def compute(self) -> dict[str, Entries]:
        """What every router shall hold, by name, from all that is known now."""
        raise NotImplementedError

    def start(self, now: int) -> None:
        """Write the entries."""
        self._push()

    def packet_in(self, now: int, router: str, packet: PacketIn) -> None:
        """What `router` has sent to its CPU port: nobody wants it."""
        self.ignored["not expected"] += 1

    def timer(self, now: int) -> None:
        """Do what is due at `now`."""

    def next_timer(self) -> int | None:
        """When `timer` has to be called at the latest, in nanoseconds; None for never."""
        return None

    def link_changed(self, now: int, link: Link, up: bool) -> None:
        """A link has failed or is back: compute anew."""
        links = self.failures.links - {link.ends} if up else self.failures.links | {link.ends}
        self.failures = Failures(links)
        self._recompute()

    def seen(self, link: Link, up: bool) -> tuple[tuple[str, int, bytes], ...]:
        """What tells the switches at a link's ends that it has failed or is back: router, port and
        frame for `Driver.packet_out`. Nothing where no switch can act on it."""
        return ()

    def link_seen(self, link: Link, up: bool) -> None:
        """The routers at the link's ends see it fail or come back. This is not news to us: that
        is `link_changed`."""
        for router, port, frame in self.seen(link, up):
            self._drivers[router].packet_out(port, frame)

    def port_seen(self, router: str, port: int, up: bool) -> None:
        """A router sees one of its own ports go down or come back, which concerns it alone."""

    def reconcile(self, routers: Iterable[str]) -> None:
        """Start from what these switches really hold: they, or this control plane, were started
        anew. What is right stays untouched, all else is changed to what is wanted."""
        for router in routers:
            self._written[router] = self._drivers[router].entries()
        self._push()

    def entries(self, router: str) -> Entries:
        """What has been written to a router so far."""
        return self._written.get(router, frozenset())

    def _recompute(self) -> None:
        self._wanted = self.compute()
        self._push()

    def _push(self) -> None:
        """Bring every router to what is wanted: one batch each, none where nothing changed.

        A driver that fails keeps nobody else waiting: its error is raised after the others' turn.
        """
        failure: Exception | None = None
        for router, wanted in self._wanted.items():
            if wanted is self._written.get(router):
                continue
            updates = diff(self.entries(router), wanted)
            if not updates:
                continue
            try:
                self._drivers[router].write(updates)
                self._written[router] = wanted
            except ValueError as error:
                failure = failure or RefusedError(f"{router} refuses its entries: {error}")
            except Exception as error:
                failure = failure or error
        if failure is not None:
            raise failure
