"""Addresses that only 1+1 protection uses: the ends of tunnels, in 172.16.0.0/12."""

from __future__ import annotations

from ipaddress import IPv4Address

MOST_TUNNELS = 1 << 12

_TUNNELS = int(IPv4Address("172.16.0.0"))


def tunnel_address(tunnel: int, path: int) -> IPv4Address:
    """The PTE's address for path 1 or 2 of a pair of tunnels: 172.16.0.0 + 256 tunnel + path."""
    return IPv4Address(_TUNNELS + (tunnel << 8) + path)
