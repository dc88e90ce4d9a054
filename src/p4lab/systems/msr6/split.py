"""A tree in several packets, where its list is longer than routers can read.

Every receiver needs a chain of entries: its own, and those of the nodes between it and the root.
A packet pays once for what its receivers share. Wanted are as few packets as possible, and of those
splits one with as few entries in all. That is bin packing, so no fast rule finds the best split of
every tree. This one takes the better of two:

- cuts of the depth-first order of receivers: the best there are, by dynamic programming. Packets
  keep to one part of the tree each;
- best fit: the receiver with the longest chain first, into the packet where it needs the fewest
  further entries. This also fills packets with what is left over in different parts of the tree.

How close that comes to the best split of all is measured in tests/python/test_msr6_split.py.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple, TypeVar

from p4lab.model.control import NumberError
from p4lab.systems.msr6.tree import Node, Tree

Chain = tuple[Hashable, ...]
"""The entries that one receiver needs, from the root's side"""
T = TypeVar("T")


def split(tree: Tree, chains: Mapping[Node, Chain], limit: int) -> tuple[Tree, ...]:
    """Trees from the same root with at most `limit` entries each. Every receiver is in one of them.

    Raises NumberError with a receiver whose chain alone is longer.
    """
    for receiver in tree.receivers:
        if len(chains[receiver]) > limit:
            raise NumberError(
                f"the path from {tree.root} to {receiver} alone needs {len(chains[receiver])} "
                f"entries, and routers read {limit}: choose a shorter path"
            )
    same: dict[Chain, list[Node]] = {}
    for receiver in tree.receivers:
        same.setdefault(chains[receiver], []).append(receiver)
    order = list(same)
    splits = [_cuts(order, limit), _best_fit(order, limit)]
    best = min(splits, key=lambda packets: (len(packets), sum(map(_entries, packets))))
    if len(best) == 1:
        return (tree,)
    return tuple(tree.only(node for chain in packet for node in same[chain]) for packet in best)


def _entries(packet: Sequence[Chain]) -> int:
    return len({entry for chain in packet for entry in chain})


def _shared(one: Chain, other: Chain) -> int:
    """How many entries two chains have in common: they part once and for all."""
    for index, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return index
    return min(len(one), len(other))


class _Cut(NamedTuple):
    """The best split of the first so many chains: packets, entries that are there twice or more
    often, and where the last packet begins."""

    packets: int
    repeated: int
    start: int


def _cuts(order: Sequence[Chain], limit: int) -> list[Sequence[Chain]]:
    """The best split into runs of the depth-first order.

    In this order a chain shares with all before it what it shares with the last. So a packet that
    begins with chain j has, beside what is new in every chain, a second copy of what j shares with
    the chain before.
    """
    shared = [0, *(_shared(one, other) for one, other in pairwise(order))]
    new = [len(chain) - common for chain, common in zip(order, shared, strict=True)]
    until = [0, *accumulate(new)]
    best = [_Cut(0, 0, 0)]
    starts: deque[tuple[int, int, int]] = deque()  # packets, repeated entries, start: ascending
    for end in range(1, len(order) + 1):
        start = end - 1
        candidate = (best[start].packets, best[start].repeated + shared[start], start)
        while starts and starts[-1] >= candidate:
            starts.pop()
        starts.append(candidate)
        while until[end] - until[starts[0][2]] + shared[starts[0][2]] > limit:
            starts.popleft()
        packets, repeated, start = starts[0]
        best.append(_Cut(packets + 1, repeated, start))
    runs: list[Sequence[Chain]] = []
    end = len(order)
    while end:
        start = best[end].start
        runs.append(order[start:end])
        end = start
    return runs[::-1]


def _best_fit(order: Sequence[Chain], limit: int) -> list[Sequence[Chain]]:
    """The longest chain first, each where it adds the fewest entries, and of those packets into the
    fullest; a new packet if it fits into none."""
    packets: list[list[Chain]] = []
    free: list[int] = []
    holding: dict[Hashable, list[int]] = {}
    for chain in sorted(order, key=len, reverse=True):
        chosen = None
        for depth in range(len(chain), -1, -1):
            added = len(chain) - depth
            candidates = holding.get(chain[depth - 1], ()) if depth else range(len(packets))
            fitting = [number for number in candidates if free[number] >= added]
            if fitting:
                chosen = min(fitting, key=free.__getitem__)
                break
        else:
            chosen, added = len(packets), len(chain)
            packets.append([])
            free.append(limit)
        packets[chosen].append(chain)
        free[chosen] -= added
        for entry in chain[len(chain) - added :]:
            holding.setdefault(entry, []).append(chosen)
    return list(packets)


def runs(tree: Tree, encode: Callable[[Tree], T]) -> tuple[T, ...]:
    """A tree in several packets, for encodings whose length follows from the whole tree.

    Cuts the depth-first order of the receivers into runs, each as long as `encode` can do. No other
    cuts need fewer packets, since what fits still fits without some of its receivers. Raises the
    NumberError of `encode` if it cannot do a single receiver.
    """
    found: list[T] = []
    rest = tree.receivers
    while rest:
        encoded, good, bad = encode(tree.only(rest[:1])), 1, len(rest) + 1
        while good + 1 < bad:  # doubles until a run is too long, then halves the gap
            tried = min(2 * good, (good + bad) // 2)
            try:
                encoded, good = encode(tree.only(rest[:tried])), tried
            except NumberError:
                bad = tried
        found.append(encoded)
        rest = rest[good:]
    return tuple(found)
