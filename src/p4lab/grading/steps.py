"""Hints, a step at a time, on request: where to look, what to think of, and nearly the code.

The story of a failed check mostly says the first two. What it says is no hint and is not counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from p4lab.grading import asked
from p4lab.grading.course import Check, Course
from p4lab.grading.record import CheckResult, Story, Verdict, cause, of_part, opened, to_tell

_BEFORE_ALL = {
    "compiles": "Take the compiler's first error alone: later ones are often its consequences.",
    "contract": "Take the declaration in question from the starter, and change what it does, not "
    "what it is called.",
}
"""What there is to say of checks that no lab writes hints for, by their stage"""
_BEFORE_POLICIES = {
    "compiles": "Put this line back as it is in the starter, or leave it out, and check again.",
    "contract": "Take the first line of the method from the starter, and change what is below it.",
}
"""The same where students write policies"""


@dataclass(frozen=True)
class Step:
    """What there is to say, and whether the story of the check says it, too."""

    title: str
    text: str
    in_story: bool


@dataclass(frozen=True)
class Help:
    """The steps that a student has asked for so far, of all that a check has; without any, `why`
    says why. `story` is what its story says, the first steps of the ladder: they cost nothing."""

    check: str
    title: str
    story: tuple[Step, ...] = ()
    steps: tuple[Step, ...] = ()
    of: int = 0
    why: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def ask(
    course: Course,
    verdict: Verdict,
    wanted: str | None,
    folder: Path,
    before: Mapping[str, int] | None,
    part: str | None = None,
) -> Help:
    """One hint more than `before` for a failed check, or for the first that fails, of all or of a
    part; kept in the student's folder. Raises OSError if it cannot be kept."""
    if verdict.trouble:
        return Help("", "", why=verdict.trouble)
    if wanted is None and all(one.status == "passed" for one in of_part(verdict, part)):
        return Help("", "", why="Nothing fails: there is nothing to say.")
    verdict = opened(verdict, part, wanted)
    chosen = wanted or to_tell(verdict, part).id
    result = next(one for one in verdict.checks if one.id == chosen)
    if result.story is None:
        return Help(result.id, result.title, why=_no_need(verdict, result))
    check = next(one for one in course.checks if one.id == result.id)
    every = steps(course, check, result.story)
    told = tuple(one for one in every if one.in_story)
    hints = tuple(one for one in every if not one.in_story)
    known = dict(before or {})
    count = min(len(hints), known.get(result.id, 0) + 1)
    # The story may have been another one before, with more hints than this.
    if count > known.get(result.id, 0):
        asked.write(folder, {**known, result.id: count})
    return Help(result.id, result.title, told, hints[:count], len(hints))


def steps(course: Course, check: Check, story: Story) -> tuple[Step, Step, Step]:
    """All three for a failed check."""
    field = story.field
    what = story.hint or _what(course, check, story, field)
    almost = course.almost(check, story.signature, field) or _before(course, check)
    return (
        Step("Where", _where(course, check, story), story.place is not None),
        Step("What", what, bool(story.hint)),
        Step("Almost the code", almost, False),
    )


def _where(course: Course, check: Check, story: Story) -> str:
    if story.place is not None:
        line = f"\n{story.place.line:>6} | {story.place.text}" if story.place.text else ""
        where = f"{story.place.file}:{story.place.line}"
        return f"{where}: {story.why}{line}" if story.why else f"{where}{line}"
    files = " and ".join(course.student.edit)
    at = f" at {story.router}" if story.router else ""
    part = next((one for one in course.parts if one.id == check.part), None)
    if part is None:
        return f"In {files}; the story{at} says what is missed."
    return (
        f"No single line is to blame{at}. In {part.file or files}, look at your lines for the "
        f"part {part.title}."
    )


def _what(course: Course, check: Check, story: Story, field: str) -> str:
    return course.hint(check, story.signature, field) or (
        "Read the story from the top: which of its numbers should your program have used?"
    )


def _before(course: Course, check: Check) -> str:
    before = _BEFORE_ALL if course.is_p4 else _BEFORE_POLICIES
    return before.get(check.stage or "", "")


def _no_need(verdict: Verdict, result: CheckResult) -> str:
    if result.status == "passed":
        return "This check passes: it needs no hint."
    if result.waits_for:
        return f"This check waits for another one, which fails: {cause(verdict, result).title}."
    return f"This target lacks {result.beyond}: the check cannot run."
