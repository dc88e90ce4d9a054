"""What a router did, beside what the bytes asked it for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from p4lab.systems.msr6.sids import END_RL
from p4lab.systems.msr6.views.frames import Frame
from p4lab.systems.msr6.views.jobs import Job, covered, entry_of, is_leaf, jobs
from p4lab.systems.msr6.views.journey import Copy, End, Visit
from p4lab.systems.msr6.views.names import Names


@dataclass(frozen=True)
class Act:
    """One copy, or a packet's end. `entry` is the one that the copy is for, `now` are the cells of
    the jobs that are done by it, `done` of those before. `wrong` are sentences: where the copy is
    not what its bytes should say."""

    did: Copy | End
    entry: int | None
    now: frozenset[str]
    done: frozenset[str]
    wrong: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scene:
    """A visit with what its router was asked for, what it did, and what it left undone."""

    visit: Visit
    is_own: bool
    jobs: tuple[Job, ...]
    acts: tuple[Act, ...]

    @property
    def undone(self) -> tuple[Job, ...]:
        """Copies that were asked for and not made, where nothing says why."""
        if self.visit.ends:
            return ()
        done = frozenset().union(*(act.now for act in self.acts))
        return tuple(job for job in self.jobs if job.cell not in done)


def scenes(visits: Sequence[Visit], names: Names) -> list[Scene]:
    """Every visit of a journey."""
    return [_scene(visit, names) for visit in visits]


def _scene(visit: Visit, names: Names) -> Scene:
    asked = jobs(visit, names)
    is_own = names.is_of(visit.frame.sid, visit.router)
    acts: list[Act] = []
    done: frozenset[str] = frozenset()
    used: list[int] = []
    for did in visit.did:
        entry = entry_of(visit, did, asked, used) if isinstance(did, Copy) and is_own else None
        now = covered(asked, entry, did.look)
        wrong: tuple[str, ...] = ()
        if isinstance(did, Copy) and is_own and did.frame.has_tree:
            wrong = tuple(_wrong(visit, did, entry, asked, used))
        acts.append(Act(did, entry, now, done, wrong))
        done |= now
        used += [] if entry is None else [entry]
    return Scene(visit, is_own, asked, tuple(acts))


def _wrong(
    visit: Visit, copy: Copy, entry: int | None, asked: tuple[Job, ...], used: Sequence[int]
) -> list[str]:
    """What is not right about a copy, going by the bytes alone."""
    frame = copy.frame
    if visit.frame.has_bit_string:
        return _wrong_bits(visit.frame, copy)
    if frame.destination == visit.frame.destination:
        return ["Its destination is still the SID that it came with."]
    if entry is None:
        if is_leaf(frame) and copy.look is not None and copy.look.action == "leaf":
            return _wrong_left(frame, 0)
        return ["Its destination is not an entry of the list."]
    found = _wrong_left(frame, 0 if _has_no_children(frame) else entry)
    if entry in used:
        found.append(f"Entry {entry} has had its copy already.")
    elif entry not in [job.entry for job in asked]:
        found.append(f"Nothing asks for entry {entry} here.")
    return found


def _has_no_children(frame: Frame) -> bool:
    """What the profile calls a leaf in a list: the argument's top byte is 0. A SID of RLB may have
    such bits, too, but no router takes one for another's."""
    sid = frame.sid
    return is_leaf(frame) or (
        sid is not None and sid.function == END_RL and sid.argument >> 24 == 0
    )


def _wrong_left(frame: Frame, wanted: int) -> list[str]:
    if frame.segments_left == wanted:
        return []
    return [f"Segments Left should be {wanted}."]


def _wrong_bits(before: Frame, copy: Copy) -> list[str]:
    after, look = copy.frame.bit_string, copy.look
    if after & ~before.bit_string:
        return ["Its BitString has bits that the packet did not have."]
    if look is not None and after & ~look.taken:
        return ["Its BitString has bits that are not in the F-BM."]
    return []
