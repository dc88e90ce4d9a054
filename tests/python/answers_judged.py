"""What the grader makes of each lab's answers: judged once for all tests that read it."""

from __future__ import annotations

from functools import cache

from p4lab.grading.course import Course, load
from p4lab.grading.mutants import Row, answers, rows

SEED = 20  # of the hidden cases; any will do


@cache
def course(lab: str) -> Course:
    return load(lab)


@cache
def judged(lab: str) -> tuple[Row, ...]:
    """All answers, the solution first, with what became of them in public and hidden cases."""
    return tuple(rows(course(lab), answers(course(lab)), SEED))
