"""What makes a Linux host a leaf: its kernel takes the outer headers off.

The host runs no program for that. What the kernel does with which header, and what it does not look
at, is measured: docs/msr6.md, "Real Linux hosts".

The drafts' layouts are not public. This encoding is p4lab's own profile, not an IETF format.
"""

from __future__ import annotations

from ipaddress import IPv6Address


def leaf_commands(sid: IPv6Address, interface: str) -> list[list[str]]:
    """Commands for root inside the host. After them, what is inside packets that come in by
    `interface` and are addressed to `sid` goes to the host's own sockets (End.DT6 of RFC 8986,
    section 4.6).

    The interface has to be up and to have IPv6. Repeating the commands changes nothing.
    """
    # `table local` has the host's own addresses and groups. `table main`, which examples for
    # routers use, has not, and everything would be dropped.
    action = ["encap", "seg6local", "action", "End.DT6", "table", "local"]
    route = ["ip", "-6", "route", "replace", str(sid), *action, "dev", interface]
    return [*accept_srh_commands(interface), route]


def accept_srh_commands(interface: str) -> list[list[str]]:
    """Commands after which the host also takes in packets that reach one of its ordinary addresses
    behind a routing header of type 4 (RFC 8754) in the last segment. A SID of its own, as above,
    does without."""
    # Slashes instead of dots, since the name of an interface may have dots itself.
    scopes = ("all", interface)
    return [["sysctl", "-q", "-w", f"net/ipv6/conf/{scope}/seg6_enabled=1"] for scope in scopes]
