"""What is done already, in a file, so that work that was interrupted can go on.

A JSON object on each line, below one that says what they hold for. The file is there while the work
is under way; who holds its lock may write results beside it.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

Line = Mapping[str, Any]


class BusyError(Exception):
    """Somebody else is at work on the same journal."""


class Journal:
    """The lines that are known already, and a place for more."""

    def __init__(self, file: IO[str], known: Sequence[Line]) -> None:
        self._file: IO[str] | None = file
        self.known = known
        self.empty = not known
        self.finished = False
        """Set when nobody needs the file any more"""

    def write(self, line: Line) -> None:
        """Writes a line down. On a full disk nothing is kept from then on."""
        self.empty = False
        try:
            if self._file is not None:
                self._file.write(json.dumps(line) + "\n")
                self._file.flush()
        except OSError:
            self._file = None


@contextmanager
def opened(path: Path, key: str) -> Iterator[Journal]:
    """The journal at `path`, whose folder is made if it is not there. What it holds for another
    `key` is forgotten. It is deleted when `finished` is set, or when there is nothing in it. Raises
    BusyError and OSError."""
    made = not path.parent.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path) as file:
        known = _read(file, key)
        if not known:
            file.seek(0)
            file.truncate()
            file.write(json.dumps({"key": key}) + "\n")
            file.flush()
        journal = Journal(file, known)
        try:
            yield journal
        finally:
            if journal.finished or journal.empty:
                path.unlink(missing_ok=True)
            if made and not any(path.parent.iterdir()):
                path.parent.rmdir()


@contextmanager
def _locked(path: Path) -> Iterator[IO[str]]:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "r+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyError(str(path)) from None
        except OSError as error:  # as of some network file systems
            if not os.fstat(handle).st_size:
                path.unlink()
            told = "this file system cannot lock files; give a folder on another one with --out"
            raise OSError(error.errno, told, str(path.parent)) from error
        yield file


def _read(file: IO[str], key: str) -> list[Line]:
    """What was kept; the file is then ready for more. Its last line may be cut, where the disk was
    full or the power went."""
    lines = file.readlines()
    if _parsed(lines[0] if lines else "") != {"key": key}:
        return []
    if not lines[-1].endswith("\n"):
        file.write("\n")
    return [row for row in map(_parsed, lines[1:]) if isinstance(row, dict)]


def _parsed(line: str) -> Any:
    """None for what is not a line of a journal."""
    try:
        return json.loads(line)
    except ValueError:
        return None
