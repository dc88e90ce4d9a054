"""Verdicts as they come, in a file, so that a grading that was interrupted can go on.

A line for each submission, below one that says what they hold for: the lab, the seed, the limits.
The file is there while a class is graded; who holds its lock may write results beside it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from p4lab import _engine
from p4lab.grading.apart import Judged
from p4lab.grading.attempts import Attempt
from p4lab.grading.course import Course
from p4lab.grading.record import Verdict
from p4lab.grading.workers import GradingError, Task
from p4lab.paths import ROOT

JOURNAL = "unfinished.jsonl"


class Journal:
    """The verdicts that are known already, by student and files, what is proven of programs, and
    a place for more."""

    def __init__(
        self, file: IO[str], known: dict[str, Judged], attempts: dict[str, Attempt]
    ) -> None:
        self._file: IO[str] | None = file
        self._known = known
        self._attempts = attempts
        self.finished = False

    def __len__(self) -> int:
        return len(self._known)

    def find(self, student: str, files: Mapping[str, str]) -> Judged | None:
        """The verdict on these files, if it was given before."""
        return self._known.get(_place(student, files))

    def keep(self, student: str, files: Mapping[str, str], judged: Judged) -> None:
        """Writes a verdict down. On a full disk it is only known for as long as this runs. What had
        no verdict is judged again: next time the machine may be idle, or the grader corrected."""
        place = _place(student, files)
        if place in self._known or judged.verdict.trouble:
            return
        self._known[place] = judged
        self._write({"place": place, "verdict": judged.verdict.to_json(), "detail": judged.detail})

    def find_attempt(self, program: str) -> Attempt | None:
        """What came of proving a program, if that was tried before."""
        return self._attempts.get(program)

    def keep_attempt(self, program: str, attempt: Attempt) -> None:
        """Writes down what came of proving a program."""
        self._attempts[program] = attempt
        self._write({"program": program, "attempt": attempt.to_json()})

    def _write(self, line: Mapping[str, Any]) -> None:
        try:
            if self._file is not None:
                self._file.write(json.dumps(line) + "\n")
                self._file.flush()
        except OSError:
            self._file = None


@contextmanager
def opened(folder: Path, key: str) -> Iterator[Journal]:
    """The journal of a folder of results, which is made if it is not there. What it holds for
    another `key` is forgotten. It is deleted when `finished` is set, or when there is nothing in
    it. Raises GradingError if somebody else is grading into the folder, and OSError."""
    made = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / JOURNAL
    with _locked(path) as file:
        known, attempts = _read(file, key)
        if not known:
            file.seek(0)
            file.truncate()
            file.write(json.dumps({"key": key}) + "\n")
            file.flush()
        journal = Journal(file, known, attempts)
        try:
            yield journal
        finally:
            if journal.finished or not len(journal):
                path.unlink(missing_ok=True)
            if made and not any(folder.iterdir()):
                folder.rmdir()


def key_of(course: Course, task: Task) -> str:
    """Equal for gradings that give the same verdict on the same files."""
    engine = Path(_engine.__file__ or "").stat()
    parts = [task.lab, str(task.seed), repr(task.limits), repr(task.prove)]
    parts.append(str((engine.st_size, engine.st_mtime_ns)))
    parts += [text for item in sorted(course.sources.items()) for text in item]
    ours = (ROOT / "src" / "p4lab").rglob("*.py")
    for path in sorted([*course.folder.rglob("*"), *ours]):
        if path.is_file():
            parts += [str(path), hashlib.sha256(path.read_bytes()).hexdigest()]
    return _digest(parts)


@contextmanager
def _locked(path: Path) -> Iterator[IO[str]]:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "r+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise GradingError(
                f"{path.parent}: another grading is at work there; wait for it, or give another "
                "folder with --out."
            ) from None
        yield file


def _read(file: IO[str], key: str) -> tuple[dict[str, Judged], dict[str, Attempt]]:
    """What was kept; the file is then ready for more. Its last line may be cut, where the disk was
    full or the power went."""
    known, attempts = {}, {}
    lines = file.readlines()
    if _parsed(lines[0] if lines else "") != {"key": key}:
        return {}, {}
    if not lines[-1].endswith("\n"):
        file.write("\n")
    for row in map(_parsed, lines[1:]):
        if row is not None and "program" in row:
            attempts[row["program"]] = Attempt.from_json(row["attempt"])
        elif row is not None:
            known[row["place"]] = Judged(Verdict.from_json(row["verdict"]), row["detail"])
    return known, attempts


def _parsed(line: str) -> Any:
    """None for what is no line of a journal."""
    try:
        return json.loads(line)
    except ValueError:
        return None


def _place(student: str, files: Mapping[str, str]) -> str:
    return _digest([student, *(text for item in sorted(files.items()) for text in item)])


def _digest(parts: list[str]) -> str:
    data = json.dumps(parts).encode()
    return hashlib.sha256(data).hexdigest()
