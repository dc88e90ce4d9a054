"""Where a mistake is taught: the part of a lab that goes with a code of the compiler."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from p4lab.course.home import home_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_FILE = Path(__file__).with_name("teaches.toml")


@dataclass(frozen=True)
class Lesson:
    """A part of a lab; `number` counts from 1."""

    lab: str
    part: str
    number: int
    title: str


@lru_cache
def table() -> Mapping[str, Mapping[str, Sequence[str]]]:
    """The codes by lab and part."""
    return tomllib.loads(_FILE.read_text(encoding="utf-8"))


def lesson(code: str) -> Lesson | None:
    """The part that teaches a code; None if none does, or its lab is not here."""
    for lab, parts in table().items():
        for part, codes in parts.items():
            if code.upper() in codes:
                return _lesson(lab, part)
    return None


def _lesson(lab: str, part: str) -> Lesson | None:
    home = home_of(lab)
    if home is None:
        return None
    try:
        found = tomllib.loads((home.labs / lab / "lab.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):  # whoever opens the lab reads what is wrong with it
        return None
    parts: list[dict[str, Any]] = found.get("part", [])
    named = ((number, one) for number, one in enumerate(parts, 1) if one.get("id") == part)
    return next((Lesson(lab, part, number, one["title"]) for number, one in named), None)
