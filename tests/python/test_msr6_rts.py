"""RTS as draft-eckert-pim-rts-forwarding-01 has it.

If these fail, the comparison of encodings is not about RTS.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from msr6_networks import networks
from p4lab.model.control import NumberError
from p4lab.systems.msr6 import rts, trees
from p4lab.systems.msr6.graph import Graph
from p4lab.systems.msr6.rts import Row
from p4lab.systems.msr6.tree import Tree
from p4lab.topology import Topology

TREE = Tree(1, {1: (2, 3), 2: (5,), 3: (7,), 5: (8, 9), 7: (10, 11)}, (8, 9, 10, 11))
SAME = {number: number for number in range(1 << 12)}


def test_the_toy_of_the_draft() -> None:
    """Figure 4, and what R2 gets of it."""
    whole = bytes([1, 16, 2, 6, 5, 4, 8, 0, 9, 0, 3, 6, 7, 4, 10, 0, 11, 0])
    assert rts.toy(TREE, SAME) == whole
    part = Tree(2, {2: (5,), 5: (8, 9)}, (8, 9))
    assert rts.toy(part, SAME) == whole[2:10]
    with pytest.raises(NumberError, match="1 has SID 256"):
        rts.toy(TREE, {**SAME, 1: 256})


def test_lists_of_short_and_long_sids() -> None:
    """Figures 11 and 12: 2 bytes for a leaf with a short SID, 3 with a long one."""
    tree = Tree(1, {1: (2, 3)}, (2, 3))
    header = rts.encode(tree, {1: 1, 2: 2, 3: 0x2ABCD}, {}, "lists")
    assert header.unit == bytes.fromhex("04 05" + "6002" + "72abcd")
    found = rts.walk(header.unit, 1, {2: 2, 0x2ABCD: 3}, {})
    assert [copy.unit.hex() for copy in found.copies] == ["6002", "72abcd"]
    assert found.received == [2, 3]


def test_bits_to_leaves_and_to_others() -> None:
    """Figure 9, and figure 10 for what leaves get; R3 is not a leaf, so its unit is in the list."""
    tables = {1: (Row(2, True), Row(4, True), Row(3, False)), 3: (Row(1, False),)}
    leaves = rts.encode(Tree(1, {1: (2, 4)}, (2, 4)), SAME, tables, "bits")
    assert leaves.unit == bytes.fromhex("08 08 c0")
    found = rts.walk(leaves.unit, 1, SAME, tables)
    assert [(copy.target, copy.unit) for copy in found.copies] == [(2, rts.LEAF), (4, rts.LEAF)]
    others = rts.encode(Tree(1, {1: (2, 3)}, (1, 2, 3)), SAME, tables, "bits")
    assert others.unit == bytes.fromhex("4c 01 08 a0" + "40")
    assert rts.walk(others.unit, 1, SAME, tables).received == [1, 2, 3]


def test_the_tree_of_the_draft_in_full_form() -> None:
    """Not in the draft. By its sizes: 2 bytes for a leaf, 3 and the list for others."""
    header = rts.encode(TREE, SAME, {}, "lists")
    branches = "24 02 07 24 05 04 60 08 60 09", "24 03 07 24 07 04 60 0a 60 0b"
    assert header.unit == bytes.fromhex("04 14" + "".join(branches))
    found = rts.walk(header.unit, 1, SAME, {})
    assert found.copies[0].unit == bytes.fromhex(branches[0])


def test_a_list_that_is_longer_than_its_length_can_say_exactly() -> None:
    """127 bytes are said exactly, then in steps of 4 up to 639. Zeros fill what is missing."""
    for leaves, length, said in [(63, 126, 126), (64, 131, 128), (65, 131, 128), (319, 639, 255)]:
        tree = Tree(0, {0: tuple(range(1, leaves + 1))}, tuple(range(1, leaves + 1)))
        unit = rts.encode(tree, SAME, {}, "lists").unit
        assert (unit[1], len(unit)) == (said, 2 + length)
        assert rts.walk(unit, 0, SAME, {}).received == list(tree.receivers)
    more = tuple(range(1, 321))
    with pytest.raises(NumberError, match=r"below 0 has 640 bytes, .* up to 639: split"):
        rts.encode(Tree(0, {0: more}, more), SAME, {}, "lists")
    assert len(rts.packets(Tree(0, {0: more}, more), SAME, {}, 1000, "lists")) == 2


def test_the_shortest_form_is_not_longer_than_either() -> None:
    """Lists at a root with few of many neighbours, bits where nearly all of them get copies."""
    sparse, dense = tuple(range(100, 300)), tuple(range(300, 324))
    tree = Tree(1, {1: (100, 101), 100: dense}, (101, *dense))
    tables = {1: tuple(Row(node, node != 100) for node in sparse), 100: ()}
    tables[100] = (Row(1, False), *(Row(node, True) for node in dense))
    sizes = {
        style: len(rts.encode(tree, SAME, tables, style).unit)
        for style in ("lists", "bits", "shortest")
    }
    assert sizes == {"lists": 2 + 3 + 48 + 2, "bits": 3 + 25 + 2 + 4, "shortest": 2 + 2 + 5 + 2}
    unit = rts.encode(tree, SAME, tables).unit
    assert sorted(rts.walk(unit, 1, SAME, tables).received) == sorted(tree.receivers)


@settings(max_examples=200)
@given(topology=networks(), style=st.sampled_from(["lists", "bits", "shortest"]), data=st.data())
def test_everybody_once_and_no_link_twice(topology: Topology, style, data) -> None:
    graph = Graph.of(topology)
    root = data.draw(st.sampled_from([router.name for router in topology.routers]))
    receivers = data.draw(st.lists(st.sampled_from(list(graph.arcs)), min_size=1, unique=True))
    tree = data.draw(st.sampled_from([trees.least_cost, trees.steiner]))(graph, root, receivers)
    tables = rts.tables(graph)
    first = data.draw(st.sampled_from([1, 1010, 70_000]))  # short SIDs, both, long ones
    sids = {name: first + number for number, name in enumerate(graph.arcs)}
    nodes = {sid: name for name, sid in sids.items()}
    alone = [len(rts.encode(tree.only([one]), sids, tables, style).unit) for one in receivers]
    most = max(alone) + data.draw(st.integers(0, 12))
    packets = rts.packets(tree, sids, tables, most, style)
    assert [name for one in packets for name in one.receivers] == list(tree.receivers)
    for header in packets:
        assert len(header.unit) <= most
        found = rts.walk(header.unit, root, nodes, tables)
        assert sorted(found.received) == sorted(header.receivers)
        links = [(copy.source, copy.target) for copy in found.copies]
        assert sorted(links) == sorted(tree.only(header.receivers).hops())
        lengths = {copy.target: len(copy.unit) for copy in found.copies} | {root: len(header.unit)}
        for copy in found.copies:  # what others need is thrown away
            assert lengths[copy.target] < lengths[copy.source]


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: rts.encode(Tree(1, {}, ()), SAME, {}), "without receivers"),
        (lambda: rts.encode(TREE, {**SAME, 5: 1 << 18}, {}), "5 has SID 262144"),
        (lambda: rts.encode(TREE, SAME, {}, "bits"), "0 neighbours with a bit, .*: use lists"),
        (lambda: rts.packets(TREE, SAME, {}, 9, "lists"), "from 1 to 8 alone needs 10 bytes"),
    ],
)
def test_what_cannot_be_encoded_is_said(make, what: str) -> None:
    with pytest.raises(NumberError, match=what):
        make()


def test_cut_off_units_are_refused() -> None:
    whole = rts.encode(TREE, SAME, {}, "lists").unit
    for end in range(len(whole)):
        with pytest.raises(ValueError, match="ends in the middle"):
            rts.walk(whole[:end], 1, SAME, {})
