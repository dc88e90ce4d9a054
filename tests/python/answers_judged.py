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
        row
        for answer in answers(course(lab))
        for row in rows(judging(course(lab), answer), [answer], SEED)
    )


def judging(whole: Course, answer: Answer) -> Course:
    """The lab with the hidden cases that an answer is judged by; what is made for it once, is made
    once for all."""
    if answer.kind != "mutant":
        return whole
    few = {one.id: min(FEW, one.hidden) for one in whole.checks if one.id not in answer.breaks}
    checks = (
        one.model_copy(update={"hidden": few.get(one.id, one.hidden)}) for one in whole.checks
    )
    return replace(whole, checks=tuple(checks))
