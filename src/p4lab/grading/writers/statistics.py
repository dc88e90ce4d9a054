"""What checks say about a class, and which of them say little: for the instructor.

Difficulty is the share of the points of a check that the class got: 1 is easy. Discrimination is
how much those who are good elsewhere got more here: the correlation of a check with the sum of all
others (item-rest correlation), from -1 to 1. Below 0.2 a check hardly tells the strong from the
weak, and a negative one should be looked at: often it is the check that is wrong.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass

from p4lab.grading.record import Verdict
from p4lab.grading.writers.text import number, spreadsheet

LEAST = 5
"""With fewer students a correlation says nothing"""


@dataclass(frozen=True)
class Item:
    """A check with points: its statistics over a class; None where they have no value."""

    id: str
    title: str
    students: int
    points: float
    difficulty: float | None
    discrimination: float | None


def items(verdicts: Sequence[Verdict]) -> list[Item]:
    """In the order of the lab. Who could not be graded, or handed in nothing, is left out."""
    graded = [verdict for verdict in verdicts if not verdict.trouble]
    found = []
    for place, check in enumerate(verdicts[0].checks if verdicts else ()):
        if not check.max_points:
            continue
        own = [verdict.checks[place].points for verdict in graded]
        rest = [
            verdict.checked_points - points for verdict, points in zip(graded, own, strict=True)
        ]
        share = math.fsum(own) / len(own) / check.max_points if own else None
        discrimination = correlation(own, rest) if len(own) >= LEAST else None
        found.append(Item(check.id, check.title, len(own), check.max_points, share, discrimination))
    return found


def correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Pearson's; None if one of the two does not vary."""
    count = len(first)
    mean_first, mean_second = math.fsum(first) / count, math.fsum(second) / count
    one = [value - mean_first for value in first]
    other = [value - mean_second for value in second]
    spread = math.fsum(x * x for x in one) * math.fsum(y * y for y in other)
    if spread <= 1e-12:
        return None
    return math.fsum(x * y for x, y in zip(one, other, strict=True)) / math.sqrt(spread)


def shown(value: float | None) -> str:
    return "" if value is None else number(value) or "0"


def as_csv(verdicts: Sequence[Verdict]) -> str:
    """Columns: check, title, students, points, difficulty, discrimination."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["check", "title", "students", "points", "difficulty", "discrimination"])
    for item in items(verdicts):
        figures = (shown(item.difficulty), shown(item.discrimination))
        head = (item.id, spreadsheet(item.title), item.students, number(item.points))
        rows.writerow([*head, *figures])
    return text.getvalue()
