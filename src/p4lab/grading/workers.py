"""Processes that judge submissions: each loads a lab once and forks for every submission.

A worker is a Python process of its own that reads one JSON object per line and answers each with
one. It has a single thread, so that it can fork, whatever the process that started it is doing: a
Dask worker starts one just as the command line does. It is told the secret seed on its standard
input, where no list of processes shows it.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, NoReturn, TypeVar

from p4lab.course.labs import LabError
from p4lab.errors import Plain
from p4lab.grading.apart import (
    Judged,
    charge_apart,
    film_apart,
    judge_apart,
    prove_apart,
    read_apart,
)
from p4lab.grading.attempts import Attempt, sampled
from p4lab.grading.blame import pointed
from p4lab.grading.course import Course, load
from p4lab.grading.film.record import Film
from p4lab.grading.found import Found
from p4lab.grading.judge import judge, nothing, unread
from p4lab.grading.known import wanted
from p4lab.grading.record import Verdict
from p4lab.grading.sandbox import Limits
from p4lab.grading.submission import Source, Submission, Wanted

Answer = TypeVar("Answer")

FEW_COLLECTIONS = 50_000, 20, 100
"""When Python looks for garbage in circles, in a worker and its forks: `gc.set_threshold`"""

SOURCE = Path(__file__).resolve().parents[2]


class GradingError(Plain, Exception):
    """Grading cannot go on, whatever was handed in; the message says what to do."""


class WorkerDied(Exception):
    """A worker ended while it was asked for something."""


@dataclass(frozen=True)
class Task:
    """What a grader does with every submission of a class."""

    lab: str
    wanted: Wanted
    seed: int | None
    """What hidden cases are drawn from; None for the cases that everybody sees"""
    limits: Limits = field(default_factory=Limits)
    prove: float | None = None
    """Seconds of one core for the proof of a program; None for none"""


# ---- The side that asks -------------------------------------------------------------------------


class Worker:
    """A worker process. Not for several threads at once."""

    def __init__(self) -> None:
        paths = [str(SOURCE), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        env = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(os.path.abspath, paths)),
            "PYTHONHASHSEED": "0",
            # A fork wants one thread; numpy's library would start one for each core.
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
        }
        # Python looks for modules in the folder it is started in: that must not be a student's.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "p4lab.grading.workers"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd="/",
            env=env,
            start_new_session=True,
        )

    def read(self, source: Source, task: Task) -> Submission:
        """What a student handed in. Raises WorkerDied."""
        request = {
            "read": [(name, os.path.abspath(path)) for name, path in source],
            "wanted": task.wanted.to_json(),
            "limits": asdict(task.limits),
        }
        return Submission.from_json(self._ask(request)["submission"])

    def judge(self, student: str, files: Mapping[str, str], task: Task) -> Judged:
        """The verdict on the text of files. Raises WorkerDied and GradingError."""
        request = {
            "judge": dict(files),
            "student": student,
            "lab": task.lab,
            "seed": task.seed,
            "limits": asdict(task.limits),
        }
        answer = self._sound(request)
        return Judged(Verdict.from_json(answer["verdict"]), answer["detail"])

    def film(self, files: Mapping[str, str], check: str, task: Task) -> Film:
        """The film of a check. Raises WorkerDied and GradingError."""
        request = {
            "film": check,
            "files": dict(files),
            "lab": task.lab,
            "limits": asdict(task.limits),
        }
        return Film.from_json(self._sound(request)["made"])

    def prove(self, files: Mapping[str, str], task: Task) -> Attempt:
        """What can be proven of a submission. Raises WorkerDied and GradingError."""
        request = {
            "prove": dict(files),
            "lab": task.lab,
            "seconds": task.prove,
            "limits": asdict(task.limits),
        }
        return Attempt.from_json(self._sound(request)["attempt"])

    def charge(
        self, files: Mapping[str, str], verdict: Verdict, cases: Sequence[Found], task: Task
    ) -> Verdict:
        """The verdict after cases that proofs have found. Raises WorkerDied and GradingError."""
        request = {
            "charge": dict(files),
            "verdict": verdict.to_json(),
            "cases": [case.to_json() for case in cases],
            "lab": task.lab,
            "limits": asdict(task.limits),
        }
        return Verdict.from_json(self._sound(request)["verdict"])

    def _sound(self, request: Mapping[str, Any]) -> dict[str, Any]:
        answer = self._ask(request)
        if "fault" in answer:
            raise GradingError(answer["fault"])
        return answer

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        assert self._process.stdin and self._process.stdout
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError as error:
            raise WorkerDied(str(error)) from error
        if not line.endswith(b"\n"):
            raise WorkerDied(f"it ended with status {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """Ends the worker, and what it is doing."""
        self._process.terminate()
        self._process.communicate()


class Hand:
    """A worker that is replaced when it dies. Not for several threads at once, but for `stop`."""

    def __init__(self) -> None:
        self._worker: Worker | None = None
        self._stopped = False

    def read(self, source: Source, task: Task) -> Submission:
        """What a student handed in."""
        try:
            return self._twice(lambda worker: worker.read(source, task))
        except WorkerDied:
            return Submission(trouble="Reading it ended the grader twice; ask your instructor.")

    def judge(self, student: str, files: Mapping[str, str], task: Task) -> Judged:
        """The verdict on the text of files. Raises GradingError."""
        try:
            return self._twice(lambda worker: worker.judge(student, files, task))
        except WorkerDied:
            trouble = "Judging it ended the grader twice; ask your instructor."
            return Judged(nothing(load(task.lab), student, trouble), "the worker died twice")

    def film(self, files: Mapping[str, str], check: str, task: Task) -> Film:
        """The film of a check. Raises GradingError."""
        try:
            return self._twice(lambda worker: worker.film(files, check, task))
        except WorkerDied:
            return Film(check, "", missing="Making the film ended the grader twice.")

    def prove(self, files: Mapping[str, str], task: Task) -> Attempt:
        """What can be proven of a submission. Raises GradingError."""
        try:
            return self._twice(lambda worker: worker.prove(files, task))
        except WorkerDied as error:
            return sampled("proving it ended the prover twice", str(error))

    def charge(
        self, files: Mapping[str, str], verdict: Verdict, cases: Sequence[Found], task: Task
    ) -> Verdict:
        """The verdict after cases that proofs have found. Raises GradingError."""
        try:
            return self._twice(lambda worker: worker.charge(files, verdict, cases, task))
        except WorkerDied as error:
            raise GradingError(f"what proofs have found cannot be tried: {error}") from error

    def _twice(self, ask: Callable[[Worker], Answer]) -> Answer:
        try:
            return self._once(ask)
        except WorkerDied:
            # Perhaps the system was short of memory; whatever it was, the next worker is fresh.
            return self._once(ask)

    def _once(self, ask: Callable[[Worker], Answer]) -> Answer:
        if self._stopped:
            raise WorkerDied("it was stopped")
        if self._worker is None:
            self._worker = Worker()
        try:
            return ask(self._worker)
        except (WorkerDied, KeyboardInterrupt):
            # What an interrupted worker answers yet is no answer to the next question.
            self._close()
            raise

    def stop(self) -> None:
        """Ends the worker process and what it is doing, for good; whoever waits for its answer is
        told that it died."""
        self._stopped = True
        self._close()

    def _close(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()


_mine = threading.local()


def judge_here(student: str, files: Mapping[str, str], task: Task) -> Judged:
    """The verdict, from a worker process that belongs to the calling thread and stays for its next
    call: what a Dask worker runs. The process ends with the one that called. Raises GradingError.
    """
    return _hand().judge(student, files, task)


def check_here(path: Path, course: Course) -> tuple[Submission, Verdict]:
    """What is in a student's folder and the verdict on it, from the same process. Raises
    GradingError."""
    task = Task(course.name, wanted(course), None)
    found = _hand().read([(path.name, path)], task)
    if found.trouble:
        return found, unread(course, "", found)
    return found, _hand().judge("", found.files, task).verdict


def film_here(files: Mapping[str, str], check: str, course: Course) -> Film:
    """The film of a check, from the same process. Raises GradingError."""
    return _hand().film(files, check, Task(course.name, Wanted(()), None))


def prove_here(files: Mapping[str, str], task: Task) -> Attempt:
    """What can be proven of a submission, from the same process. Raises GradingError."""
    return _hand().prove(files, task)


def charge_here(
    files: Mapping[str, str], verdict: Verdict, cases: Sequence[Found], task: Task
) -> Verdict:
    """The verdict after cases that proofs have found, from the same process. Raises
    GradingError."""
    return _hand().charge(files, verdict, cases, task)


def _hand() -> Hand:
    if not hasattr(_mine, "hand"):
        _mine.hand = Hand()
    hand: Hand = _mine.hand
    return hand


# ---- The worker ---------------------------------------------------------------------------------


def prepared(lab: str, seed: int | None) -> Course:
    """A lab with all its cases, so that forks find everything at hand; with a seed, after the
    solution has passed them. Raises LabError, and GradingError for a lab whose solution fails."""
    course = load(lab)
    course.prepare(seed)
    if seed is not None:
        _prove(course, seed)
        pointed.prepare(course)
    gc.collect()
    gc.freeze()
    # A fork judges one submission and ends: little of what it makes is worth being looked for.
    gc.set_threshold(*FEW_COLLECTIONS)
    return course


def _prove(course: Course, seed: int) -> None:
    """Raises GradingError for a lab whose solution fails."""
    solution = {name: course.sources[name] for name in course.student.edit}
    verdict = judge(course, solution, seed=seed)
    lost = [check.id for check in verdict.checks if check.status != "passed"]
    if lost:
        raise GradingError(
            f"labs/{course.name}: the solution does not pass {', '.join(lost)}, so no submission "
            "can; correct the lab, or take another seed."
        )


class _Server:
    def __init__(self) -> None:
        self._courses: dict[tuple[str, int | None], Course] = {}

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        limits = Limits(**request["limits"])
        if "read" in request:
            source = [(name, Path(path)) for name, path in request["read"]]
            found = read_apart(source, Wanted.from_json(request["wanted"]), limits)
            return {"submission": found.to_json()}
        # Proofs know no seed, since they depend on the program alone: any course will do.
        lab, seed = request["lab"], request.get("seed")
        known = (one for one in self._courses if one[0] == lab and seed in (None, one[1]))
        key = next(known, (lab, seed))
        try:
            if key not in self._courses:
                self._courses[key] = prepared(*key)
        except (LabError, GradingError) as error:
            return {"fault": str(error)}
        except Exception as error:  # no submission is to blame, so none may lose points for it
            told = "".join(traceback.format_exception_only(type(error), error)).strip()
            return {"fault": f"the grader cannot get labs/{key[0]} ready: {told}"}
        return self._answer(request, self._courses[key], limits)

    def _answer(self, request: Mapping[str, Any], course: Course, limits: Limits) -> dict[str, Any]:
        if "film" in request:
            made = film_apart(course, request["files"], request["film"], limits)
            return {"made": made.to_json()}
        if "prove" in request:
            proven = prove_apart(course, request["prove"], request["seconds"], limits)
            return {"attempt": proven.to_json()}
        if "charge" in request:
            verdict = Verdict.from_json(request["verdict"])
            cases = [Found.from_json(case) for case in request["cases"]]
            return {
                "verdict": charge_apart(course, request["charge"], verdict, cases, limits).to_json()
            }
        judged = judge_apart(course, request["student"], request["judge"], request["seed"], limits)
        return {"verdict": judged.verdict.to_json(), "detail": judged.detail}


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answers until there are no more requests."""
    server = _Server()
    for line in requests:
        answer = json.dumps(server.answer(json.loads(line))).encode()
        try:
            answers.write(answer + b"\n")
            answers.flush()
        except BrokenPipeError:  # whoever asked has ended and wants no answer
            return


def _stop(*_: object) -> NoReturn:
    # As an exception it also ends the fork that is at work.
    raise SystemExit(0)


def main() -> None:
    signal.signal(signal.SIGTERM, _stop)
    answers = os.fdopen(os.dup(1), "wb")
    # A stray print must not be taken for an answer.
    os.dup2(2, 1)
    serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
