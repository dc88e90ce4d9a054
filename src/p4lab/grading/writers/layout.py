"""Which files a graded class becomes, and what is in them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from p4lab.grading.alike import Alike
from p4lab.grading.record import Verdict
from p4lab.grading.writers import (
    gradescope,
    heatmap,
    junit,
    prairielearn,
    report,
    summary,
    table,
)
from p4lab.grading.writers.report import Heading
from p4lab.grading.writers.text import file_names
from p4lab.grading.writers.view import for_student

FORMATS = ("gradescope", "prairielearn", "junit")
"""What is written only if it is asked for."""


@dataclass(frozen=True)
class Graded:
    """A verdict, what was left out of the submission, how the grader failed, if it did, and the
    files that were judged."""

    verdict: Verdict
    notes: tuple[str, ...] = ()
    detail: str = ""
    files: Mapping[str, str] = field(default_factory=dict)


def files(
    lab: str,
    heading: Heading,
    graded: Iterable[Graded],
    *,
    formats: Sequence[str] = (),
    reveal: bool = False,
    alike: Sequence[Alike] = (),
) -> dict[str, str]:
    """The text of every file by its path in the output folder.

    students/ is for the students, one report each; gradescope/ and prairielearn/ are for systems
    that show them to students. `alike` are students who share telling lines. records.json and
    grader-errors.txt are for the instructor alone, since they tell hidden cases.
    """
    rows = sorted(graded, key=lambda row: row.verdict.student)
    full = [row.verdict for row in rows]
    shown = [for_student(verdict, reveal=reveal) for verdict in full]
    names = file_names(verdict.student for verdict in full)
    found = {
        "grades.csv": table.as_csv(shown),
        "heatmap.svg": heatmap.draw(lab, shown),
        "records.json": _records(lab, rows),
        "summary.html": summary.as_html(lab, shown, heading, names, alike),
        "summary.md": summary.as_markdown(lab, shown, heading, names, alike),
    }
    errors = [row for row in rows if row.detail]
    if errors:
        found["grader-errors.txt"] = "\n\n".join(
            f"{row.verdict.student!a}: {row.verdict.trouble}\n{row.detail}" for row in errors
        )
    if "junit" in formats:
        found["junit.xml"] = junit.as_xml(lab, shown)
    for row, verdict in zip(rows, shown, strict=True):
        name = names[verdict.student]
        found[f"students/{name}.md"] = report.as_markdown(verdict, heading, row.notes)
        found[f"students/{name}.html"] = report.as_html(verdict, heading, row.notes)
        if "gradescope" in formats:
            text = gradescope.as_json(row.verdict, row.notes, reveal=reveal)
            found[f"gradescope/{name}/results.json"] = text
        if "prairielearn" in formats:
            text = prairielearn.as_json(verdict, row.notes)
            found[f"prairielearn/{name}/results.json"] = text
    return found


def _records(lab: str, rows: Sequence[Graded]) -> str:
    """Every verdict with its hidden cases, one per line."""
    records = [{**row.verdict.to_json(), "notes": list(row.notes)} for row in rows]
    lines = ",\n".join(json.dumps(record) for record in records)
    return f'{{"lab": {json.dumps(lab)}, "verdicts": [\n{lines}\n]}}\n'
