"""What is measured: the plain IPv4 router and the BIER router, their entries and their packets.

Rows and frames are written by hand, so that they stay the same when a control plane changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from p4lab import _engine
from p4lab.engine import load_program
from p4lab.model.entries import (
    CloneSession,
    Entity,
    Exact,
    Lpm,
    TableEntry,
    Ternary,
    Update,
)
from p4lab.paths import ROOT
from p4lab.plurals import count_of

BIER = ROOT / "p4" / "bier" / "v1model.p4"
BIER_TNA = ROOT / "p4" / "bier" / "tna.p4"
ROUTER = ROOT / "crates" / "p4-arch" / "benches" / "route.p4"
IN_PORT = 0
OUT_PORT = 1
OTHER_PORT = 2
LOOP_PORT = 68
"""Of a Tofino: it always leads back"""
FRAME_BYTES = 64
ROUTES = 256
NEXT_HOP = 0x020000000102
BSL_CODES = {64: 1, 128: 2, 256: 3}
"""BitStringLengths in bits, and what stands for them in the header (RFC 8296, section 2.1.2)"""


@dataclass(frozen=True)
class Subject:
    """A program with entries, and a packet that it sends on from port 0 to port 1."""

    name: str
    program: _engine.Program
    updates: Sequence[Update]
    frame: bytes


@cache
def router() -> Subject:
    """IPv4 forwarding with both checksums, over so many routes."""
    updates = [
        Update(
            "insert",
            TableEntry(
                "routes",
                (("hdr.ipv4.dst", Lpm(network(index), 24)),),
                "forward",
                (("dst", NEXT_HOP), ("port", OUT_PORT)),
            ),
        )
        for index in range(ROUTES)
    ]
    return Subject("IPv4 router", load_program(ROUTER), updates, ipv4_frame())


@cache
def bier(bsl: int, hops: int) -> Subject:
    """A BIER router; its packet goes to the receivers behind so many next hops."""
    program = load_program(BIER, [("BSL", str(bsl))])
    name = f"BIER, BSL {bsl}, {count_of(hops, 'next hop')}"
    return Subject(name, program, bier_router(bsl), bier_frame(bsl, hops))


@cache
def bier_tna(hops: int) -> Subject:
    """The BIER router of a Tofino with BitStrings of 64 bits; a second next hop is a mirror and
    another pass."""
    program = load_program(BIER_TNA, [("BSL", "64")])
    name = f"BIER on TNA, {count_of(hops, 'next hop')}"
    return Subject(name, program, bier_tna_router(), bier_frame(64, hops))


def network(index: int) -> int:
    """The network of a route: 10.0.0.0/24 and those that follow."""
    return 0x0A000000 | index << 8


def ipv4_frame() -> bytes:
    """64 bytes of UDP over IPv4 to a host in the second network, its header checksum right."""
    header = bytes.fromhex("4500002e000000004011665f0a0000010a000102")
    ethernet = bytes.fromhex("020000000101 020000000001 0800")
    return (ethernet + header).ljust(FRAME_BYTES, b"\x07")


def bier_router(bsl: int) -> list[Update]:
    """A router in the middle: the lower half of the receivers behind one port, the upper half
    behind another, all bits of one set in use."""
    half = bsl // 2
    lower = (1 << half) - 1
    entities: list[Entity] = [CloneSession(1, ((509, 0),))]
    for index in range(bsl):
        port, fbm = (OUT_PORT, lower) if index < half else (OTHER_PORT, lower << half)
        key = (
            ("bift_id", Exact(bift_id(bsl))),
            ("remaining", Ternary(1 << index, 1 << index)),
        )
        params = (("fbm", fbm), ("port", port))
        entities.append(TableEntry("bift", key, "forward", params, priority=bsl - index))
    for port in (OUT_PORT, OTHER_PORT):
        macs = (("src", 0x020000000100 | port), ("dst", 0x020000000200 | port))
        entities.append(TableEntry("port_mac", (("port", Exact(port)),), "rewrite", macs))
    return [Update("insert", entity) for entity in entities]


def bier_tna_router() -> list[Update]:
    """The same router on TNA, where egress finds the F-BM of an entry by the entry's number."""
    half = 32
    lower = (1 << half) - 1
    loop = TableEntry("loop_sessions", (("loop", Exact(0)),), "mirror_to", (("session", 11),))
    entities: list[Entity] = [CloneSession(11, ((LOOP_PORT, 0),)), loop]
    for index in range(2 * half):
        port, fbm = (OUT_PORT, lower) if index < half else (OTHER_PORT, lower << half)
        key = (
            ("bift_id", Exact(bift_id(2 * half))),
            ("remaining", Ternary(1 << index, 1 << index)),
        )
        params = (("entry", index), ("fbm", fbm), ("port", port))
        entities.append(TableEntry("bift", key, "forward", params, priority=2 * half - index))
        served = (("entry", Exact(index)),)
        entities.append(TableEntry("served", served, "take_out", (("fbm", fbm),)))
    for port in (OUT_PORT, OTHER_PORT):
        macs = (("src", 0x020000000100 | port), ("dst", 0x020000000200 | port))
        entities.append(TableEntry("port_mac", (("port", Exact(port)),), "rewrite", macs))
    return [Update("insert", entity) for entity in entities]


def bift_id(bsl: int) -> int:
    """Of the one table that is in use."""
    return BSL_CODES[bsl] << 16


def bier_frame(bsl: int, hops: int) -> bytes:
    """A 64-byte BIER frame (RFC 8296 over Ethernet) for receivers behind one port or both."""
    half = bsl // 2
    bit_string = 1 << (half - 1) | (1 << half if hops > 1 else 0)
    first = bift_id(bsl) << 12 | 1 << 8 | 64
    second = BSL_CODES[bsl] << 20
    third = 4 << 16 | 1
    header = b"".join(word.to_bytes(4, "big") for word in (first, second, third))
    header += bit_string.to_bytes(bsl // 8, "big")
    ethernet = (0x020000000001).to_bytes(6, "big") + (0x020000000002).to_bytes(6, "big")
    return (ethernet + b"\xab\x37" + header).ljust(FRAME_BYTES, b"\0")
