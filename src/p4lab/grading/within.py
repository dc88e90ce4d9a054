"""A submission, read and judged in the process that asks: in a browser, which has no other.

Nothing is there to be reached but the student's own page, and nobody but the student waits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from p4lab.grading import submission
from p4lab.grading.course import Course
from p4lab.grading.film.record import Film
from p4lab.grading.film.shot import film
from p4lab.grading.judge import judge, unread
from p4lab.grading.known import wanted
from p4lab.grading.record import Verdict
from p4lab.grading.submission import Submission
from p4lab.grading.writers.text import tidied


def check_here(path: Path, course: Course) -> tuple[Submission, Verdict]:
    """What is in a student's folder and the verdict on it, as `workers.check_here` gives them."""
    found = submission.read(path, wanted(course))
    verdict = unread(course, "", found) if found.trouble else judge(course, found.files)
    return found, Verdict.from_json(_plain(verdict.to_json()))


def film_here(files: Mapping[str, str], check: str, course: Course) -> Film:
    """The film of a check, as `workers.film_here` makes it."""
    return Film.from_json(_plain(film(course, files, check).to_json()))


def _plain(record: Any) -> Any:
    """A record as it comes from another process."""
    return json.loads(json.dumps(tidied(record)))
