"""Answers of policies, as what they have to be."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from p4lab.policies import Program

QUICK = 20_000
"""Steps of a decision that is asked for a whole table"""
HUGE = 1e12


def number(program: Program, method: str, *arguments: Any) -> float:
    """A number that is finite. Raises PolicyError."""
    answer = program.call(method, *arguments)
    if isinstance(answer, bool) or not isinstance(answer, int | float):
        told = f"{asked(method, arguments)} returns {shown(answer)}, and not a number."
        raise program.wrong(method, told)
    if not math.isfinite(answer) or abs(answer) > HUGE:
        told = f"{asked(method, arguments)} returns {shown(answer)}: that is far too large."
        raise program.wrong(method, told)
    return float(answer)


def table(program: Program, method: str, questions: Iterable[Sequence[Any]]) -> list[Any]:
    """The answers to many questions, in their order. Raises PolicyError."""
    return [program.call(method, *arguments, steps=QUICK) for arguments in questions]


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
