"""What the verbs share that let packets flow: the plan of a lab, and what is told meanwhile."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from p4lab.cli.errors import BAD_INPUT, fail, fail_in_file
from p4lab.cli.explain_verb import pointer
from p4lab.cli.options import existing_file, tell_undefined
from p4lab.cli.settings import settings_of
from p4lab.course.home import command
from p4lab.course.labs import LabError, load_plan
from p4lab.course.material import differing, is_older, student
from p4lab.engine import ProgramError
from p4lab.model.control import NumberError, RefusedError
from p4lab.model.run import Plan
from p4lab.network import NetworkError
from p4lab.topology import TopologyError


def plan_or_fail(ctx: typer.Context, lab: str, folder: Path | None, **wishes: Any) -> Plan:
    """The plan of a lab, with the program in a folder and what `load_plan` is asked for; status 2
    and the reason if there is none. `ctx` holds the options of the lab's system
    (p4lab.cli.settings)."""
    tell_undefined(wishes.get("undefined"))
    try:
        program = None
        if folder is not None:
            program = existing_file(folder / student(lab).program, "P4 program")
        return load_plan(lab, program=program, **wishes, **settings_of(ctx, lab))
    except LabError as error:
        fail(str(error))
    except TopologyError as error:
        fail_in_file(error)


def tell_of_given(lab: str, folder: Path | None) -> None:
    """Says which files of a folder are not judged as they have run, and if the lab is newer."""
    for name in differing(lab, folder) if folder else ():
        told = f"{name} differs from the starter's: check and grade use the starter's, not yours."
        typer.echo(told, err=True)
    if folder and is_older(lab, folder):
        typer.echo(newer(lab, folder), err=True)


def newer(lab: str, folder: Path) -> str:
    """What is said of a folder that was begun with an older form of its lab."""
    start = f"{command()} start {lab} {shlex.quote(str(folder))}"
    return f"{lab} has changed since you began. To get the changes and keep your work: {start}"


@contextmanager
def reporting() -> Iterator[Callable[[str], None]]:
    """Shows what is under way, and ends the verb with status 2 where it cannot be carried out."""
    from rich.console import Console  # heavy: rich

    try:
        with Console(stderr=True).status("starting") as status:
            yield lambda what: status.update(f"{what} ...")
    except (NetworkError, NumberError, RefusedError) as error:
        fail(str(error))
    except ProgramError as error:  # it shows the places itself
        typer.echo(str(error).rstrip() + "\n" + pointer(error.diagnostics), err=True, nl=False)
        raise typer.Exit(BAD_INPUT) from error
