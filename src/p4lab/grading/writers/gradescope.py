"""results.json of a Gradescope autograder.

The format: https://gradescope-autograders.readthedocs.io/en/latest/specs/. Every check is one test
that students see. A check that failed in hidden cases only gets a second one with the story, which
has no points and the visibility `hidden`: instructors see it, students never do, and since it has
no points Gradescope still shows students their total.
"""

from __future__ import annotations

import json
from typing import Any

from p4lab.grading.record import CheckResult, Verdict
from p4lab.grading.writers import plain
from p4lab.grading.writers.view import for_student


def as_json(verdict: Verdict, notes: tuple[str, ...] = (), *, reveal: bool = False) -> str:
    shown = for_student(verdict, reveal=reveal)
    tests = [_test(number, check) for number, check in enumerate(shown.checks, 1)]
    if not reveal:
        tests += [
            _for_instructors(number, check)
            for number, check in enumerate(verdict.checks, 1)
            if check.hidden and check.story
        ]
    result = {
        "score": verdict.points,
        "output": "\n".join((*([verdict.trouble] if verdict.trouble else []), *notes)),
        "output_format": "text",
        "stdout_visibility": "hidden",
        "visibility": "visible",
        "tests": tests,
    }
    return json.dumps(result, indent=1) + "\n"


def _test(number: int, check: CheckResult) -> dict[str, Any]:
    return {
        "number": str(number),
        "name": check.title,
        "name_format": "text",
        "score": check.points,
        "max_score": check.max_points,
        "status": "passed" if check.status == "passed" else "failed",
        "output": plain.told(check),
        "output_format": "text",
        "visibility": "visible",
        "tags": [check.part] if check.part else [],
    }


def _for_instructors(number: int, check: CheckResult) -> dict[str, Any]:
    return {
        "number": f"{number}.1",
        "name": f"{check.title}: the hidden case",
        "name_format": "text",
        "status": "failed",
        "output": plain.told(check),
        "output_format": "text",
        "visibility": "hidden",
    }
