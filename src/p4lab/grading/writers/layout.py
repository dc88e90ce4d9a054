"""Which files a graded class becomes, and what is in them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from p4lab.grading.alike import Alike
from p4lab.grading.asked import Asked
from p4lab.grading.record import Verdict
from p4lab.grading.roster import Person
from p4lab.grading.writers import (
    changes,
    dolos,
    gradebook,
    gradescope,
    heatmap,
    junit,
    plain,
    prairielearn,
    report,
    statistics,
    summary,
    table,
)
from p4lab.grading.writers.changes import Change
from p4lab.grading.writers.report import Heading
from p4lab.grading.writers.text import file_names
from p4lab.grading.writers.view import for_student

FORMATS = ("gradescope", "prairielearn", "junit", "canvas", "moodle", "dolos")
"""What is written only if it is asked for."""


@dataclass(frozen=True)
class Graded:
    """A verdict, what was left out of the submission, how the grader failed, if it did, the files
    that were judged, and the hints that were asked for, if the lab counts them."""

    verdict: Verdict
    notes: tuple[str, ...] = ()
    detail: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    asked: Asked | None = None


@dataclass(frozen=True)
class Beside:
    """What is known of a class beside its verdicts: who is who, who handed in nothing, the column
    of the grade book, who shares telling lines, what an earlier grading said otherwise, and what
    Dolos gets: files by student and class, and what everybody was given; who is late by an unknown
    time, and sentences for the instructor."""

    people: Mapping[str, Person] = field(default_factory=dict)
    absent: frozenset[str] = frozenset()
    assignment: str = ""
    alike: Sequence[Alike] = ()
    changed: Sequence[Change] = ()
    classes: Mapping[str, Mapping[str, Mapping[str, str]]] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    late: frozenset[str] = frozenset()
    remarks: Sequence[str] = ()
    teams: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Those who handed in together, by each of them"""
    most: Mapping[str, str] = field(default_factory=dict)
    """The points possible of each column of Canvas' grade book"""
    lists: Sequence[str] = ()
    """The options by which there was a roster or rules"""


def files(
    lab: str,
    heading: Heading,
    graded: Iterable[Graded],
    *,
    formats: Sequence[str] = (),
    reveal: bool = False,
    beside: Beside = Beside(),
) -> dict[str, str]:
    """The text of every file by its path in the output folder.

    students/ is for the students, one report each; gradescope/ and prairielearn/ are for systems
    that show them to students. records.json and grader-errors.txt are for the instructor alone,
    since they tell hidden cases.
    """
    rows = sorted(graded, key=lambda row: row.verdict.student)
    full = [row.verdict for row in rows]
    shown = [for_student(verdict, reveal=reveal) for verdict in full]
    names = file_names(verdict.student for verdict in full)
    called = {student: person.name for student, person in beside.people.items()}
    aside = summary.Aside(beside.absent, beside.remarks, called, beside.teams)
    common = (lab, shown, heading, names, beside.alike, beside.changed, aside)
    found = {
        "grades.csv": table.as_csv(shown, beside.people, beside.late),
        "heatmap.svg": heatmap.draw(lab, shown),
        "statistics.csv": statistics.as_csv(shown),
        "summary.html": summary.as_html(*common),
        "summary.md": summary.as_markdown(*common),
    }
    if beside.alike:
        found["alike.csv"] = table.of_alike(beside.alike)
    if beside.changed:
        found["changes.csv"] = changes.as_csv(beside.changed)
    errors = [row for row in rows if row.detail]
    if errors:
        found["grader-errors.txt"] = "\n\n".join(
            f"{row.verdict.student!a}: {row.verdict.trouble}\n{row.detail}" for row in errors
        )
    found.update(_for_platforms(lab, heading, shown, formats, beside))
    for row, verdict in zip(rows, shown, strict=True):
        name = names[verdict.student]
        proof = verdict.proof if plain.is_tried(verdict.proof) else None
        notes = (*row.notes, plain.proof(proof)) if proof else row.notes
        found[f"students/{name}.md"] = report.as_markdown(verdict, heading, notes)
        found[f"students/{name}.html"] = report.as_html(verdict, heading, notes)
        if "gradescope" in formats:
            text = gradescope.as_json(row.verdict, notes, reveal=reveal)
            found[f"gradescope/{name}/results.json"] = text
        if "prairielearn" in formats:
            text = prairielearn.as_json(verdict, notes)
            found[f"prairielearn/{name}/results.json"] = text
    # The last, since it says that all is there.
    return {**found, "records.json": _records(lab, rows, beside.lists)}


def _for_platforms(
    lab: str, heading: Heading, shown: Sequence[Verdict], formats: Sequence[str], beside: Beside
) -> dict[str, str]:
    """The files that are asked for and are of the whole class."""
    found = {}
    people = {verdict.student: Person(verdict.student) for verdict in shown} | dict(beside.people)
    if "junit" in formats:
        found["junit.xml"] = junit.as_xml(lab, shown)
    if "canvas" in formats:
        assignment = beside.assignment or heading.title
        found["canvas.csv"] = gradebook.canvas(
            shown, people, beside.absent, assignment, beside.most
        )
    if "moodle" in formats:
        found["moodle.csv"] = gradebook.moodle(shown, people, beside.absent)
    if "dolos" in formats:
        folder = dolos.files(beside.classes, beside.given)
        found |= {f"dolos/{name}": text for name, text in folder.items()}
    return found


def _records(lab: str, rows: Sequence[Graded], lists: Sequence[str]) -> str:
    """Every verdict with its hidden cases, one per line, and what lists decided on them."""
    records = [
        {
            **row.verdict.to_json(),
            "notes": list(row.notes),
            **({"hints": row.asked.to_json()} if row.asked else {}),
        }
        for row in rows
    ]
    lines = ",\n".join(json.dumps(record) for record in records)
    made = f', "with": {json.dumps(list(lists))}' if lists else ""
    return f'{{"lab": {json.dumps(lab)}{made}, "verdicts": [\n{lines}\n]}}\n'
