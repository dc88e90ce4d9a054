"""TE, RLB and BE on trees that can be checked with pencil and paper.

If these fail, what lab 04 prints of a tree is not what its routers read. `test_msr6_walk.py`
follows the bytes of many more trees.
"""

from __future__ import annotations

from ipaddress import IPv6Address

import pytest

from p4lab.model.control import NumberError
from p4lab.systems.msr6 import be, rlb, te
from p4lab.systems.msr6.rlb import Kind
from p4lab.systems.msr6.sids import node_numbers
from p4lab.systems.msr6.tree import Tree
from p4lab.topology import Topology

RTS_TREE = Tree(1, {1: (2, 3), 2: (5,), 3: (7,), 5: (8, 9), 7: (10, 11)}, (8, 9, 10, 11))
"""Figure 1 of draft-eckert-pim-rts-forwarding-01"""
SAME = {number: number for number in range(0x10000)}


def addresses(encoded) -> list[str]:
    """The list from its highest index down: breadth first."""
    return [str(IPv6Address(entry)) for entry in reversed(encoded.entries)]


def test_te_writes_the_list_of_the_profile() -> None:
    encoded = te.encode(RTS_TREE, SAME)
    assert str(encoded.destination.address) == "5f00::1:100:207:0"
    assert addresses(encoded) == [
        "5f00::2:100:105:0",
        "5f00::3:100:104:0",
        "5f00::5:100:203:0",
        "5f00::7:100:201:0",
        "5f00::8:600:0:0",
        "5f00::9:600:0:0",
        "5f00::a:600:0:0",
        "5f00::b:600:0:0",
    ]
    assert encoded.segments_left == 8
    assert encoded.receivers == (8, 9, 10, 11)
    header = encoded.header()
    assert header[:8] == bytes.fromhex("29 10 fd 08 07 00 0000")
    assert len(header) == encoded.header_length == 136
    assert header[8:24] == IPv6Address("5f00::b:600:0:0").packed  # index 0 is the first


def test_te_gives_a_receiver_with_children_a_second_entry() -> None:
    """Here the root receives, too: its own copy needs an entry like any other."""
    tree = Tree(1, {1: (2,), 2: (3,)}, (1, 2, 3))
    encoded = te.encode(tree, SAME)
    assert str(encoded.destination.address) == "5f00::1:100:203:0"
    assert addresses(encoded) == [
        "5f00::2:100:201:0",
        "5f00::1:600:0:0",
        "5f00::3:600:0:0",
        "5f00::2:600:0:0",
    ]
    assert te.entries(tree) == 4


def test_te_for_nobody_but_the_root() -> None:
    encoded = te.encode(Tree(4, {}, (4,)), SAME)
    assert str(encoded.destination.address) == "5f00::4:100:100:0"
    assert addresses(encoded) == ["5f00::4:600:0:0"]


def star() -> Topology:
    """r1 has h1, h2, r3 and r2 behind ports 1 to 4; r3 has h3."""
    return Topology.from_data(
        {
            "name": "star",
            "description": "",
            "router": [{"number": 1}, {"number": 2}, {"number": 3}],
            "host": [
                {"name": "h1", "router": "r1"},
                {"name": "h2", "router": "r1"},
                {"name": "h3", "router": "r3"},
            ],
            "link": [
                {"a": "r1", "b": "r3"},
                {"a": "r1", "b": "r2"},
            ],
        }
    )


def test_bits_of_a_router_follow_from_its_ports() -> None:
    rows = rlb.adjacencies(star())
    assert [(row.number, row.kind, row.neighbour, row.port) for row in rows["r1"]] == [
        (1, Kind.TRANSIT, "r3", 3),
        (2, Kind.TRANSIT, "r2", 4),
        (3, Kind.LEAF, "h1", 1),
        (4, Kind.LEAF, "h2", 2),
        (5, Kind.LOCAL, "r1", 0),
    ]
    assert [row.kind for row in rows["r2"]] == [Kind.TRANSIT, Kind.LOCAL]
    assert set(rows) == {"r1", "r2", "r3"}


def test_rlb_has_entries_for_routers_only() -> None:
    topology = star()
    tree = Tree("r1", {"r1": ("r2", "h2", "r3"), "r3": ("h3",)}, ("r1", "r2", "h2", "h3"))
    encoded = rlb.encode(tree, node_numbers(topology), rlb.adjacencies(topology))
    # r1: r3, r2, h2 and itself. The entries are in the order of the bits, not of the tree.
    assert str(encoded.destination.address) == "5f00::1:200:1b:100"
    assert addresses(encoded) == ["5f00::3:200:2:0", "5f00::2:200:2:0"]
    assert (encoded.segments_left, encoded.header_length) == (2, 40)


def test_rlb_without_routers_fills_its_list() -> None:
    topology = star()
    tree = Tree("r1", {"r1": ("h1",)}, ("h1",))
    encoded = rlb.encode(tree, node_numbers(topology), rlb.adjacencies(topology))
    assert str(encoded.destination.address) == "5f00::1:200:4:0"
    assert addresses(encoded) == ["::"]
    assert encoded.segments_left == 1


def test_rlb_names_the_neighbour_that_has_no_bit() -> None:
    rows = {0: rlb.numbered(0, [(number, number) for number in range(1, 18)])}
    rows |= {number: rlb.numbered(number, [(0, 1)]) for number in range(1, 18)}
    assert rlb.encode(Tree(0, {0: (16,)}, (16,)), SAME, rows).destination.argument == 1 << 31
    with pytest.raises(NumberError, match=r"0 has no bit for 17: .* 16 bits"):
        rlb.encode(Tree(0, {0: (17,)}, (17,)), SAME, rows)
    with pytest.raises(NumberError, match="0 has no bit for its own listeners"):
        rlb.encode(Tree(0, {0: (1,)}, (0, 1)), SAME, rows)


def test_be_has_one_packet_for_each_set() -> None:
    """The receivers of RFC 8279, section 3, here in sets of 128."""
    packets = be.encode(1, [497, 27, 235], SAME, SAME)
    assert [str(packet.destination.address) for packet in packets] == [
        "5f00::1:300:0:0",
        "5f00::1:300:100:0",
        "5f00::1:300:300:0",
    ]
    assert [packet.entries for packet in packets] == [
        (1 << 26,),
        (1 << 235 - 128 - 1,),
        (1 << 497 - 384 - 1,),
    ]
    assert {packet.header_length for packet in packets} == {24}
    assert {packet.segments_left for packet in packets} == {1}
    assert [packet.receivers for packet in packets] == [(27,), (235,), (497,)]


def test_be_counts_hosts_on_from_the_routers() -> None:
    ids = be.bfr_ids(star())
    assert ids == {"r1": 1, "r2": 2, "r3": 3, "h1": 4, "h2": 5, "h3": 6}
    assert [be.set_identifier(number) for number in (1, 128, 129)] == [0, 0, 1]
    assert [be.bit(number) for number in (1, 128, 129)] == [1, 1 << 127, 1]


@pytest.mark.parametrize(
    "encode",
    [
        lambda tree: te.encode(tree, SAME),
        lambda tree: rlb.encode(tree, SAME, {1: rlb.numbered(1, [])}),
        lambda tree: be.encode(tree.root, tree.receivers, SAME, SAME),
    ],
)
def test_a_tree_without_receivers_is_refused(encode) -> None:
    with pytest.raises(NumberError, match="without receivers"):
        encode(Tree(1, {}, ()))


def test_no_header_has_more_entries_than_its_length_can_say() -> None:
    longest = Tree(0, {0: tuple(range(1, 128))}, tuple(range(1, 128)))
    assert te.encode(longest, SAME).header()[1] == 254
    with pytest.raises(NumberError, match="1 to 127 entries, and this tree needs 128: split it"):
        te.encode(Tree(0, {0: tuple(range(1, 129))}, tuple(range(1, 129))), SAME)
