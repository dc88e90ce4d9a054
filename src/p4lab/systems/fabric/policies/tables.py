"""Policies as tables: each is asked about every state beforehand, and the simulator looks it up."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from p4lab.policies import Program
from p4lab.systems.fabric.policies.answers import asked, shown

AHEAD, BACKLOG, SHARES = 128, 768, 17
"""States that are told apart: cells ahead, units that wait, sixteenths (crates/p4-fabric)"""
CELL = 256
QUICK = 20_000
"""Steps of one decision"""
MOST_WEIGHT = 1000
FINEST = 60_000
"""The largest weight of a table with fractions"""
CHOICES = {"keep": 0, "newest": 1, "oldest": 2}

Entry = TypeVar("Entry")


def suspends(program: Program) -> list[int]:
    """Whether a queue waits, by its cells ahead: of one that does not wait yet, then of one that
    does. Raises PolicyError."""
    questions = [(ahead, waits) for waits in (False, True) for ahead in range(AHEAD)]
    return _table(program, "suspend", questions, _truth)


def drops(program: Program, sizes: Iterable[int]) -> list[tuple[int, list[int]]]:
    """What goes if a frame comes in, for each of these sizes, by the units that wait. Raises
    PolicyError."""
    units = {math.ceil(size / CELL): size for size in sizes}
    return [
        (count, _table(program, "drop", [(waiting, size) for waiting in range(BACKLOG)], _choice))
        for count, size in sorted(units.items())
    ]


def weights(program: Program) -> list[int]:
    """How likely a flow is notified, by its share, whether it is the latest and the largest. Raises
    PolicyError."""
    questions = [
        (share, latest, largest)
        for share in range(SHARES)
        for latest in (False, True)
        for largest in (False, True)
    ]
    found = _table(program, "weight", questions, _weight)
    if all(weight.is_integer() for weight in found):
        return [int(weight) for weight in found]
    finer = FINEST / max(found)  # the engine takes whole numbers, students also share / 16
    return [round(weight * finer) for weight in found]


def _table(
    program: Program,
    method: str,
    questions: Sequence[Sequence[Any]],
    entry: Callable[[Any], Entry | str],
) -> list[Entry]:
    """The answers as entries. What a policy has been asked it is not asked again."""
    key = (method, questions[-1])
    if key not in program.kept:
        program.kept[key] = [_entry(program, method, one, entry) for one in questions]
    found: list[Entry] = program.kept[key]
    return found


def _entry(
    program: Program,
    method: str,
    question: Sequence[Any],
    entry: Callable[[Any], Entry | str],
) -> Entry:
    answer = program.call(method, *question, steps=QUICK)
    made = entry(answer)
    if isinstance(made, str):
        told = f"{asked(method, question)} returns {shown(answer)}, and not {made}."
        raise program.wrong(method, told)
    return made


# ---- An answer as an entry, or what it should have been


def _truth(answer: Any) -> int | str:
    return int(answer) if isinstance(answer, bool) else "True or False"


def _choice(answer: Any) -> int | str:
    known = isinstance(answer, str) and answer in CHOICES
    return CHOICES[answer] if known else '"keep", "newest" or "oldest"'


def _weight(answer: Any) -> float | str:
    if isinstance(answer, int | float) and 0 <= answer <= MOST_WEIGHT:
        return float(answer)
    return f"a weight from 0 to {MOST_WEIGHT}"
