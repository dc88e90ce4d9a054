"""`p4lab import`: an exercise with a starter and a solution becomes a lab."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from p4lab.cli.errors import fail
from p4lab.paths import ROOT

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="NAME.p4 and solution/NAME.p4.")]
Into = Annotated[
    Path | None,
    typer.Option("--into", metavar="COURSE", help="The course that gets it; else this checkout."),
]
Name = Annotated[
    str | None, typer.Option("--name", help="What the lab is called; else the folder's name.")
]
Seconds = Annotated[
    float, typer.Option("--seconds", min=1, max=600, help="Time to look for packets.")
]


def import_(folder: Folder, into: Into = None, name: Name = None, seconds: Seconds = 20.0) -> None:
    """Make a lab of an exercise in the form of p4lang/tutorials.

    Students write what the solution has and the starter has not. For each way that a packet can
    take through the solution there is a check, whose hidden cases draw all header fields that do
    not decide the way. What is written is for you to edit: docs/import.md.
    """
    try:
        from p4lab.adopt.lab import made, write  # heavy: bitwuzla, which need not be installed
    except ImportError as error:
        fail(f"`p4lab import` needs the Python package bitwuzla: {error}.")
    from p4lab.adopt.pair import AdoptError, read

    own = name or folder.resolve().name
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", own):
        fail(f"--name {own}: small letters, digits, - and _ make the name of a lab.")
    course = into or ROOT
    if (course / "labs" / own).exists():
        fail(f"{course / 'labs' / own} is there already; give the lab another name with --name.")
    try:
        lab = made(own, read(folder), seconds)
        write(lab, course)
    except AdoptError as error:
        fail(str(error))
    typer.echo(f"{course / 'labs' / own}: parts and their checks:")
    for part in lab.parts:
        checks = [way.id for way in lab.ways if way.parts[0] == part]
        typer.echo(f"  {part}: {', '.join(checks)}")
    typer.echo("Read docs/import.md before you hand it out.")
