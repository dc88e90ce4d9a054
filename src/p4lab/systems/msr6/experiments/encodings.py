"""The encodings that are compared: what each makes of a tree, and what that costs on the way.

What stands in front of a packet:

    BIER          12 bytes and the BitString (RFC 8296), behind Ethernet
    TE, RLB, BE   IPv6, and the routing header of p4lab's own profile, which is not an IETF format
    RBS, RTS      IPv6, and a routing header of the same form with the draft's address or header in
                  the place of the list. No draft says how long that is, so this is an assumption.
    stateful      nothing: every router of the tree knows the group
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass

from p4lab.systems.bier.entries import BSL_CODES, set_identifier
from p4lab.systems.msr6 import be, rbs, rlb, rts, te
from p4lab.systems.msr6.encoded import ENTRY_BYTES, FIXED_BYTES
from p4lab.systems.msr6.entries import IPV6_BYTES
from p4lab.systems.msr6.experiments.networks import Network
from p4lab.systems.msr6.tree import Node, Tree

BIER_BYTES = 12
"""Of an RFC 8296 header without its BitString"""
ALIGNMENT = 8
"""An IPv6 extension header is a multiple of so many bytes"""


@dataclass(frozen=True)
class Case:
    """What is to be sent: along `tree`, or along `unicast` where the encoding names receivers only
    and unicast says how to get there. Lists may have `segments` entries, and what stands in their
    place as many bytes."""

    network: Network
    tree: Tree
    unicast: Tree
    segments: int

    @property
    def most_bytes(self) -> int:
        return ENTRY_BYTES * self.segments


@dataclass(frozen=True)
class Packet:
    """One packet of a send, for the receivers of `tree`. `tree_bytes` are those of the list or the
    bits alone, `header` all that is put in front of it at the ingress, and `on_links` what there is
    of that on all links together."""

    tree: Tree
    tree_bytes: int
    header: int
    on_links: int


@dataclass(frozen=True)
class Encoding:
    """A way to tell routers where copies go. `send` raises NumberError if it cannot be done.

    `rows` are those of a node's tables that serve this encoding and no group. `leaf_passes` is how
    often a packet passes a router for its own listeners if it also sends copies on.
    """

    name: str
    send: Callable[[Case], Sequence[Packet]]
    rows: Callable[[Network, Node], int]
    by_routes: bool = False
    """Whether copies find their way by unicast routes to all nodes"""
    leaf_passes: int = 1
    loops: bool = True
    """Whether copies are made by passes: else by the switch at once, from state per group"""

    def passes(self, packets: Sequence[Packet], hosts: Set[Node]) -> Counter[Node]:
        """How often the packets of a send pass the pipelines of each router: once for each copy and
        for listeners of its own, and at the ingress once more for each packet, to put the tree in
        front of it."""
        found: Counter[Node] = Counter()
        for packet in packets:
            receives = set(packet.tree.receivers)
            for node in packet.tree.depth_first():
                if node in hosts:
                    continue
                copies = len(packet.tree.children_of(node))
                if not self.loops:
                    found[node] += 1
                    continue
                found[node] += copies + (node == packet.tree.root)
                if node in receives:
                    found[node] += self.leaf_passes if copies else 1
        return found


def routing_header(size: int) -> int:
    """Bytes of IPv6 and a routing header with so many bytes in the place of its list."""
    return IPV6_BYTES + FIXED_BYTES + -(-size // ALIGNMENT) * ALIGNMENT


def copies(tree: Tree) -> int:
    """Links of a tree: each carries one copy of a packet."""
    return len(tree.parents)


# ---- The encodings


def _unchanged(tree: Tree, tree_bytes: int, header: int) -> Packet:
    """A packet whose header is as long on every link."""
    return Packet(tree, tree_bytes, header, header * copies(tree))


def _bier(bsl: int) -> Encoding:
    size = bsl // 8

    def send(case: Case) -> list[Packet]:
        sets: dict[int, list[Node]] = {}
        for node in case.unicast.receivers:
            si = set_identifier(case.network.ids[node], bsl)
            sets.setdefault(si, []).append(node)
        return [
            _unchanged(case.unicast.only(members), size, BIER_BYTES + size)
            for members in sets.values()
        ]

    return Encoding(f"BIER {bsl}", send, lambda network, _: len(network.leaves))


def _te(case: Case) -> list[Packet]:
    packets = te.packets(case.tree, case.network.numbers, case.segments)
    return [_listed(case.tree, packet.receivers, len(packet.entries)) for packet in packets]


def _rlb(case: Case) -> list[Packet]:
    network = case.network
    packets = rlb.packets(case.tree, network.numbers, network.adjacencies, case.segments)
    return [_listed(case.tree, packet.receivers, len(packet.entries)) for packet in packets]


def _be(case: Case) -> list[Packet]:
    network = case.network
    packets = be.encode(case.unicast.root, case.unicast.receivers, network.numbers, network.ids)
    return [_listed(case.unicast, packet.receivers, len(packet.entries)) for packet in packets]


def _listed(tree: Tree, receivers: Sequence[Node], entries: int) -> Packet:
    size = ENTRY_BYTES * entries
    return _unchanged(tree.only(receivers), size, routing_header(size))


def _rbs(case: Case) -> list[Packet]:
    tables = case.network.rbs_tables
    addresses = rbs.packets(case.tree, tables, 8 * case.most_bytes, variable=True)
    found = []
    for address in addresses:
        size = -(-address.bits // 8)
        found.append(_unchanged(case.tree.only(address.receivers), size, routing_header(size)))
    return found


def _rts(case: Case) -> list[Packet]:
    network = case.network
    headers = rts.packets(case.tree, network.numbers, network.rts_tables, case.most_bytes)
    nodes = {number: node for node, number in network.numbers.items()}
    found = []
    for header in headers:
        part = case.tree.only(header.receivers)
        walk = rts.walk(header.unit, part.root, nodes, network.rts_tables)
        size = len(header.unit)
        on_links = sum(routing_header(len(copy.unit)) for copy in walk.copies)
        found.append(Packet(part, size, routing_header(size), on_links))
    return found


def _stateful(case: Case) -> list[Packet]:
    return [_unchanged(case.unicast, 0, 0)]


def _neighbours(network: Network, node: Node) -> int:
    return len(network.graph.arcs[node])


ENCODINGS: tuple[Encoding, ...] = (
    *map(_bier, BSL_CODES),
    Encoding("MSR6 TE", _te, lambda *_: 1, by_routes=True, leaf_passes=2),
    Encoding("MSR6 RLB", _rlb, lambda network, node: 2 + _neighbours(network, node)),
    Encoding("MSR6 BE", _be, lambda network, _: 1 + len(network.leaves)),
    Encoding("RBS", _rbs, lambda network, node: 1 + _neighbours(network, node)),
    Encoding("RTS", _rts, _neighbours, by_routes=True),
    Encoding("stateful", _stateful, lambda *_: 0, loops=False),
)
BY_NAME: Mapping[str, Encoding] = {encoding.name: encoding for encoding in ENCODINGS}
