"""`p4lab run` of a lab whose students write policies: what comes of them, beside the lab's own."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from p4lab.cli.errors import VERDICT_NO, fail
from p4lab.course.labs import LabError
from p4lab.course.material import student

if TYPE_CHECKING:
    from p4lab.grading.course import Course
    from p4lab.grading.policies import Seen

WIDTH = 100


def is_measured(lab: str) -> bool:
    """Whether a lab has no P4 program to run. Ends the verb for a lab that is not sound."""
    try:
        return not student(lab).program.endswith(".p4")
    except LabError as error:
        fail(str(error))


def run_measured(lab: str, folder: Path | None, as_json: bool) -> None:
    """Shows the first case of each check; exits 1 if something is not as it has to be."""
    from rich.console import Console  # heavy: rich, and the labs with their checks

    from p4lab.grading.apart import read_apart, seen_apart
    from p4lab.grading.course import load
    from p4lab.grading.known import wanted
    from p4lab.grading.sandbox import Limits, Stopped

    try:
        course = load(lab)
        course.prepare(None)
        files = {name: course.sources[name] for name in course.student.edit}
        if folder is not None:
            found = read_apart(folder, wanted(course), Limits())
            if found.trouble:
                fail(f"{folder}: {found.trouble}")
            files = dict(found.files)
        seen = seen_apart(course, files, Limits(), Console(stderr=True).status("measuring"))
    except LabError as error:
        fail(str(error))
    except Stopped as stopped:
        fail(str(stopped))
    wrong = [one for one in seen if one.wrong]
    if as_json:
        told = {"ok": not wrong, "lab": lab, "measured": [asdict(one) for one in seen]}
        typer.echo(json.dumps(told, indent=2))
    else:
        _tell(course, seen, whose="yours" if folder else "the lab's")
    if wrong:
        raise typer.Exit(VERDICT_NO)


def _tell(course: Course, seen: Sequence[Seen], whose: str) -> None:
    titles = {part.id: f"{number} {part.title}" for number, part in enumerate(course.parts, 1)}
    part = ""
    for one in seen:
        if one.part != part:
            part = one.part
            typer.echo(f"\n{titles.get(part, part)}")
        typer.echo(textwrap.fill(one.say, WIDTH, initial_indent="  ", subsequent_indent="  "))
        sides = {whose: one.wrong or "; ".join(one.told), "the lab's": "; ".join(one.best)}
        for side, told in sides.items():
            head = f"    {side + ':':<11}"
            typer.echo(textwrap.fill(told, WIDTH, initial_indent=head, subsequent_indent=" " * 15))
