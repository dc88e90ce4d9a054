"""Where the nodes of a network stand: the source on top, what is behind it below."""

from __future__ import annotations

from collections import deque

from p4lab.topology import Topology
from p4lab.widgets.layout import MARGIN, Places, place

COLUMN, ROW = 78.0, 70.0
MOST_COLUMNS = 16
"""What fits beside a header; with more, the network stands as in other views, and above it"""


def layers(topology: Topology, root: str) -> Places:
    """Nodes below each other by their distance from `root`, in hops. What hangs on one link of the
    shortest paths has columns of its own, so that these links do not cross."""
    children, depth = _shortest(topology, root)
    columns: dict[str, float] = {}
    order: list[str] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting += reversed(children[node])
    leaves = 0
    for node in reversed(order):
        below = [columns[child] for child in children[node]]
        if below:
            columns[node] = (below[0] + below[-1]) / 2
        else:
            columns[node] = leaves
            leaves += 1
    if leaves > MOST_COLUMNS:
        return place(topology, root)
    last = leaves - 1  # the columns were counted from the right
    nodes = {
        node: (MARGIN + (last - columns[node]) * COLUMN, MARGIN + depth[node] * ROW)
        for node in order
    }
    height = 2 * MARGIN + max(depth.values()) * ROW
    return Places(nodes, 2 * MARGIN + last * COLUMN, height)


def _shortest(topology: Topology, root: str) -> tuple[dict[str, list[str]], dict[str, int]]:
    """The tree of shortest paths by hops, in the order of ports, and the distance of every node.
    What cannot be reached stands beside the root."""
    around = {
        router.name: list(topology.ports(router.name).values()) for router in topology.routers
    }
    around |= {host.name: [host.router] for host in topology.hosts}
    children: dict[str, list[str]] = {name: [] for name in around}
    depth = {root: 0}
    waiting = deque([root])
    while waiting:
        node = waiting.popleft()
        for other in around[node]:
            if other not in depth:
                depth[other] = depth[node] + 1
                children[node].append(other)
                waiting.append(other)
    for lonely in around.keys() - depth.keys():
        depth[lonely] = 1
        children[root].append(lonely)
    return children, depth
