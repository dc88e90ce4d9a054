"""Routers, hosts and links as values, with the numbers the whole lab derives from them.

Everything that two programs must agree on without talking (addresses, MAC addresses, ports)
is computed here from router and host numbers, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address, IPv6Address, IPv6Network
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import networkx

MAX_PORT = 255  # a router's MAC address has one byte for the port
MAX_HOST_NUMBER = 253  # .254 is the router's own address on its access links
PREFIX_LENGTH = 24
PREFIX6_LENGTH = 64

_ROUTER_MAC = 0x0200 << 32
_HOST_MAC = 0x0201 << 32
_PREFIX6 = int(IPv6Address("fd00::"))
_ROUTER6 = 0xFE  # as the router's IPv4 address ends


@dataclass(frozen=True)
class Router:
    """A router. `numbers` are those that systems know it by, besides its own: a BFR-id, say."""

    number: int
    name: str
    numbers: tuple[tuple[str, int], ...] = ()

    def own(self, what: str) -> int:
        """Its number for a system; the router's own unless the topology gives another."""
        return self._own.get(what, self.number)

    @cached_property
    def _own(self) -> dict[str, int]:
        return dict(self.numbers)

    def mac(self, port: int) -> int:
        """MAC address of `port`: 02:00:00:NN:NN:PP, as a 48-bit number."""
        return _ROUTER_MAC | self.number << 8 | port

    @property
    def address(self) -> IPv4Address:
        """The router's address on its access links: gateway of its hosts and IGMP querier."""
        return IPv4Address(10 << 24 | self.number << 8 | 254)

    @property
    def address6(self) -> IPv6Address:
        """fd00:0:0:R::fe, the same of IPv6."""
        return IPv6Address(int(self.prefix6.network_address) + _ROUTER6)

    @cached_property
    def prefix6(self) -> IPv6Network:
        """fd00:0:0:R::/64, the IPv6 network of the router and its hosts."""
        return IPv6Network((_PREFIX6 + (self.number << 64), PREFIX6_LENGTH))


@dataclass(frozen=True)
class Host:
    """An end system on port `port` of router `router` (a name)."""

    name: str
    number: int
    router: str
    router_number: int
    port: int

    @property
    def id(self) -> int:
        """One number per host in the whole topology: router number and host number."""
        return self.router_number << 8 | self.number

    @property
    def ip(self) -> IPv4Address:
        """10.R.R2.H for host H of router R*256+R2."""
        return IPv4Address(10 << 24 | self.id)

    @property
    def ip6(self) -> IPv6Address:
        """fd00:0:0:R::H."""
        return IPv6Address(_PREFIX6 + (self.router_number << 64) + self.number)

    def ip_of(self, version: int) -> IPv4Address | IPv6Address:
        """Its address of version 4 or 6."""
        return self.ip6 if version == 6 else self.ip

    @property
    def interface(self) -> str:
        """What its interface is called where it is a real Linux host."""
        return f"{self.name}-eth0"

    @property
    def mac(self) -> int:
        """02:01:00:RR:RR:HH as a 48-bit number."""
        return _HOST_MAC | self.id

    @property
    def gateway(self) -> IPv4Address:
        return IPv4Address(10 << 24 | self.router_number << 8 | 254)

    @property
    def gateway6(self) -> IPv6Address:
        return IPv6Address(_PREFIX6 + (self.router_number << 64) + _ROUTER6)

    @property
    def gateway_mac(self) -> int:
        """MAC address of the router's port: where the host's unicast frames go."""
        return _ROUTER_MAC | self.router_number << 8 | self.port


@dataclass(frozen=True)
class Link:
    """A link between `a`, always a router, and `b`, a router or a host.

    `rate` is in bits per second (None: as fast as the network can), `delay_ns` one way in
    nanoseconds, `loss` a probability per packet and direction, `cost` the IGP metric in both
    directions. `jitter_ns` is what a packet may take longer at the most: how much is drawn for
    each, all values being as likely; none overtakes another. `b_port` is 0 when `b` is a host.
    """

    a: str
    a_port: int
    b: str
    b_port: int
    rate: int | None = None
    delay_ns: int = 0
    loss: float = 0.0
    cost: int = 1
    jitter_ns: int = 0

    @property
    def is_access(self) -> bool:
        """Whether this is the link between a router and a host."""
        return self.b_port == 0

    @property
    def ends(self) -> frozenset[str]:
        return frozenset((self.a, self.b))


@dataclass(frozen=True)
class Failures:
    """What is out of order: links as pairs of node names in any order, and whole nodes."""

    links: frozenset[frozenset[str]] = frozenset()
    nodes: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls, links: Iterable[tuple[str, str] | Link] = (), nodes: Iterable[str] = ()
    ) -> Failures:
        pairs = (link.ends if isinstance(link, Link) else frozenset(link) for link in links)
        return cls(frozenset(pairs), frozenset(nodes))

    def has(self, link: Link) -> bool:
        """Whether `link` carries nothing, by itself or because one of its ends is down."""
        ends = link.ends
        return ends in self.links or not self.nodes.isdisjoint(ends)


NO_FAILURES = Failures()


def reached(links: Iterable[Link], node: str) -> set[str]:
    """The nodes to which links lead from one, itself included."""
    adjacent: dict[str, list[str]] = {}
    for link in links:
        adjacent.setdefault(link.a, []).append(link.b)
        adjacent.setdefault(link.b, []).append(link.a)
    found, frontier = {node}, [node]
    while frontier:
        new = set(adjacent.get(frontier.pop(), ())) - found
        found |= new
        frontier.extend(new)
    return found


@dataclass(frozen=True, eq=False)
class Topology:
    """A checked network. Build one with `load` or `from_data`; both raise TopologyError.

    `notes` holds sentences about what is allowed but surprising (a part that cannot be reached).
    """

    name: str
    description: str
    routers: tuple[Router, ...]
    hosts: tuple[Host, ...]
    links: tuple[Link, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def load(cls, path_or_name: str | Path) -> Topology:
        """Read a topology from a TOML file, or one of the lab's own by its name.

        Raises TopologyError, whose text has one sentence per mistake with file and line.
        """
        from p4lab.topology.file import load

        return load(path_or_name)

    @classmethod
    def from_data(cls, data: dict[str, object]) -> Topology:
        """Build a topology from what a TOML file would hold. Raises TopologyError."""
        from p4lab.topology.file import build
        from p4lab.topology.tomls import Source

        return build(data, Source("topology", {}))

    def router(self, name_or_number: str | int) -> Router:
        """The router of that name or number. Raises KeyError."""
        return self._routers[name_or_number]

    def host(self, name: str) -> Host:
        """The host of that name. Raises KeyError."""
        return self._hosts[name]

    def link(self, a: str, b: str) -> Link:
        """The link between two nodes, named in any order. Raises KeyError."""
        return self._links[frozenset((a, b))]

    def port(self, router: str, neighbour: str) -> int:
        """The port of `router` that leads to the router or host `neighbour`. Raises KeyError."""
        link = self.link(router, neighbour)
        return link.a_port if link.a == router else link.b_port

    def ports(self, router: str) -> dict[int, str]:
        """Port number to neighbour name, for every cabled port of `router`, in port order."""
        return dict(self._ports[router])

    def neighbour(self, router: str, port: int) -> str | None:
        """The name of the node on `port` of `router`, or None where there is no cable."""
        return self._ports[router].get(port)

    def hosts_of(self, router: str) -> tuple[Host, ...]:
        """The hosts of a router, in port order."""
        neighbours = self._ports[router].values()
        return tuple(self._hosts[name] for name in neighbours if name in self._hosts)

    def mac(self, node: str, port: int = 0) -> int:
        """MAC address of a node's port (a host has one, its port is not looked at)."""
        host = self._hosts.get(node)
        return host.mac if host else self._routers[node].mac(port)

    def neighbours(self, router: str) -> tuple[tuple[Router, Link], ...]:
        """Adjacent routers with the link to each, in order of router number."""
        return self._adjacent[router]

    def reached(self, node: str, without: Collection[Link] = ()) -> set[str]:
        """The nodes that one reaches, itself included, if some links are down."""
        return reached((link for link in self.links if link not in without), node)

    @cached_property
    def graph(self) -> networkx.Graph:
        """The same network for networkx.

        Nodes carry `kind` ("router" or "host") and `number`; edges carry
        `link` (the Link), `ports` (node name to port), `cost`, `rate`, `delay_ns`, `jitter_ns` and
        `loss`.
        """
        import networkx  # heavy: networkx

        graph = networkx.Graph(name=self.name)
        for router in self.routers:
            graph.add_node(router.name, kind="router", number=router.number)
        for host in self.hosts:
            graph.add_node(host.name, kind="host", number=host.number)
        for link in self.links:
            graph.add_edge(
                link.a,
                link.b,
                link=link,
                ports={link.a: link.a_port, link.b: link.b_port},
                cost=link.cost,
                rate=link.rate,
                delay_ns=link.delay_ns,
                jitter_ns=link.jitter_ns,
                loss=link.loss,
            )
        return graph

    @cached_property
    def _routers(self) -> dict[str | int, Router]:
        by_name: dict[str | int, Router] = {router.name: router for router in self.routers}
        return by_name | {router.number: router for router in self.routers}

    @cached_property
    def _hosts(self) -> dict[str, Host]:
        return {host.name: host for host in self.hosts}

    @cached_property
    def _links(self) -> dict[frozenset[str], Link]:
        return {link.ends: link for link in self.links}

    @cached_property
    def _ports(self) -> dict[str, dict[int, str]]:
        ports: dict[str, dict[int, str]] = {router.name: {} for router in self.routers}
        for link in self.links:
            ports[link.a][link.a_port] = link.b
            if not link.is_access:
                ports[link.b][link.b_port] = link.a
        return {name: dict(sorted(table.items())) for name, table in ports.items()}

    @cached_property
    def _adjacent(self) -> dict[str, tuple[tuple[Router, Link], ...]]:
        adjacent: dict[str, list[tuple[Router, Link]]] = {r.name: [] for r in self.routers}
        for link in self.links:
            if not link.is_access:
                adjacent[link.a].append((self._routers[link.b], link))
                adjacent[link.b].append((self._routers[link.a], link))
        return {
            name: tuple(sorted(pairs, key=lambda pair: pair[0].number))
            for name, pairs in adjacent.items()
        }
