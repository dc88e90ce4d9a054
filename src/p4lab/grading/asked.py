"""How many steps of hints a student has asked for: a small file in the student's folder.

It is a record and no proof: whoever has the folder can change it.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from p4lab.paths import reading

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE = "hints.toml"
STEPS = 3
MOST_CHECKS = 200
LARGEST = 64 << 10  # characters

_CHECK = re.compile(r"[a-z0-9][a-z0-9-]{0,99}")

_HEAD = """\
# The hints that you have asked for: how many to each check. Hand this file in with your
# others; your instructor may count them.
[steps]
"""


def read(text: str) -> dict[str, int] | None:
    """How many steps were asked for, by check; None for what is no such file."""
    if len(text) > LARGEST:
        return None
    try:
        found = tomllib.loads(text).get("steps", {})
    except (ValueError, RecursionError):  # TOMLDecodeError is a ValueError
        return None
    if not isinstance(found, dict) or len(found) > MOST_CHECKS:
        return None
    if any(type(steps) is not int or not 1 <= steps <= STEPS for steps in found.values()):
        return None
    return found if all(map(_CHECK.fullmatch, found)) else None


def kept(folder: Path) -> dict[str, int]:
    """What a student's folder says; empty for what is no such file. Raises OSError for a folder
    that cannot be read."""
    try:
        file = os.open(folder / FILE, reading() | os.O_CLOEXEC)
    except FileNotFoundError:
        return {}
    with os.fdopen(file, "rb") as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            return {}
        return read(opened.read(LARGEST + 1).decode(errors="replace")) or {}


def write(folder: Path, steps: Mapping[str, int]) -> None:
    """Keeps it in a student's folder. Raises OSError."""
    new = folder / f".{FILE}.new"
    lines = "".join(f"{check} = {count}\n" for check, count in sorted(steps.items()))
    new.write_text(_HEAD + lines, encoding="utf-8")
    os.replace(new, folder / FILE)


@dataclass(frozen=True)
class Asked:
    """What a grader knows of it: the steps by check, or None if the file was not handed in."""

    steps: Mapping[str, int] | None

    def to_json(self) -> dict[str, Any]:
        """Unknown is null, and not zero."""
        if self.steps is None:
            return {"steps": None, "total": None}
        return {"steps": dict(self.steps), "total": sum(self.steps.values())}

    def told(self) -> str:
        """The same as a sentence."""
        if self.steps is None:
            return f"How many hints were asked for is not known: there is no {FILE} to say so."
        if not self.steps:
            return "No hints were asked for."
        each = ", ".join(f"{check} {steps}" for check, steps in sorted(self.steps.items()))
        return f"Hints asked for: {sum(self.steps.values())} ({each})."
