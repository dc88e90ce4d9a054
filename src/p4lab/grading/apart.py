"""A submission, read and judged in forks of this process: what `check` and `grade` have in common.

Whoever forks has one thread only (`sandbox.run`); a process with more asks a worker
(`workers.Hand`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any

from p4lab.grading import attempts, sandbox, submission
from p4lab.grading.attempts import Attempt, attempt, charged, examined, sampled
from p4lab.grading.course import Course
from p4lab.grading.film.record import Film
from p4lab.grading.film.shot import film
from p4lab.grading.found import Found
from p4lab.grading.judge import judge, nothing, work_of
from p4lab.grading.policies import Seen, seen
from p4lab.grading.record import Verdict
from p4lab.grading.sandbox import Limits, Stopped
from p4lab.grading.submission import Source, Submission, Wanted
from p4lab.grading.writers.text import clean, tidied

PROOF_TIMES = 3
"""So many times the time of a proof its process may take, since no single step of the solver can
be stopped, and then the time of one judging: a case that is found is tried"""
PROOF_BYTES = 1 << 30
"""Address space of a proof: of two at once, a small machine has that to spare"""


@dataclass(frozen=True)
class Judged:
    """A verdict, and what else is known that only instructors may read: how the grader failed."""

    verdict: Verdict
    detail: str = ""

    def about(self, student: str) -> Judged:
        """The same verdict, for another student with the same files."""
        return replace(self, verdict=replace(self.verdict, student=student))


def read_apart(source: Path | Source, wanted: Wanted, limits: Limits) -> Submission:
    """The submission, read by a fork of this process; see `submission.read`."""

    def work() -> bytes:
        return json.dumps(submission.read(source, wanted).to_json()).encode()

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
        data = sandbox.run(work, _enough(limits, course), waiting)
        return Judged(Verdict.from_json(json.loads(data)))
    except Stopped as stopped:
        verdict = nothing(course, student, str(stopped))
        return Judged(Verdict.from_json(json.loads(_encoded(verdict))), stopped.detail)


def seen_apart(
    course: Course,
    files: Mapping[str, str],
    limits: Limits,
    waiting: AbstractContextManager[object] | None = None,
) -> list[Seen]:
    """What a fork of this process sees of a student's policies. Raises Stopped."""

    def work() -> bytes:
        found = [asdict(one) for one in seen(course, work_of(course, files))]
        return json.dumps(tidied(found)).encode()

    data = json.loads(sandbox.run(work, _enough(limits, course), waiting))
    return [Seen(**{**one, "told": tuple(one["told"]), "best": tuple(one["best"])}) for one in data]


def film_apart(
    course: Course,
    files: Mapping[str, str],
    wanted: str | None,
    limits: Limits,
    waiting: AbstractContextManager[object] | None = None,
    part: str | None = None,
) -> Film:
    """The film of a check, or of the first that fails, of all or of a part, made by a fork of this
    process."""

    def work() -> bytes:
        return json.dumps(tidied(film(course, files, wanted, part).to_json())).encode()

    try:
        data = sandbox.run(work, _enough(limits, course), waiting)
        return Film.from_json(json.loads(data))
    except Stopped as stopped:
        return Film(wanted or "", "", missing=clean(str(stopped)))


def prove_apart(
    course: Course,
    files: Mapping[str, str],
    seconds: float,
    limits: Limits,
    waiting: AbstractContextManager[object] | None = None,
) -> Attempt:
    """What a fork of this process can prove of a submission in so many seconds of one core. What
    it has not the memory for is not proven, and nothing worse."""

    def work() -> bytes:
        found = attempt(course, files, seconds).to_json()
        return json.dumps({**found, "told": tidied(found["told"])}).encode()

    if course.is_p4:
        attempts.prepare()
    try:
        data = sandbox.run(work, _room(limits, seconds), waiting)
        return Attempt.from_json(json.loads(data))
    except Stopped as stopped:
        if stopped.detail:
            return sampled("the prover failed on it", stopped.detail)
        return sampled(str(stopped).replace("Judging", "Proving", 1).partition(";")[0].rstrip("."))


def examine_apart(
    course: Course,
    files: Mapping[str, str],
    seconds: float,
    limits: Limits,
    waiting: AbstractContextManager[object] | None = None,
    **bounds: int | None,
) -> dict[str, Any]:
    """What a fork of this process finds out about a submission (`attempts.examined`); `bounds` are
    `entries` and `passes`."""

    def work() -> bytes:
        found = examined(course, files, seconds, **bounds)
        return json.dumps({**found, "story": tidied(found.get("story"))}).encode()

    try:
        found: dict[str, Any] = json.loads(sandbox.run(work, _room(limits, seconds), waiting))
        return found
    except Stopped as stopped:
        told = str(stopped).replace("Judging", "Proving", 1)
        return {"fault": f"{told}\n{stopped.detail}".strip()}


def _enough(limits: Limits, course: Course) -> Limits:
    """The limits, with the processor time that a lab gives unless somebody has said another."""
    return replace(limits, cpu_seconds=course.seconds) if limits.cpu_seconds is None else limits


def _room(limits: Limits, seconds: float) -> Limits:
    """What a proof may take that has so many seconds of one core."""
    return replace(
        limits,
        cpu_seconds=proof_seconds(limits, seconds),
        wall_seconds=20 * seconds + limits.wall_seconds,
        memory_bytes=PROOF_BYTES,
    )


def proof_seconds(limits: Limits, seconds: float) -> int:
    """Processor time after which a proof is stopped that has so many seconds of one core."""
    return ceil(PROOF_TIMES * seconds) + limits.processor


def charge_apart(
    course: Course,
    files: Mapping[str, str],
    verdict: Verdict,
    cases: Sequence[Found],
    limits: Limits,
) -> Verdict:
    """The verdict after the cases that proofs have found, which a fork of this process tries. What
    cannot be tried costs nothing."""

    def work() -> bytes:
        return _encoded(charged(course, files, verdict, cases))

    try:
        return Verdict.from_json(json.loads(sandbox.run(work, limits)))
    except Stopped as stopped:
        told = str(stopped).replace("Judging", "Trying what proofs have found on", 1)
        return replace(verdict, proof=sampled(told.partition(";")[0].rstrip(".")).proof)


def _encoded(verdict: Verdict) -> bytes:
    """As plain data of bounded size, whatever the submission made the judge say."""
    data = tidied(verdict.to_json())
    # Who it is about is the grader's word, and the key to everything else.
    return json.dumps({**data, "student": verdict.student}).encode()
