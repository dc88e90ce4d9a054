"""What the grader makes of each lab's answers: judged once for all tests that read it.

Right answers pass all cases that a class is graded with. Mistakes are looked for in all cases of
the checks that they must fail, and in a few hidden ones of the others; `p4lab mutants LAB` takes
all.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from p4lab.grading.course import Course, load
from p4lab.grading.mutants import Answer, Row, answers, rows

SEED = 20  # of the hidden cases; any will do
FEW = 2  # hidden cases of a check that a mistake leaves alone


@cache
def course(lab: str) -> Course:
    return load(lab)


@cache
def judged(lab: str) -> tuple[Row, ...]:
    """All answers, the solution first, with what became of them in public and hidden cases."""
    return tuple(
        row for answer in answers(course(lab)) for row in rows(judging(lab, answer), [answer], SEED)
    )


def judging(lab: str, answer: Answer) -> Course:
    """The lab with the hidden cases that an answer is judged by."""
    return _shortened(lab, answer.breaks) if answer.kind == "mutant" else course(lab)


@cache
def _shortened(lab: str, breaks: tuple[str, ...]) -> Course:
    """Few hidden cases but in checks that fail. Cases that are made for one are made for all."""
    checks = (
        one if one.id in breaks else one.model_copy(update={"hidden": min(FEW, one.hidden)})
        for one in course(lab).checks
    )
    return replace(course(lab), checks=tuple(checks))
