"""Answers of policies, as what they have to be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from p4lab.policies import Program
from p4lab.systems.fabric.runs import FabricError, Scenario, Seen, run

HUGE = 1e12
MEASURED = "measured"
"""The kind of what a policy brings about, not of what it returns"""
MOST_KNOWN = 500
_known: dict[str, Seen] = {}
"""Scenarios of this process, as text, and what came of them"""


def number(program: Program, method: str, *arguments: Any) -> float:
    """A number that is finite. Raises PolicyError."""
    answer = program.call(method, *arguments)
    if isinstance(answer, bool) or not isinstance(answer, int | float):
        told = f"{asked(method, arguments)} returns {shown(answer)} instead of a number."
        raise program.wrong(method, told)
    if not math.isfinite(answer) or abs(answer) > HUGE:
        told = f"{asked(method, arguments)} returns {shown(answer)}, which cannot be right."
        raise program.wrong(method, told)
    return float(answer)


def carried(program: Program, method: str, scenario: Scenario, seed: int) -> Seen:
    """What a scenario comes to that a policy decides, which is looked up if some policy has decided
    alike before. Raises PolicyError where it comes to a standstill."""
    key = repr((scenario, seed))
    if key not in _known:
        if len(_known) == MOST_KNOWN:
            _known.clear()
        try:
            _known[key] = run(scenario, seed)
        except FabricError as error:
            told = f"With this policy there is a {error}"
            raise program.wrong(method, told, MEASURED) from error
    return _known[key]


def asked(method: str, arguments: Sequence[Any]) -> str:
    """A call, as a student would write it."""
    return f"{method}({', '.join(shown(one) for one in arguments)})"


def shown(answer: Any) -> str:
    """An answer in a sentence, shortened."""
    if isinstance(answer, list | tuple | dict | set) and len(answer) > 4:
        return f"a {type(answer).__name__} of {len(answer)}"
    known = answer is None or isinstance(answer, int | float | str | list | tuple | dict | set)
    text = f"{answer:.6g}" if isinstance(answer, float) else repr(answer) if known else "a function"
    return text if len(text) <= 60 else f"{text[:59]}…"
