"""The router's side of IGMP: who listens to what behind each port (RFC 2236, RFC 3376).

What it does, and the one simplification, are described in `control.membership`.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network

from p4lab.control.membership import (
    MAX_GROUPS,
    MAX_SOURCES,
    SECOND,
    Effects,
    GroupView,
    MembershipRouter,
    Timers,
)
from p4lab.packets.igmp import NO_ADDRESS, parse, query_v3
from p4lab.packets.membership import Message, Query

__all__ = [
    "MAX_GROUPS",
    "MAX_SOURCES",
    "SECOND",
    "Effects",
    "GroupView",
    "IgmpRouter",
    "IgmpTimers",
]

LINK_LOCAL = IPv4Network("224.0.0.0/24")

IgmpTimers = Timers


class IgmpRouter(MembershipRouter[IPv4Address]):
    """IGMP on the host-facing ports of one router, whose IPv4 address there is `address`."""

    version = 3
    any_group = NO_ADDRESS
    response_unit = SECOND // 10
    # Hosts of version 1 fall silent when they leave: beside one, no leave is believed.
    first_with_leaves = 2

    def _read(self, packet: bytes) -> tuple[IPv4Address, Message[IPv4Address]]:
        return parse(packet)

    def _write(self, query: Query[IPv4Address]) -> bytes:
        return query_v3(self.address, query)

    def _not_routed(self, group: IPv4Address) -> str | None:
        return "link-local group" if group in LINK_LOCAL else None
