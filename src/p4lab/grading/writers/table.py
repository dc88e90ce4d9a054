"""grades.csv, one row per student, for gradebooks and spreadsheets; and alike.csv."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

from p4lab.grading.alike import Alike
from p4lab.grading.record import Verdict
from p4lab.grading.roster import Person
from p4lab.grading.writers.text import number, spreadsheet

UNKNOWN_TIME = "by an unknown time"


def of_alike(alike: Sequence[Alike]) -> str:
    """Who shares lines, a row for each student of each group. Columns: group, student, with (a
    known text, if it is one), lines, such_as."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["group", "student", "with", "lines", "such_as"])
    for place, group in enumerate(alike, 1):
        told = (group.other, len(group.lines), spreadsheet(max(group.lines, key=len)))
        rows.writerows([place, spreadsheet(student), *told] for student in group.students)
    return text.getvalue()


def as_csv(
    verdicts: Sequence[Verdict],
    people: Mapping[str, Person] | None = None,
    late: frozenset[str] = frozenset(),
) -> str:
    """Columns: student, points, max_points, percent, one for each check that has points, trouble;
    proof (proven, refuted, sampled) if proofs were tried; late if somebody is by an unknown time;
    adjusted and why if points come from elsewhere; name, email and team if a roster has them. No
    cell is a formula."""
    checks = [check for check in (verdicts[0].checks if verdicts else ()) if check.max_points]
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    ids = [check.id for check in checks]
    adjusted = any(verdict.adjustments for verdict in verdicts)
    known = [(people or {}).get(verdict.student) or Person("") for verdict in verdicts]
    whose = [name for name in ("name", "email", "team") if any(getattr(one, name) for one in known)]
    columns = ["student", "points", "max_points", "percent", *ids, "trouble"]
    tried = any(verdict.proof for verdict in verdicts)
    columns += ["proof"] if tried else []
    columns += ["late"] if late else []
    rows.writerow([*columns, *(("adjusted", "why") if adjusted else ()), *whose])
    for verdict, person in zip(verdicts, known, strict=True):
        points = {check.id: number(check.points) for check in verdict.checks}
        cells = [
            spreadsheet(verdict.student),
            number(verdict.points),
            number(verdict.max_points),
            number(100 * verdict.points / verdict.max_points if verdict.max_points else 0),
            *(points[check] for check in ids),
            spreadsheet(verdict.trouble),
        ]
        if tried:
            cells.append(verdict.proof.status if verdict.proof else "")
        if late:
            cells.append(UNKNOWN_TIME if verdict.student in late else "")
        if adjusted:
            why = "; ".join(one.why for one in verdict.adjustments)
            cells += [number(verdict.points - verdict.checked_points), spreadsheet(why)]
        rows.writerow([*cells, *(spreadsheet(getattr(person, name)) for name in whose)])
    return text.getvalue()
