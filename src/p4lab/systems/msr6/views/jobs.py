"""What the bytes ask a router for, job by job, and which job a copy was made for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from p4lab.model.notation import set_bits
from p4lab.systems.msr6 import rlb
from p4lab.systems.msr6.sids import (
    END_DT6,
    END_RGB,
    END_RL,
    END_RLB,
    GlobalSet,
    ListArgument,
    LocalBits,
)
from p4lab.systems.msr6.views.frames import Frame, sid_of
from p4lab.systems.msr6.views.journey import Copy, Look, Visit
from p4lab.systems.msr6.views.names import Names


@dataclass(frozen=True)
class Job:
    """A copy that is asked for. `cell` names what asks for it, to be pointed at: an entry of the
    list (`entry_cell`), a router's bit, or a receiver's. `entry` is the entry that it takes from
    the list, if it takes one, and `bit` its bit, if it has one."""

    cell: str
    words: str
    entry: int | None = None
    bit: int | None = None


def entry_cell(index: int) -> str:
    """How an entry of the list is pointed at."""
    return f"entry {index}"


def bit_cell(bit: int) -> str:
    """How a bit of the BitString is pointed at."""
    return f"bit {bit}"


def jobs(visit: Visit, names: Names) -> tuple[Job, ...]:
    """What the address of a frame asks its router for, in the profile's order; nothing if it is
    another's, or a leaf's."""
    frame, sid = visit.frame, visit.frame.sid
    if sid is None or not frame.has_tree or not names.is_of(sid, visit.router):
        return ()
    if sid.function == END_RL:
        asked = ListArgument.parse(sid.argument)
        below = range(asked.pointer, asked.pointer - asked.n, -1)
        return tuple(
            Job(entry_cell(index), f"{index} · {_node(frame, index, names)}", index)
            for index in below
            if 0 <= index < len(frame.entries)
        )
    if sid.function == END_RLB:
        return _local(LocalBits.parse(sid.argument), visit.router, names)
    if sid.function == END_RGB:
        si = GlobalSet.parse(sid.argument).si
        return tuple(
            Job(bit_cell(bit), f"{bit} · {names.receiver(si, bit)}", None, bit)
            for bit in set_bits(frame.bit_string)
        )
    return ()


def _node(frame: Frame, index: int, names: Names) -> str:
    sid = sid_of(frame.entries[index])
    return names.node(sid) if sid else "no SID"


def _local(asked: LocalBits, router: str, names: Names) -> tuple[Job, ...]:
    """A job for each bit. Those that lead to a router take an entry each, from the pointer down."""
    found, pointer = [], asked.pointer
    for bit in set_bits(asked.bits):
        way, entry = names.adjacency(router, bit), None
        if way is not None and way.kind is rlb.Kind.TRANSIT:
            entry, pointer = pointer, pointer - 1
        words = f"{bit} · {names.behind(router, bit)}"
        found.append(Job(f"{router} bit {bit}", words, entry, bit))
    return tuple(found)


def entry_of(visit: Visit, copy: Copy, asked: tuple[Job, ...], used: Collection[int]) -> int | None:
    """The entry that a copy has as its destination: the one that Segments Left points at, or else
    one that was asked for and not `used` yet, or else any."""
    frame = copy.frame
    if not frame.has_tree or frame.destination == visit.frame.destination:
        return None
    same = [index for index, sid in enumerate(visit.frame.entries) if sid == frame.destination]
    if visit.frame.has_bit_string or not same:
        return None
    if frame.segments_left in same and frame.segments_left > 0:
        return frame.segments_left
    wanted = [job.entry for job in asked if job.entry in same]
    fresh = [index for index in wanted if index not in used]
    return next((index for index in (*fresh, *wanted, *same) if index is not None), None)


def covered(asked: tuple[Job, ...], entry: int | None, look: Look | None) -> frozenset[str]:
    """The cells of the jobs that were done with a copy, or with a packet that came to its end."""
    if look is not None:
        bits = look.waiting & look.taken
        return frozenset(job.cell for job in asked if job.bit and bits >> job.bit - 1 & 1)
    if entry is None:
        return frozenset()
    return frozenset(job.cell for job in asked if job.entry == entry)


def is_leaf(frame: Frame) -> bool:
    """Whether the address asks for nothing but the packet inside."""
    return frame.sid is not None and frame.sid.function == END_DT6
