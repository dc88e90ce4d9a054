"""grades.csv: one row per student, for gradebooks and spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from p4lab.grading.record import Verdict
from p4lab.grading.writers.text import number, spreadsheet


def as_csv(verdicts: Sequence[Verdict]) -> str:
    """Columns: student, points, max_points, percent, one for each check that has points, and
    trouble. No cell is a formula."""
    checks = [check for check in (verdicts[0].checks if verdicts else ()) if check.max_points]
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    ids = [check.id for check in checks]
    rows.writerow(["student", "points", "max_points", "percent", *ids, "trouble"])
    for verdict in verdicts:
        points = {check.id: number(check.points) for check in verdict.checks}
        rows.writerow(
            [
                spreadsheet(verdict.student),
                number(verdict.points),
                number(verdict.max_points),
                number(100 * verdict.points / verdict.max_points if verdict.max_points else 0),
                *(points[check] for check in ids),
                spreadsheet(verdict.trouble),
            ]
        )
    return text.getvalue()
