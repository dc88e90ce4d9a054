"""Where the nodes of a topology stand in a picture."""

from __future__ import annotations

import math
from dataclasses import dataclass

from p4lab.topology import Topology
from p4lab.topology.drawing import layout as spring

COLUMN, ROW = 120.0, 62.0  # distances in a tree, in units of the picture
MARGIN = 44.0


SIZE, SMALL = 17.0, 10.0  # radius of a node
MOST_ROWS = 18  # a tree with more leaves grows in a circle


@dataclass(frozen=True)
class Places:
    """The middle of every node, in a picture of `width` by `height` units; nodes have a radius of
    `size` units."""

    nodes: dict[str, tuple[float, float]]
    width: float
    height: float
    size: float = SIZE


def place(topology: Topology, root: str) -> Places:
    """Trees grow from `root` on the left to the right, large ones in a circle around their
    middle; other networks are spread out."""
    import networkx as nx  # heavy: networkx

    graph = topology.graph
    if nx.is_tree(graph):
        leaves = sum(1 for _, degree in graph.degree() if degree == 1)
        if leaves > MOST_ROWS:
            return _circle(topology, nx.center(graph)[0])
        return _fit(_tree(topology, root), COLUMN, ROW)
    spread = max(3.0, len(graph) ** 0.5 * 1.25)
    return _fit(spring(topology), COLUMN * spread / 2, COLUMN * spread / 3)


def _tree(topology: Topology, root: str) -> dict[str, tuple[float, float]]:
    """Column and row of each node: leaves have rows of their own, others stand amid theirs."""
    import networkx as nx

    tree = nx.bfs_tree(topology.graph, root)
    depth = nx.single_source_shortest_path_length(tree, root)
    rows: dict[str, float] = {}
    leaves = 0
    for node in nx.dfs_postorder_nodes(tree, root):
        children = [rows[child] for child in tree.successors(node)]
        if children:
            rows[node] = (min(children) + max(children)) / 2
        else:
            rows[node] = leaves
            leaves += 1
    return {node: (float(depth[node]), row) for node, row in rows.items()}


def _circle(topology: Topology, root: str) -> Places:
    """The tree with its columns as rings and its rows as directions."""
    rows = _tree(topology, root)
    turn = 2 * math.pi / (max(row for _, row in rows.values()) + 1)
    nodes = {
        name: (depth * math.cos(row * turn), depth * math.sin(row * turn))
        for name, (depth, row) in rows.items()
    }
    return _fit(nodes, COLUMN, COLUMN, SMALL)


def _fit(
    nodes: dict[str, tuple[float, float]], x_unit: float, y_unit: float, size: float = SIZE
) -> Places:
    """Scales and moves, so that the picture begins at its margins."""
    left, top = (min(values) for values in zip(*nodes.values(), strict=True))
    placed = {
        name: (MARGIN + (x - left) * x_unit, MARGIN + (y - top) * y_unit)
        for name, (x, y) in nodes.items()
    }
    right, bottom = (max(values) for values in zip(*placed.values(), strict=True))
    return Places(placed, right + MARGIN, bottom + MARGIN, size)
