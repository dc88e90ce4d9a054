"""MSR6 TE with RLB: a tree as local bit strings (End.RLB).

A bit stands for an adjacency of its node. Only routers have entries: a routing header of
8 + 16 x (routers - 1) bytes, and never less than one entry. Hosts and listeners behind a router
cost nothing.

This encoding is p4lab's own profile, not an IETF format.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from p4lab.model.control import NumberError
from p4lab.systems.msr6.encoded import Encoded, check
from p4lab.systems.msr6.sids import END_RLB, MOST_ADJACENCIES, LocalBits, Sid
from p4lab.systems.msr6.split import Chain, split
from p4lab.systems.msr6.tree import Node, Tree
from p4lab.topology import Topology


class Kind(Enum):
    """What an adjacency leads to."""

    TRANSIT = "transit"
    """A router, whose SID is the next entry of the list"""
    LEAF = "leaf"
    """A host, whose SID the router knows"""
    LOCAL = "local"
    """Listeners of the router itself"""


class Adjacency(NamedTuple):
    """What one bit of a router stands for. `number` counts from 1, the lowest bit.

    `neighbour` and `port` say where it leads: for LOCAL to the router itself, port 0.
    """

    number: int
    kind: Kind
    neighbour: Node
    port: int

    @property
    def bit(self) -> int:
        return 1 << self.number - 1


def numbered(
    router: Node, routers: Sequence[tuple[Node, int]], hosts: Sequence[tuple[Node, int]] = ()
) -> tuple[Adjacency, ...]:
    """The adjacencies of a router: neighbouring routers first, then hosts, then itself.

    Each neighbour comes with its port. Only the first MOST_ADJACENCIES have a bit; the others
    cannot be reached by this encoding.
    """
    every = [
        *((Kind.TRANSIT, node, port) for node, port in routers),
        *((Kind.LEAF, node, port) for node, port in hosts),
        (Kind.LOCAL, router, 0),
    ]
    rows = enumerate(every[:MOST_ADJACENCIES], 1)
    return tuple(Adjacency(number, *row) for number, row in rows)


def adjacencies(topology: Topology) -> dict[Node, tuple[Adjacency, ...]]:
    """The adjacencies of every router, in the order of ports, whatever is down."""
    hosts = {host.name for host in topology.hosts}
    rows: dict[Node, tuple[Adjacency, ...]] = {}
    for router in topology.routers:
        cables = [(node, port) for port, node in topology.ports(router.name).items()]
        rows[router.name] = numbered(
            router.name,
            [cable for cable in cables if cable[0] not in hosts],
            [cable for cable in cables if cable[0] in hosts],
        )
    return rows


def chains(tree: Tree, adjacencies: Mapping[Node, tuple[Adjacency, ...]]) -> dict[Node, Chain]:
    """The entries that each receiver needs: those of the routers on its path, but for the root."""
    to: dict[Node, Chain] = {tree.root: ()}
    for node, child in tree.hops():
        to[child] = (*to[node], child) if child in adjacencies else to[node]
    return {receiver: to[receiver] for receiver in tree.receivers}


def packets(
    tree: Tree,
    nodes: Mapping[Node, int],
    adjacencies: Mapping[Node, tuple[Adjacency, ...]],
    limit: int,
) -> tuple[Encoded, ...]:
    """A tree in as many packets as it needs with at most `limit` entries each.

    Raises NumberError as `encode` does, or with a receiver that is too far away for any list.
    """
    parts = split(tree, chains(tree, adjacencies), limit)
    return tuple(encode(part, nodes, adjacencies) for part in parts)


def encode(
    tree: Tree,
    nodes: Mapping[Node, int],
    adjacencies: Mapping[Node, tuple[Adjacency, ...]],
) -> Encoded:
    """A tree in one packet; `nodes` are the node numbers of SIDs.

    Nodes without adjacencies are hosts. Raises NumberError if the tree has no receiver, if a node
    has no bit for one of its children, or if no routing header has that many entries.
    """
    if not tree.receivers:
        raise NumberError("a tree without receivers has no bits")
    free = entries(tree, adjacencies)  # indices below this one are not taken yet
    check(max(free, 1))
    receives = set(tree.receivers)
    sids = [0] * max(free, 1)
    place = {tree.root: free}  # where a node's SID is; the root's goes to the address instead
    destination = Sid(nodes[tree.root], END_RLB)
    for node in tree.breadth_first():
        if node not in adjacencies:
            continue
        wanted = _wanted(tree, node, adjacencies[node], node in receives)
        transits = [adjacency for adjacency in wanted if adjacency.kind is Kind.TRANSIT]
        bits = sum(adjacency.bit for adjacency in wanted)
        argument = LocalBits(bits, free - 1 if transits else 0).pack()
        own = Sid(nodes[node], END_RLB, argument)
        if node == tree.root:
            destination = own
        else:
            sids[place[node]] = own.pack()
        for adjacency in transits:
            free -= 1
            place[adjacency.neighbour] = free
    return Encoded(destination, tuple(sids), len(sids), tree.receivers)


def entries(tree: Tree, adjacencies: Mapping[Node, tuple[Adjacency, ...]]) -> int:
    """How many entries the list of a tree needs. If none, it has one that nobody reads."""
    return sum(node in adjacencies for node in tree.parents)


def _wanted(
    tree: Tree, node: Node, adjacencies: tuple[Adjacency, ...], receives: bool
) -> list[Adjacency]:
    """The adjacencies to which a node hands copies, the lowest bit first."""
    missing = {*tree.children_of(node), *((node,) if receives else ())}
    wanted = [adjacency for adjacency in adjacencies if adjacency.neighbour in missing]
    missing.difference_update(adjacency.neighbour for adjacency in wanted)
    if missing:
        other = min(missing, key=str)
        target = "its own listeners" if other == node else str(other)
        raise NumberError(
            f"{node} has no bit for {target}: a local bit string has {MOST_ADJACENCIES} bits, "
            "for neighbouring routers first, then for hosts. Use a list of SIDs instead"
        )
    return wanted
