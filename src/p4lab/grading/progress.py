"""Which parts of a lab are done: a small file beside a student's work, where a lab wants one.

    # What is done of lab 00-p4. ...
    done = ["drop", "forward"]

A part is done when all its checks have passed once, and stays so whatever becomes of the files
later. The file is the student's: it says what to do next, and no grader reads it.
"""

from __future__ import annotations

import fcntl
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from p4lab.course.labs import home
from p4lab.grading.course import Course, Part
from p4lab.grading.record import Verdict
from p4lab.grading.toml import quoted
from p4lab.paths import reading

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LARGEST_FILE = 16 << 10  # bytes
DONE, LEFT = "■", "□"


class ProgressError(Exception):
    """A file that cannot be read or written; the message says which, and what to do."""


class _File(BaseModel):
    model_config = ConfigDict(extra="ignore")
    done: list[str] = Field(default=[], max_length=1000)


@dataclass(frozen=True)
class Progress:
    """The parts of a lab with their numbers, in order: those that are `done`, and the next one that
    is not, None if there is none."""

    parts: tuple[Part, ...]
    done: tuple[str, ...]

    @property
    def next(self) -> Part | None:
        return next((part for part in self.parts if part.id not in self.done), None)

    def __str__(self) -> str:
        bar = "".join(DONE if part.id in self.done else LEFT for part in self.parts)
        if (coming := self.next) is None:
            return f"{bar}  All {len(self.parts)} parts are done."
        number = self.parts.index(coming) + 1
        where = f", in {coming.file}" if coming.file else ""
        count = f"{len(self.done)} of {len(self.parts)} parts done"
        return f"{bar}  {count}. Next: {number} {coming.title}{where}."

    def to_json(self) -> dict[str, object]:
        return {"done": list(self.done), "next": self.next.id if self.next else None}


def recorded(course: Course, folder: Path, verdict: Verdict) -> Progress | None:
    """What is done in a student's folder after a verdict on it, which is written down there; None
    for a lab that keeps no such file, and for a folder that is the solution or not a student's.
    Raises ProgressError."""
    name = course.student.progress
    if name is None or not folder.is_dir() or _is_solution(course, folder):
        return None
    path = folder / name
    try:
        with _locked(folder):
            before = _read(path)
            known = [part.id for part in course.parts]
            done = {*before, *_passed(course, verdict)}
            if done != set(before):
                # What another version of the lab calls a part is kept, too.
                others = [one for one in before if one not in known]
                _write(path, course.name, [*(one for one in known if one in done), *others])
    except OSError as error:
        raise ProgressError(f"{path}: {error.strerror}; progress is not kept.") from error
    return Progress(course.parts, tuple(one for one in known if one in done))


def _is_solution(course: Course, folder: Path) -> bool:
    return folder.resolve() == home(course.name).sources.resolve()


def _passed(course: Course, verdict: Verdict) -> Iterator[str]:
    """The parts of which every check has passed."""
    if verdict.trouble:
        return
    for part in course.parts:
        own = [check for check in verdict.checks if check.part == part.id]
        if own and all(check.status == "passed" for check in own):
            yield part.id


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Whoever else writes progress there waits, if the file system knows locks: NFS locks no
    folder. In a browser there is nobody else."""
    if sys.platform == "emscripten":
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _read(path: Path) -> list[str]:
    """The parts that a file says are done; none without it. Raises ProgressError, OSError."""
    try:
        handle = os.open(path, reading())
    except FileNotFoundError:
        return []
    with os.fdopen(handle, "rb") as file:
        data = file.read(LARGEST_FILE + 1)
    remedy = "progress is not kept until you repair or delete it."
    if len(data) > LARGEST_FILE:
        raise ProgressError(f"{path} is too large to be a list of parts; {remedy}")
    try:
        return _File.model_validate(tomllib.loads(data.decode("utf-8"))).done
    except (ValueError, ValidationError, RecursionError) as error:
        raise ProgressError(f"{path} is not as p4lab has written it; {remedy}") from error


def _write(path: Path, lab: str, done: Sequence[str]) -> None:
    """The whole file or nothing of it, whenever the machine stops. Raises OSError."""
    listed = ", ".join(quoted(one) for one in done)
    text = (
        f"# What is done of lab {lab}, as `p4lab check` has seen it. It stays done, whatever\n"
        "# becomes of your files; take a part out of the list to do it again.\n"
        f"done = [{listed}]\n"
    )
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except OSError:
        os.unlink(name)
        raise
