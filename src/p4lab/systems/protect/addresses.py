"""Addresses that only 1+1 protection uses.

172.16.0.0/12      ends of tunnels: pair number n has 172.16.0.0 + 256 n + path
fd00:0:0:R::/64    IPv6 of router R and its hosts: host H has ...::H, the router ...::fe
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

from p4lab.topology import Host, Router

MOST_TUNNELS = 1 << 12
PREFIX_LENGTH_V6 = 64

_TUNNELS = int(IPv4Address("172.16.0.0"))
_PREFIX_V6 = int(IPv6Address("fd00::"))
_ROUTER = 0xFE  # as the router's IPv4 address ends


def tunnel_address(tunnel: int, path: int) -> IPv4Address:
    """The PTE's address for path 1 or 2 of a pair of tunnels."""
    return IPv4Address(_TUNNELS + (tunnel << 8) + path)


def host_v6(host: Host) -> IPv6Address:
    """A host's IPv6 address."""
    return IPv6Address(_PREFIX_V6 + (host.router_number << 64) + host.number)


def prefix_v6(router: Router) -> int:
    """The network of a router's hosts, PREFIX_LENGTH_V6 bits long."""
    return _PREFIX_V6 + (router.number << 64)


def router_v6(router: Router) -> IPv6Address:
    """A router's own IPv6 address."""
    return IPv6Address(prefix_v6(router) + _ROUTER)
