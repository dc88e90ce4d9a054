"""Verdicts as they come, in a file, so that a grading that was interrupted can go on.

They hold for the lab, the seed and the limits (`p4lab.spread.journal`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from p4lab import _engine
from p4lab.grading.apart import Judged
from p4lab.grading.attempts import Attempt
from p4lab.grading.course import Course
from p4lab.grading.record import Verdict
from p4lab.grading.workers import GradingError, Task
from p4lab.paths import PACKAGE
from p4lab.spread import journal

JOURNAL = "unfinished.jsonl"


class Journal:
    """The verdicts that are known already, by files, what is proven of programs, and a place for
    more. So what several hand in, the starter or each other's, is judged once, and all of them get
    the same."""

    def __init__(self, lines: journal.Journal) -> None:
        self._lines = lines
        self._known: dict[str, Judged] = {}
        self._attempts: dict[str, Attempt] = {}
        for row in lines.known:
            if "program" in row:
                self._attempts[row["program"]] = Attempt.from_json(row["attempt"])
            else:
                verdict = Verdict.from_json(row["verdict"])
                self._known[row["place"]] = Judged(verdict, row["detail"])

    def __len__(self) -> int:
        return len(self._known)

    def finish(self) -> None:
        """Nothing of it is needed any more."""
        self._lines.finished = True

    def find(self, student: str, files: Mapping[str, str]) -> Judged | None:
        """The verdict on these files, if it was given before, to whomever."""
        known = self._known.get(place(files))
        return known and known.about(student)

    def keep(self, files: Mapping[str, str], judged: Judged) -> None:
        """Writes a verdict down. On a full disk it is only known for as long as this runs. What had
        no verdict is judged again: next time the machine may be idle, or the grader corrected."""
        key = place(files)
        if key in self._known or judged.verdict.trouble:
            return
        self._known[key] = judged
        verdict = judged.verdict.to_json()
        self._lines.write({"place": key, "verdict": verdict, "detail": judged.detail})

    def find_attempt(self, program: str) -> Attempt | None:
        """What came of proving a program, if that was tried before."""
        return self._attempts.get(program)

    def keep_attempt(self, program: str, attempt: Attempt) -> None:
        """Writes down what came of proving a program."""
        self._attempts[program] = attempt
        self._lines.write({"program": program, "attempt": attempt.to_json()})


@contextmanager
def opened(folder: Path, key: str) -> Iterator[Journal]:
    """The journal of a folder of results, which is made if it is not there. What it holds for
    another `key` is forgotten. It is deleted after `finish`, or when there is nothing in it. Raises
    GradingError if somebody else is grading into the folder, and OSError."""
    try:
        with journal.opened(folder / JOURNAL, key) as lines:
            yield Journal(lines)
    except journal.BusyError:
        raise GradingError(
            f"{folder}: another grading is at work there; wait for it, or give another folder with "
            "--out."
        ) from None


def key_of(course: Course, task: Task) -> str:
    """Equal for gradings that give the same verdict on the same files."""
    engine = Path(_engine.__file__ or "").stat()
    parts = [task.lab, str(task.seed), repr(task.limits), repr(task.prove)]
    parts.append(str((engine.st_size, engine.st_mtime_ns)))
    parts += [text for item in sorted(course.sources.items()) for text in item]
    ours = PACKAGE.rglob("*.py")
    for path in sorted([*course.folder.rglob("*"), *ours]):
        if path.is_file():
            parts += [str(path), hashlib.sha256(path.read_bytes()).hexdigest()]
    return _digest(parts)


def place(files: Mapping[str, str]) -> str:
    """Where the verdict on files is kept."""
    return _digest([text for item in sorted(files.items()) for text in item])


def _digest(parts: list[str]) -> str:
    data = json.dumps(parts).encode()
    return hashlib.sha256(data).hexdigest()
