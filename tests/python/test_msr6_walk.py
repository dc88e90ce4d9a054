"""What the encoders write, followed byte by byte; and what no encoder would write.

If these fail, somebody gets a packet twice or not at all, a link carries it twice, or a header that
somebody made up brings a router to its knees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from msr6_networks import inner, ipv6, networks, packet
from p4lab.systems.msr6 import be, rlb, te, trees
from p4lab.systems.msr6.encoded import Encoded
from p4lab.systems.msr6.graph import Graph
from p4lab.systems.msr6.places import places
from p4lab.systems.msr6.sids import (
    END_DT6,
    END_RGB,
    END_RL,
    END_RLB,
    ListArgument,
    LocalBits,
    Sid,
    leaf,
    node_numbers,
)
from p4lab.systems.msr6.tree import Tree
from p4lab.systems.msr6.walk import Place, Reason, Walk, Way, walk
from p4lab.topology import Failures, Topology

MAKERS = st.sampled_from([trees.least_cost, trees.steiner])


def follow(topology: Topology, root: str, encoded: Encoded) -> Walk:
    """The walk of one packet, in which every receiver gets it once and nobody else does."""
    sent = packet(encoded)
    found = walk(places(topology), root, sent, segments=127)
    assert found.losses == []
    assert sorted(one.node for one in found.deliveries) == sorted(encoded.receivers)
    hosts = {host.name for host in topology.hosts}
    for node, delivered in found.deliveries:
        assert delivered == inner(63 if node in hosts else 62)
    links = Counter((copy.source, copy.target) for copy in found.copies)
    assert max(links.values(), default=1) == 1, "twice on a link"
    for copy in found.copies:
        assert len(copy.packet) == len(sent)
        assert copy.target not in hosts or copy.packet[43] == 0
    return found


def links(found: Walk) -> set[tuple[str, str]]:
    return {(copy.source, copy.target) for copy in found.copies}


def unchanged(sent: bytes, copy: bytes, *fields: slice) -> bool:
    """Whether two packets are the same but for some bytes."""
    first, second = bytearray(sent), bytearray(copy)
    for field in fields:
        first[field] = second[field] = b""
    return first == second


HOP_LIMIT, DESTINATION, SEGMENTS_LEFT = slice(7, 8), slice(24, 40), slice(43, 44)
BIT_STRING = slice(48, 64)


def pick(data, topology: Topology, graph: Graph) -> tuple[str, list[str]]:
    """An ingress, and some receivers: routers or hosts, the ingress and its hosts among them."""
    root = data.draw(st.sampled_from([router.name for router in topology.routers]))
    reached = sorted(graph.distances(root, "cost"))
    return root, data.draw(st.lists(st.sampled_from(reached), min_size=1, unique=True))


@settings(max_examples=150)
@given(topology=networks(), make=MAKERS, limit=st.integers(1, 16), data=st.data())
def test_lists(topology: Topology, make, limit: int, data) -> None:
    avoid = Failures.of(data.draw(st.sets(st.sampled_from(topology.links), max_size=2)))
    graph = Graph.of(topology, avoid=avoid, routed=True)
    root, receivers = pick(data, topology, graph)
    tree = make(graph, root, receivers)
    limit += max(map(len, te.chains(tree).values()))
    packets = te.packets(tree, node_numbers(topology), limit)
    assert sorted(name for one in packets for name in one.receivers) == sorted(receivers)
    for encoded in packets:
        assert len(encoded.entries) <= limit
        assert encoded.header_length == 8 + 16 * len(encoded.entries) == len(encoded.header())
        found = follow(topology, root, encoded)
        assert links(found) == set(tree.only(encoded.receivers).hops())
        for copy in found.copies:
            fields = (HOP_LIMIT, DESTINATION, SEGMENTS_LEFT)
            assert unchanged(packet(encoded), copy.packet, *reversed(fields))
        downwards(found, root, encoded.segments_left)


def downwards(found: Walk, root: str, first: int) -> None:
    """Segments Left goes down on every path of a tree, but may end at 0 twice."""
    left = {copy.target: copy.packet[43] for copy in found.copies} | {root: first}
    for copy in found.copies:
        assert left[copy.target] < left[copy.source]


@settings(max_examples=150)
@given(topology=networks(), make=MAKERS, limit=st.integers(1, 16), data=st.data())
def test_local_bits(topology: Topology, make, limit: int, data) -> None:
    """They name links, so a tree may also use those that unicast does not."""
    avoid = Failures.of(data.draw(st.sets(st.sampled_from(topology.links), max_size=2)))
    graph = Graph.of(topology, avoid=avoid)
    root, receivers = pick(data, topology, graph)
    tree = make(graph, root, receivers)
    rows = rlb.adjacencies(topology)
    limit += max(map(len, rlb.chains(tree, rows).values()))
    packets = rlb.packets(tree, node_numbers(topology), rows, limit)
    assert sorted(name for one in packets for name in one.receivers) == sorted(receivers)
    for encoded in packets:
        assert len(encoded.entries) <= limit
        part = tree.only(encoded.receivers)
        routers = {name for name in part.parents if name in rows}
        assert encoded.header_length == 8 + 16 * max(len(routers), 1)
        found = follow(topology, root, encoded)
        assert links(found) == set(part.hops())
        for copy in found.copies:
            fields = (HOP_LIMIT, DESTINATION, SEGMENTS_LEFT)
            assert unchanged(packet(encoded), copy.packet, *reversed(fields))


@settings(max_examples=150)
@given(topology=networks(), data=st.data())
def test_global_bits(topology: Topology, data) -> None:
    graph = Graph.of(topology)
    root, receivers = pick(data, topology, graph)
    packets = be.encode(root, receivers, node_numbers(topology), be.bfr_ids(topology))
    assert sorted(name for one in packets for name in one.receivers) == sorted(receivers)
    for encoded in packets:
        assert encoded.header_length == len(encoded.header()) == 24
        found = follow(topology, root, encoded)
        part = trees.least_cost(graph, root, encoded.receivers)
        assert links(found) == set(part.hops())
        strings = {root: encoded.entries[0]}
        for copy in found.copies:
            string = int.from_bytes(copy.packet[BIT_STRING], "big")
            assert string and string | strings[copy.source] == strings[copy.source]
            strings[copy.target] = string
            fields = (HOP_LIMIT, DESTINATION, SEGMENTS_LEFT, BIT_STRING)
            assert unchanged(packet(encoded), copy.packet, *reversed(fields))


# ---- Headers that no encoder writes --------------------------------------------------------------

SAME = {number: number for number in range(0x10000)}
NEAR = {2: "r2", 3: "r3"}
KNOWN = {
    "r1": Place(
        1,
        routes=NEAR,
        bits={1: Way("r2"), 2: Way("r3"), 3: Way("r1")},
        bift={(0, 1): Way("r1", None, 1), (0, 2): Way("r2", None, 2)},
    ),
    "r2": Place(2),
    "r3": Place(3),
}
TREE = Tree(1, {1: (2, 3)}, (1, 2, 3))


def altered(encoded: Encoded, **fields: int) -> bytes:
    """A packet with other bytes, by the names of the header's fields."""
    places_of = {
        "next_header": 40,
        "hdr_ext_len": 41,
        "routing_type": 42,
        "segments_left": 43,
        "last_entry": 44,
        "hop_limit": 7,
        "outer_next": 6,
    }
    sent = bytearray(packet(encoded))
    for name, value in fields.items():
        sent[places_of[name]] = value
    return bytes(sent)


def asked(function: int, argument: int, entries: Sequence[int] = (0,) * 4) -> Encoded:
    """A packet to r1 that asks for anything."""
    return Encoded(Sid(1, function, argument), tuple(entries), len(entries), ())


def rl(n: int, pointer: int) -> Encoded:
    return asked(END_RL, ListArgument(n, pointer).pack(), [leaf(2).pack()] * 4)


def bits(string: int, pointer: int) -> Encoded:
    return asked(END_RLB, LocalBits(string, pointer).pack(), [Sid(2, END_RLB).pack()] * 4)


GOOD = te.encode(TREE, SAME)
MALFORMED = {
    "routing type 4": (altered(GOOD, routing_type=4), Reason.ROUTING_TYPE),
    "odd length": (altered(GOOD, hdr_ext_len=5), Reason.HDR_EXT_LEN),
    "longer than anybody reads": (altered(GOOD, hdr_ext_len=34), Reason.TOO_LONG),
    "odd and longer": (altered(GOOD, hdr_ext_len=35), Reason.HDR_EXT_LEN),
    "LastEntry behind the end": (altered(GOOD, last_entry=3), Reason.LAST_ENTRY),
    "no entry at all": (altered(GOOD, hdr_ext_len=0), Reason.LAST_ENTRY),
    "SL behind the end": (altered(GOOD, segments_left=4), Reason.SEGMENTS_LEFT),
    "no hop left for 3 copies": (altered(GOOD, hop_limit=1), Reason.TIME_EXCEEDED),
    "no child": (packet(rl(0, 3)), Reason.NO_COPY),
    "pointer is not lower": (altered(rl(1, 3), segments_left=3), Reason.POINTER),
    "at a leaf, and not for one": (altered(rl(1, 0), segments_left=0), Reason.POINTER),
    "children below the list": (packet(rl(3, 1)), Reason.TOO_MANY),
    "no bit": (packet(bits(0, 3)), Reason.NO_COPY),
    "a bit for nothing": (packet(bits(0b1001, 3)), Reason.NO_ADJACENCY),
    "bits and no lower pointer": (altered(bits(1, 3), segments_left=3), Reason.POINTER),
    "bits below the list": (packet(bits(0b11, 0)), Reason.TOO_MANY),
    "no receiver": (packet(asked(END_RGB, 0, [0])), Reason.NO_COPY),
    "SL 0 and receivers": (altered(asked(END_RGB, 0, [1]), segments_left=0), Reason.SEGMENTS_LEFT),
    "a leaf with segments left": (packet(asked(END_DT6, 0)), Reason.SEGMENTS_LEFT),
    "nothing for a leaf": (
        altered(asked(END_DT6, 0), segments_left=0, next_header=17),
        Reason.UPPER_LAYER,
    ),
    "no routing header": (altered(GOOD, outer_next=17), Reason.UPPER_LAYER),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_wrong_is_refused_once(name: str) -> None:
    """The list of next-labs.md 3.3: one refusal with the packet as it came in, and no copy."""
    sent, reason = MALFORMED[name]
    found = walk(KNOWN, "r1", sent)
    assert [(one.node, one.reason, one.refused) for one in found.losses] == [("r1", reason, True)]
    assert found.losses[0].packet == sent
    assert not found.copies and not found.deliveries


QUIET = {
    "unknown function": (packet(asked(0x700, 0)), Reason.NO_SUCH_SID),
    "cut off in the list": (packet(GOOD)[:80], Reason.CUT_OFF),
    "cut off in the fixed part": (packet(GOOD)[:47], Reason.CUT_OFF),
    "cut off in the packet inside": (packet(GOOD)[:100], Reason.CUT_OFF),
}


@pytest.mark.parametrize("name", QUIET)
def test_what_is_dropped_without_a_word(name: str) -> None:
    sent, reason = QUIET[name]
    found = walk(KNOWN, "r1", sent)
    assert [(one.reason, one.refused) for one in found.losses] == [(reason, False)]
    assert not found.copies and not found.deliveries


def test_reserved_bits_and_what_follows_the_entries_are_not_looked_at() -> None:
    sent = bytearray(packet(GOOD))
    sent[38:40] = b"\xff\xff"  # of the destination's argument
    assert links(walk(KNOWN, "r1", bytes(sent))) == {("r1", "r2"), ("r1", "r3")}
    options = altered(asked(END_DT6, 0), segments_left=0, last_entry=2)
    assert [one.node for one in walk(KNOWN, "r1", options).deliveries] == ["r1"]


def test_the_copy_of_one_child_that_has_no_route_is_lost_alone() -> None:
    encoded = te.encode(Tree(1, {1: (2, 9, 3)}, (2, 9, 3)), SAME)
    found = walk(KNOWN, "r1", packet(encoded))
    assert links(found) == {("r1", "r2"), ("r1", "r3")}
    assert [(one.reason, one.refused) for one in found.losses] == [(Reason.NO_WAY, False)]


def test_unknown_receivers_do_not_disturb_the_others() -> None:
    found = walk(KNOWN, "r1", packet(asked(END_RGB, 0, [0b101])))
    assert [one.node for one in found.deliveries] == ["r1"]
    assert [(one.reason, one.refused) for one in found.losses] == [(Reason.NO_BIFT_ENTRY, False)]


def test_a_leaf_takes_a_packet_without_a_routing_header() -> None:
    plain = ipv6(leaf(1).address.packed, 41, inner())
    assert walk(KNOWN, "r1", plain).deliveries == [("r1", inner(62))]
    assert walk(KNOWN, "r1", ipv6(leaf(1).address.packed, 41, inner(1))).losses[0].reason == (
        Reason.HOP_LIMIT
    )


def test_a_linux_host_does_not_look_at_segments_left() -> None:
    """Why routers have to write 0 there: a host would not notice."""
    host = {"h": Place(0x8001, is_router=False)}
    sid = leaf(0x8001)
    for left in (0, 1):
        sent = packet(Encoded(sid, (0, 0), left, ()))
        assert walk(host, "h", sent).deliveries == [("h", inner())]


def mesh(nodes: int) -> dict[str, Place]:
    """Everybody next to everybody: node number k is nk."""
    names = {number: f"n{number}" for number in range(nodes)}
    return {name: Place(number, routes=names) for number, name in names.items()}


def test_lists_without_loops_can_still_be_avalanches() -> None:
    """Each entry has all lower ones as its children. This is the most that SL allows."""
    for entries in (1, 4, 10):
        sids = [leaf(0).pack()]
        for index in range(1, entries):
            sids.append(Sid(index, END_RL, ListArgument(index, index - 1).pack()).pack())
        first = Sid(entries, END_RL, ListArgument(entries, entries - 1).pack())
        sent = packet(Encoded(first, tuple(sids), entries, ()))
        found = walk(mesh(entries + 1), f"n{entries}", sent)
        assert found.losses == []
        assert len(found.copies) == 2**entries - 1
        assert len(found.deliveries) == 2 ** (entries - 1)


BYTE = st.one_of(st.integers(0, 9), st.integers(0, 255))


@settings(max_examples=300)
@given(
    entries=st.lists(
        st.tuples(st.integers(0, 4), st.sampled_from([END_RL, END_DT6]), BYTE, BYTE),
        min_size=1,
        max_size=8,
    ),
    first=st.tuples(BYTE, BYTE),
    left=BYTE,
    last=BYTE,
    hop_limit=st.integers(0, 255),
)
def test_no_list_runs_for_ever(entries, first, left, last, hop_limit) -> None:
    """And none makes more copies than 2^SL - 1, each on one link of this mesh."""
    sids = [Sid(node, what, ListArgument(n, p).pack()).pack() for node, what, n, p in entries]
    root = Sid(0, END_RL, ListArgument(*first).pack())
    sent = bytearray(packet(Encoded(root, tuple(sids), left, ()), hop_limit))
    sent[44] = last
    found = walk(mesh(5), "n0", bytes(sent))
    assert len(found.copies) + len(found.deliveries) <= 2 ** (min(left, len(sids)) + 1)
    assert len(found.copies) <= 2 ** min(left, len(sids)) - 1
    deepest = [copy.packet[43] for copy in found.copies]
    assert all(one < left for one in deepest)


def test_hop_limits_go_down_by_one_on_every_link() -> None:
    line = {f"n{n}": Place(n, routes={n + 1: f"n{n + 1}"}) for n in range(4)}
    tree = Tree(0, {n: (n + 1,) for n in range(3)}, (3,))
    found = walk(line, "n0", packet(te.encode(tree, SAME)))
    assert [copy.packet[7] for copy in found.copies] == [63, 62, 61]
    assert all(a.target == b.source for a, b in pairwise(found.copies))


def test_routers_between_two_segments_forward_whatever_the_header_holds() -> None:
    """r2 is not part of the tree: it routes, as any IPv6 router does."""
    line = {
        "r1": Place(1, routes={3: "r2"}),
        "r2": Place(2, routes={3: "r3"}),
        "r3": Place(3),
    }
    found = walk(line, "r1", packet(te.encode(Tree(1, {1: (3,)}, (3,)), SAME)))
    assert links(found) == {("r1", "r2"), ("r2", "r3")}
    assert [one.node for one in found.deliveries] == ["r3"]
    strange = bytearray(found.copies[0].packet)
    strange[41:48] = b"\xff" * 7
    assert links(walk(line, "r2", bytes(strange))) == {("r2", "r3")}
    strange[7] = 1
    assert walk(line, "r2", bytes(strange)).losses[0].reason == Reason.TIME_EXCEEDED
