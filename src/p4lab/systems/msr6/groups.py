"""The trees of groups, as packets: which routers and hosts a group's packets go to, and how."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator

from p4lab.control.igp import underlay
from p4lab.systems.msr6 import be, rlb, te, trees
from p4lab.systems.msr6.encoded import Encoded
from p4lab.systems.msr6.graph import Graph
from p4lab.systems.msr6.settings import Msr6Settings
from p4lab.systems.msr6.sids import node_numbers
from p4lab.systems.msr6.tree import Hop, Node, Tree
from p4lab.topology import Failures, Topology


class Trees:
    """All trees of a topology in which some things are down."""

    def __init__(
        self,
        topology: Topology,
        settings: Msr6Settings,
        down: Failures,
    ) -> None:
        self._topology = topology
        self._settings = settings
        self._nodes = node_numbers(topology)
        self._igp = underlay(topology, down)
        # Copies of TE are routed to the next node of their tree, those of RLB leave by its port.
        avoid, routed = Failures.of(settings.avoided), settings.encoding == "te"
        self._graph = Graph.of(topology, down, avoid=avoid, routed=routed)
        self._bits = rlb.adjacencies(topology)
        self._ids = be.bfr_ids(topology)

    def packets(self, ingress: str, listeners: Collection[str]) -> tuple[Encoded, ...]:
        """The packets that bring what comes in at a router to hosts, by name: none where nobody
        is behind another router, or nobody can be reached. Raises NumberError."""
        leaves = self._leaves(ingress, listeners)
        if not leaves - {ingress}:
            return ()
        if self._settings.encoding == "clone":
            return ()
        if self._settings.encoding == "be":
            return be.encode(ingress, leaves, self._nodes, self._ids)
        tree = self._tree(ingress, leaves)
        if self._settings.encoding == "rlb":
            return rlb.packets(tree, self._nodes, self._bits, self._settings.entries)
        return te.packets(tree, self._nodes, self._settings.entries)

    def copies(self, source: str, listeners: Collection[str]) -> Iterator[Hop]:
        """The links that carry a packet from one host to others, by the names of their ends: once
        for each of the packets that its tree takes."""
        ingress = self._topology.host(source).router
        others = {name for name in listeners if name != source}
        leaves = self._leaves(ingress, others)
        yield source, ingress
        if self._settings.encoding in ("be", "clone"):
            whole = trees.least_cost(self._graph, ingress, leaves)
        else:
            whole = self._tree(ingress, leaves)
        packets = [packet.receivers for packet in self.packets(ingress, others)]
        for receivers in packets or [whole.receivers]:
            yield from whole.only(receivers).hops()
        if self._settings.leaves == "routers":
            hosts = (self._topology.host(name) for name in sorted(others))
            yield from ((host.router, host.name) for host in hosts if host.router in leaves)

    def shared(self, listeners: Collection[str], sources: Collection[str]) -> dict[str, set[int]]:
        """Ports by router that lead to the others on one tree for a group, whichever of its routers
        a packet comes in at: what routers have to know of a group without trees in packets."""
        homes = {self._topology.host(name).router for name in listeners}
        root = min(sources or homes, key=lambda name: self._topology.router(name).number)
        routers = {
            name for name in (*homes, *sources) if name != root and self._igp.reaches(root, name)
        }
        ports: dict[str, set[int]] = defaultdict(set)
        for a, b in trees.least_cost(self._graph, root, routers).hops():
            ports[str(a)].add(self._topology.port(str(a), str(b)))
            ports[str(b)].add(self._topology.port(str(b), str(a)))
        return ports

    def _leaves(self, ingress: str, listeners: Collection[str]) -> set[Node]:
        """Who takes the headers off, as far as it can be reached."""
        hosts = [self._topology.host(name) for name in listeners]
        near = [host for host in hosts if self._igp.reaches(ingress, host.router)]
        if self._settings.leaves == "hosts":
            return {host.name for host in near}
        return {host.router for host in near}

    def _tree(self, root: str, leaves: Collection[Node]) -> Tree:
        """The tree that the settings ask for."""
        steiner = self._settings.tree == "steiner"
        tree = (trees.steiner if steiner else trees.least_cost)(self._graph, root, leaves)
        bound = self._settings.delay_ns
        return tree if bound is None else trees.bounded(self._graph, tree, bound)
