"""One line of the doctor's report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "missing", "broken"]
WORDS: dict[State, str] = {"ok": "OK", "missing": "optional", "broken": "broken"}


@dataclass(frozen=True)
class Finding:
    """`missing` is optional; `broken` is needed, or is there and does not work."""

    name: str
    state: State
    detail: str
    fix: str = ""


Probe = Callable[[], Finding]
"""The first line of its docstring says what it looks at"""
