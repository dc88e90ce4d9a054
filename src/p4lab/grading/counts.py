"""What a program has counted by the end of a case, beside what the reference has."""

from __future__ import annotations

from p4lab import _engine
from p4lab.grading.course import Check, Course, Judged, counted
from p4lab.grading.record import Story

WRONG_COUNT = "wrong count"


def story(course: Course, check: Check, judged: Judged, found: tuple[int, ...]) -> Story | None:
    """The first cell that holds another number of packets than the reference's; None if there is
    none. `found` are the packets in the cells of the case. Hints go by the name of the cell, such
    as `dropped[8]`."""
    case = judged.case
    for (name, cell), wanted, got in zip(case.counts, judged.counted, found, strict=True):
        if wanted != got:
            called = course.system.notation.meaning(name, cell)
            place = f"{name}[{cell}], {called}," if called else f"{name}[{cell}]"
            summary = f"In the end the counter {place} holds {got}, not {wanted}."
            hint = course.hint(check, WRONG_COUNT, f"{name}[{cell}]")
            return Story(case.told(len(case.sendings)), summary, WRONG_COUNT, hint)
    return None


def engine_story(
    course: Course, check: Check, judged: Judged, switch: _engine.Switch
) -> Story | None:
    """The same of a switch of the engine that has had all packets of the case."""
    case = judged.case
    try:
        return story(course, check, judged, counted(switch, case))
    except ValueError as error:
        hint = "Counters keep the names and sizes of the starter."
        return Story(case.told(len(case.sendings)), f"{error}.", WRONG_COUNT, hint)
