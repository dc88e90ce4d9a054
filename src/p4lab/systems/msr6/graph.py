"""Networks as plain adjacency, so that trees of a thousand receivers take milliseconds."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from p4lab.control.igp import underlay
from p4lab.systems.msr6.tree import Node
from p4lab.topology import NO_FAILURES, Failures, Topology

if TYPE_CHECKING:
    import networkx


class Arc(NamedTuple):
    """A way to a neighbour: its cost, which is positive, and its delay in nanoseconds."""

    to: Node
    cost: float
    delay: float


@dataclass(frozen=True, eq=False)
class Graph:
    """The ways out of every node. Nodes and their arcs are in the order in which ties are broken:
    of two paths of equal cost the first in lexicographic order counts."""

    arcs: Mapping[Node, tuple[Arc, ...]]

    @classmethod
    def of(
        cls,
        topology: Topology,
        down: Failures = NO_FAILURES,
        *,
        avoid: Failures = NO_FAILURES,
        routed: bool = False,
    ) -> Graph:
        """A topology without what is down. Routers come in the order of their numbers, so that
        ties are broken as unicast breaks them, then hosts, through which no path leads.

        `avoid` is what works, but shall not be used. `routed` leaves only links that unicast takes
        from one end to the other: packets that are routed from node to node of a tree stay on its
        links then, even if unicast does not know what to avoid.
        """
        igp = underlay(topology, down)
        routers = sorted(topology.routers, key=lambda router: router.number)
        rows: dict[Node, tuple[Arc, ...]] = {}
        for router in routers:
            cables = [
                (neighbour.name, link)
                for neighbour, link in topology.neighbours(router.name)
                if not routed or igp.next_hop(router.name, neighbour.name) == neighbour.name
            ]
            cables += [
                (host.name, topology.link(router.name, host.name))
                for host in topology.hosts_of(router.name)
            ]
            rows[router.name] = tuple(
                Arc(name, link.cost, link.delay_ns)
                for name, link in cables
                if not down.has(link) and not avoid.has(link)
            )
        return cls(rows | {host.name: () for host in topology.hosts})

    @classmethod
    def of_networkx(
        cls, graph: networkx.Graph, *, cost: str = "cost", delay: str = "delay_ns"
    ) -> Graph:
        """Any graph of networkx, in the order of its nodes: edges without a cost cost 1, those
        without a delay take no time. Raises ValueError if a cost is not positive."""
        order = {node: number for number, node in enumerate(graph)}
        rows: dict[Node, tuple[Arc, ...]] = {}
        for node in graph:
            arcs = [
                Arc(other, data.get(cost, 1), data.get(delay, 0))
                for other, data in graph.adj[node].items()
            ]
            for arc in arcs:
                if arc.cost <= 0:
                    raise ValueError(f"{node}-{arc.to} costs {arc.cost}: costs are positive")
            rows[node] = tuple(sorted(arcs, key=lambda arc: order[arc.to]))
        return cls(rows)

    def arc(self, node: Node, to: Node) -> Arc:
        """The way from a node to a neighbour. Raises KeyError."""
        for arc in self.arcs[node]:
            if arc.to == to:
                return arc
        raise KeyError(f"no link leads from {node} to {to}")

    def rank(self) -> dict[Node, int]:
        """The place of every node in the order."""
        return {node: number for number, node in enumerate(self.arcs)}

    def distances(self, root: Node, metric: Literal["cost", "delay"]) -> dict[Node, float]:
        """Dijkstra's algorithm: the least cost or delay from a node to all that it reaches."""
        by_cost = metric == "cost"
        rank = self.rank()
        done: dict[Node, float] = {}
        heap: list[tuple[float, int, Node]] = [(0, rank[root], root)]
        while heap:
            distance, _, node = heapq.heappop(heap)
            if node in done:
                continue
            done[node] = distance
            for arc in self.arcs[node]:
                if arc.to not in done:
                    longer = distance + (arc.cost if by_cost else arc.delay)
                    heapq.heappush(heap, (longer, rank[arc.to], arc.to))
        return done
