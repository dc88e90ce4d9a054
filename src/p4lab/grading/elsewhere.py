"""Cases judged by another switch than the engine; the engine's traces only explain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from p4lab import _engine
from p4lab.grading import counts, difference, frames
from p4lab.grading.course import Check, Course, Judged
from p4lab.grading.record import Story
from p4lab.grading.scenario import Case
from p4lab.grading.story import alike, compare, pair_story
from p4lab.grading.work import Work
from p4lab.model.control import CountingDriver
from p4lab.model.run import Plan
from p4lab.network import NetworkError


@dataclass(frozen=True)
class Outcome:
    """What comes out for each packet of a case, as (port, bytes), and the packets that its cells of
    counters hold in the end."""

    outputs: list[list[tuple[int, bytes]]]
    counted: tuple[int, ...] = ()


class BeyondTargetError(Exception):
    """A case that a target cannot carry out; the message says what it would need, as a noun."""


class Bench(Protocol):
    """Another switch, and networks of them."""

    name: str

    def lacks(self, case: Case) -> str:
        """What a case needs that this switch cannot do, as a noun; empty if nothing."""

    def outcome(self, work: Work, case: Case, likely: Sequence[Sequence[int]]) -> Outcome:
        """What comes of a case; `likely` are the ports where each packet comes out if all is right.
        Raises NetworkError if the program is refused, ValueError for entries that do not fit."""

    def network(self, work: Work, case: Case, plan: Plan) -> str:
        """What goes wrong with a run on a network of such switches; empty if nothing does."""


def clock_lacks(case: Case) -> str:
    """What a case needs of a switch whose clock nobody can set, as a noun; empty if nothing."""
    if any(sending.now for sending in case.sendings):
        return "a clock that could be set: packets shall come at certain moments"
    return ""


def counted(driver: CountingDriver, case: Case) -> tuple[int, ...]:
    """Packets in the cells that a case counts. Raises ValueError for a cell that is not there."""
    return tuple(driver.counters(name, [cell])[cell].packets for name, cell in case.counts)


def story(
    course: Course,
    check: Check,
    judged: Judged,
    work: Work,
    program: _engine.Program,
    bench: Bench,
) -> Story | None:
    """What is wrong with what the other switch did; None if nothing is. Raises
    BeyondTargetError if it cannot carry out the case: nobody stands in for it."""
    case = judged.case
    if missing := bench.lacks(case):
        raise BeyondTargetError(missing)
    likely = [[port for port, _ in outputs] for outputs in judged.outputs]
    try:
        outcome = bench.outcome(work, case, likely)
    except (NetworkError, ValueError) as error:
        return Story(case.steps, f"{bench.name}: {error}", "refused", "")
    reference, layout = course.program(case.defines), course.headers(case.defines)

    def settled(port: int, data: bytes) -> difference.Out:
        return difference.settled(_out(reference, port, data), case.ignore, layout)

    for number, got in enumerate(outcome.outputs, 1):
        if alike(case, number, got, judged.outputs[number - 1]):
            continue
        found = [difference.without(settled(port, data), case.ignore) for port, data in got]
        if case.expected is None:
            wanted = [
                difference.wanted(settled(port, data), case.ignore)
                for port, data in judged.outputs[number - 1]
            ]
        else:
            wanted = [
                difference.Wanted(item.port, item.headers)
                for item in case.expected
                if item.send == number
            ]
        pairs = difference.unequal(wanted, found, not case.forbids_others(number))
        if not pairs:
            continue
        explained = compare(course, check, judged, work, program, number)
        if explained is not None:
            return explained
        steps = case.told(number)
        note = (None, f"The engine does what it should with this packet; {bench.name} does not.")
        return pair_story(course, check, pairs[0], case.defines, steps, "", note)
    return counts.story(course, check, judged, outcome.counted)


def _out(reference: _engine.Program, port: int, data: bytes) -> difference.Out:
    """A frame as the reference's parser sees it."""
    headers = frames.dissect(reference, data)
    return difference.Out(port, data, headers, data)
