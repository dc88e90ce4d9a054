"""Grades submissions: workers read and judge them, here or on a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from queue import LifoQueue
from typing import Any, TypeVar

from p4lab.grading.apart import Judged
from p4lab.grading.asked import Asked
from p4lab.grading.course import Course
from p4lab.grading.handins import Entry
from p4lab.grading.journal import Journal, place
from p4lab.grading.judge import unread
from p4lab.grading.submission import Submission
from p4lab.grading.workers import (
    GradingError,
    Hand,
    Task,
    charge_here,
    judge_here,
    prove_here,
)
from p4lab.grading.writers.layout import Graded
from p4lab.grading.writers.text import tidied
from p4lab.spread import cluster as there
from p4lab.spread.cluster import collect

Result = TypeVar("Result")
Submit = Callable[..., "Future[Any]"]
"""Has a function run with a worker as its first argument"""

FEW = 5
"""Getting a worker ready takes about as long as judging so many submissions"""


def grade(
    course: Course,
    found: Sequence[Entry],
    task: Task,
    hands: Hands,
    *,
    most: int | None = None,
    dask: str | None = None,
    journal: Journal | None = None,
    done: Callable[[Entry], None] = lambda _: None,
) -> list[Graded]:
    """A verdict for every entry, in the order of the entries, by workers on this machine, `most` of
    them at once, or by the Dask cluster at an address. What several have handed in is judged once.
    What the journal knows is not judged again, and it gets every verdict as it comes. `done` hears
    each entry once it has a verdict.

    Submissions are always read on this machine. Raises GradingError.
    """
    read = dict(zip(found, read_all(found, task, hands, most), strict=True))
    judged: dict[Entry, Judged | None] = {}
    alike: dict[str, list[Entry]] = {}
    for entry, submission in read.items():
        judged[entry] = _known(journal, entry, submission)
        if judged[entry] is None and not submission.trouble:
            alike.setdefault(place(submission.files), []).append(entry)
        else:
            done(entry)

    def hear(entries: tuple[Entry, ...], verdict: Judged) -> None:
        if journal is not None:
            journal.keep(read[entries[0]].files, verdict)
        for entry in entries:
            judged[entry] = verdict.about(entry.student)
            done(entry)

    with asking(hands, most, dask) as ask:
        waiting = {
            ask("judge", first.student, read[first].files, task): (first, *others)
            for first, *others in alike.values()
        }
        collect(waiting, hear)
    return [_graded(course, entry, read[entry], judged[entry]) for entry in found]


def read_all(
    found: Sequence[Entry], task: Task, hands: Hands, most: int | None = None
) -> list[Submission]:
    """What the entries hold, in their order, without a verdict; `most` are read at once."""
    with hands.at_work(most) as submit:
        futures = {submit(Hand.read, entry.source, task): entry for entry in found}
        read = collect(futures, lambda *_: None)
        return [read[entry] for entry in found]


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


class Hands:
    """So many workers, for all that is done with a class. One that is ready goes before one that
    would have to be started."""

    def __init__(self, count: int) -> None:
        self._hands = [Hand() for _ in range(count)]
        self._free: LifoQueue[Hand] = LifoQueue()
        for hand in self._hands:
            self._free.put(hand)

    def __enter__(self) -> Hands:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    @contextmanager
    def at_work(self, most: int | None = None) -> Iterator[Submit]:
        """A way to have work done, by `most` of them at once."""

        def run(work: Callable[..., Any], *arguments: object) -> Any:
            hand = self._free.get()
            try:
                return work(hand, *arguments)
            finally:
                self._free.put(hand)

        def submit(work: Callable[..., Any], *arguments: object) -> Future[Any]:
            return pool.submit(run, work, *arguments)

        count = len(self._hands)
        pool = ThreadPoolExecutor(count if most is None else max(1, min(most, count)))
        try:
            yield submit
        except BaseException:
            # After an error or Ctrl-C nobody wants what is still being judged.
            self._stop()
            raise
        finally:
            pool.shutdown(cancel_futures=True)

    def _stop(self) -> None:
        for hand in self._hands:
            hand.stop()


def enough(count: int) -> int:
    """How many workers so many submissions are worth: one for each core, in a small class fewer."""
    return max(1, min(cores(), -(-count // FEW)))


def cores() -> int:
    """Of this machine, as far as this process may use them."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        return os.cpu_count() or 1


@contextmanager
def cluster(address: str) -> Iterator[Executor]:
    """The Dask cluster with a scheduler at `address`. Raises GradingError."""
    try:
        with there.cluster(address) as pool:
            yield pool
    except there.ClusterError as error:
        raise GradingError(str(error)) from error


@contextmanager
def asking(
    hands: Hands, most: int | None, dask: str | None
) -> Iterator[Callable[..., Future[Any]]]:
    """A way to have something judged, proven or charged, here by so many at once, or by the Dask
    cluster at an address. Raises GradingError."""
    if dask is None:
        here: dict[str, Callable[..., Any]] = {
            "judge": Hand.judge,
            "prove": Hand.prove,
            "charge": Hand.charge,
        }
        with hands.at_work(most) as submit:
            yield lambda what, *arguments: submit(here[what], *arguments)
    else:
        away: dict[str, Callable[..., Any]] = {
            "judge": judge_here,
            "prove": prove_here,
            "charge": charge_here,
        }
        with cluster(dask) as pool:
            yield lambda what, *arguments: pool.submit(away[what], *arguments)
