"""The running control plane: packets from the switches in, table entries and queries out.

    plane = BierControlPlane(topology, 256, driver_for_router)
    plane.start(now)
    plane.packet_in(now, "r1", 1, frame)

Time is passed in as nanoseconds since any fixed moment. The plane reads no clock, opens no
connection and knows no target: a `Driver` per router does what it says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from ipaddress import IPv4Address

from p4lab.control.igmp import Effects, IgmpRouter, IgmpTimers
from p4lab.model.control import Driver, RefusedError
from p4lab.model.entries import Entries, diff
from p4lab.packets.ip import ETHERTYPE_IPV4, ethernet, multicast_mac
from p4lab.systems.bier.entries import Member, bier_entries
from p4lab.topology import Failures, Link, Router, Topology


class BierControlPlane:
    """IGMP for every router, and the BIER entries that follow from it.

    `membership` is who listens where, `failures` which links are down, and `ignored` counts
    packets without effect by reason. The first error of a driver passes through to the caller
    when all routers had their turn; the router it belongs to keeps its old entries and gets the
    difference with the next change.
    """

    def __init__(
        self,
        topology: Topology,
        bsl: int,
        driver_for_router: Callable[[str], Driver],
        timers: IgmpTimers | None = None,
    ) -> None:
        """`bsl` is the BitStringLength in bits: 64, 128 or 256. Raises NumberError."""
        self.topology = topology
        self.bsl = bsl
        self.membership: frozenset[Member] = frozenset()
        self.failures = Failures()
        self.ignored: Counter[str] = Counter()
        self._wanted = self._compute()
        self._written: dict[str, Entries] = {}
        self._drivers = {router.name: driver_for_router(router.name) for router in topology.routers}
        self._igmp = {
            router.name: IgmpRouter(
                router.address, [host.port for host in topology.hosts_of(router.name)], timers
            )
            for router in topology.routers
        }

    def start(self, now: int) -> None:
        """Write the entries that need no membership and ask all hosts what they listen to."""
        self._push()
        for router, igmp in self._igmp.items():
            self._apply(router, igmp.start(now))

    def packet_in(self, now: int, router: str, port: int, frame: bytes) -> None:
        """An Ethernet frame that `router` received on `port` and sent to its CPU port."""
        if int.from_bytes(frame[12:14], "big") != ETHERTYPE_IPV4:
            self.ignored["not an IPv4 frame"] += 1
            return
        self._apply(router, self._igmp[router].handle(now, port, frame[14:]))

    def timer(self, now: int) -> None:
        """Do what is due at `now`."""
        for router, igmp in self._igmp.items():
            due = igmp.next_timer()
            if due is not None and due <= now:
                self._apply(router, igmp.timer(now))

    def next_timer(self) -> int | None:
        """When `timer` has to be called at the latest, in nanoseconds; None before the start."""
        due = [at for igmp in self._igmp.values() if (at := igmp.next_timer()) is not None]
        return min(due, default=None)

    def link_changed(self, now: int, link: Link, up: bool) -> None:
        """A link has failed or is back: route around it, or forget who listened behind it."""
        links = self.failures.links - {link.ends} if up else self.failures.links | {link.ends}
        self.failures = Failures(links)
        if link.is_access:
            igmp = self._igmp[link.a]
            change = igmp.port_up if up else igmp.port_down
            self._apply(link.a, change(now, link.a_port))
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

    def reconcile(self, routers: Iterable[str]) -> None:
        """Start from what these switches really hold: they, or this control plane, were started
        anew. What is right stays untouched, all else is changed to what is wanted."""
        for router in routers:
            self._written[router] = self._drivers[router].entries()
        self._push()

    def entries(self, router: str) -> Entries:
        """What has been written to a router so far."""
        return self._written.get(router, frozenset())

    def igmp(self, router: str) -> IgmpRouter:
        """The IGMP state of a router, to look at."""
        return self._igmp[router]

    def _apply(self, router: str, effects: Effects) -> None:
        if effects.joins or effects.leaves:
            joined = {Member(router, port, group) for port, group in effects.joins}
            left = {Member(router, port, group) for port, group in effects.leaves}
            self.membership = self.membership - left | joined
            self._recompute()
        for port, packet in effects.packets:
            frame = _frame(self.topology.router(router), port, packet)
            self._drivers[router].packet_out(port, frame)

    def _recompute(self) -> None:
        self._wanted = self._compute()
        self._push()

    def _compute(self) -> dict[str, Entries]:
        """What every router shall hold, from all that is known now."""
        return bier_entries(self.topology, self.membership, self.bsl, self.failures)

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


def _frame(router: Router, port: int, packet: bytes) -> bytes:
    group = IPv4Address(packet[16:20])
    return ethernet(multicast_mac(group), router.mac(port), ETHERTYPE_IPV4, packet)
