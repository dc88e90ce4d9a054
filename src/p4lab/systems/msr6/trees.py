"""Trees from a root to its receivers: shortest paths, little cost in all, or bounded delay."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from itertools import count

from p4lab.model.control import NumberError
from p4lab.systems.msr6.graph import Graph
from p4lab.systems.msr6.tree import Node, Tree

Before = tuple[Node, "Before"] | tuple[()]
"""The label before another, as its node and what was before that; nothing before the first"""


def least_cost(graph: Graph, root: Node, receivers: Iterable[Node]) -> Tree:
    """Shortest paths to all receivers, the same as those of unicast (p4lab.control.igp).

    Raises NumberError with a receiver that no path leads to.
    """
    distances = graph.distances(root, "cost")
    wanted = _reached(distances, root, receivers)
    # Depth first over all shortest paths: a node is first found at the end of the path that comes
    # first in lexicographic order, since nothing in front of that path leads to it.
    parents: dict[Node, Node] = {}
    seen: set[Node] = set()
    stack: list[tuple[Node, Node]] = [(root, root)]
    while stack:
        node, parent = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        parents[node] = parent
        for arc in reversed(graph.arcs[node]):
            if arc.to not in seen and distances[node] + arc.cost == distances[arc.to]:
                stack.append((arc.to, node))
    return Tree.of(root, parents, wanted, graph.rank())


def steiner(graph: Graph, root: Node, receivers: Iterable[Node]) -> Tree:
    """A tree of little cost in all: the receiver that is nearest to what there is of the tree joins
    it by a shortest path, until all have joined.

    Takahashi and Matsuyama, "An approximate solution for the Steiner problem in graphs", Math.
    Japonica 24 (1980): with k receivers and links that cost the same in both directions, at most
    2 - 2 / (k + 1) times the least cost possible. One search goes on for all: whatever joins
    becomes a source of it. Raises NumberError with a receiver that no path leads to.
    """
    wanted = _reached(graph.distances(root, "cost"), root, receivers)
    missing = set(wanted) - {root}
    rank = graph.rank()
    joined = {root}
    parents: dict[Node, Node] = {}
    distances: dict[Node, float] = {root: 0}
    heap: list[tuple[float, int, Node]] = [(0, rank[root], root)]
    while missing:
        distance, _, node = heapq.heappop(heap)
        if distance > distances[node]:
            continue
        if node in missing:
            while node not in joined:
                joined.add(node)
                missing.discard(node)
                distances[node] = 0
                heapq.heappush(heap, (0, rank[node], node))
                node = parents[node]
            continue
        for arc in graph.arcs[node]:
            if distance + arc.cost < distances.get(arc.to, float("inf")):
                distances[arc.to] = distance + arc.cost
                parents[arc.to] = node
                heapq.heappush(heap, (distance + arc.cost, rank[arc.to], arc.to))
    return Tree.of(root, parents, wanted, rank)


def bounded(graph: Graph, tree: Tree, bound: float) -> Tree:
    """The tree itself if no receiver is further than `bound` nanoseconds from the root, or another
    tree for the same receivers that keeps to it.

    Receivers join that tree one by one, as in `steiner`, each by the cheapest path whose delay from
    the root is within the bound. If such a path leads through a node of the tree, on a faster way
    than the tree has, this is the node's way from now on. A tree is found whenever one exists; how
    far it is from the cheapest is not bounded.

    Raises NumberError with a receiver that is too far away, and the least delay possible.
    """
    if all(delay <= bound for delay in delays(graph, tree).values()):
        return tree
    least = graph.distances(tree.root, "delay")
    for receiver in tree.receivers:
        if least[receiver] > bound:
            raise NumberError(
                f"no path from {tree.root} to {receiver} takes less than {_ms(least[receiver])}, "
                f"and no receiver may be further away than {_ms(bound)}: allow more"
            )
    parents: dict[Node, Node] = {}
    missing = set(tree.receivers) - {tree.root}
    grown = Tree(tree.root, {}, ())
    while missing:
        path = _cheapest_within(graph, _node_delays(graph, grown), missing, bound)
        parents.update(zip(path[1:], path, strict=False))
        missing -= set(path)
        there = set(tree.receivers) - missing
        grown = Tree.of(tree.root, parents, there, graph.rank())
    return grown


def cost(graph: Graph, tree: Tree) -> float:
    """The sum of the costs of a tree's links."""
    return sum(graph.arc(node, child).cost for node, child in tree.hops())


def delays(graph: Graph, tree: Tree) -> dict[Node, float]:
    """Nanoseconds from the root to each receiver."""
    every = _node_delays(graph, tree)
    return {receiver: every[receiver] for receiver in tree.receivers}


def _node_delays(graph: Graph, tree: Tree) -> dict[Node, float]:
    """Nanoseconds from the root to every node of a tree."""
    after: dict[Node, float] = {tree.root: 0}
    for node, child in tree.hops():
        after[child] = after[node] + graph.arc(node, child).delay
    return after


def _cheapest_within(
    graph: Graph, sources: dict[Node, float], targets: set[Node], bound: float
) -> list[Node]:
    """The cheapest path from any source to any target within a bound; sources have a delay already.

    Labels with cost and delay, of which a node keeps those that are not worse in both than another
    (Joksch 1966). They come in the order of cost, so those of a node have less and less delay, and
    where costs are whole numbers there is at most one for each cost.
    """
    rank = graph.rank()
    best: dict[Node, float] = {}
    turn = count()  # of equal labels the first
    heap: list[tuple[float, float, int, int, Node, Before]] = [
        (0, delay, rank[node], next(turn), node, ()) for node, delay in sources.items()
    ]
    heapq.heapify(heap)
    while True:  # ends at a target: each is within the bound
        price, delay, _, _, node, before = heapq.heappop(heap)
        if node in best and best[node] <= delay:
            continue
        best[node] = delay
        if node in targets:
            return _unwound(node, before)
        for arc in graph.arcs[node]:
            later = delay + arc.delay
            if later <= bound:
                order = (price + arc.cost, later, rank[arc.to], next(turn))
                heapq.heappush(heap, (*order, arc.to, (node, before)))


def _unwound(node: Node, before: Before) -> list[Node]:
    """A path from its last label."""
    path = [node]
    while before:
        path.append(before[0])
        before = before[1]
    return path[::-1]


def _reached(distances: dict[Node, float], root: Node, receivers: Iterable[Node]) -> list[Node]:
    wanted = list(dict.fromkeys(receivers))
    for receiver in wanted:
        if receiver not in distances:
            raise NumberError(f"no path leads from {root} to {receiver}")
    return wanted


def _ms(nanoseconds: float) -> str:
    return f"{nanoseconds / 1e6:.9g} ms"
