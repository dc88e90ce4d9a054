"""What the operator of a gateway says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from p4lab.systems.bng.ppp import Settings
from p4lab.systems.bng.pppoe import Offer

OWN4, OWN6 = IPv4Address("192.0.2.1"), IPv6Address("2001:db8::1")


@dataclass(frozen=True)
class Options:
    """Pools may be missing: then the RADIUS server names all addresses.

    `pools` are those that a server names (Framed-Pool and its like for IPv6), each with the length
    of what a subscriber gets: 32, 64 or 56. `dns` are for IPv4, `dns6` for IPv6.
    """

    address: IPv4Address = OWN4
    address6: IPv6Address = OWN6
    ppp: Settings = field(default_factory=Settings)
    offer: Offer = field(default_factory=Offer)
    hosts: IPv4Network | None = None
    links: IPv6Network | None = None
    delegations: IPv6Network | None = None
    pools: Mapping[str, tuple[IPv4Network | IPv6Network, int]] = field(default_factory=dict)
    dns: tuple[IPv4Address, ...] = ()
    dns6: tuple[IPv6Address, ...] = ()
