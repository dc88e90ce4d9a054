"""Grade books that platforms import: whose points, by the platform's own columns.

What they read is in their sources (looked at in 2026-11).

Canvas    lib/gradebook_importer.rb: the first line begins with Student and ID, may go on with SIS
          User ID and SIS Login ID, and Section is the last that is about the student; a line
          `Points Possible` follows. Students are found by ID, then by the SIS numbers, then by
          name, an assignment by `Title (ID)` or by its title.
Moodle    mod/assign/feedback/offline/importgradeslib.php: the columns Identifier (of which the
          number at its end counts), Grade and Last modified (grade) have to be there.

Who handed in nothing gets an empty cell, which changes nothing there. Who is not on the roster is
left out: a platform might find somebody else by the name.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from p4lab.grading.record import Verdict
from p4lab.grading.roster import Person
from p4lab.grading.writers.text import number, one_line, spreadsheet

CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
_NONE: Mapping[str, str] = MappingProxyType({})
_MOST = re.compile(r"0*[1-9]\d{0,5}([.,]\d+)?")
_CANVAS_MORE = ("Integration ID", "Root Account")
MOODLE = (
    "Identifier",
    "Full name",
    "Email address",
    "Grade",
    "Maximum grade",
    "Last modified (grade)",
    "Feedback comments",
)


def canvas(
    verdicts: Sequence[Verdict],
    people: Mapping[str, Person],
    absent: frozenset[str],
    assignment: str,
    possible: Mapping[str, str] = _NONE,
) -> str:
    """`absent` are those who handed in nothing; `assignment` is the title of its column, and
    `possible` are the points of each column there, to which those of the lab are scaled."""
    verdicts = _listed(verdicts, people)
    rows = [people[verdict.student].row for verdict in verdicts]
    more = [name for name in _CANVAS_MORE if any(name in row for row in rows)]
    columns = [*CANVAS[:-1], *more, CANVAS[-1]]
    own = _points_possible(assignment, possible)
    most = own or (number(verdicts[0].max_points) if verdicts else "")
    lines = [[*columns, one_line(assignment)]]
    lines.append(["    Points Possible", *[""] * (len(columns) - 1), most])
    for verdict in verdicts:
        cells = _canvas_cells(people[verdict.student])
        points = "" if verdict.student in absent else number(_scaled(verdict, own))
        lines.append([*(spreadsheet(one_line(cells.get(name, ""))) for name in columns), points])
    return _csv(lines)


def _points_possible(assignment: str, possible: Mapping[str, str]) -> str:
    """What the grade book says of an assignment, which it knows as `Title (ID)` or by its title."""
    for column, most in possible.items():
        if assignment in (column, re.sub(r" \(\d+\)$", "", column)) and _MOST.fullmatch(most):
            return most
    return ""


def _canvas_cells(person: Person) -> Mapping[str, str]:
    """The line of Canvas' own export, or what stands for it."""
    if "Student" in person.row:
        return person.row
    if person.user:  # the number that Canvas gives files, which is its own for the student
        return {"Student": person.name or person.id, "ID": person.user}
    login = person.email or person.id
    return {
        "Student": person.name or person.id,
        "SIS User ID": person.id,
        "SIS Login ID": login,
    }


def _listed(verdicts: Sequence[Verdict], people: Mapping[str, Person]) -> list[Verdict]:
    """Those on students of the roster, if there is one: others have no line of it."""
    roster = any(people[verdict.student].row for verdict in verdicts)
    return [one for one in verdicts if people[one.student].row or not roster]


def moodle(
    verdicts: Sequence[Verdict], people: Mapping[str, Person], absent: frozenset[str]
) -> str:
    """Moodle's own worksheet with the grades filled in, to the scale of its column Maximum grade,
    and without anybody who is not in it; a new one if the roster is none."""
    verdicts = _listed(verdicts, people)
    rows = [people[verdict.student].row for verdict in verdicts]
    own = next((list(row) for row in rows if "Identifier" in row), None)
    columns = own or list(MOODLE)
    lines = [columns]
    for verdict in verdicts:
        person = people[verdict.student]
        if own and "Identifier" not in person.row:
            continue
        cells = dict(person.row) if "Identifier" in person.row else _moodle_cells(person, verdict)
        if verdict.student not in absent:
            most = cells.get("Maximum grade") or cells.get("Maximum Grade") or ""
            cells["Grade"] = number(_scaled(verdict, most))
            cells["Feedback comments"] = f"{number(verdict.points)} of {number(verdict.max_points)}"
        lines.append([spreadsheet(one_line(cells.get(name, ""))) for name in columns])
    return _csv(lines)


def _moodle_cells(person: Person, verdict: Verdict) -> dict[str, str]:
    return {
        "Identifier": f"Participant {person.user}" if person.user else person.id,
        "Full name": person.name or person.id,
        "Email address": person.email,
        "Maximum grade": number(verdict.max_points),
        "Last modified (grade)": "-",
    }


def _scaled(verdict: Verdict, most: str) -> float:
    """The points as a part of what the grade book calls the most."""
    try:
        return verdict.points * float(most.replace(",", ".")) / verdict.max_points
    except (ValueError, ZeroDivisionError):
        return verdict.points


def _csv(lines: Sequence[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()
