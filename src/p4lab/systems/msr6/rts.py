"""RTS, recursive tree structures, as a reference: draft-eckert-pim-rts-forwarding-01.

A header is the Recursive Unit (RU) of its root. A unit says what its router does, and contains the
units of the routers to which it sends copies:

    b d S L B R | SID 10 or 18, or 2 bits of padding | RULL 8 | BSL 5, SD 3, BitString | RU-List

d: deliver here. S: there is a SID (L: of 18 bits), by which the router before this one knows where
the unit goes. B: copies go where the bits of a BitString say. R: there is a list of units, of the
length that RULL says. A copy carries nothing but the unit of the router that it is for.

Without B, there is a unit in the list for every copy. With B, there is one for every set bit, but
for neighbours that are always leaves: these get a unit of one byte from the router before them.
The draft leaves two things open that are settled here: the leftmost bit of a BitString is the
first, and SD is 0. The flag b (to all leaf neighbours) is not used.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from p4lab.model.control import NumberError
from p4lab.systems.msr6.graph import Graph
from p4lab.systems.msr6.split import runs
from p4lab.systems.msr6.tree import Node, Tree

DELIVER, HAS_SID, LONG_SID, HAS_BITS, HAS_LIST = 0x40, 0x20, 0x10, 0x08, 0x04
SHORT_SIDS = 1 << 10
LONG_SIDS = 1 << 18
LEAF = bytes([DELIVER])
"""The unit of a leaf without a SID"""

_EXACT_LENGTHS = 127
MOST_LIST_BYTES = _EXACT_LENGTHS + 4 * (255 - _EXACT_LENGTHS)
"""639: the draft says 640"""
MOST_BITS = 8 * 31
"""BSL has 5 bits and counts bytes: the draft says up to 32 of them"""

Style = Literal["lists", "bits", "shortest"]
"""How routers learn where their copies go: from SIDs, from bits, or from what is shorter"""


class Row(NamedTuple):
    """A bit of a router's table: its neighbour, and whether that never has others below it."""

    neighbour: Node
    is_leaf: bool


Tables = Mapping[Node, tuple[Row, ...]]


@dataclass(frozen=True)
class Header:
    """An RTS header, as its root makes it."""

    unit: bytes
    receivers: tuple[Node, ...]


def tables(graph: Graph) -> dict[Node, tuple[Row, ...]]:
    """Every node's bits: its neighbours in the order of the graph. Those that have no other
    neighbour are always leaves."""
    return {
        node: tuple(Row(arc.to, len(graph.arcs[arc.to]) <= 1) for arc in arcs)
        for node, arcs in graph.arcs.items()
    }


def toy(tree: Tree, sids: Mapping[Node, int]) -> bytes:
    """The simplified form of the draft's figure 4: for each node a byte with its SID, and a byte
    with the length of what is below it. Only leaves receive."""
    units: dict[Node, bytes] = {}
    for node in reversed(list(tree.breadth_first())):
        below = b"".join(units[child] for child in tree.children_of(node))
        if len(below) > 255 or not 0 <= sids[node] <= 255:
            raise NumberError(
                f"{node} has SID {sids[node]} and {len(below)} bytes below it: one byte holds up "
                "to 255"
            )
        units[node] = bytes([sids[node], len(below)]) + below
    return units[tree.root]


def encode(
    tree: Tree, sids: Mapping[Node, int], tables: Tables, style: Style = "shortest"
) -> Header:
    """A tree as a header; a router that is not in `tables` has no bits.

    Raises NumberError if there is no receiver, or if something is longer than its field can say.
    """
    if not tree.receivers:
        raise NumberError("a tree without receivers has no header")
    receives = set(tree.receivers)
    bare: dict[Node, bytes] = {}  # units without their SIDs, as bits need them
    named: dict[Node, bytes] = {}  # and with them, as lists do
    for node in reversed(list(tree.breadth_first())):
        flags, rest = _parameters(node, tree.children_of(node), bare, named, tables, style)
        flags |= DELIVER if node in receives else 0
        bare[node] = bytes([flags]) + rest
        named[node] = _flags_and_sid(flags, node, sids[node]) + rest
    return Header(bare[tree.root], tree.receivers)


def packets(
    tree: Tree,
    sids: Mapping[Node, int],
    tables: Tables,
    most_bytes: int,
    style: Style = "shortest",
) -> tuple[Header, ...]:
    """A tree in headers of at most `most_bytes`: as few as cuts of its depth-first order need.

    Raises NumberError if the path to one receiver alone does not fit.
    """

    def fitting(part: Tree) -> Header:
        header = encode(part, sids, tables, style)
        if len(header.unit) > most_bytes:
            raise NumberError(
                f"the path from {tree.root} to {part.receivers[0]} alone needs {len(header.unit)} "
                f"bytes, and a header may have {most_bytes}"
            )
        return header

    return runs(tree, fitting)


def _parameters(
    node: Node,
    children: tuple[Node, ...],
    bare: Mapping[Node, bytes],
    named: Mapping[Node, bytes],
    tables: Tables,
    style: Style,
) -> tuple[int, bytes]:
    """Flags of a node's unit, and all that follows its SID."""
    if not children:
        return 0, b""
    forms = {
        "lists": lambda: _by_list(node, [named[child] for child in children]),
        "bits": lambda: _by_bits(node, {child: bare[child] for child in children}, tables),
    }
    found: list[tuple[int, bytes]] = []
    why: list[NumberError] = []
    for form in forms if style == "shortest" else [style]:
        try:
            found.append(forms[form]())
        except NumberError as error:
            why.append(error)
    if not found:
        raise why[0]
    return min(found, key=lambda form: len(form[1]))


def _by_list(node: Node, units: list[bytes]) -> tuple[int, bytes]:
    length, text = _list(node, units)
    return HAS_LIST, length + text


def _by_bits(node: Node, units: Mapping[Node, bytes], tables: Tables) -> tuple[int, bytes]:
    rows = tables.get(node, ())
    missing = set(units) - {row.neighbour for row in rows}
    if missing or len(rows) > MOST_BITS:
        raise NumberError(
            f"{node} has {len(rows)} neighbours with a bit, and a BitString needs one for each of "
            f"its copies and has up to {MOST_BITS}: use lists"
        )
    size = -(-len(rows) // 8)
    string = 0
    for index, row in enumerate(rows):
        if row.neighbour in units:
            string |= 1 << 8 * size - 1 - index
    bits = bytes([size << 3]) + string.to_bytes(size, "big")
    below = [units[row.neighbour] for row in rows if row.neighbour in units and not row.is_leaf]
    if not below:
        return HAS_BITS, bits
    length, text = _list(node, below)
    return HAS_BITS | HAS_LIST, length + bits + text


def _list(node: Node, units: list[bytes]) -> tuple[bytes, bytes]:
    """RULL and RU-List: lengths above 127 come in steps of four bytes."""
    text = b"".join(units)
    if len(text) <= _EXACT_LENGTHS:
        return bytes([len(text)]), text
    if len(text) > MOST_LIST_BYTES:
        raise NumberError(
            f"the list below {node} has {len(text)} bytes, and its length goes up to "
            f"{MOST_LIST_BYTES}: split the tree"
        )
    steps = -(-(len(text) - _EXACT_LENGTHS) // 4)
    return bytes([_EXACT_LENGTHS + steps]), text.ljust(_EXACT_LENGTHS + 4 * steps, b"\0")


def _flags_and_sid(flags: int, node: Node, sid: int) -> bytes:
    if not 0 <= sid < LONG_SIDS:
        raise NumberError(f"{node} has SID {sid}, and an RTS header has 18 bits for it")
    if sid < SHORT_SIDS:
        return ((flags | HAS_SID) << 8 | sid).to_bytes(2, "big")
    return ((flags | HAS_SID | LONG_SID) << 16 | sid).to_bytes(3, "big")


# ---- Forwarding ----------------------------------------------------------------------------------


class Copy(NamedTuple):
    """A packet on its way to a router, with the unit for it."""

    source: Node
    target: Node
    unit: bytes


@dataclass
class Walk:
    """What became of a packet."""

    copies: list[Copy] = field(default_factory=list)
    received: list[Node] = field(default_factory=list)


def walk(header: bytes, root: Node, nodes: Mapping[int, Node], tables: Tables) -> Walk:
    """Follow a header from its root; `nodes` are whom SIDs stand for. Raises ValueError where a
    unit is cut off."""
    result = Walk()
    waiting = deque([Copy(root, root, header)])
    while waiting:
        node, unit = waiting[0].target, _Unit(waiting.popleft().unit)
        if unit.flags & DELIVER:
            result.received.append(node)
        if unit.flags & HAS_BITS:
            below = iter(unit.units)
            chosen = [row for row, bit in zip(tables[node], unit.bits, strict=False) if bit]
            copies = [Copy(node, r.neighbour, LEAF if r.is_leaf else next(below)) for r in chosen]
        else:
            copies = [Copy(node, nodes[_Unit(below).sid], below) for below in unit.units]
        result.copies += copies
        waiting.extend(copies)
    return result


class _Unit:
    """The fields of a Recursive Unit at the beginning of some bytes."""

    def __init__(self, text: bytes) -> None:
        self.text, self.at = text, 0
        first = self._take(1)
        self.flags = first[0] & 0xFC
        self.sid = 0
        if self.flags & HAS_SID:
            more = self._take(2 if self.flags & LONG_SID else 1)
            self.sid = (first[0] & 3) << 8 * len(more) | int.from_bytes(more, "big")
        length = self._take(1)[0] if self.flags & HAS_LIST else 0
        if length > _EXACT_LENGTHS:
            length = _EXACT_LENGTHS + 4 * (length - _EXACT_LENGTHS)
        self.bits: list[bool] = []
        if self.flags & HAS_BITS:
            string = self._take(self._take(1)[0] >> 3)
            self.bits = [bool(byte >> bit & 1) for byte in string for bit in range(7, -1, -1)]
        self._list = self._take(length)

    def _take(self, count: int) -> bytes:
        taken = self.text[self.at : self.at + count]
        if len(taken) < count:
            raise ValueError("the unit ends in the middle of a field")
        self.at += count
        return taken

    @property
    def units(self) -> list[bytes]:
        """What is in the list, without the padding: that has no flags, and does nothing."""
        found, rest = [], self._list
        while rest and rest[0]:
            end = _Unit(rest).at
            found.append(rest[:end])
            rest = rest[end:]
        return found
