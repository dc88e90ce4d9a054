"""What a grading changed of the one before: whose points, by which checks."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from p4lab.grading.record import Verdict
from p4lab.grading.writers.text import number, spreadsheet


@dataclass(frozen=True)
class Change:
    """A student whose points are others than before; None where there was or is no such student.
    `checks` are those with other points, `why` what was adjusted otherwise."""

    student: str
    before: float | None
    after: float | None
    checks: tuple[str, ...] = ()
    why: tuple[str, ...] = ()


def changes(earlier: Sequence[Mapping[str, Any]], verdicts: Sequence[Verdict]) -> list[Change]:
    """By student. `earlier` are the verdicts of the grading before as plain data, empty if there
    was none. Raises KeyError and TypeError for other data."""
    if not earlier:
        return []
    before = {row["student"]: row for row in earlier}
    after = {verdict.student: verdict for verdict in verdicts}
    found = []
    for student in sorted({*before, *after}):
        old, new = before.get(student), after.get(student)
        was = None if old is None else _points(old)
        now = None if new is None else new.points
        if was is None or now is None or abs(was - now) > 1e-9:
            found.append(Change(student, was, now, *_reasons(old, new)))
    return found


def _points(row: Mapping[str, Any]) -> float:
    return sum(float(one["points"]) for one in [*row["checks"], *row.get("adjustments", [])])


def _reasons(
    old: Mapping[str, Any] | None, new: Verdict | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if old is None or new is None:
        return (), ()
    was = {check["id"]: check["points"] for check in old["checks"]}
    checks = tuple(
        f"{check.id} {number(was.get(check.id, 0))} to {number(check.points)}"
        for check in new.checks
        if abs(was.get(check.id, 0) - check.points) > 1e-9
    )
    known = {(one["points"], one["why"]) for one in old.get("adjustments", [])}
    why = tuple(one.why for one in new.adjustments if (one.points, one.why) not in known)
    return checks, why


def as_csv(found: Sequence[Change]) -> str:
    """Columns: student, before, after, checks, why."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["student", "before", "after", "checks", "why"])
    for one in found:
        points = ["" if value is None else number(value) for value in (one.before, one.after)]
        told = [spreadsheet("; ".join(words)) for words in (one.checks, one.why)]
        rows.writerow([spreadsheet(one.student), *points, *told])
    return text.getvalue()
