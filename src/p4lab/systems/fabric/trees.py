"""Replication trees: for each port that makes copies, where they go (section 5 of the paper)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeAlias

from p4lab.systems.fabric.ports import (
    LEAVES_OF_RACK,
    MOST_COPIES,
    TERMINALS,
    surrogate,
    terminal,
    terminals,
)

Tree: TypeAlias = list[tuple[int, list[int]]]
"""The sender first"""

ONWARD = MOST_COPIES - TERMINALS
"""Copies that a surrogate has left for others when its own leaf has five"""


def direct(sender: int, receivers: Sequence[int]) -> Tree:
    """A tree without surrogates."""
    return [(sender, list(receivers))]


def grown(sender: int, first: int, leaves: Sequence[int], own: Sequence[int] = ()) -> Tree:
    """All terminals of these leaves, level by level: `first` copies of the sender go to surrogates,
    three of each surrogate. `own` are receivers that the sender serves itself. Raises ValueError if
    that is more than eight copies."""
    if first + len(own) > MOST_COPIES:
        raise ValueError(f"{first} + {len(own)} copies at the sender: {MOST_COPIES} are possible")
    tree: Tree = [(sender, [*own, *map(surrogate, leaves[:first])])]
    for place, leaf in enumerate(leaves):
        begin = first + ONWARD * place
        onward = map(surrogate, leaves[begin : begin + ONWARD])
        tree.append((surrogate(leaf), [*terminals(leaf), *onward]))
    return tree


def broadcast(leaves: int, sender_leaf: int = 0) -> Tree:
    """From the first server of a leaf to all others, as in figure 14: the sender serves its own
    leaf and one surrogate in each rack, which serves the rack in up to four levels. Raises
    ValueError for more racks than four copies reach."""
    sender = terminal(sender_leaf)
    racks = [
        [leaf for leaf in range(start, min(start + LEAVES_OF_RACK, leaves)) if leaf != sender_leaf]
        for start in range(0, leaves, LEAVES_OF_RACK)
    ]
    racks = [rack for rack in racks if rack]
    own = [port for port in terminals(sender_leaf) if port != sender]
    if len(racks) + len(own) > MOST_COPIES:
        raise ValueError(f"{len(racks)} racks: a sender has four copies for them")
    tree: Tree = [(sender, [*own, *(surrogate(rack[0]) for rack in racks)])]
    for rack in racks:
        tree += grown(sender, 1, rack)[1:]
    return tree


def levels(tree: Tree) -> dict[int, int]:
    """Surrogates that a frame has passed when it comes to a receiver, by port."""
    depth = {tree[0][0]: 0}
    found = {}
    feeding = dict(tree)
    for port, children in tree:
        for child in children:
            if child in feeding:
                depth[child] = depth[port] + 1
            else:
                found[child] = depth[port]
    return found


def reach(n: int) -> int:
    """Equation 1: terminals that a message can get to over up to n levels of surrogates, if four
    local copies are made at the sender and five at each surrogate."""
    return 4 + 4 * 5 * sum(3**i for i in range(n))


def crossings(tree: Tree) -> tuple[int, int]:
    """Equation 2: frames on links between leaves and spines, of the tree and of an ideal network
    that sends each to the spines once and to every leaf once."""
    pairs = [(port // 8, child // 8) for port, children in tree for child in children]
    away = sum(a != b for a, b in pairs)
    leaves = {b for a, b in pairs} - {tree[0][0] // 8}
    return 2 * away, (1 + len(leaves)) if leaves else 0


def drawn(sender: int, leaves: Sequence[int], count: int, chance: random.Random) -> Tree:
    """Section 5.2: `count` of the leaves, a quarter of them with first-level surrogates."""
    chosen = chance.sample(list(leaves), count)
    return grown(sender, count // (ONWARD + 1), chosen)
