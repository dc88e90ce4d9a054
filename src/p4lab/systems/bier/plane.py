"""The running BIER control plane: IGMP in, entries out.

    plane = BierControlPlane(topology, 64, driver_for_router)
    plane.start(now)
    plane.packet_in(now, "r3", PacketIn(1, frame))

Time is passed in as nanoseconds since any fixed moment. The plane reads no clock, opens no
connection and knows no target: a `Driver` per router does what it says.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address

from p4lab.control.igmp import IgmpRouter, IgmpTimers
from p4lab.control.listeners import ListeningPlane
from p4lab.model.control import Driver
from p4lab.model.entries import Entries
from p4lab.packets.ip import ETHERTYPE_IPV4, ethernet, multicast_mac
from p4lab.systems.bier.entries import bier_entries
from p4lab.topology import Router, Topology


class BierControlPlane(ListeningPlane):
    """IGMP for every router, and the BIER entries that follow from it."""

    ether_type = ETHERTYPE_IPV4
    not_ours = "not an IPv4 frame"

    def __init__(
        self,
        topology: Topology,
        bsl: int,
        driver_for_router: Callable[[str], Driver],
        timers: IgmpTimers | None = None,
    ) -> None:
        """`bsl` is the BitStringLength in bits: 64, 128 or 256. Raises NumberError."""
        self.bsl = bsl
        self._timers = timers
        super().__init__(topology, driver_for_router)

    def querier(self, router: Router, ports: list[int]) -> IgmpRouter:
        return IgmpRouter(router.address, ports, self._timers)

    def frame(self, router: Router, port: int, packet: bytes) -> bytes:
        group = IPv4Address(packet[16:20])
        return ethernet(multicast_mac(group), router.mac(port), ETHERTYPE_IPV4, packet)

    def compute(self) -> dict[str, Entries]:
        """What every router shall hold, from all that is known now."""
        return bier_entries(self.topology, self.membership, self.bsl, self.failures)
