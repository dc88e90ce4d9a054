"""A tree as a value: who has a packet, to whom it hands copies, and who receives it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

Node = Hashable
"""A name from a topology, or whatever a graph calls its nodes"""
Hop = tuple[Node, Node]
"""From, to"""


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree from `root`. `children` has a row for each node with children, in their order.

    `receivers` are in depth-first order. One of them may have children, or be the root.
    """

    root: Node
    children: Mapping[Node, tuple[Node, ...]]
    receivers: tuple[Node, ...]

    @classmethod
    def of(
        cls,
        root: Node,
        parents: Mapping[Node, Node],
        receivers: Iterable[Node],
        rank: Mapping[Node, int],
    ) -> Tree:
        """The part that leads to the receivers, from the parent of every other node.

        Siblings are in the order of `rank`. Raises KeyError if no parents lead from a receiver to
        the root.
        """
        wanted = dict.fromkeys(receivers)
        children: dict[Node, list[Node]] = {}
        seen = {root}
        for receiver in wanted:
            node = receiver
            while node not in seen:
                seen.add(node)
                children.setdefault(parents[node], []).append(node)
                node = parents[node]
        for siblings in children.values():
            siblings.sort(key=rank.__getitem__)
        rows = {node: tuple(siblings) for node, siblings in children.items()}
        every = _depth_first(root, rows)
        return cls(root, rows, tuple(node for node in every if node in wanted))

    @cached_property
    def parents(self) -> dict[Node, Node]:
        """The parent of every node but the root."""
        return {child: node for node, row in self.children.items() for child in row}

    @cached_property
    def rank(self) -> dict[Node, int]:
        """The place of every node in depth-first order."""
        return {node: number for number, node in enumerate(self.depth_first())}

    def children_of(self, node: Node) -> tuple[Node, ...]:
        return self.children.get(node, ())

    def depth_first(self) -> Iterator[Node]:
        """All nodes, each before what is below it."""
        return _depth_first(self.root, self.children)

    def breadth_first(self) -> Iterator[Node]:
        """All nodes, level by level."""
        level = [self.root]
        while level:
            yield from level
            level = [child for node in level for child in self.children.get(node, ())]

    def hops(self) -> list[Hop]:
        """The links in the direction of the packets, breadth first."""
        return [(node, child) for node in self.breadth_first() for child in self.children_of(node)]

    def path(self, node: Node) -> tuple[Node, ...]:
        """From the root to a node, both included. Raises KeyError if it is not in the tree."""
        back = [node]
        while back[-1] != self.root:
            back.append(self.parents[back[-1]])
        return tuple(reversed(back))

    def only(self, receivers: Iterable[Node]) -> Tree:
        """What is left of the tree for some of its receivers, in the same order."""
        return Tree.of(self.root, self.parents, receivers, self.rank)


def _depth_first(root: Node, children: Mapping[Node, tuple[Node, ...]]) -> Iterator[Node]:
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children.get(node, ())))
