"""Policies of a student, judged: can they be read, are they all there, and what comes of them?"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches

from p4lab.course.labs import LabError
from p4lab.grading import measuring
from p4lab.grading.course import Check, Course, public_seeds
from p4lab.grading.drawing import DrawError
from p4lab.grading.record import CheckResult, Place, Story
from p4lab.grading.work import Work
from p4lab.policies import PolicyError, Program

MISSING = "policy missing"
NO_NAME = "Is it a parameter, or has a line above given it a value? Capital letters count."
LONGEST_LINE = 120
"""Characters of a student's line that are shown"""

Found = tuple[Story | None, int, bool]
"""What is wrong (None: nothing), how many cases ran, and whether the failing one was hidden"""


def reads(course: Course, check: Check, work: Work) -> Story | None:
    """Whether the file can be read as policies."""
    try:
        work.policies()
    except PolicyError as error:
        return _wrong(course, check, work, (f"{work.program} is read",), error)
    return None


def contract(course: Course, check: Check, work: Work) -> Story | None:
    """Whether each policy is there, with its parameters."""
    theirs = work.policies()
    for name, parameters in course.policies.methods.items():
        found = theirs.methods.get(name)
        if found == parameters or name not in course.asked:
            continue
        wanted = f"{name}({', '.join(('self', *parameters))})"
        if found is None:
            summary = f"{theirs.name} has no method {wanted}."
        else:
            summary = f"{name} takes {', '.join(found) or 'nothing'} instead of {wanted}."
        steps = (f"{work.program} is read, and the methods of {theirs.name} are looked for",)
        hint = "Methods and their parameters keep the names that they have in the starter."
        return Story(steps, summary, MISSING, hint, place=_place(work, theirs.line(name)))
    return None


def spared(
    course: Course, check: Check, work: Work, before: Sequence[CheckResult]
) -> frozenset[str]:
    """The contracts that have failed over other policies than a check's: it goes on without."""
    failed = {result.id for result in before if result.status == "failed"}
    stages = {one.id for one in course.checks if one.stage == "contract"}
    if not check.measure or not failed & stages:
        return frozenset()
    name = course.measure(check.measure).policy
    is_there = work.policies().methods.get(name) == course.policies.methods.get(name)
    return frozenset(failed & stages if is_there else ())


def story(course: Course, check: Check, work: Work, seed: int | None) -> Found:
    """The first case of a check in which a policy brings about what it should not. Raises
    LabError."""
    count = 0
    for hidden, labels in ((False, public_seeds(check)), (True, course.hidden(check, seed))):
        for label in labels:
            count += 1
            told = _case(course, check, label, work)
            if told is not None:
                return told, count, hidden
    return None, count, False


@dataclass(frozen=True)
class Seen:
    """The first case of a check: what a student's policies make of it, and what the lab's do.
    `wrong` is empty if nothing is."""

    title: str
    part: str
    say: str
    told: tuple[str, ...]
    best: tuple[str, ...]
    wrong: str


def seen(course: Course, work: Work) -> Iterator[Seen]:
    """What policies bring about, check by check. Raises LabError."""
    for check in course.checks:
        if not check.measure:
            continue
        label = public_seeds(check)[0]
        workload = course.workload(check, label)
        told = _case(course, check, label, work)
        own: tuple[str, ...] = ()
        with suppress(PolicyError):  # then the story says what is wrong
            own = measuring.measured(
                course.system, workload.file, work.policies(), workload.given
            ).told
        wrong = told.summary if told else ""
        yield Seen(check.title, check.part, workload.say, own, workload.best.told, wrong)


def _case(course: Course, check: Check, label: str, work: Work) -> Story | None:
    workload = course.workload(check, label)
    steps: tuple[str, ...] = (workload.say,)
    try:
        program = work.policies()
    except PolicyError as error:
        return _wrong(course, check, work, steps, error)
    try:
        found = measuring.measured(course.system, workload.file, program, workload.given)
    except PolicyError as error:
        return _wrong(course, check, work, (*steps, *_printed(program)), error)
    try:
        broken = workload.broken(found)
    except DrawError as error:
        raise LabError(f"labs/{course.name}/{check.measure}: {error}") from error
    if broken is None:
        return None
    signature, summary = broken
    steps = (*steps, *found.told, *_printed(program))
    name = workload.file.policy
    return Story(
        steps,
        summary,
        signature,
        course.hint(check, signature),
        place=_place(work, program.line(name)),
        why=f"{name} is here",
    )


def _printed(program: Program) -> tuple[str, ...]:
    return tuple(f"your policy printed: {line}" for line in program.printed)


def _wrong(
    course: Course, check: Check, work: Work, steps: tuple[str, ...], error: PolicyError
) -> Story:
    """The story of a policy that cannot be carried out."""
    hint, summary = course.hint(check, error.kind), str(error)
    if isinstance(error.__cause__, NameError):
        hint = NO_NAME
        if near := _nearest(work, str(error.__cause__)):
            summary = f"{summary} Did you mean {near}?"
    return Story(steps, summary, error.kind, hint, place=_place(work, error.line))


def _nearest(work: Work, name: str) -> str:
    """The name in the student's file that is most like one that is not there; empty if none is."""
    nodes = [*ast.walk(ast.parse(work.files[work.program]))]
    known = [node.arg for node in nodes if isinstance(node, ast.arg)]
    stored = [node for node in nodes if isinstance(node, ast.Name)]
    known += [node.id for node in stored if isinstance(node.ctx, ast.Store)]
    by_lower = {one.lower(): one for one in known if one != name}
    near = get_close_matches(name.lower(), by_lower, 1)
    return by_lower[near[0]] if near else ""


def _place(work: Work, line: int) -> Place | None:
    """A line of the student's file; None for line 0."""
    text = work.files[work.program].split("\n")
    if not 0 < line <= len(text):
        return None
    own = text[line - 1].strip()
    shown = own if len(own) <= LONGEST_LINE else f"{own[: LONGEST_LINE - 1]}…"
    return Place(work.program, line, shown)
