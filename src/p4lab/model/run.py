"""A run as data: who sends what to whom, decided beforehand, and what a network saw of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any

from p4lab.topology import Host, Link, Topology

Address = IPv4Address | IPv6Address
"""Of a group or of a host"""


@dataclass(frozen=True)
class Stream:
    """A numbered stream: `packets` probes from `source` to the address `destination`, one every
    `interval_ns`. The receivers of a multicast group join it first."""

    flow: int
    destination: Address
    source: Host
    receivers: tuple[Host, ...]
    packets: int
    interval_ns: int
    ttl: int = 64
    """Of IPv4, as the packets leave their source"""
    vlan: int | None = None
    """The virtual network of IEEE 802.1Q whose tag the packets carry, if any; of IPv4"""


@dataclass(frozen=True)
class Plan:
    """A run that can be repeated: the same plan and the same seed give the same run."""

    lab: str
    system: str
    """Who knows what the program needs and what is to be expected (p4lab.registry)"""
    program: Path
    reference: Path
    """The entry file of the lab's solution; the same as `program` unless a student's runs"""
    topology: Topology
    settings: Any
    """What the system may be told (`System.Settings`)"""
    defines: tuple[tuple[str, str], ...]
    """Macros that the program is compiled with"""
    seed: int
    streams: tuple[Stream, ...]
    bmv2_compat: bool = False
    undefined: int | None = None
    """Seed of the noise for what P4 leaves undefined; None for zeros"""
    down: tuple[Link, ...] = ()
    """Links that fail before the streams begin; the routers at their ends see it, the controller
    does not"""


@dataclass(frozen=True)
class Received:
    """What one host got of one stream, in packets."""

    unique: int
    duplicates: int


@dataclass(frozen=True)
class Observed:
    """What a network saw: packets sent per flow, received per (host, flow), and probe frames per
    directed link, named by the nodes at its ends."""

    sent: Mapping[int, int]
    received: Mapping[tuple[str, int], Received]
    copies: Mapping[tuple[str, str], int]
    notes: tuple[str, ...] = ()
    """What a reader of the numbers must know"""
