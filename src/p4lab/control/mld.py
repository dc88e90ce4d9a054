"""The router's side of MLD: who listens to what behind each port (RFC 2710, RFC 3810).

What it does, and the one simplification, are described in `control.membership`. The router
speaks version 2 and understands hosts of version 1 (RFC 3810, section 8). It does not fall back
to version 1 beside a router that speaks only that: such a router has to be told so by a person
(section 8.3.1).
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv6Address

from p4lab.control.membership import (
    MAX_GROUPS,
    MAX_SOURCES,
    SECOND,
    Effects,
    GroupView,
    MembershipRouter,
    Timers,
)
from p4lab.packets.membership import Malformed, Message, Query
from p4lab.packets.mld import NO_ADDRESS, parse, query_v2

__all__ = [
    "MAX_GROUPS",
    "MAX_SOURCES",
    "SECOND",
    "Effects",
    "GroupView",
    "MldRouter",
    "MldTimers",
]

LINK_SCOPE = 2  # of an IPv6 group (RFC 4291, section 2.7); smaller ones do not even reach the link

MldTimers = Timers


class MldRouter(MembershipRouter[IPv6Address]):
    """MLD on the host-facing ports of one router, whose link-local address there is `address`."""

    version = 2
    any_group = NO_ADDRESS
    response_unit = SECOND // 1000
    # A Done is sent by hosts of version 1, too, and the others answer the question that follows.
    first_with_leaves = 1

    def __init__(
        self, address: IPv6Address, ports: Iterable[int], timers: Timers | None = None
    ) -> None:
        if not address.is_link_local:
            raise ValueError(
                f"{address} is not a link-local address: hosts ignore its queries; "
                "take link_local(mac) of the router"
            )
        super().__init__(address, ports, timers)

    def _read(self, packet: bytes) -> tuple[IPv6Address, Message[IPv6Address]]:
        """As `parse`, without reports from hosts that have no address yet (RFC 3810, 5.2.13)."""
        source, message = parse(packet)
        if source == NO_ADDRESS:
            raise Malformed("report from ::")
        return source, message

    def _write(self, query: Query[IPv6Address]) -> bytes:
        return query_v2(self.address, query)

    def _not_routed(self, group: IPv6Address) -> str | None:
        within_link = group.packed[1] & 0xF <= LINK_SCOPE
        return "group that does not leave the link" if within_link else None
