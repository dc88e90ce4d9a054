"""Where the nodes of a topology stand in a picture."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from p4lab.topology import Topology
from p4lab.topology.drawing import layout as spring

COLUMN, ROW = 120.0, 62.0  # distances in a tree, in units of the picture
MARGIN = 44.0


SIZE, SMALL = 17.0, 10.0  # radius of a node
ACCESS = 76.0  # least distance of a host from its router: there is room for an arrow
LETTER = 0.43  # width of a letter in a node, in radii
FLAT = 0.8  # height of a box, in radii of a router
MARK_LETTER, MARK_HEIGHT = 6.6, 13.0  # of what stands beside a node
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
    x_unit, y_unit = COLUMN * spread / 2, COLUMN * spread / 3
    scaled = {name: (x * x_unit, y * y_unit) for name, (x, y) in spring(topology).items()}
    return _fit(_apart(topology, scaled), 1, 1)


def _apart(
    topology: Topology, nodes: dict[str, tuple[float, float]]
) -> dict[str, tuple[float, float]]:
    """Hosts moved away from their routers where they are too close."""
    moved = dict(nodes)
    for link in topology.links:
        (x1, y1), (x2, y2) = nodes[link.a], nodes[link.b]
        length = math.dist((x1, y1), (x2, y2))
        if link.is_access and 0 < length < ACCESS:
            part = ACCESS / length
            moved[link.b] = (x1 + (x2 - x1) * part, y1 + (y2 - y1) * part)
    return moved


def half_width(name: str, size: float) -> float:
    """Of a host's box, which is as wide as its name."""
    return max(size, (len(name) * LETTER / 2 + 0.35) * size)


def edge(half: float | None, size: float, ux: float, uy: float) -> float:
    """How far a node's edge is from its middle in a direction: that of a box with so much on either
    side, or without `half` a circle's."""
    if half is None:
        return size
    sides = [half / abs(ux) if ux else math.inf, FLAT * size / abs(uy) if uy else math.inf]
    return min(sides)


Box = tuple[float, float, float, float]
"""Left, top, right and bottom"""


def beside(topology: Topology, places: Places, marks: Mapping[str, str]) -> dict[str, Box]:
    """Where what is said of each node stands: below it, or where it covers less."""
    hosts = {host.name for host in topology.hosts}
    wide = {
        name: half_width(name, places.size) if name in hosts else places.size
        for name in places.nodes
    }
    taken = [
        (x - wide[name], y - places.size, x + wide[name], y + places.size)
        for name, (x, y) in places.nodes.items()
    ]
    lines = [(places.nodes[link.a], places.nodes[link.b]) for link in topology.links]
    found: dict[str, Box] = {}
    for name, mark in marks.items():
        if not mark:
            continue
        x, y = places.nodes[name]
        half, high = len(mark) * MARK_LETTER / 2, MARK_HEIGHT / 2
        down, across = places.size + 2 + high, wide[name] + 4 + half
        boxes = [
            (x + dx - half, y + dy - high, x + dx + half, y + dy + high)
            for dx, dy in ((0, down), (0, -down), (across, 0), (-across, 0))
        ]
        whole = (0.0, 0.0, places.width, places.height)
        found[name] = min(
            boxes,
            key=lambda box: (
                sum(_overlap(box, one) for one in taken) * 3
                + sum(_crosses(line, box) for line in lines)
                + (not _is_in(box, whole)) * 9
            ),
        )
        taken.append(found[name])
    return found


def _overlap(box: Box, other: Box) -> bool:
    return all(box[i] < other[i + 2] and other[i] < box[i + 2] for i in (0, 1))


def _is_in(box: Box, whole: Box) -> bool:
    return all(whole[i] <= box[i] and box[i + 2] <= whole[i + 2] for i in (0, 1))


def _crosses(line: tuple[tuple[float, float], tuple[float, float]], box: Box) -> bool:
    """Whether a part of a line is in a box."""
    first, last = 0.0, 1.0
    for i in (0, 1):
        start, way = line[0][i], line[1][i] - line[0][i]
        if not way:
            if not box[i] < start < box[i + 2]:
                return False
            continue
        near, far = sorted(((box[i] - start) / way, (box[i + 2] - start) / way))
        first, last = max(first, near), min(last, far)
    return first < last


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
