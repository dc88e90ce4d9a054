"""MSR6 packets in scapy.

If these fail, packets of a student's own are not what the routers read, or a capture shows another
tree than the one in the packet.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet6 import (
    ICMPv6ParamProblem,
    IPerror6,
    IPv6,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    IPv6ExtHdrSegmentRouting,
)
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from msr6_bytes import (
    END_RGB,
    END_RL,
    ETHERNET,
    EXAMPLE,
    GOOD,
    HOST,
    INNER,
    MALFORMED,
    ODD,
    ROOT,
    TREE,
    be,
    frame,
    ipv6,
    leaf,
    rlb,
    sid,
    te,
)
from p4lab.systems.msr6.encoded import Encoded
from p4lab.systems.msr6.packets import MSR6
from p4lab.systems.msr6.sids import Sid
from p4lab.systems.msr6.walk import Place, Way, walk
from p4lab.systems.msr6.words import bits_in_words, sid_in_words

FRAMES = {**GOOD, **{name: row[1] for name, row in {**MALFORMED, **ODD}.items()}}


def number(entry: bytes) -> int:
    return int.from_bytes(entry, "big")


def rebuilt(packet: bytes) -> bytes:
    """Read, and written again from its fields alone."""
    ether = Ether(packet)
    ether.clear_cache()
    return bytes(ether)


def test_the_example_of_the_profile() -> None:
    """R1's tree: 136 bytes, HdrExtLen 16."""
    header = MSR6(entries=[number(entry) for entry in TREE])
    assert bytes(header) == EXAMPLE
    assert len(EXAMPLE) == 136
    packet = Ether(GOOD["TE at the root"])[MSR6]
    assert (packet.hdr_ext_len, packet.segments_left, packet.last_entry) == (16, 8, 7)
    assert packet.entries == [number(entry) for entry in TREE]
    assert packet.payload[IPv6].dst == "ff3e::4:1"


def test_a_whole_packet_is_put_together() -> None:
    outer = IPv6(src="fd00:0:0:1::fe", dst="5f00::1:100:207:0")
    packet = Ether(ETHERNET[:14]) / outer / MSR6(entries=TREE) / IPv6(INNER)
    assert bytes(packet) == frame(ROOT, 8, TREE)


def test_what_an_encoder_returns_can_be_sent() -> None:
    entries = tuple(number(entry) for entry in TREE)
    encoded = Encoded(Sid.parse(number(ROOT)), entries, 8, ())
    assert bytes(MSR6(entries=encoded.entries, segments_left=8)) == encoded.header() == EXAMPLE


def test_entries_may_be_given_as_one_has_them() -> None:
    same = [Sid(2, END_RL, 0x01050000), "5f00::2:100:105:0", te(2, 1, 5), number(te(2, 1, 5))]
    assert MSR6(entries=same).entries == [number(te(2, 1, 5))] * 4


@pytest.mark.parametrize("name", FRAMES)
def test_read_and_written_again(name: str) -> None:
    """The malformed ones, too: what a check sends is what it says that it sends."""
    assert MSR6 in Ether(FRAMES[name])
    assert rebuilt(FRAMES[name]) == FRAMES[name]


@given(st.binary(max_size=300))
def test_whatever_follows_a_routing_type_of_253(data: bytes) -> None:
    packet = ETHERNET + ipv6(ROOT, 43, data[:2] + b"\xfd" + data[2:])
    assert rebuilt(packet) == packet


@given(
    entries=st.lists(st.integers(0, (1 << 128) - 1), max_size=20),
    last_entry=st.integers(0, 255),
    segments_left=st.integers(0, 255),
    rest=st.binary(max_size=40),
)
def test_any_fields(entries: list[int], last_entry: int, segments_left: int, rest: bytes) -> None:
    """HdrExtLen follows from the rest; what lies behind the list is padded to 8 bytes."""
    made = MSR6(entries=entries, last_entry=last_entry, segments_left=segments_left, rest=rest)
    data = bytes(made)
    assert len(data) == 8 + 8 * data[1] and 0 <= len(data) - 8 - 16 * len(entries) - len(rest) < 8
    read = IPv6(ipv6(ROOT, 43, data + INNER))[MSR6]
    count = min(last_entry + 1, data[1] // 2)
    everything = b"".join(entry.to_bytes(16, "big") for entry in read.entries) + read.rest
    assert (read.last_entry, read.segments_left) == (last_entry, segments_left)
    assert len(read.entries) == count and everything == data[8:]
    assert bytes(read.payload) == INNER


def test_a_list_that_no_header_has_room_for() -> None:
    assert len(bytes(MSR6(entries=[0] * 127))) == 8 + 16 * 127
    with pytest.raises(ValueError, match="2048 bytes, and 128 entries"):
        bytes(MSR6(entries=[0] * 128))


@pytest.mark.parametrize("name", [name for name in MALFORMED if "later" not in name])
def test_the_reference_walk_refuses_them_for_the_same_reason(name: str) -> None:
    """What Wireshark is held to in the neighbouring file is what a router would say."""
    reason, data = MALFORMED[name]
    node = int.from_bytes(data[46:48], "big")
    bits = {number: Way("next") for number in range(1, 17)}
    result = walk({"node": Place(node, bits=bits)}, "node", data[14:])
    assert [(loss.reason.name.lower(), loss.refused) for loss in result.losses] == [(reason, True)]
    assert not result.copies and not result.deliveries


# --- Others keep their layers --------------------------------------------------------------------


@pytest.mark.parametrize("routing_type", [0, 2, 4, 252, 253, 254])
def test_only_type_253_is_ours(routing_type: int) -> None:
    header = frame(TREE[0], 0, TREE, routing_type=routing_type)
    layers = {4: IPv6ExtHdrSegmentRouting, 253: MSR6}
    packet = Ether(header)
    assert type(packet[IPv6].payload) is layers.get(routing_type, IPv6ExtHdrRouting)
    assert packet.getlayer(IPv6, 2).dst == "ff3e::4:1"
    assert rebuilt(header) == header


def test_layers_of_scapy_are_still_built() -> None:
    for layer in (IPv6ExtHdrSegmentRouting(addresses=["fd00::9"]), IPv6ExtHdrRouting()):
        packet = IPv6(bytes(IPv6(src="fd00::1", dst="fd00::2") / layer / Raw(b"x")))
        assert packet.nh == 43 and type(packet.payload) is type(layer)


@pytest.mark.parametrize("length", [1, 2])
def test_too_short_for_a_type(length: int) -> None:
    packet = IPv6(ipv6(ROOT, 43, EXAMPLE[:length]))
    assert bytes(packet.payload) == EXAMPLE[:length] and type(packet.payload) is Raw


def test_behind_other_extension_headers_and_in_errors() -> None:
    whole = IPv6(frame(ROOT, 8, TREE)[14:])
    behind = IPv6(src="fd00::1", dst="fd00::2") / IPv6ExtHdrHopByHop() / whole[MSR6]
    assert IPv6(bytes(behind))[MSR6].entries == whole[MSR6].entries
    error = IPv6(src="fd00::1", dst="fd00::2") / ICMPv6ParamProblem() / IPerror6(bytes(whole))
    quoted = IPv6(bytes(error))[IPerror6][MSR6]
    assert quoted.said(7) == "router 2, End.RL: 1 child, entry 5"


# --- Words ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (te(2, 1, 5), "router 2, End.RL: 1 child, entry 5"),
        (te(7, 2, 1), "router 7, End.RL: 2 children, entries from 1 down"),
        (te(7, 0, 1), "router 7, End.RL: 0 children, entries from 1 down"),
        (rlb(4, 0b1011, 6), "router 4, End.RLB: bits 1, 2, 4, entries from 6 down"),
        (rlb(4, 0, 0), "router 4, End.RLB: no bit, entries from 0 down"),
        (be(5, 3), "router 5, End.RGB: set 3"),
        (leaf(0x7FFF), "router 32767, End.DT6"),
        (leaf(HOST | 12), "host 12, End.DT6"),
        (sid(1, 0x700, 5), "router 1, unknown function"),
        (sid(1, 0, 5), "router 1, unknown function"),
        (sid(1, 0, 0), "router 1"),
        (b"\xfd" + te(2, 1, 5)[1:], None),
    ],
)
def test_sids_in_words(entry: bytes, words: str | None) -> None:
    assert sid_in_words(number(entry)) == words


def test_bits_in_words() -> None:
    assert [bits_in_words(bits) for bits in (0, 1 << 127, 0b101)] == [
        "no bit",
        "bit 128",
        "bits 1, 3",
    ]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("TE on its way", "router 7, End.RL: 2 children, entries from 1 down"),
        ("RLB at the root", None),
        ("RLB that needs no entry, at a leaf", "::"),
        ("BE", "bits 1, 3, 6, 128"),
        ("BE at a leaf", "bit 6"),
        ("no global bit", "no bit"),
    ],
)
def test_entries_in_words(name: str, words: str | None) -> None:
    """The same bytes mean different things behind different destinations."""
    header = Ether(FRAMES[name])[MSR6]
    index = 4 if len(header.entries) > 4 else 0
    words = words or sid_in_words(header.entries[0])
    assert header.said(index) == words
    assert f"{index}: {words}" in repr(header)


def test_without_an_ipv6_header_an_entry_is_a_sid_or_an_address() -> None:
    assert MSR6(entries=[END_RGB]).said(0) == "::300"
