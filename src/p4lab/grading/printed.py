"""What the compiler prints: a block for each diagnostic, with the line, a caret and a hint."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from p4lab import _engine

MOST = 20
"""Most blocks that are shown of one program"""

_BEGIN = re.compile(r"^(?=(?:\[[EW]\d{4}\] )?(?:Error|Warning): )", re.MULTILINE)
_INCLUDED = re.compile(r"\n[^\n]*│ *\n[^\n]*│ Note: included from [^\n]*")


def blocks(compilation: _engine.Compilation) -> list[str]:
    """As `p4lab compile` prints them, without the files that include the student's."""
    found = [_INCLUDED.sub("", one).rstrip() for one in _BEGIN.split(compilation.render())]
    return [one for one in found if one]


def errors(compilation: _engine.Compilation) -> tuple[str, ...]:
    """The errors, and the warnings beside them; how many more there are if they are many."""
    found = blocks(compilation)
    left = len(found) - MOST
    return (*found[:MOST], *([f"... and {left} more"] if left > 0 else []))


def block_of(diagnostic: Mapping[str, Any], found: list[str]) -> str:
    """The block of one diagnostic; empty if there is none."""
    head = f"[{diagnostic['code']}] "
    place = f"{diagnostic['file']}:{diagnostic['line']}:{diagnostic['column']} "
    fits = (one for one in found if one.startswith(head) and place in one.partition("\n")[2])
    return next(fits, "")
