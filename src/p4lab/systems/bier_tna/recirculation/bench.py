"""The switch of the experiment: its program, its entries and the packets that saturate it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from p4lab import _engine
from p4lab.engine import load_program
from p4lab.model.entries import (
    CloneSession,
    DefaultAction,
    Entity,
    Exact,
    Kind,
    MulticastGroup,
    TableEntry,
    Ternary,
    Update,
)
from p4lab.paths import ROOT
from p4lab.systems.bier.entries import bift_id, bit
from p4lab.systems.bier_tna.recirculation.equations import LINE_RATE

PROGRAM = ROOT / "p4" / "bier" / "tna.p4"
BSL = 64
SOURCE_PORT = 60
FIRST_NEXT_HOP = 1  # next hop i is behind port i
FRONT_LOOPS = tuple(range(24, 56))
"""Ports at the front in loopback mode"""
LOOPS = (68, 69, 70, 71, *FRONT_LOOPS)
"""Recirculation ports in their order. All are in one pipe: every pipe has a register of its own,
and ports of two pipes would not strictly take turns."""
LOOPED = 1 << 63
"""The metadata of a port in loopback mode (`port_metadata_t` of the program)"""
ENCAPSULATION_LOOP = 56
"""A port in loopback mode that packets take once, when they have got their BIER header; in the same
pipe, so that all of them ask the same register for their copies"""
MOST_NEXT_HOPS = 16
MOST_LOOPS = len(LOOPS)

LINE = int(LINE_RATE * 1_000_000_000)
"""Bits per second of every port"""
FCS = 4  # bytes of a frame that the engine's frames do not have
GAP = 20  # preamble and gap
BIER_HEADER = 12 + BSL // 8
INTERNAL_HEADER = 6  # in front of what goes round a loop
PROBE = 24  # the end of a frame, which the generator overwrites
SMALLEST = 14 + BIER_HEADER + 20 + PROBE + FCS
LARGEST = 9216

_GROUP = 0xEF010101  # 239.1.1.1
_GROUP_ID = 2
_FIRST_SESSION = 1


def program(chosen: Path | _engine.Program | None = None) -> _engine.Program:
    """`p4/bier/tna.p4`, or another program with its tables, in a file or compiled with BSL=64.
    Raises ProgramError."""
    if isinstance(chosen, _engine.Program):
        return chosen
    return _own() if chosen is None else load_program(chosen, [("BSL", str(BSL))])


@cache
def _own() -> _engine.Program:
    return load_program(PROGRAM, [("BSL", str(BSL))])


def updates(next_hops: int, loops: int, collapsed: bool) -> list[Update]:
    """Everything the switch needs: one receiver behind each next hop. In the collapsed set-up it
    also encapsulates, on a loop of its own, and is the last receiver itself."""
    entities = [*_receivers(next_hops, collapsed), *_loops(loops)]
    if collapsed:
        entities += _edge(next_hops, loops)
    return [_inserted(entity) for entity in entities]


def make_loops(
    network: _engine.Network, switch: int, loops: int, *, queue: int, overhead: int, **more: Any
) -> tuple[int, ...]:
    """Lets the first recirculation ports lead back at line rate, as `_engine.Network.set_loop` with
    `more` says, and gives their numbers."""
    ports = LOOPS[:loops]
    for port in ports:
        network.set_loop(switch, port, rate=LINE, queue=queue, overhead=overhead, **more)
        if port in FRONT_LOOPS:
            network.set_port_metadata(switch, port, LOOPED)
    return ports


def slot(length: int) -> float:
    """Picoseconds that a packet of so many bytes, its checksum counted, takes on a line."""
    return (length + GAP) * 8 * 1_000_000_000_000 / LINE


def _inserted(entity: Entity) -> Update:
    kind: Kind = "modify" if isinstance(entity, DefaultAction) else "insert"
    return Update(kind, entity)


def _receivers(next_hops: int, collapsed: bool) -> Iterator[Entity]:
    for i in range(1, next_hops + 1):
        own = bit(i, BSL)
        mask = (("entry", i), ("fbm", own))
        local = collapsed and i == next_hops
        action = "decapsulate" if local else "forward"
        port = () if local else (("port", FIRST_NEXT_HOP + i - 1),)
        key = (("bift_id", Exact(bift_id(BSL, 0))), ("remaining", Ternary(own, own)))
        yield TableEntry("bift", key, action, (*mask, *port), BSL + 1 - i)
        yield TableEntry("served", (("entry", Exact(i)),), "take_out", (("fbm", own),))


def _loops(loops: int) -> Iterator[Entity]:
    yield DefaultAction("loop_count", "use_loops", (("last", max(0, loops - 1)),))
    for turn, port in enumerate(LOOPS[:loops]):
        session = _FIRST_SESSION + turn
        yield CloneSession(session, ((port, 0),))
        key = (("loop", Exact(turn)),)
        yield TableEntry("loop_sessions", key, "mirror_to", (("session", session),))


def _edge(next_hops: int, loops: int) -> Iterator[Entity]:
    everybody = sum(bit(i, BSL) for i in range(1, next_hops + 1))
    key = (("group", Exact(_GROUP)), ("set", Exact(0)))
    header = (("bift_id", bift_id(BSL, 0)), ("bfir_id", 1), ("bit_string", everybody))
    yield TableEntry("encap", key, "encapsulate", (*header, ("more_sets", 0)))
    for turn in range(max(1, loops)):
        port = (("port", ENCAPSULATION_LOOP),)
        yield TableEntry("loop_ports", (("loop", Exact(turn)),), "loop_to", port)
    group = (("group", Exact(_GROUP)),)
    yield TableEntry("group_ports", group, "replicate", (("mcast_grp", _GROUP_ID),))
    yield MulticastGroup(_GROUP_ID, ((FIRST_NEXT_HOP + next_hops - 1, 0),))


def frame(next_hops: int, length: int, collapsed: bool) -> bytes:
    """A packet of so many bytes (its checksum, which is not there, counted) for all next hops: IPv4
    multicast in the collapsed set-up, else BIER."""
    ipv4 = _ipv4(length - FCS - 14 - (0 if collapsed else BIER_HEADER))
    source, router = bytes.fromhex("020000000001"), bytes.fromhex("020000000002")
    if collapsed:
        head = bytes.fromhex("01005e010101") + source + bytes.fromhex("0800") + ipv4
    else:
        everybody = sum(bit(i, BSL) for i in range(1, next_hops + 1))
        fixed = (bift_id(BSL, 0) << 12 | 0x13F).to_bytes(4, "big")  # bottom of stack, TTL 63
        rest = bytes.fromhex("0011000000040001")  # BSL code, payload IPv4, BFIR-id 1
        bier = fixed + rest + everybody.to_bytes(BSL // 8, "big")
        head = router + source + bytes.fromhex("ab37") + bier + ipv4
    return head + bytes(length - FCS - len(head))


def _ipv4(total: int) -> bytes:
    """The header of a packet of `total` bytes from 10.0.0.1 to the group."""
    fields = [0x4500, total, 0, 0, 0x40FD, 0, 0x0A00, 0x0001, _GROUP >> 16, _GROUP & 0xFFFF]
    summed = sum(fields)
    while summed > 0xFFFF:
        summed = (summed & 0xFFFF) + (summed >> 16)
    fields[5] = ~summed & 0xFFFF
    return b"".join(field.to_bytes(2, "big") for field in fields)
