"""Networks in which encodings are compared: drawn at random, built, or read from a file.

All links cost the same.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree.ElementTree import ParseError

from p4lab.systems.msr6 import rbs, rlb, rts
from p4lab.systems.msr6.graph import Graph
from p4lab.systems.msr6.tree import Node

if TYPE_CHECKING:
    import networkx

DEGREE = 4
"""Links of each node of a random regular graph"""
ATTACHED = 2
"""Links of each new node of a Barabasi-Albert graph"""
WAXMAN_BETA = 0.4
WAXMAN_ALPHA = 1.27
"""Times the square root of 1 / nodes: about five links a node in a network of any size"""
MOST_NODES = 2_000


@dataclass(frozen=True, eq=False)
class Network:
    """A network, with all that encoders ask of it. Packets come in at one of `ingresses` and come
    out at `leaves`: routers, or `hosts` that take the headers off themselves. Leaves have BFR-ids
    in their order, from 1 on."""

    graph: Graph
    ingresses: tuple[Node, ...]
    leaves: tuple[Node, ...]
    hosts: frozenset[Node] = frozenset()
    left_out: int = 0
    """Routers that were drawn or read, but have no way to these"""

    @property
    def links(self) -> int:
        """Between routers, and to hosts."""
        return sum(map(len, self.graph.arcs.values())) // 2

    @cached_property
    def routers(self) -> tuple[Node, ...]:
        return tuple(node for node in self.graph.arcs if node not in self.hosts)

    @cached_property
    def ids(self) -> dict[Node, int]:
        """BFR-ids of the leaves."""
        return {node: number for number, node in enumerate(self.leaves, 1)}

    @cached_property
    def numbers(self) -> dict[Node, int]:
        """What nodes are called in SIDs."""
        return {node: number for number, node in enumerate(self.graph.arcs, 1)}

    @cached_property
    def adjacencies(self) -> dict[Node, tuple[rlb.Adjacency, ...]]:
        """The bits of all routers for RLB."""
        found = {}
        for node in self.routers:
            cables = [(arc.to, port) for port, arc in enumerate(self.graph.arcs[node], 1)]
            routers = [cable for cable in cables if cable[0] not in self.hosts]
            hosts = [cable for cable in cables if cable[0] in self.hosts]
            found[node] = rlb.numbered(node, routers, hosts)
        return found

    @cached_property
    def rbs_tables(self) -> rbs.Tables:
        return rbs.tables(self.graph)

    @cached_property
    def rts_tables(self) -> rts.Tables:
        return rts.tables(self.graph)


Source = Callable[[random.Random], Network]
"""Draws a network; one that may be sent to other machines"""


def sources(nodes: int) -> dict[str, Source]:
    """The networks by name, of about so many routers each."""
    ports = fat_tree_ports(nodes)
    return {
        "random regular": RandomRegular(nodes),
        "Waxman": Waxman(nodes),
        "Barabasi-Albert": BarabasiAlbert(nodes),
        "fat tree": FatTree(ports),
        "fat tree to hosts": FatTree(ports, ports // 2),
    }


@dataclass(frozen=True)
class RandomRegular:
    """Draws routers with DEGREE links each."""

    nodes: int

    def __call__(self, chance: random.Random) -> Network:
        import networkx as nx  # heavy: networkx

        return whole(nx.random_regular_graph(DEGREE, self.nodes, seed=_number(chance)))


@dataclass(frozen=True)
class Waxman:
    """Draws routers at places, and links that are likelier between near ones."""

    nodes: int

    def __call__(self, chance: random.Random) -> Network:
        import networkx as nx  # heavy: networkx

        alpha = WAXMAN_ALPHA / self.nodes**0.5
        return whole(nx.waxman_graph(self.nodes, WAXMAN_BETA, alpha, seed=_number(chance)))


@dataclass(frozen=True)
class BarabasiAlbert:
    """Draws routers that join by ATTACHED links each, to those with many rather than few."""

    nodes: int

    def __call__(self, chance: random.Random) -> Network:
        import networkx as nx  # heavy: networkx

        return whole(nx.barabasi_albert_graph(self.nodes, ATTACHED, seed=_number(chance)))


@dataclass(frozen=True)
class FatTree:
    """Always the fat tree of switches with so many ports, and so many hosts at each below."""

    ports: int
    hosts: int = 0

    def __call__(self, chance: random.Random) -> Network:
        return fat_tree(self.ports, self.hosts)


@dataclass(frozen=True)
class Given:
    """Always the same network."""

    network: Network

    def __call__(self, chance: random.Random) -> Network:
        return self.network


def _number(draw: random.Random) -> int:
    return draw.randrange(1 << 31)


def whole(graph: networkx.Graph) -> Network:
    """The largest connected part of a graph. Packets come in and out everywhere."""
    import networkx as nx

    part = max(nx.connected_components(graph), key=len)
    # A copy keeps the order of nodes, a view of the part need not.
    rest = graph.copy()
    rest.remove_nodes_from([node for node in graph if node not in part])
    left_out = len(graph) - len(rest)
    return Network(Graph.of_networkx(rest), tuple(rest), tuple(rest), left_out=left_out)


def fat_tree_ports(nodes: int) -> int:
    """The ports of a switch in the largest fat tree of at most so many switches, 5/4 x ports^2."""
    ports = 2
    while 5 * (ports + 2) ** 2 // 4 <= nodes:
        ports += 2
    return ports


def fat_tree(ports: int, hosts: int = 0) -> Network:
    """A fat tree of three layers of switches with an even number of ports (Al-Fares, Loukissas,
    Vahdat: A Scalable, Commodity Data Center Network Architecture, 2008).

    Packets come in at switches of the lowest layer, and come out there: or at hosts, if there are
    some at each of these switches.
    """
    import networkx as nx

    half = ports // 2
    edges = [("edge", pod, place) for pod in range(ports) for place in range(half)]
    graph = nx.Graph()
    graph.add_nodes_from(edges)
    for pod in range(ports):
        for place in range(half):
            above = ("aggregation", pod, place)
            graph.add_edges_from((("edge", pod, other), above) for other in range(half))
            graph.add_edges_from((above, ("core", place, other)) for other in range(half))
    below = [("host", *edge[1:], place) for edge in edges for place in range(hosts)]
    graph.add_edges_from((("edge", *host[1:3]), host) for host in below)
    found = Graph.of_networkx(graph)
    return Network(found, tuple(edges), tuple(below or edges), frozenset(below))


def read_graphml(path: Path) -> Network:
    """The largest connected part of a map in GraphML, such as those of the Internet Topology Zoo.

    Directions, parallel links and link costs are not looked at. Raises ValueError with a sentence,
    OSError.
    """
    import networkx as nx

    try:
        graph = nx.Graph(nx.read_graphml(path))
    except (nx.NetworkXError, ParseError, KeyError, ValueError, TypeError) as error:
        raise ValueError(f"{path} cannot be read as GraphML: {error}") from error
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    if not 2 <= len(graph) <= MOST_NODES or not graph.edges:
        raise ValueError(
            f"{path} has {len(graph)} nodes and {graph.number_of_edges()} links: give a map with "
            f"links and 2 to {MOST_NODES} nodes"
        )
    return whole(graph)


@dataclass(frozen=True, eq=False)
class Draw:
    """A network, where packets come in, and the other leaves in the order in which they join."""

    network: Network
    root: Node
    order: tuple[Node, ...]


def draw(source: Source, name: str, seed: int) -> Draw:
    """The draw of a seed."""
    chance = random.Random(f"{name} {seed}")
    network = source(chance)
    root = chance.choice(network.ingresses)
    order = chance.sample(network.leaves, len(network.leaves))
    return Draw(network, root, tuple(node for node in order if node != root))


def counts(most: int) -> Sequence[int]:
    """Numbers of receivers: all up to 16, then four for each doubling."""
    found = list(range(1, 17))
    while found[-1] < most:
        found += [found[-1] // 4 * step for step in (5, 6, 7, 8)]
    return [count for count in found if count <= most]
