"""The secret seed that hidden cases are drawn from, in a file of its owner's."""

from __future__ import annotations

import os
import secrets
import stat
import tempfile
from pathlib import Path

from p4lab.grading.workers import GradingError

SEED_BITS = 63
SEED_DIGITS = 100


def read_seed(path: Path) -> int:
    """The seed in a file. Raises GradingError."""
    try:
        text = path.read_text(encoding="ascii").strip()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise GradingError(f"{path}: {reason}.") from error
    if not text.isdecimal() or len(text) > SEED_DIGITS:
        raise GradingError(f"{path}: a seed is one whole number of at most {SEED_DIGITS} digits.")
    return int(text)


def make_seed(path: Path) -> None:
    """Puts a fresh seed into a file that only its owner can read; one that is there stays. It is
    there as a whole or not at all. Raises GradingError."""
    try:
        handle, name = tempfile.mkstemp(prefix=".seed-", dir=path.parent)  # for its owner only
        try:
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(f"{secrets.randbits(SEED_BITS)}\n")
            os.link(name, path)
        finally:
            os.unlink(name)
    except FileExistsError:
        return  # somebody else has just made it
    except OSError as error:
        raise GradingError(f"{path}: {error.strerror}.") from error


def others_may_read(path: Path) -> bool:
    """Whether a file can be read by more than its owner."""
    return bool(path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH))
