"""MSR6 packets byte by byte, as the profile says: the oracle for layers and dissectors.

Nothing of p4lab is used here.
"""

from __future__ import annotations

import struct
from ipaddress import IPv6Address

END_RL, END_RLB, END_RGB, END_DT6 = 0x0100, 0x0200, 0x0300, 0x0600
HOST = 0x8000

ETHERNET = bytes.fromhex("020000000202 020000000102 86dd")
SOURCE = IPv6Address("fd00:0:0:1::fe")
UDP = bytes.fromhex("0001 0002 000d bfb8") + b"hello"


def sid(node: int, function: int, argument: int = 0) -> bytes:
    """locator 64 | node 16 | function 16 | argument 32"""
    return bytes.fromhex("5f00000000000000") + struct.pack("!HHI", node, function, argument)


def te(node: int, n: int, pointer: int, reserved: int = 0) -> bytes:
    """n 8 | pointer 8 | 0 16"""
    return sid(node, END_RL, n << 24 | pointer << 16 | reserved)


def rlb(node: int, bits: int, pointer: int, reserved: int = 0) -> bytes:
    """bits 16 | pointer 8 | 0 8"""
    return sid(node, END_RLB, bits << 16 | pointer << 8 | reserved)


def be(node: int, si: int = 0) -> bytes:
    """SI 8 | 0 24"""
    return sid(node, END_RGB, si << 24)


def leaf(node: int) -> bytes:
    return sid(node, END_DT6)


def ipv6(destination: bytes, next_header: int, payload: bytes, hop_limit: int = 64) -> bytes:
    fixed = struct.pack("!IHBB", 6 << 28, len(payload), next_header, hop_limit)
    return fixed + SOURCE.packed + destination + payload


INNER = ipv6(IPv6Address("ff3e::4:1").packed, 17, UDP)
"""The multicast packet in the tree"""


def routing(
    entries: list[bytes],
    segments_left: int,
    *,
    next_header: int = 41,
    hdr_ext_len: int | None = None,
    routing_type: int = 253,
    last_entry: int | None = None,
    flags: int = 0,
    tag: int = 0,
    rest: bytes = b"",
) -> bytes:
    """The routing header; `entries` begin with index 0."""
    fixed = struct.pack(
        "!BBBBBBH",
        next_header,
        (16 * len(entries) + len(rest)) // 8 if hdr_ext_len is None else hdr_ext_len,
        routing_type,
        segments_left,
        len(entries) - 1 if last_entry is None else last_entry,
        flags,
        tag,
    )
    return fixed + b"".join(entries) + rest


def frame(
    destination: bytes,
    segments_left: int,
    entries: list[bytes],
    *,
    hop_limit: int = 64,
    inner: bytes = INNER,
    **fields: int | bytes,
) -> bytes:
    """A whole Ethernet frame; what is not named is as it should be."""
    header = routing(entries, segments_left, **fields)
    return ETHERNET + ipv6(destination, 43, header + inner, hop_limit)


EXAMPLE = bytes.fromhex(
    "29 10 fd 08 07 00 0000"
    "5f00000000000000 000b 0600 00000000"
    "5f00000000000000 000a 0600 00000000"
    "5f00000000000000 0009 0600 00000000"
    "5f00000000000000 0008 0600 00000000"
    "5f00000000000000 0007 0100 02010000"
    "5f00000000000000 0005 0100 02030000"
    "5f00000000000000 0003 0100 01040000"
    "5f00000000000000 0002 0100 01050000"
)
"""R1 to R8, R9 (by R2 and R5) and to R10, R11 (by R3 and R7): the tree of the RTS draft"""

TREE = [EXAMPLE[start : start + 16] for start in range(8, 136, 16)]
ROOT = te(1, 2, 7)

TWO = [leaf(HOST | 2), leaf(HOST | 1)]
"""The list of a root with two hosts"""

MALFORMED = {
    "HdrExtLen odd": ("hdr_ext_len", frame(te(1, 1, 0), 1, [leaf(2)], rest=bytes(8))),
    "more than a router reads": ("too_long", frame(te(1, 17, 16), 17, [leaf(9)] * 17)),
    "LastEntry beyond HdrExtLen": ("last_entry", frame(te(1, 2, 1), 3, TWO, last_entry=2)),
    "no entry at all": ("last_entry", frame(be(1), 1, [], last_entry=0)),
    "SL beyond LastEntry + 1": ("segments_left", frame(te(1, 2, 1), 3, TWO)),
    "SL not 0 at a leaf": ("segments_left", frame(TWO[1], 1, TWO)),
    "SL 0 at a node of BE": ("segments_left", frame(be(2), 0, [bytes(15) + b"\1"])),
    "n is 0": ("no_copy", frame(te(1, 0, 1), 2, TWO)),
    "p is SL": ("pointer", frame(te(3, 1, 1), 1, [leaf(4), te(3, 1, 1)])),
    "p is above SL": ("pointer", frame(te(3, 1, 1), 0, [te(3, 1, 1), leaf(4)])),
    "n - 1 above p": ("too_many", frame(te(1, 3, 1), 2, TWO)),
    "a later node of the list has p above its index": (
        "pointer",
        frame(te(1, 1, 1), 2, [te(3, 1, 1), te(2, 1, 0)]),
    ),
    "no local bit": ("no_copy", frame(rlb(1, 0, 0), 1, [bytes(16)])),
    "no global bit": ("no_copy", frame(be(1), 1, [bytes(16)])),
    "hop limit 1, two copies": ("time_exceeded", frame(te(1, 2, 1), 2, TWO, hop_limit=1)),
    "what follows is not IPv6": (
        "upper_layer",
        frame(TWO[0], 0, TWO, next_header=17, inner=UDP),
    ),
}
"""What a router must survive (one per reason at the least): the reason, and the frame"""

ODD = {
    "flags": ("reserved", frame(te(1, 2, 1), 2, TWO, flags=1)),
    "tag": ("reserved", frame(te(1, 2, 1), 2, TWO, tag=1)),
    "reserved bits of the destination": ("reserved", frame(te(1, 2, 1, 1), 2, TWO)),
    "reserved bits of an entry": ("reserved", frame(te(1, 1, 0), 1, [rlb(2, 1, 0, 1)])),
    "an argument of a leaf": ("reserved", frame(te(1, 1, 0), 1, [sid(HOST | 1, END_DT6, 1)])),
    "a function that nobody has": ("function", frame(sid(1, 0x700), 2, TWO)),
    "not to a SID": ("no_sid", frame(IPv6Address("fd00:0:0:2::1").packed, 2, TWO)),
    "another locator": ("no_sid", frame(IPv6Address("5f00:0:0:1:1:100:201:0").packed, 2, TWO)),
    "an entry that is not a SID": (
        "no_sid",
        frame(te(1, 2, 1), 2, [TWO[0], IPv6Address("fd00::1").packed]),
    ),
    "SL points at another entry": ("current", frame(te(3, 1, 0), 1, [leaf(4), te(5, 1, 0)])),
    "a pointer that matters to routers only": (
        "transit",
        frame(rlb(3, 3, 1), 1, [rlb(4, 1, 0), rlb(3, 3, 1)]),
    ),
}
"""What no router refuses, or not for what can be seen in the packet"""

GOOD = {
    "TE at the root": frame(ROOT, 8, TREE),
    "TE on its way": frame(TREE[7], 7, TREE),
    "TE at a leaf": frame(TREE[3], 0, TREE),
    "TE, something behind the list": frame(ROOT, 8, TREE, rest=bytes(range(16))),
    "TE, as many entries as a router reads": frame(te(1, 16, 15), 16, [leaf(9)] * 16),
    "RLB at the root": frame(rlb(1, 0b1011, 1), 2, [rlb(3, 0b10, 0), rlb(2, 0b100, 0)]),
    "RLB at the last router": frame(rlb(3, 0b10, 0), 0, [rlb(3, 0b10, 0), rlb(2, 0b100, 0)]),
    "RLB at a leaf that only its router knows": frame(leaf(HOST | 1), 0, [rlb(3, 0b10, 0)]),
    "RLB that needs no entry": frame(rlb(1, 0x8000, 0), 1, [bytes(16)]),
    "RLB that needs no entry, at a leaf": frame(leaf(HOST | 1), 0, [bytes(16)]),
    "BE": frame(be(2, 1), 1, [bytes.fromhex("80000000000000000000000000000025")]),
    "BE at a leaf": frame(leaf(HOST | 3), 0, [bytes(15) + b"\x20"]),
}
