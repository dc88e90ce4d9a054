"""RBS, recursive bit strings, as a reference: draft-eckert-bier-rbs-00.

An RBS address has a Recursive Unit (RU) for every router of the tree that may have others below it:

    BitString | AF 1 ... AF N-1 | RU 1 ... RU N

The BitString has a bit for each row of the router's table (RBS-BIFT), row 1 leftmost. N is the
number of set bits whose row says "recursive", and address field i holds the length of RU i in bits.
The length of the last RU is what remains. In front of the whole stand the length and the offset of
the unit that the next router has to read, 12 bits each. Copies differ in these two only.

An address field has 8 bits, or (a router SHOULD support it) a bit 0 and 7 or a bit 1 and 12.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from p4lab.model.control import NumberError
from p4lab.systems.msr6.graph import Graph
from p4lab.systems.msr6.split import runs
from p4lab.systems.msr6.tree import Node, Tree

MOST_BITS = 4095
"""RU-Length and RU-Offset have 12 bits"""
_INDEX_BITS = 2 * 12
_FIELD_BITS = 8


class Row(NamedTuple):
    """A row of an RBS-BIFT: where its bit leads, and whether a unit belongs to it.

    The row of the router itself is its "receive" adjacency.
    """

    neighbour: Node
    recursive: bool


Tables = Mapping[Node, tuple[Row, ...]]


@dataclass(frozen=True)
class Address:
    """An RBS address, as its root makes it. `unit` is RU0: its bits as text, the first leftmost."""

    unit: str
    receivers: tuple[Node, ...]

    @property
    def bits(self) -> int:
        """Length with RU-Length and RU-Offset."""
        return _INDEX_BITS + len(self.unit)


def tables(graph: Graph) -> dict[Node, tuple[Row, ...]]:
    """Every node's table: "receive", then its neighbours in the order of the graph. Neighbours
    that have none but this one are leaves and need no unit, as in the draft's example."""
    return {
        node: (Row(node, False), *(Row(arc.to, len(graph.arcs[arc.to]) > 1) for arc in arcs))
        for node, arcs in graph.arcs.items()
    }


def encode(tree: Tree, tables: Tables, *, variable: bool = False) -> Address:
    """A tree as an address, with address fields of 8 bits or of variable length. Leaves need no
    table.

    Raises NumberError if there is no receiver, or a unit is longer than its length can say.
    """
    if not tree.receivers:
        raise NumberError("a tree without receivers has no address")
    receives = set(tree.receivers)
    units: dict[Node, str] = {}
    for node in reversed([node for node in tree.breadth_first() if node in tables]):
        wanted = {*tree.children_of(node), *((node,) if node in receives else ())}
        rows = tables[node]
        string = "".join(str(int(row.neighbour in wanted)) for row in rows)
        below = [units[row.neighbour] for row in rows if row.recursive and row.neighbour in wanted]
        fields = [_address_field(len(unit), variable) for unit in below[:-1]]
        units[node] = "".join([string, *fields, *below])
    unit = units[tree.root]
    if len(unit) > MOST_BITS:
        raise NumberError(
            f"this tree needs {len(unit)} bits, and the length of an RBS address goes up to "
            f"{MOST_BITS}: split it"
        )
    return Address(unit, tree.receivers)


def packets(
    tree: Tree, tables: Tables, most_bits: int, *, variable: bool = False
) -> tuple[Address, ...]:
    """A tree in addresses of at most `most_bits`: as few as cuts of its depth-first order need.

    Raises NumberError if the path to one receiver alone does not fit.
    """

    def fitting(part: Tree) -> Address:
        address = encode(part, tables, variable=variable)
        if address.bits > most_bits:
            raise NumberError(
                f"the path from {tree.root} to {part.receivers[0]} alone needs {address.bits} "
                f"bits, and an address may have {most_bits}"
            )
        return address

    return runs(tree, fitting)


def _address_field(length: int, variable: bool) -> str:
    if variable and length < 1 << 12:
        return f"0{length:07b}" if length < 1 << 7 else f"1{length:012b}"
    if variable or length >= 1 << _FIELD_BITS:
        raise NumberError(
            f"a recursive unit has {length} bits, and its address field goes up to "
            f"{4095 if variable else 255}: split the tree"
        )
    return f"{length:0{_FIELD_BITS}b}"


# ---- Forwarding ----------------------------------------------------------------------------------


class Copy(NamedTuple):
    """A packet on its way to a router: the part of RU0 that is for it. Length 0: for itself."""

    source: Node
    target: Node
    offset: int
    length: int


@dataclass
class Walk:
    """What became of a packet. `beyond` are routers whose unit ends behind the address: they would
    have to read what is not there, and drop the packet."""

    copies: list[Copy] = field(default_factory=list)
    received: list[Node] = field(default_factory=list)
    beyond: list[Copy] = field(default_factory=list)


def walk(
    address: Address,
    root: Node,
    tables: Tables,
    *,
    variable: bool = False,
    as_printed: bool = False,
    padding: int = 0,
) -> Walk:
    """Follow an address from its root by the draft's pseudocode (figure 6).

    `as_printed`, that takes the other units and the address fields off the length that came in, and
    what remains is the length of the last unit. It forgets the BitString, so the last unit is too
    long by that. Nobody is misled as long as there is something to read behind the address, such as
    the `padding` to the size of an RFC 8296 BitString, in bits.
    """
    result = Walk()
    waiting = deque([Copy(root, root, 0, len(address.unit))])
    while waiting:
        arrived = waiting.popleft()
        if arrived.length == 0:
            result.received.append(arrived.target)
        elif arrived.offset + arrived.length > len(address.unit) + padding:
            result.beyond.append(arrived)
        else:
            rows = tables[arrived.target]
            copies = _copies(address.unit, arrived, rows, variable, as_printed)
            waiting.extend(copies)
            result.copies += [copy for copy in copies if copy.target != arrived.target]
    return result


def _copies(
    bits: str, arrived: Copy, rows: tuple[Row, ...], variable: bool, as_printed: bool
) -> list[Copy]:
    at = arrived.offset
    chosen = [row for row, bit in zip(rows, bits[at : at + len(rows)], strict=True) if bit == "1"]
    at += len(rows)
    remaining = arrived.length - (0 if as_printed else len(rows))
    lengths: list[int] = []
    recursive = sum(row.recursive for row in chosen)
    for _ in range(recursive - 1):
        length, size = _read_field(bits, at, variable)
        lengths.append(length)
        at += size
        remaining -= length + size
    lengths.append(remaining)
    copies: list[Copy] = []
    for row in chosen:
        if row.recursive:
            length = lengths.pop(0)
            copies.append(Copy(arrived.target, row.neighbour, at, length))
            at += length
        else:
            copies.append(Copy(arrived.target, row.neighbour, 0, 0))
    return copies


def _read_field(bits: str, at: int, variable: bool) -> tuple[int, int]:
    """An address field: the length that it says, and its own."""
    if not variable:
        return int(bits[at : at + _FIELD_BITS], 2), _FIELD_BITS
    size = 13 if bits[at] == "1" else 8
    return int(bits[at + 1 : at + size], 2), size
