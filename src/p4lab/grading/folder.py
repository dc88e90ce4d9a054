"""Grades a folder: finds the submissions, has workers judge them, and writes the results."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

from p4lab.grading.apart import Judged, unread
from p4lab.grading.course import Course
from p4lab.grading.submission import Submission
from p4lab.grading.workers import GradingError, Hand, Task, judge_here
from p4lab.grading.writers.layout import Graded
from p4lab.grading.writers.text import student_of, tidied

SEED_BITS = 63
SEED_DIGITS = 100
CONNECT_SECONDS = 10
RECORDS = "records.json"
OWN_FOLDERS = ("students", "gradescope", "prairielearn")
OWN_FILES = (
    RECORDS,
    "grader-errors.txt",
    "grades.csv",
    "heatmap.svg",
    "junit.xml",
    "summary.html",
    "summary.md",
)

Result = TypeVar("Result")


@dataclass(frozen=True)
class Entry:
    """A submission: whose, and where."""

    student: str
    path: Path


def entries(folder: Path, leave_out: Iterable[Path] = ()) -> list[Entry]:
    """Everything in a folder, sorted, but hidden files and the paths `leave_out`.

    A student is named by the file or folder; where a folder and a zip of one name would be the same
    student, each keeps its whole name. Raises GradingError.
    """
    others = {os.path.abspath(path) for path in leave_out}
    try:
        found = sorted(folder.iterdir())
    except OSError as error:
        raise GradingError(
            f"{folder}: {error.strerror}; give the folder of submissions."
        ) from error
    paths = [
        path
        for path in found
        if not path.name.startswith(".")
        and path.name != "__MACOSX"
        and os.path.abspath(path) not in others
    ]
    if not paths:
        raise GradingError(f"{folder} has no submissions: put a folder, zip or .p4 for each in it.")
    names = [student_of(path) for path in paths]
    return [
        Entry(name if names.count(name) == 1 else path.name, path)
        for name, path in zip(names, paths, strict=True)
    ]


# ---- Judging ------------------------------------------------------------------------------------


def grade(
    course: Course,
    found: Sequence[Entry],
    task: Task,
    *,
    workers: int,
    dask: str | None = None,
    done: Callable[[Entry], None] = lambda _: None,
) -> list[Graded]:
    """A verdict for every entry, in the order of the entries, by so many processes at once on this
    machine, or by the Dask cluster at an address. `done` hears each entry once it has a verdict.

    Submissions are always read on this machine. Raises GradingError.
    """
    with _hands(workers) as pool:
        if dask is None:
            futures = {pool(_grade_one, course, entry, task): entry for entry in found}
            return _collect(futures, found, done)
        futures = {pool(Hand.read, entry.path, task): entry for entry in found}
        read = dict(zip(found, _collect(futures, found, lambda _: None), strict=True))
    with _cluster(dask) as pool:
        futures = {
            pool.submit(judge_here, entry.student, submission.files, task): entry
            for entry, submission in read.items()
            if not submission.trouble
        }
        judged = dict(zip(futures.values(), _collect(futures, futures.values(), done), strict=True))
    return [_graded(course, entry, read[entry], judged.get(entry)) for entry in found]


def _grade_one(hand: Hand, course: Course, entry: Entry, task: Task) -> Graded:
    submission = hand.read(entry.path, task)
    if submission.trouble:
        return _graded(course, entry, submission, None)
    return _graded(course, entry, submission, hand.judge(entry.student, submission.files, task))


def _graded(course: Course, entry: Entry, submission: Submission, judged: Judged | None) -> Graded:
    """A verdict with what was left out; without `judged` there was nothing to judge."""
    notes = tuple(tidied(submission.told()))
    if judged is None:
        return Graded(unread(course, entry.student, submission), notes)
    return Graded(judged.verdict, notes, judged.detail, submission.files)


def _collect(
    futures: Mapping[Future[Result], Entry],
    found: Iterable[Entry],
    done: Callable[[Entry], None],
) -> list[Result]:
    """The results in the order of `found`. The first error ends all that has not begun."""
    results = {}
    try:
        for future in as_completed(futures):
            entry = futures[future]
            results[entry] = future.result()
            done(entry)
    finally:
        for future in futures:
            future.cancel()
    return [results[entry] for entry in found]


@contextmanager
def _hands(count: int) -> Iterator[Callable[..., Future[Any]]]:
    """So many workers, and a way to have a function run with one of them as its first argument."""
    free: SimpleQueue[Hand] = SimpleQueue()
    hands = [Hand() for _ in range(count)]
    for hand in hands:
        free.put(hand)

    def run(work: Callable[..., Result], *arguments: object) -> Result:
        hand = free.get()
        try:
            return work(hand, *arguments)
        finally:
            free.put(hand)

    pool = ThreadPoolExecutor(count)
    try:
        yield partial(pool.submit, run)
    finally:
        # After an error or Ctrl-C nobody wants what is still being judged.
        for hand in hands:
            hand.stop()
        pool.shutdown(cancel_futures=True)


@contextmanager
def _cluster(address: str) -> Iterator[Executor]:
    """The Dask cluster with a scheduler at `address`, such as tcp://10.0.0.1:8786."""
    try:
        from distributed import Client  # heavy: a cluster
    except ImportError as error:
        raise GradingError("--dask needs Dask: pip install 'p4lab[dask]'.") from error
    try:
        client = Client(address, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        raise GradingError(
            f"no Dask scheduler answers at {address}; start one with: dask scheduler"
        ) from error
    with client:
        yield client.get_executor(pure=False)


# ---- The secret seed ----------------------------------------------------------------------------


def read_seed(path: Path) -> int:
    """The seed in a file. Raises GradingError."""
    try:
        text = path.read_text(encoding="ascii").strip()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise GradingError(f"{path}: {reason}.") from error
    if not text.isdecimal() or len(text) > SEED_DIGITS:
        raise GradingError(f"{path}: a seed is one whole number of at most {SEED_DIGITS} digits.")
    return int(text)


def make_seed(path: Path) -> None:
    """Puts a fresh seed into a file that only its owner can read. Raises GradingError."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise GradingError(f"{path}: {error.strerror}.") from error
    with os.fdopen(fd, "w", encoding="ascii") as file:
        file.write(f"{secrets.randbits(SEED_BITS)}\n")


def others_may_read(path: Path) -> bool:
    """Whether a file can be read by more than its owner."""
    return bool(path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH))


# ---- Results ------------------------------------------------------------------------------------


def check_output(folder: Path) -> None:
    """Raises GradingError for a folder that holds something else than the results of grading, or
    cannot be written to: before anything is judged, and nothing is made yet."""
    if folder.is_dir():
        if any(folder.iterdir()) and not (folder / RECORDS).is_file():
            raise GradingError(f"{folder} holds other files; give another folder with --out.")
    elif os.path.lexists(folder):
        raise GradingError(f"{folder} is a file; give another folder with --out.")
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not (there.is_dir() and os.access(there, os.W_OK | os.X_OK)):
        raise GradingError(f"{there}: you cannot write there; give another folder with --out.")


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Makes `files` (text by path) all that a folder holds of results: what an earlier grading
    wrote there goes. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in OWN_FOLDERS:
        if (folder / name).is_dir():
            shutil.rmtree(folder / name)
    for name in OWN_FILES:
        (folder / name).unlink(missing_ok=True)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
