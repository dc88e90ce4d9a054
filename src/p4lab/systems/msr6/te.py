"""MSR6 TE: a tree as a list of SIDs, breadth first (End.RL).

Every node but the root has one entry, and a receiver that has children as well has two: a routing
header of 8 + 16 x (nodes - 1 + such receivers) bytes. The children of a node are next to each other
in the list, so that its SID needs no more than their number and the index of the first.

This encoding is p4lab's own profile, not an IETF format.
"""

from __future__ import annotations

from collections.abc import Mapping

from p4lab.model.control import NumberError
from p4lab.systems.msr6.encoded import Encoded, check
from p4lab.systems.msr6.sids import END_RL, ListArgument, Sid, leaf
from p4lab.systems.msr6.split import Chain, split
from p4lab.systems.msr6.tree import Node, Tree


def entries(tree: Tree) -> int:
    """How many entries the list of a tree has."""
    internal = [node for node in tree.children if node != tree.root]
    return len(internal) + len(tree.receivers)


def chains(tree: Tree) -> dict[Node, Chain]:
    """The entries that each receiver needs: those of the nodes before it, and its leaf's."""
    before: dict[Node, Chain] = {tree.root: ()}
    for node, child in tree.hops():
        before[child] = before[node] if node == tree.root else (*before[node], node)
    return {receiver: (*before[receiver], (receiver, "leaf")) for receiver in tree.receivers}


def packets(tree: Tree, nodes: Mapping[Node, int], limit: int) -> tuple[Encoded, ...]:
    """A tree in as many packets as it needs with at most `limit` entries each.

    Raises NumberError with a receiver that is too far away for any list.
    """
    return tuple(encode(part, nodes) for part in split(tree, chains(tree), limit))


def encode(tree: Tree, nodes: Mapping[Node, int]) -> Encoded:
    """A tree in one packet; `nodes` are the node numbers of SIDs.

    Raises NumberError if the tree has no receiver, or more entries than any routing header.
    """
    if not tree.receivers:
        raise NumberError("a tree without receivers has no list")
    free = entries(tree)  # indices below this one are not taken yet
    check(free)
    receives = set(tree.receivers)
    sids = [0] * free
    place = {tree.root: free}  # where a node's SID is; the root's goes to the address instead
    destination = Sid(nodes[tree.root], END_RL)
    for node in tree.breadth_first():
        children = tree.children_of(node)
        if not children and node != tree.root:
            sids[place[node]] = leaf(nodes[node]).pack()
            continue
        here = node in receives
        own = Sid(nodes[node], END_RL, ListArgument(len(children) + here, free - 1).pack())
        if node == tree.root:
            destination = own
        else:
            sids[place[node]] = own.pack()
        for child in children:
            free -= 1
            place[child] = free
        if here:
            free -= 1
            sids[free] = leaf(nodes[node]).pack()
    return Encoded(destination, tuple(sids), len(sids), tree.receivers)
