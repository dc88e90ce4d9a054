"""A folder for Dolos (https://dolos.ugent.be), which shows how alike programs are: a file for each
student, info.csv with who they are, and what everybody was given, which it is told to ignore.

Its info.csv has the columns filename, full_name, label and created_at (its page `Adding metadata`).
It has no parser of P4; that of C reads most of it:

    dolos run -f web -l c -i given.p4 info.csv

Where students write policies, it is `-l python` and given.py.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

from p4lab.grading.writers.text import file_names, one_line, spreadsheet


def files(
    classes: Mapping[str, Mapping[str, Mapping[str, str]]], given: Mapping[str, str]
) -> dict[str, str]:
    """Texts by path. `classes` are by label the students with their files; `given` the starter."""
    suffix = ".py" if given and all(name.endswith(".py") for name in given) else ".p4"
    found = {f"given{suffix}": _whole(given)}
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["filename", "full_name", "label"])
    for label, students in classes.items():
        names = file_names(students)
        for student, handed_in in students.items():
            name = f"{file_names([label])[label]}/{names[student]}{suffix}"
            found[name] = _whole(handed_in)
            rows.writerow([name, spreadsheet(one_line(student)), spreadsheet(one_line(label))])
    return {**found, "info.csv": text.getvalue()}


def _whole(handed_in: Mapping[str, str]) -> str:
    """All files of a student as one, since Dolos compares file by file."""
    return "".join(f"// ---- {name}\n{text}\n" for name, text in sorted(handed_in.items()))
