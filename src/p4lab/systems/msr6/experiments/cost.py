"""What MSR6 costs a chip: the tables of the slides, and the same of our programs.

Resources and cycles are estimates of `p4lab fit`; delays of copies are those of one router in
virtual time (`clones`). What the slides' own numbers exclude is computed from the chip's least
latencies (`WAITS`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from p4lab.command import command
from p4lab.fit import Estimate, Truth, chip, estimate_file, latency, read_truth
from p4lab.fit.compare import pipe_truth
from p4lab.fit.estimate import PipeEstimate
from p4lab.systems.msr6.experiments.clones import GAP, LINE, Copy, copies, loop_time, packet_time
from p4lab.systems.msr6.experiments.router import PROGRAMS, TNA, Task
from p4lab.systems.msr6.experiments.slides import IPV6, RLB, TE, WAYS, Resource, gap, share

ALL = "TE, RLB, BE"
LENGTHS = (128, 256, 512, 1024, 1400)
"""Bytes of a frame at its sender, checksum included"""
REFERENCE = 512
"""The one of them for tables"""
SMALLEST = 64
"""Bytes of the shortest Ethernet frame"""


# ---- Stages


@dataclass(frozen=True)
class Program:
    """A program in the chip's stages."""

    name: str
    estimate: Estimate
    truth: Truth | None = None
    """What the chip's compiler wrote of it, where that is known"""

    @cached_property
    def pipe(self) -> PipeEstimate:
        (pipe,) = self.estimate.pipes
        return pipe

    def blocks(self, resource: Resource) -> tuple[int, ...] | None:
        """How many of them each stage of the chip takes; None if `p4lab fit` does not say."""
        if resource.fit is None:
            return None
        return tuple(getattr(stage, resource.fit) for stage in self.pipe.stages)

    def percent(self, resource: Resource) -> float | None:
        """The same of all that there are, on average over the stages."""
        blocks = self.blocks(resource)
        return None if blocks is None else share(sum(blocks), resource.there_are)

    def compiled(self, resource: Resource) -> float | None:
        """The same by the compiler's log, which is read for memory only."""
        if self.truth is None or resource.fit not in ("srams", "tcams"):
            return None
        known = pipe_truth(self.truth, self.pipe.name, 1)
        blocks = None if known is None else getattr(known, resource.fit)
        return None if blocks is None else share(blocks, resource.there_are)

    def cycles(self, gress: str) -> int:
        """Of "ingress" or "egress". Raises ValueError for a program that does not fit."""
        (found,) = (own.cycles for own in self.pipe.gresses if own.gress == gress)
        if found is None:
            raise ValueError(
                f"{self.estimate.program} ({self.name}) does not fit: {command()} fit says why."
            )
        return found

    @property
    def pass_time(self) -> float:
        """Nanoseconds through the stages of ingress and egress."""
        return latency.nanoseconds(self.cycles("ingress") + self.cycles("egress"))


def programs(compiled: Path | None = None) -> dict[str, Program]:
    """The three that are compared, and one with all behaviours. `compiled` is the folder that
    bf-p4c wrote of TE's. Raises ValueError, TruthMissing."""
    truth = None if compiled is None else read_truth(compiled)
    found = {**PROGRAMS, ALL: (TNA, ())}
    return {
        name: Program(
            name, estimate_file(file, defines=list(defines)), truth if name == TE else None
        )
        for name, (file, defines) in found.items()
    }


# ---- Delays


@dataclass(frozen=True)
class Encapsulation:
    """What a packet spends in stages and on loops until its first copy is on its way with a tree;
    of IPv6, until it is forwarded."""

    way: str
    ingress: int
    egress: int
    """Cycles of a pass"""
    passes: int
    loop: float
    """Nanoseconds on the recirculation port in between"""

    @property
    def nanoseconds(self) -> float:
        return self.passes * latency.nanoseconds(self.ingress + self.egress) + self.loop


def encapsulations(known: dict[str, Program], length: int = REFERENCE) -> list[Encapsulation]:
    """Of the three ways. Our programs put the tree on in one pass, and copy in the next."""
    found = []
    for way in WAYS:
        ingress, egress = (known[way].cycles(gress) for gress in ("ingress", "egress"))
        passes, loop = (1, 0.0) if way == IPV6 else (2, loop_time(way, length))
        found.append(Encapsulation(way, ingress, egress, passes, loop))
    return found


COPYING = (Task(IPV6), Task(IPV6, one_port=True), Task(TE), Task(RLB))
ENCAPSULATES = tuple(Task(way, encapsulates=True) for way in WAYS)


def gap_by_formula(task: Task, length: int, known: dict[str, Program]) -> float:
    """Nanoseconds between copies, when nothing else is on the way: a pass and the loop's wire for
    each copy of MSR6; the cable's wire for copies of plain IPv6 at one port."""
    if task.way == IPV6:
        return packet_time(length) if task.one_port else 0.0
    return known[task.way].pass_time + loop_time(task.way, length)


def simulated(
    known: dict[str, Program], packets: int, seed: int, say: Callable[[str], object]
) -> list[Copy]:
    """All copies of all tasks, by length of frames. Raises ProgramError, ValueError."""
    found: list[Copy] = []
    for length in LENGTHS:
        say(f"simulating frames of {length} bytes ...")
        for task in (*ENCAPSULATES, *COPYING):
            found += copies(task, length, known[task.way].pass_time, packets, seed)
    return found


def delays(found: Sequence[Copy], task: Task, length: int = REFERENCE) -> list[Copy]:
    """The copies of one task, the first first."""
    return [copy for copy in found if (copy.task, copy.length) == (task, length)]


def between(found: Sequence[Copy], task: Task, length: int = REFERENCE) -> float:
    """Nanoseconds from the first copy to the second."""
    first, second, *_ = delays(found, task, length)
    return second.delay - first.delay


def disorder(found: Sequence[Copy]) -> list[str]:
    """Where copies do not come in the order that the slides have: later ones later, and of MSR6
    further apart than of plain IPv6, whichever ports that takes."""
    wrong = []
    for length in LENGTHS:
        plain = max(between(found, task, length) for task in COPYING if task.way == IPV6)
        for task in COPYING:
            if task.way == IPV6:
                continue
            times = [copy.delay for copy in delays(found, task, length)]
            if sorted(set(times)) != times:
                wrong.append(f"{task.way}, {length} bytes: a copy overtakes one before it.")
            if between(found, task, length) <= plain:
                wrong.append(f"{task.way}, {length} bytes: the gap is not larger than IPv6's.")
    return wrong


# ---- What the slides' gaps leave open

EMPTY_INGRESS = latency.total(latency.empty_pipe())
"""Cycles: no program has fewer"""


@dataclass(frozen=True)
class Wait:
    """A way to make the second copy, and what it has to wait for after the first."""

    name: str
    cycles: int
    """Of stages, at least"""
    wire: bool = False
    """And for a packet time, at least that of the shortest frame at 100 Gb/s"""

    @property
    def least(self) -> float:
        """Nanoseconds."""
        wire = packet_time(SMALLEST) if self.wire else 0.0
        return latency.nanoseconds(self.cycles) + wire

    def possible(self, way: str) -> bool:
        """Whether the slides' gap is as long as that."""
        return self.least <= gap(way)


WAITS = (
    Wait("replication engine, another port", 0),
    Wait("mirror in ingress", 0),
    Wait("replication engine, the same port", 0, wire=True),
    Wait("resubmission: ingress again", EMPTY_INGRESS),
    Wait("mirror in egress: egress again", chip.EGRESS_FLOOR),
    Wait("recirculation: both again", EMPTY_INGRESS + chip.EGRESS_FLOOR, wire=True),
)
"""On a Tofino 1. What traffic manager, mirror buffers and parsers add is not published"""


def frame_of(nanoseconds: float) -> float:
    """Bytes of the frame, checksum included, that takes so long on a wire of 100 Gb/s."""
    return nanoseconds * LINE / 8e9 - GAP
