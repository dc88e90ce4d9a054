"""RBS as draft-eckert-bier-rbs-00 has it, its mistake included.

If these fail, the comparison of encodings is not about RBS.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from msr6_networks import networks
from p4lab.model.control import NumberError
from p4lab.systems.msr6 import rbs, trees
from p4lab.systems.msr6.graph import Graph
from p4lab.systems.msr6.rbs import Row
from p4lab.systems.msr6.tree import Tree
from p4lab.topology import Topology

R1 = (Row(1, False), Row(2, False), Row(3, True), Row(4, True), Row(5, False), Row(6, False))
"""Figure 3: "receive" first; R2, R5 and R6 are leaves"""
MIDDLE = (Row(1, True), Row(7, False), Row(8, False), Row(9, True), Row(10, False))
EXAMPLE = {
    1: R1,
    3: (Row(3, False), *MIDDLE),
    4: (Row(4, False), *MIDDLE),
    9: (Row(9, False), Row(3, True), Row(4, True), Row(11, False), Row(12, False)),
}
TREE = Tree(1, {1: (2, 3, 4, 6), 3: (7,), 4: (9, 10), 9: (11, 12)}, (2, 7, 9, 11, 12, 10, 6))
"""Figure 2, with R11 and R12 for the routers behind R9 that it does not show"""


def test_the_example_of_the_draft() -> None:
    """RU0 is 011101, an address field, and the units of R3 and R4 (figure 5)."""
    address = rbs.encode(TREE, EXAMPLE)
    of_r3, of_r9 = "001000", "10011"
    of_r4 = "000011" + of_r9
    assert address.unit == "011101" + "00000110" + of_r3 + of_r4
    assert address.bits == 24 + 6 + 8 + 6 + 11
    found = rbs.walk(address, 1, EXAMPLE)
    assert sorted(found.received) == sorted(TREE.receivers)
    assert [tuple(copy) for copy in found.copies] == [
        (1, 2, 0, 0),
        (1, 3, 14, 6),
        (1, 4, 20, 11),
        (1, 6, 0, 0),
        (3, 7, 0, 0),
        (4, 9, 26, 5),
        (4, 10, 0, 0),
        (9, 11, 0, 0),
        (9, 12, 0, 0),
    ]


def test_the_pseudocode_as_printed_makes_last_units_too_long() -> None:
    """By the BitStrings of all routers whose last unit it is: here of R1, then of R1 and R4."""
    address = rbs.encode(TREE, EXAMPLE)
    right = {copy.target: copy.length for copy in rbs.walk(address, 1, EXAMPLE).copies}
    padded = rbs.walk(address, 1, EXAMPLE, as_printed=True, padding=12)
    printed = {copy.target: copy.length for copy in padded.copies}
    assert {
        node: printed[node] - right[node] for node in right if printed[node] != right[node]
    } == {
        4: 6,
        9: 12,
    }
    assert sorted(padded.received) == sorted(TREE.receivers)  # nobody notices

    exact = rbs.walk(address, 1, EXAMPLE, as_printed=True)
    assert [tuple(copy) for copy in exact.beyond] == [(1, 4, 20, 17)]
    assert sorted(exact.received) == [2, 6, 7]  # nobody behind R4


@settings(max_examples=150)
@given(topology=networks(), variable=st.booleans(), data=st.data())
def test_everybody_once_and_no_link_twice(topology: Topology, variable: bool, data) -> None:
    graph = Graph.of(topology)
    root = data.draw(st.sampled_from([router.name for router in topology.routers]))
    receivers = data.draw(st.lists(st.sampled_from(list(graph.arcs)), min_size=1, unique=True))
    tree = data.draw(st.sampled_from([trees.least_cost, trees.steiner]))(graph, root, receivers)
    tables = rbs.tables(graph)
    alone = [rbs.encode(tree.only([one]), tables, variable=variable).bits for one in receivers]
    most = max(alone) + data.draw(st.integers(0, 60))
    packets = rbs.packets(tree, tables, most, variable=variable)
    assert [name for one in packets for name in one.receivers] == list(tree.receivers)
    for address in packets:
        assert address.bits <= most
        found = rbs.walk(address, root, tables, variable=variable)
        assert not found.beyond
        assert sorted(found.received) == sorted(address.receivers)
        links = [(copy.source, copy.target) for copy in found.copies]
        assert sorted(links) == sorted(tree.only(address.receivers).hops())
        ends = [copy.offset + copy.length for copy in found.copies]
        assert max(ends, default=0) in (0, len(address.unit))  # all of it is read, and no more


def star(branches: int, below: int) -> tuple[Tree, dict]:
    """A root with routers that have leaves each."""
    names = [f"b{number}" for number in range(branches)]
    children = {name: tuple(f"{name}-{leaf}" for leaf in range(below)) for name in names}
    rows = {
        name: (Row(name, False), *(Row(leaf, False) for leaf in leaves))
        for name, leaves in children.items()
    }
    rows["root"] = (Row("root", False), *(Row(name, True) for name in names))
    everybody = tuple(leaf for leaves in children.values() for leaf in leaves)
    return Tree("root", {"root": tuple(names), **children}, everybody), rows


def test_address_fields() -> None:
    """8 bits hold lengths up to 255; the variable ones 127 in 8 bits, and 4095 in 13."""
    for below, variable, size in [(126, True, 8), (127, True, 13), (254, False, 8)]:
        tree, rows = star(2, below)
        address = rbs.encode(tree, rows, variable=variable)
        assert len(address.unit) == 3 + size + 2 * (below + 1)
        found = rbs.walk(address, "root", rows, variable=variable)
        assert sorted(found.received) == sorted(tree.receivers)
    tree, rows = star(2, 255)
    with pytest.raises(NumberError, match="has 256 bits, and its address field goes up to 255"):
        rbs.encode(tree, rows)


def test_what_is_too_long_is_said() -> None:
    tree, rows = star(40, 120)
    with pytest.raises(NumberError, match=r"needs .* bits, .* goes up to 4095: split it"):
        rbs.encode(tree, rows, variable=True)
    with pytest.raises(NumberError, match=r"from root to b0-0 alone needs 186 bits, .* have 185"):
        rbs.packets(tree, rows, 185)
    packets = rbs.packets(tree, rows, 186 + 121 + 8)
    assert len(packets) == 20  # two branches in each
    with pytest.raises(NumberError, match="without receivers"):
        rbs.encode(Tree("root", {}, ()), rows)
