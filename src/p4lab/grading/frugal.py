"""What a program spends beside what the solution does with it: tables, and copies of packets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from p4lab import _engine
from p4lab.grading import culprit
from p4lab.grading.course import Check, Course, Judged, inject_traced
from p4lab.grading.record import Story
from p4lab.grading.work import Work
from p4lab.plurals import count_of
from p4lab.steps import ENTERS

TABLES = "too many tables"
COPIES = "too many copies made"


def story(
    course: Course, check: Check, judged: Judged, work: Work, program: _engine.Program
) -> Story | None:
    """What a program spends that the solution can do without, of what the check asks to be spared;
    None if nothing."""
    if "tables" in check.frugal and (found := _tables(course, check, judged, work, program)):
        return found
    if "copies" in check.frugal:
        return _copies(course, check, judged, program)
    return None


def _tables(
    course: Course, check: Check, judged: Judged, work: Work, program: _engine.Program
) -> Story | None:
    enough = len(course.program(judged.case.defines).summary["tables"])
    tables = program.summary["tables"]
    if len(tables) <= enough:
        return None
    names = ", ".join(table["name"].rsplit(".", 1)[-1] for table in tables)
    places = (culprit.place(table, work.files) for table in tables)
    own = [place for place in places if place and place.file in course.student.edit]
    return Story(
        ("the tables of the program are counted",),
        f"The program has {count_of(len(tables), 'table')} ({names}), and {enough} would do.",
        TABLES,
        course.hint(check, TABLES),
        place=own[-1] if own else None,
        why="this is one of them" if own else "",
    )


def _copies(course: Course, check: Check, judged: Judged, program: _engine.Program) -> Story | None:
    switches = [course.set_up(one, judged.case) for one in _both(course, judged, program)]
    for number, sending in enumerate(judged.case.sendings, 1):
        enough, made = (_made(inject_traced(switch, sending)) for switch in switches)
        if made > enough:
            would = "none" if not enough else str(enough)
            summary = (
                f"The switch makes {count_of(made, 'copy', 'copies')} of it; {would} would do."
            )
            hint = course.hint(check, COPIES)
            return Story(judged.case.told(number), summary, COPIES, hint)
    return None


def _both(
    course: Course, judged: Judged, program: _engine.Program
) -> tuple[_engine.Program, _engine.Program]:
    return course.program(judged.case.defines), program


def _made(trace: Mapping[str, Any]) -> int:
    """How many packets of a trace are copies: none of them begins at the parser."""
    return sum(packet["kind"] not in ENTERS for packet in trace["packets"])
