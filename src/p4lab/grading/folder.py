"""Grades submissions: workers read and judge them, here or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any, TypeVar

from p4lab.grading.apart import Judged
from p4lab.grading.asked import Asked
from p4lab.grading.course import Course
from p4lab.grading.handins import Entry
from p4lab.grading.journal import Journal
from p4lab.grading.judge import unread
from p4lab.grading.submission import Submission
from p4lab.grading.workers import GradingError, Hand, Task, judge_here
from p4lab.grading.writers.layout import Graded
from p4lab.grading.writers.text import tidied
from p4lab.spread import cluster as there
from p4lab.spread.cluster import collect

Result = TypeVar("Result")


def grade(
    course: Course,
    found: Sequence[Entry],
    task: Task,
    *,
    workers: int,
    dask: str | None = None,
    journal: Journal | None = None,
    done: Callable[[Entry], None] = lambda _: None,
) -> list[Graded]:
    """A verdict for every entry, in the order of the entries, by so many processes at once on this
    machine, or by the Dask cluster at an address. What the journal knows is not judged again, and
    it gets every verdict as it comes. `done` hears each entry once it has a verdict.

    Submissions are always read on this machine. Raises GradingError.
    """
    heard = _Heard(journal, done)
    with hands(workers) as pool:
        if dask is None:
            futures = {pool(_grade_one, entry, task, journal): entry for entry in found}
            both = collect(futures, heard)
            return [_graded(course, entry, *both[entry]) for entry in found]
        futures = {pool(Hand.read, entry.source, task): entry for entry in found}
        read = collect(futures, lambda *_: None)
    judged: dict[Entry, Judged | None] = {}
    with cluster(dask) as elsewhere:
        waiting: dict[Future[Any], Entry] = {}
        for entry, submission in read.items():
            judged[entry] = _known(journal, entry, submission)
            if judged[entry] is None and not submission.trouble:
                future = elsewhere.submit(judge_here, entry.student, submission.files, task)
                waiting[future] = entry
            else:
                done(entry)

        def hear(entry: Entry, verdict: Judged) -> None:
            judged[entry] = verdict
            heard(entry, (read[entry], verdict))

        collect(waiting, hear)
    return [_graded(course, entry, read[entry], judged[entry]) for entry in found]


def read_all(found: Sequence[Entry], task: Task, workers: int) -> list[Submission]:
    """What the entries hold, in their order, without a verdict."""
    with hands(workers) as pool:
        futures = {pool(Hand.read, entry.source, task): entry for entry in found}
        read = collect(futures, lambda *_: None)
        return [read[entry] for entry in found]


class _Heard:
    """Keeps a verdict in the journal before it tells of it."""

    def __init__(self, journal: Journal | None, done: Callable[[Entry], None]) -> None:
        self._journal = journal
        self._done = done

    def __call__(self, entry: Entry, both: tuple[Submission, Judged | None]) -> None:
        submission, judged = both
        if self._journal is not None and judged is not None:
            self._journal.keep(entry.student, submission.files, judged)
        self._done(entry)


def _grade_one(
    hand: Hand, entry: Entry, task: Task, journal: Journal | None
) -> tuple[Submission, Judged | None]:
    submission = hand.read(entry.source, task)
    if submission.trouble:
        return submission, None
    known = _known(journal, entry, submission)
    return submission, known or hand.judge(entry.student, submission.files, task)


def _known(journal: Journal | None, entry: Entry, submission: Submission) -> Judged | None:
    if journal is None or submission.trouble:
        return None
    return journal.find(entry.student, submission.files)


def _graded(course: Course, entry: Entry, submission: Submission, judged: Judged | None) -> Graded:
    """A verdict with what was left out; without `judged` there was nothing to judge."""
    asked = Asked(submission.asked) if course.counts_hints else None
    notes = tuple(tidied((*submission.told(), *([asked.told()] if asked else []))))
    if judged is None:
        return Graded(unread(course, entry.student, submission), notes, asked=asked)
    return Graded(judged.verdict, notes, judged.detail, submission.files, asked)


@contextmanager
def hands(count: int) -> Iterator[Callable[..., Future[Any]]]:
    """So many workers, and a way to have a function run with one of them as its first argument."""
    free: SimpleQueue[Hand] = SimpleQueue()
    hands = [Hand() for _ in range(count)]
    for hand in hands:
        free.put(hand)

    def run(work: Callable[..., Any], *arguments: object) -> Any:
        hand = free.get()
        try:
            return work(hand, *arguments)
        finally:
            free.put(hand)

    def submit(work: Callable[..., Any], *arguments: object) -> Future[Any]:
        return pool.submit(run, work, *arguments)

    pool = ThreadPoolExecutor(count)
    try:
        yield submit
    finally:
        # After an error or Ctrl-C nobody wants what is still being judged.
        for hand in hands:
            hand.stop()
        pool.shutdown(cancel_futures=True)


@contextmanager
def cluster(address: str) -> Iterator[Executor]:
    """The Dask cluster with a scheduler at `address`. Raises GradingError."""
    try:
        with there.cluster(address) as pool:
            yield pool
    except there.ClusterError as error:
        raise GradingError(str(error)) from error
