"""The running control plane of MSR6: MLD in, entries out, and ICMPv6 errors for the refused."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv6Address

from p4lab.control.limit import TokenBucket
from p4lab.control.listeners import ListeningPlane
from p4lab.control.mld import MldRouter, MldTimers
from p4lab.model.control import Driver, PacketIn
from p4lab.model.entries import Entries, Exact, TableEntry
from p4lab.model.layout import Layouts
from p4lab.packets.icmp import packet_too_big
from p4lab.packets.ip import (
    ETHERTYPE_IPV6,
    PROTOCOL_HOP_BY_HOP,
    ethernet,
    link_local,
    multicast_mac,
)
from p4lab.systems.msr6 import chip
from p4lab.systems.msr6.answers import answer
from p4lab.systems.msr6.entries import NO_SOURCES, Sources, msr6_entries
from p4lab.systems.msr6.places import places
from p4lab.systems.msr6.settings import Msr6Settings
from p4lab.topology import Router, Topology


class Msr6ControlPlane(ListeningPlane):
    """MLD for every router, and trees for what hosts listen to."""

    ether_type = ETHERTYPE_IPV6
    not_ours = "not an IPv6 frame"

    def __init__(
        self,
        topology: Topology,
        driver_for_router: Callable[[str], Driver],
        settings: Msr6Settings | None = None,
        sources: Sources = NO_SOURCES,
        timers: MldTimers | None = None,
        layouts: Layouts | None = None,
    ) -> None:
        """`sources` are where packets come in, for settings without trees; `layouts`
        those of chips. Raises NumberError."""
        self._layouts = layouts
        self.settings = settings or Msr6Settings()
        self._sources = sources
        self._timers = timers
        self._limits = {router.name: TokenBucket() for router in topology.routers}
        self.answered = 0
        """ICMPv6 errors sent"""
        super().__init__(topology, driver_for_router)

    def querier(self, router: Router, ports: list[int]) -> MldRouter:
        return MldRouter(link_local(router.mac(0)), ports, self._timers)

    def frame(self, router: Router, port: int, packet: bytes) -> bytes:
        group = IPv6Address(packet[24:40])
        return ethernet(multicast_mac(group), router.mac(port), ETHERTYPE_IPV6, packet)

    def compute(self) -> dict[str, Entries]:
        """What every router shall hold, from all that is known now."""
        found = self.settings
        if self._layouts is not None:
            found = found.model_copy(update={"entries": min(found.entries, chip.SEGMENTS)})
        wanted = msr6_entries(self.topology, self.membership, found, self._sources, self.failures)
        if self._layouts is None:
            return wanted
        return {name: chip.on_chip(rows, self._layouts[name]) for name, rows in wanted.items()}

    def packet_in(self, now: int, router: str, packet: PacketIn) -> None:
        """A packet of MLD, or one that the switch refuses: its sender is told, not too often."""
        port, frame, _ = packet
        if not _is_refused(frame):
            super().packet_in(now, router, packet)
            return
        # Without the last byte: networks here know a copy by how it ends, and an error is none.
        answer = self._answer(router, frame[14:-1])
        if isinstance(answer, str):
            self.ignored[answer] += 1
        elif port not in self.topology.ports(router):
            self.ignored["refused by its own ingress"] += 1
        elif not self._limits[router].allows(now):
            self.ignored["refused, and answered often enough"] += 1
        else:
            self.answered += 1
            back = int.from_bytes(frame[6:12], "big")
            own = self.topology.router(router).mac(port)
            self._drivers[router].packet_out(port, ethernet(back, own, ETHERTYPE_IPV6, answer))

    def _answer(self, router: str, packet: bytes) -> bytes | str:
        address = self.topology.router(router).address6
        if packet[24:40] == address.packed:
            return f"for the router itself, from {IPv6Address(packet[8:24])}"
        if IPv6Address(packet[24:40]).is_multicast:
            mtu = self._longest(router, int.from_bytes(packet[24:40], "big"))
            too_big = mtu is not None and packet_too_big(address, packet, mtu)
            return too_big or "must not be answered"
        return answer(address, places(self.topology, self.failures)[router], packet)

    def _longest(self, router: str, group: int) -> int | None:
        """The longest packet to a group that fits with its tree in front; None without a tree."""
        for row in self.entries(router):
            if isinstance(row, TableEntry) and row.table == "trees":
                params = dict(row.params)
                if dict(row.match)["group"] == Exact(group):
                    return params["mtu"]
        return None


def _is_refused(frame: bytes) -> bool:
    """Whether a frame is no MLD: all other IPv6 packets that a switch hands over are refused."""
    is_ipv6 = int.from_bytes(frame[12:14], "big") == ETHERTYPE_IPV6 and len(frame) >= 14 + 40
    return is_ipv6 and not (frame[38] == 0xFF and frame[20] == PROTOCOL_HOP_BY_HOP)
