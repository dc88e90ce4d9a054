"""The system of the lab: routes of hosts, and addresses of routers as ends of tunnels."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv6Address
from typing import Any, ClassVar

from p4lab.control.igp import underlay
from p4lab.control.plane import EntryPlane
from p4lab.model.control import Driver
from p4lab.model.entries import Entries, Exact, Lpm, TableEntry
from p4lab.model.layout import Layouts
from p4lab.model.run import Plan
from p4lab.model.system import System
from p4lab.topology import Router

PREFIX = int(IPv6Address("2001:db8::"))


def address(router: Router) -> int:
    """The end of a router's tunnels: 2001:db8::N."""
    return PREFIX | router.number


class Tunnels(EntryPlane):
    """A route for every host at every router, and the way to every tunnel's end."""

    def compute(self) -> dict[str, Entries]:
        return {router.name: frozenset(self._rows(router)) for router in self.topology.routers}

    def _rows(self, router: Router) -> list[TableEntry]:
        igp = underlay(self.topology, self.failures)
        rows = []
        for host in self.topology.hosts:
            key = (("hdr.ipv4.dst_addr", Lpm(int(host.ip), 32)),)
            if host.router == router.name:
                args: tuple[tuple[str, int], ...] = (("port", host.port), ("mac", host.mac))
                rows.append(TableEntry("routes", key, "deliver", args))
                continue
            ends = address(router), address(self.topology.router(host.router))
            args = tuple(zip(("src", "dst"), ends, strict=True))
            rows.append(TableEntry("routes", key, "encapsulate", args))
        for other in self.topology.routers:
            next_hop = igp.next_hop(router.name, other.name)
            key = (("hdr.ipv6.dst_addr", Exact(address(other))),)
            if other == router:
                rows.append(TableEntry("ends", key, "decapsulate", ()))
            elif next_hop is not None:
                port = self.topology.port(router.name, next_hop)
                rows.append(TableEntry("ends", key, "onwards", (("port", port),)))
        return rows


class Tunnel(System):
    """IPv4 packets in IPv6 packets."""

    name: ClassVar[str] = "tunnel"

    def control_plane(
        self, plan: Plan, driver_for_router: Callable[[str], Driver], layouts: Layouts | None = None
    ) -> Any:
        return Tunnels(plan.topology, driver_for_router)
