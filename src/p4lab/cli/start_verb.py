"""`p4lab start` and `p4lab starter`: a student's files, and how they come from the solution."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from p4lab.cli.errors import VERDICT_NO, fail, fail_at
from p4lab.cli.options import Lab
from p4lab.plurals import count_of

Folder = Annotated[
    Path | None,
    typer.Argument(metavar="[DIR]", help="Your folder for the lab; else that of its notebook."),
]
Labs = Annotated[
    list[str] | None, typer.Argument(metavar="[LAB]...", help="The labs; default: all of them.")
]
Check = Annotated[bool, typer.Option("--check", help="Write nothing; exit 1 if a file differs.")]

MOST_NAMED = 3
"""Of so many files to edit each is named"""


def start(lab: Lab, folder: Folder = None) -> None:
    """Begin a lab: put its files into DIR. Your work is never overwritten: if the lab has changed
    since you began, its changes are merged, or put next to your files."""
    from p4lab.course.home import command, work_on  # heavy: labs, and with them pydantic
    from p4lab.course.labs import LabError, home
    from p4lab.course.material import start as place
    from p4lab.course.material import student
    from p4lab.course.renewal import told

    folder = Path(os.path.relpath(work_on(lab))) if folder is None else folder
    try:
        for name, state in place(lab, folder):
            typer.echo(f"  {told(folder / name, state)}")
        edit = [str(folder / name) for name in student(lab).edit]
    except LabError as error:
        fail(str(error))
    except OSError as error:
        fail_at(error, folder)
    handout = os.path.relpath(home(lab).labs / lab / "README.md")
    more = f" and the {count_of(len(edit) - 1, 'file')} after it" if len(edit) > MOST_NAMED else ""
    named = edit[:1] if more else edit
    typer.echo(
        f"Edit {', '.join(named)}{more}: every TODO is a task of the lab; {handout} explains them."
    )
    typer.echo(f"Then: {command()} check {lab} {shlex.quote(str(folder))}")


def starter(labs: Labs = None, check: Check = False) -> None:
    """For authors: renew starters and the quotations in handouts from the solutions in p4/."""
    from p4lab.command import command
    from p4lab.course.home import names
    from p4lab.course.labs import LabError, home
    from p4lab.course.marks import MarkError
    from p4lab.course.material import cuts

    drifted = False
    try:
        for lab in labs or names():
            for made in cuts(lab):
                if not made.drifted:
                    continue
                drifted = True
                shown = made.path.relative_to(home(lab).root)
                if check:
                    typer.echo(
                        f"{shown}: differs from the solution; run: {command()} starter {lab}"
                    )
                    continue
                made.path.parent.mkdir(parents=True, exist_ok=True)
                made.path.write_text(made.text, encoding="utf-8")
                typer.echo(f"{shown}: made again")
    except (LabError, MarkError) as error:
        fail(str(error))
    if check and drifted:
        raise typer.Exit(VERDICT_NO)
