"""results.json of a PrairieLearn external grader.

The format: https://docs.prairielearn.com/externalGrading/. All of it may be shown to the student.
What cannot be graded is `gradable: false`, which costs the student no attempt.
"""

from __future__ import annotations

import json

from p4lab.grading.record import Verdict
from p4lab.grading.writers import plain
from p4lab.grading.writers.text import clipped, number

FILE_BYTES = 1_000_000
"""PrairieLearn takes no larger file."""


def as_json(verdict: Verdict, notes: tuple[str, ...] = ()) -> str:
    """From what a student may see of a verdict."""
    most = STORY_CHARACTERS
    while len(text := _as_json(verdict, notes, most)) > FILE_BYTES:
        most //= 2
    return text


STORY_CHARACTERS = 100_000
"""Longest story of one check, to begin with."""


def _as_json(verdict: Verdict, notes: tuple[str, ...], most: int) -> str:
    result = {
        "gradable": not verdict.trouble,
        "score": min(1.0, verdict.points / verdict.max_points) if verdict.max_points else 0.0,
        "message": f"{number(verdict.points)} of {number(verdict.max_points)} points",
        "output": "\n".join(notes),
        "format_errors": [verdict.trouble] if verdict.trouble else [],
        "tests": [
            {
                "name": check.title,
                "description": check.part,
                "points": check.points,
                "max_points": check.max_points,
                "message": plain.result(check),
                "output": clipped(plain.told(check), most),
            }
            for check in verdict.checks
        ],
    }
    return json.dumps(result, indent=1) + "\n"
