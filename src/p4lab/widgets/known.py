"""Nodes and links that a notebook asks for by name, and a sentence where there is none."""

from __future__ import annotations

from collections.abc import Collection

from p4lab.errors import ArgumentError
from p4lab.topology import Link, Topology

MOST_TOLD = 24
"""Names in a sentence; the others are counted"""


def known_router(topology: Topology, name: str) -> str:
    """The name of a router. Raises ValueError that has those there are."""
    return known(name, [router.name for router in topology.routers], "router")


def known_node(topology: Topology, name: str) -> str:
    """The name of a router or a host. Raises ValueError that has those there are."""
    names = [router.name for router in topology.routers]
    return known(name, [*names, *(host.name for host in topology.hosts)], "node")


def known_link(topology: Topology, a: str, b: str) -> Link:
    """The link between two nodes. Raises ValueError that has the nodes, or the neighbours of `a`,
    that there are."""
    for name in (a, b):
        known_node(topology, name)
    found = [link for link in topology.links if a in link.ends]
    for link in found:
        if link.ends == {a, b}:
            return link
    neighbours = [link.b if link.a == a else link.a for link in found]
    raise ArgumentError(f"there is no link {a}-{b}; {a} has links to {_row(neighbours)}.")


def known(name: str, names: Collection[str], what: str) -> str:
    """`name`, if it is one of `names`. Raises ValueError that has them."""
    if name in names:
        return name
    raise ArgumentError(f"there is no {what} {name!r} in this network; choose from {_row(names)}.")


def _row(names: Collection[str]) -> str:
    more = len(names) - MOST_TOLD
    return ", ".join(list(names)[:MOST_TOLD]) + (f" and {more} more" if more > 0 else "")
