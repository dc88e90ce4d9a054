"""The system of the lab: MLD on every router, and copies on the links that lead to members.

The topology must be a tree: a group's copies take every link of it at most once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from ipaddress import IPv6Address
from typing import Any, ClassVar

from p4lab.control.igp import underlay
from p4lab.control.listeners import ListeningPlane, membership
from p4lab.control.mld import MldRouter
from p4lab.control.rows import delivery
from p4lab.model.control import Driver
from p4lab.model.entries import Entity, Entries, Lpm, TableEntry
from p4lab.model.layout import Layouts
from p4lab.model.run import Plan
from p4lab.model.system import System
from p4lab.packets.ip import ETHERTYPE_IPV6, ethernet, link_local, multicast_mac
from p4lab.topology import Router


class Groups(ListeningPlane):
    """Routes to all hosts, and what MLD says."""

    ether_type = ETHERTYPE_IPV6
    not_ours = "not an IPv6 frame"

    def querier(self, router: Router, ports: list[int]) -> MldRouter:
        return MldRouter(link_local(router.mac(0)), ports)

    def frame(self, router: Router, port: int, packet: bytes) -> bytes:
        mac = multicast_mac(IPv6Address(packet[24:40]))
        return ethernet(mac, router.mac(port), ETHERTYPE_IPV6, packet)

    def compute(self) -> dict[str, Entries]:
        return {
            router.name: frozenset([*self._routes(router.name), *self._copies(router.name)])
            for router in self.topology.routers
        }

    def _routes(self, router: str) -> Iterator[TableEntry]:
        igp = underlay(self.topology, self.failures)
        for host in self.topology.hosts:
            near = igp.next_hop(router, host.router) or host.name
            far = 0 if near == host.name else self.topology.port(near, router)
            port = self.topology.port(router, near)
            params = (("port", port), ("mac", self.topology.mac(near, far)))
            yield TableEntry("routes", (("dst", Lpm(int(host.ip6), 128)),), "route", params)

    def _copies(self, router: str) -> list[Entity]:
        """Copies on all links towards members; what would go back the P4 program drops."""
        igp = underlay(self.topology, self.failures)
        ports: dict[int, set[int]] = defaultdict(set)
        for member in self.membership:
            hop = igp.next_hop(router, member.router)
            ports[member.group].add(self.topology.port(router, hop) if hop else member.port)
        return delivery(ports)


class Six(System):
    """Multicast as IPv6 has it."""

    name: ClassVar[str] = "six"

    def control_plane(
        self, plan: Plan, driver_for_router: Callable[[str], Driver], layouts: Layouts | None = None
    ) -> Any:
        return Groups(plan.topology, driver_for_router)

    def waiting(self, plan: Plan, plane: Groups) -> str:
        missing = len(membership(plan) - plane.membership)
        return f"{missing} subscriptions" if missing else ""
