"""The trees of groups, as packets: which routers and hosts a group's packets go to, and how."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from p4lab.control.igp import underlay
from p4lab.systems.msr6 import be, rlb, te
from p4lab.systems.msr6.encoded import Encoded
from p4lab.systems.msr6.settings import Msr6Settings
from p4lab.systems.msr6.sids import node_numbers
from p4lab.systems.msr6.tree import Node, Tree
from p4lab.topology import Failures, Topology


class Trees:
    """All trees of a topology in which some things are down."""

    def __init__(self, topology: Topology, settings: Msr6Settings, down: Failures) -> None:
        self._topology = topology
        self._settings = settings
        self._down = down
        self._nodes = node_numbers(topology)
        self._igp = underlay(topology, down)
        self._bits = rlb.adjacencies(topology)
        self._ids = be.bfr_ids(topology)

    def packets(self, ingress: str, listeners: Collection[str]) -> tuple[Encoded, ...]:
        """The packets that bring what comes in at a router to hosts, by name: none where nobody
        is behind another router, or nobody can be reached. Raises NumberError."""
        leaves = self._leaves(ingress, listeners)
        if not leaves - {ingress}:
            return ()
        if self._settings.encoding == "be":
            return be.encode(ingress, leaves, self._nodes, self._ids)
        tree = self._tree(ingress, leaves)
        if self._settings.encoding == "rlb":
            return (rlb.encode(tree, self._nodes, self._bits),)
        return (te.encode(tree, self._nodes),)

    def shared(self, listeners: Collection[str], sources: Collection[str]) -> dict[str, set[int]]:
        """Ports by router that lead to the others on one tree for a group, whichever of its routers
        a packet comes in at: what routers have to know of a group without trees in packets."""
        homes = {self._topology.host(name).router for name in listeners}
        root = min(sources or homes, key=lambda name: self._topology.router(name).number)
        routers = {
            name for name in (*homes, *sources) if name != root and self._igp.reaches(root, name)
        }
        ports: dict[str, set[int]] = defaultdict(set)
        for a, b in self._routed(root, routers).hops():
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

    def _tree(self, root: str, leaves: set[Node]) -> Tree:
        """The tree over routers, and over hosts where they are leaves."""
        hosts = {host.name: host for host in self._topology.hosts if host.name in leaves}
        routers = {hosts[leaf].router if leaf in hosts else leaf for leaf in leaves}
        tree = self._routed(root, routers)
        parents = {**tree.parents, **{name: host.router for name, host in hosts.items()}}
        return Tree.of(root, parents, leaves, self._nodes)

    def _routed(self, root: Node, routers: Collection[Node]) -> Tree:
        parents: dict[Node, Node] = {}
        for router in routers:
            path = self._igp.path(str(root), str(router))
            parents |= dict(zip(path[1:], path, strict=False))
        return Tree.of(root, parents, routers, self._nodes)
