"""`p4lab exercises`: whether the exercises of a checkout behave here as they are taught."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from p4lab.cli.console import print_whole
from p4lab.cli.errors import VERDICT_NO, fail
from p4lab.cli.hosts import linux_hosts
from p4lab.cli.options import Json
from p4lab.cli.running import reporting
from p4lab.exercise import scoreboard
from p4lab.exercise.files import ExerciseError
from p4lab.exercise.p4app import files_of
from p4lab.exercise.scoreboard import Row, Version
from p4lab.exercise.taught import P4_LEARNING, TUTORIALS, Taught, read_taught
from p4lab.network import namespace

if TYPE_CHECKING:
    from rich.console import RenderableType

Checkout = Annotated[
    Path,
    typer.Argument(metavar="DIR", help="A checkout of p4lang/tutorials or nsg-ethz/p4-learning."),
]
Only = Annotated[
    list[str] | None,
    typer.Option("--only", metavar="NAME", help="This exercise; several times for several."),
]
Checks = Annotated[
    Path | None,
    typer.Option("--checks", metavar="FILE", help="Your own checks (docs/tutorials.md)."),
]


def exercises(
    checkout: Checkout, only: Only = None, checks: Checks = None, as_json: Json = False
) -> None:
    """A scoreboard: does each exercise's solution behave here as it is taught, and does its starter
    not? Exits 0 if all do or have a reason not to.

    Runs every exercise twice on Linux hosts, which takes some minutes.

    The JSON object has ok and exercises (name, ok, exception, complaints, solution and starter,
    each with passed, checks and refused).
    """
    if not checkout.is_dir():
        fail(f"{checkout}: no such folder; give the path from the folder you are in.")
    folders = scoreboard.exercises_of(checkout)
    for name in only or ():
        if name not in folders:
            fail(f"{checkout} has no exercise {name}; it has {', '.join(folders) or 'none'}.")
    if not folders:
        fail(f"{checkout} has no folder with a topology.json or p4app.json and a solution.")
    try:
        taught = read_taught(checks or _usual(folders.values()))
        wanted = {name: place for name, place in folders.items() if not only or name in only}
        linux_hosts()
        rows = _rows(checkout, wanted, taught)
    except ExerciseError as error:
        fail(str(error))
    ok = all(row.ok for row in rows)
    if as_json:
        typer.echo(json.dumps({"ok": ok, "exercises": [_json(row) for row in rows]}, indent=2))
    else:
        print_whole(*_report(rows))
    if not ok:
        raise typer.Exit(VERDICT_NO)


def _usual(folders: Iterable[Path]) -> Path:
    """Our checks for the course that these are from."""
    return P4_LEARNING if any(map(files_of, folders)) else TUTORIALS


def _rows(checkout: Path, folders: dict[str, Path], taught: dict[str, Taught]) -> list[Row]:
    utils = scoreboard.place_of(checkout).parent / "utils"
    found = utils if utils.is_dir() else None
    with reporting() as say, namespace.apart():
        scoreboard.check_tools({name: taught[name] for name in folders if name in taught})
        return [
            scoreboard.score(name, folder, taught.get(name), say, found)
            for name, folder in folders.items()
        ]


def _json(row: Row) -> dict[str, object]:
    return {
        "name": row.name,
        "ok": row.ok,
        "exception": row.taught.exception if row.taught else None,
        "complaints": row.complaints,
        "solution": _version(row.solution),
        "starter": _version(row.starter),
    }


def _version(version: Version) -> dict[str, object]:
    return {
        "passed": version.passed,
        "checks": [
            {"name": one.check.name, "passed": one.passed, "told": one.told}
            for one in version.outcomes
        ],
        "refused": version.refused,
    }


def _report(rows: list[Row]) -> list[RenderableType]:
    from rich.table import Table  # heavy: rich
    from rich.text import Text

    table = Table(title="exercises", title_style="bold")
    for name in ("exercise", "solution", "starter", "as taught"):
        table.add_column(name)
    for row in rows:
        verdict = "[green]yes[/]" if not row.complaints else "[red]no[/]"
        if row.complaints and row.ok:
            verdict = "excepted"
        table.add_row(row.name, _cell(row.solution), _cell(row.starter), verdict)
    told = [Text(f"{row.name}: {complaint}.") for row in rows for complaint in row.complaints]
    told += [
        Text(f"{row.name} is excepted: {row.taught.exception}")
        for row in rows
        if row.complaints and row.taught and row.taught.exception
    ]
    count = sum(not row.complaints for row in rows)
    return [table, *told, Text(f"{count} of {len(rows)} exercises behave as taught")]


def _cell(version: Version) -> str:
    if version.refused:
        return "does not run"
    return f"{version.passed} of {len(version.outcomes)}" if version.outcomes else "·"
