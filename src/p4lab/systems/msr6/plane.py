"""The running control plane of MSR6: MLD in, entries out, and ICMPv6 errors for the refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from ipaddress import IPv6Address

from p4lab.control.listeners import ListeningPlane
from p4lab.control.mld import MldRouter, MldTimers
from p4lab.model.control import Driver
from p4lab.model.entries import Entries
from p4lab.packets.ip import ETHERTYPE_IPV6, ethernet, link_local, multicast_mac
from p4lab.systems.msr6.entries import msr6_entries
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
        sources: Iterable[str] = (),
        timers: MldTimers | None = None,
    ) -> None:
        """`sources` are the routers where packets come in, for settings without trees. Raises
        NumberError."""
        self.settings = settings or Msr6Settings()
        self._sources = frozenset(sources)
        self._timers = timers
        super().__init__(topology, driver_for_router)

    def querier(self, router: Router, ports: list[int]) -> MldRouter:
        return MldRouter(link_local(router.mac(0)), ports, self._timers)

    def frame(self, router: Router, port: int, packet: bytes) -> bytes:
        group = IPv6Address(packet[24:40])
        return ethernet(multicast_mac(group), router.mac(port), ETHERTYPE_IPV6, packet)

    def compute(self) -> dict[str, Entries]:
        """What every router shall hold, from all that is known now."""
        return msr6_entries(
            self.topology, self.membership, self.settings, self._sources, self.failures
        )
