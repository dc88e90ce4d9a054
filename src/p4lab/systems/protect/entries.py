"""The control plane of `p4/protect`: from topology and connections to the entries of its tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address
from itertools import pairwise

from p4lab.control.igp import underlay
from p4lab.control.rows import PortOf, port_macs, same_port
from p4lab.model.entries import (
    Entity,
    Entries,
    Exact,
    Lpm,
    MulticastGroup,
    RegisterCell,
    TableEntry,
    Ternary,
)
from p4lab.systems.protect.addresses import tunnel_address
from p4lab.systems.protect.connections import Connection, Flow, Prefix
from p4lab.systems.protect.paths import Pair
from p4lab.systems.protect.settings import ProtectSettings
from p4lab.topology import NO_FAILURES, Failures, Router, Topology
from p4lab.topology.model import PREFIX6_LENGTH, PREFIX_LENGTH

PLACES = 1024
"""Connections that begin, and connections that end, at one switch"""
FIRST_PRIORITY = 1 << 20


@dataclass(frozen=True)
class Placed:
    """A connection with its paths and the numbers it has on its routers.

    `tunnel` is the number of its pair of tunnels, which connections with the same paths share.
    `priority` is that of its flows: an older connection's is higher. `begins_anew` and `ends_anew`
    say whether its index at the PTI or the PTE was another connection's before, whose registers
    have to be reset.
    """

    connection: Connection
    pair: Pair
    tunnel: int
    pti_index: int
    pte_index: int
    priority: int
    begins_anew: bool = False
    ends_anew: bool = False

    @property
    def group(self) -> int:
        """The multicast group at the PTI; there is no group 0."""
        return self.pti_index + 1

    def address(self, path: int) -> IPv4Address:
        """Where the tunnel of path 1 or 2 ends."""
        return tunnel_address(self.tunnel, path)

    def cell(self, path: int) -> int:
        """The cell of the PTE's counters for path 1 or 2."""
        return 2 * self.pte_index + path - 1


# ---- Every router


@lru_cache(maxsize=64)
def route_entries(
    topology: Topology, down: Failures = NO_FAILURES, port_of: PortOf = same_port
) -> dict[str, Entries]:
    """Routes to all hosts by the shortest paths, and the MAC addresses of all ports, by router."""
    return {
        router.name: frozenset(
            [*_routes(topology, down, router, port_of), *port_macs(topology, router, port_of)]
        )
        for router in topology.routers
    }


def _routes(
    topology: Topology, down: Failures, router: Router, port_of: PortOf
) -> Iterator[TableEntry]:
    for host in topology.hosts_of(router.name):
        if not down.has(topology.link(host.name, router.name)):
            port = port_of(router.name, host.port)
            yield _route("ipv4_routes", Lpm(int(host.ip), 32), port)
            yield _route("ipv6_routes", Lpm(int(host.ip6), 128), port)
    for other in topology.routers:
        hop = underlay(topology, down).next_hop(router.name, other.name)
        if hop is not None:
            port = port_of(router.name, topology.port(router.name, hop))
            network = int(other.address) & ~0xFF
            network6 = int(other.prefix6.network_address)
            yield _route("ipv4_routes", Lpm(network, PREFIX_LENGTH), port)
            yield _route("ipv6_routes", Lpm(network6, PREFIX6_LENGTH), port)


def _route(table: str, destination: Lpm, port: int) -> TableEntry:
    return TableEntry(table, (("destination", destination),), "route", (("port", port),))


# ---- The routers of a connection


def connection_entries(
    topology: Topology, placed: Placed, settings: ProtectSettings, port_of: PortOf = same_port
) -> Iterator[tuple[str, Entity]]:
    """All that a connection needs, each with the name of its router."""
    connection = placed.connection
    for entity in _ingress(topology, placed, port_of):
        yield connection.ingress, entity
    for entity in _egress(placed, settings):
        yield connection.egress, entity
    for number, path in enumerate(placed.pair, 1):
        destination = Lpm(int(placed.address(number)), 32)
        for router, hop in pairwise(path):
            if router != connection.ingress:
                port = port_of(router, topology.port(router, hop))
                yield router, _route("ipv4_routes", destination, port)


def _ingress(topology: Topology, placed: Placed, port_of: PortOf) -> Iterator[Entity]:
    connection = placed.connection
    ports = [
        port_of(connection.ingress, topology.port(connection.ingress, path[1]))
        for path in placed.pair
    ]
    yield MulticastGroup(placed.group, ((ports[0], 1), (ports[1], 2)))
    for path in (1, 2):
        key = (("index", Exact(placed.pti_index)), ("path", Exact(path)))
        yield TableEntry("paths", key, "set_path", (("dst_addr", int(placed.address(path))),))
    params = (
        ("index", placed.pti_index),
        ("cid", connection.cid),
        ("src_addr", int(topology.router(connection.ingress).address)),
        ("mtu", connection.mtu),
        ("mcast_grp", placed.group),
    )
    for flow in connection.flows:
        for version in flow.versions:
            table = "protected_flows" if version == 4 else "protected_flows_v6"
            yield TableEntry(table, flow_key(flow, version), "protect", params, placed.priority)
    if placed.begins_anew:
        yield RegisterCell("pti_last_sn", placed.pti_index, 0)


def _egress(placed: Placed, settings: ProtectSettings) -> Iterator[Entity]:
    for path in (1, 2):
        key = (("dst_addr", Exact(int(placed.address(path)))),)
        yield TableEntry("tunnel_end", key, "arrived_on", (("path", path),))
    params = (("index", placed.pte_index), ("reset_time", settings.reset_us))
    cid = (("cid", Exact(placed.connection.cid)),)
    yield TableEntry("connections", cid, "connection", params)
    if placed.ends_anew:
        yield from egress_cells(placed, settings)


def egress_cells(placed: Placed, settings: ProtectSettings) -> Iterator[RegisterCell]:
    """What makes the PTE forget a connection: a cell with time 0 takes any number."""
    if settings.accept == "slots":
        first = placed.pte_index * settings.history
        for cell in range(first, first + settings.history):
            yield RegisterCell("slot_time", cell, 0)
    elif settings.accept != "none":
        yield RegisterCell("pte_last_time", placed.pte_index, 0)


def flow_key(flow: Flow, version: int) -> tuple[tuple[str, Ternary], ...]:
    """The key of a protected flow in the table of a version of IP."""
    bits = 32 if version == 4 else 128
    return (
        ("src_addr", _prefix(flow.src, bits)),
        ("dst_addr", _prefix(flow.dst, bits)),
        ("protocol", _number(flow.protocol, 8)),
        ("src_port", _number(flow.src_port, 16)),
        ("dst_port", _number(flow.dst_port, 16)),
    )


def _prefix(prefix: Prefix | None, bits: int) -> Ternary:
    if prefix is None or prefix.prefixlen == 0:
        return Ternary(0, 0)
    mask = (1 << bits) - (1 << bits - prefix.prefixlen)
    return Ternary(int(prefix.network_address), mask)


def _number(value: int | None, bits: int) -> Ternary:
    return Ternary(0, 0) if value is None else Ternary(value, (1 << bits) - 1)
