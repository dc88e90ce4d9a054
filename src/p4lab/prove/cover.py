"""Packets for the branches of two programs, tried on both: who waits for a rare value is met by
the condition that asks for it.

The prover finds the packets (crates/p4-prove/src/cover.rs), and asks for a difference on the way of
each. The engine decides. Registers that the student's program alone has begin as they do in a
switch that nobody has used, so what they count is reached by packets only: each packet is sent many
times, and before those whose branches depend on such registers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from p4lab import _engine
from p4lab.model.entries import Update
from p4lab.prove.compare import PICOSECONDS, Bounds, Example, registers_of, replay, switch_of
from p4lab.prove.solver import Solver

SHARE = 1 / 2
"""Of the time for a comparison, what is for branches at the most"""
MOST_TIMES = 300
"""How often one packet is sent to programs with registers of their own"""
MOST_VISITS = 24
"""Packets that are sent so often, each before one of each of the others"""
FEWER = (1, 2, 5, 10, 30, 100)

Row = tuple[int, bytes, int]
"""Port and packet, and how often it is sent"""


@dataclass(frozen=True)
class Branch:
    """One way at a place of a program: `what` says which. No path to it was found ("unmet"), or no
    packet that takes it ("refused"), or only such registers as the program may never have
    ("supposed")."""

    file: str | None
    line: int | None
    what: str
    fate: Literal["unmet", "refused", "supposed", "taken"]


@dataclass(frozen=True)
class Cover:
    """The branches of the student's program, a packet that the programs treat differently, if one
    was found, and the seconds of one core that it took."""

    branches: tuple[Branch, ...]
    example: Example | None
    seconds: float
    why: str = ""
    """Why not everything was tried, if so"""


def cover(
    reference: _engine.Program, student: _engine.Program, bounds: Bounds, seconds: float
) -> Cover:
    """Takes the branches of both programs, as far as the time goes. Raises ValueError if they
    cannot be compared."""
    solver = Solver()
    found = _engine.cover(reference, student, solver, bounds, seconds)
    branches = tuple(
        Branch(one["file"], one["line"], one["what"], one["fate"]) for one in found["branches"][1]
    )
    examples = _examples(reference, student, found, bounds)
    return Cover(branches, next(examples, None), solver.clock(), found["why"])


def _examples(
    reference: _engine.Program, student: _engine.Program, found: dict[str, Any], bounds: Bounds
) -> Iterator[Example]:
    both = reference, student
    if found["difference"] is not None and (example := replay(*both, found["difference"], bounds)):
        yield example
    visits = found["visits"]
    for visit in visits:
        if not visit["is_supposed"]:
            example = replay(*both, visit, bounds, is_claimed=False)
            if example is not None:
                yield example
    if registers_of(student) - registers_of(reference):
        yield from _repeated(both, visits, bounds)


_Both = tuple[_engine.Program, _engine.Program]


def _repeated(both: _Both, visits: Sequence[dict[str, Any]], bounds: Bounds) -> Iterator[Example]:
    """What shows only when packets have come before: each is sent many times, and then the others
    once."""
    visits = sorted(visits, key=lambda one: (not one["is_strange"], not one["is_supposed"]))
    visits = visits[:MOST_VISITS]
    for first in visits:
        # On a chip, tables say more together than the entries of two packets would.
        others = [one for one in visits if one is not first] if bounds.wiring is None else []
        together = [first, *others]
        updates = _fitting(both, bounds, [u for visit in together for u in visit["updates"]])
        rows = [(one["port"], one["packet"], 1) for one in together]
        rows[0] = (*rows[0][:2], MOST_TIMES)
        now = max(visit["now"] for visit in together) * PICOSECONDS
        example = _sent(both, bounds, updates, rows, now)
        if example is not None:
            yield _shorter(both, bounds, example)


def _fitting(both: _Both, bounds: Bounds, updates: Sequence[Update]) -> tuple[Update, ...]:
    """The updates without those that exclude one before them."""
    fitting: list[Update] = []
    switches = [switch_of(program, bounds) for program in both]
    for update in updates:
        try:
            for switch in switches:
                switch.write([update])
        except ValueError:
            continue
        fitting.append(update)
    return tuple(fitting)


def _sent(
    both: _Both,
    bounds: Bounds,
    updates: tuple[Update, ...],
    rows: Sequence[Row],
    now: int,
) -> Example | None:
    """Sends packets one after the other to switches that nobody has used, up to the first one that
    is treated differently."""
    switches = [switch_of(program, bounds) for program in both]
    for switch in switches:
        switch.write(list(updates))
    for at, (port, packet, times) in enumerate(rows):
        for count in range(times):
            ours, theirs = (sorted(switch.process(port, packet, now)) for switch in switches)
            is_lost, is_endless = (_runs_on(switch) for switch in switches)
            if is_lost:
                return None
            if ours != theirs or is_endless:
                before = (*rows[:at], *([(port, packet, count)] if count else []))
                sides = (ours, theirs)
                return Example(port, packet, updates, (), sides, is_endless, now=now, before=before)
    return None


def _shorter(both: _Both, bounds: Bounds, example: Example) -> Example:
    """The same with fewer packets before it, if some of the first kind are enough."""
    if not example.before or example.before[0][2] < MOST_TIMES:
        return example
    port, packet, most = example.before[0]
    last = (example.port, example.packet, 1)
    for times in (*FEWER, most):
        rows = [(port, packet, times), last]
        found = _sent(both, bounds, example.updates, rows, example.now)
        if found is not None:
            return found
    return example


def _runs_on(switch: _engine.Switch) -> bool:
    return switch.stats["too_many_passes"] + switch.stats["too_many_packets"] > 0
