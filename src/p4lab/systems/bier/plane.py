"""The running control plane: packets from the switches in, table entries and queries out.

    plane = BierControlPlane(topology, 256, driver_for_router)
    plane.start(now)
    plane.packet_in(now, "r1", 1, frame)

Time is passed in as nanoseconds since any fixed moment. The plane reads no clock, opens no
connection and knows no target: a `Driver` per router does what it says.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address

from p4lab.control.igmp import Effects, IgmpRouter, IgmpTimers
from p4lab.control.plane import EntryPlane
from p4lab.model.control import Driver
from p4lab.model.entries import Entries
from p4lab.packets.ip import ETHERTYPE_IPV4, ethernet, multicast_mac
from p4lab.systems.bier.entries import Member, bier_entries
from p4lab.topology import Failures, Link, Router, Topology


class BierControlPlane(EntryPlane):
    """IGMP for every router, and the BIER entries that follow from it; `membership` is who listens
    where."""

    def __init__(
        self,
        topology: Topology,
        bsl: int,
        driver_for_router: Callable[[str], Driver],
        timers: IgmpTimers | None = None,
    ) -> None:
        """`bsl` is the BitStringLength in bits: 64, 128 or 256. Raises NumberError."""
        self.bsl = bsl
        self.membership: frozenset[Member] = frozenset()
        super().__init__(topology, driver_for_router)
        self._igmp = {
            router.name: IgmpRouter(
                router.address, [host.port for host in topology.hosts_of(router.name)], timers
            )
            for router in topology.routers
        }

    def start(self, now: int) -> None:
        """Write the entries that need no membership and ask all hosts what they listen to."""
        super().start(now)
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

    def igmp(self, router: str) -> IgmpRouter:
        """The IGMP state of a router, to look at."""
        return self._igmp[router]

    def compute(self) -> dict[str, Entries]:
        """What every router shall hold, from all that is known now."""
        return bier_entries(self.topology, self.membership, self.bsl, self.failures)

    def _apply(self, router: str, effects: Effects) -> None:
        if effects.joins or effects.leaves:
            joined = {Member(router, port, group) for port, group in effects.joins}
            left = {Member(router, port, group) for port, group in effects.leaves}
            self.membership = self.membership - left | joined
            self._recompute()
        for port, packet in effects.packets:
            frame = _frame(self.topology.router(router), port, packet)
            self._drivers[router].packet_out(port, frame)


def _frame(router: Router, port: int, packet: bytes) -> bytes:
    group = IPv4Address(packet[16:20])
    return ethernet(multicast_mac(group), router.mac(port), ETHERTYPE_IPV4, packet)
