"""A submission, read and judged in forks of this process: what `check` and `grade` have in common.

Whoever forks has one thread only (`sandbox.run`); a process with more asks a worker
(`workers.Hand`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from p4lab.grading import sandbox, submission
from p4lab.grading.course import Course
from p4lab.grading.judge import judge, nothing
from p4lab.grading.record import Verdict
from p4lab.grading.sandbox import Limits, Stopped
from p4lab.grading.submission import Source, Submission
from p4lab.grading.writers.text import clean, tidied


@dataclass(frozen=True)
class Judged:
    """A verdict, and what else is known that only instructors may read: how the grader failed."""

    verdict: Verdict
    detail: str = ""


def read_apart(
    source: Path | Source, edit: Sequence[str], known: frozenset[str], limits: Limits
) -> Submission:
    """The submission, read by a fork of this process; see `submission.read`."""

    def work() -> bytes:
        return json.dumps(submission.read(source, edit, known).to_json()).encode()

    try:
        return Submission.from_json(json.loads(sandbox.run(work, limits)))
    except Stopped as stopped:
        return Submission(trouble=str(stopped).replace("Judging", "Reading", 1))


def judge_apart(
    course: Course,
    student: str,
    files: Mapping[str, str],
    seed: int | None,
    limits: Limits,
    waiting: AbstractContextManager[object] | None = None,
) -> Judged:
    """The verdict of a fork of this process, or one that says why there is none. `waiting` is
    entered for as long as it takes."""

    def work() -> bytes:
        return _encoded(judge(course, files, student=student, seed=seed))

    try:
        data = sandbox.run(work, limits, waiting)
        return Judged(Verdict.from_json(json.loads(data)))
    except Stopped as stopped:
        verdict = nothing(course, student, str(stopped))
        return Judged(Verdict.from_json(json.loads(_encoded(verdict))), stopped.detail)


def unread(course: Course, student: str, found: Submission) -> Verdict:
    """The verdict on what cannot be read."""
    return nothing(course, student, clean(found.trouble))


def _encoded(verdict: Verdict) -> bytes:
    """As plain data of bounded size, whatever the submission made the judge say."""
    data = tidied(verdict.to_json())
    # Who it is about is the grader's word, and the key to everything else.
    return json.dumps({**data, "student": verdict.student}).encode()
