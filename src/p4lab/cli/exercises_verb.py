"""`p4lab exercises`: whether the exercises of a checkout behave here as they are taught."""

from __future__ import annotations

import json
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
from p4lab.exercise.scoreboard import Row, Version
from p4lab.exercise.taught import TUTORIALS, Taught, read_taught

if TYPE_CHECKING:
    from rich.console import RenderableType

Checkout = Annotated[Path, typer.Argument(metavar="DIR", help="A checkout of p4lang/tutorials.")]
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
    known = [folder.name for folder in folders]
    for name in only or ():
        if name not in known:
            fail(f"{checkout} has no exercise {name}; it has {', '.join(known) or 'none'}.")
    if not folders:
        fail(f"{checkout} has no folder with a topology.json and a solution.")
    try:
        taught = read_taught(checks or TUTORIALS)
        wanted = [folder for folder in folders if not only or folder.name in only]
        linux_hosts()
        rows = _rows(wanted, taught)
    except ExerciseError as error:
        fail(str(error))
    ok = all(row.ok for row in rows)
    if as_json:
        typer.echo(json.dumps({"ok": ok, "exercises": [_json(row) for row in rows]}, indent=2))
    else:
        print_whole(*_report(rows))
    if not ok:
        raise typer.Exit(VERDICT_NO)


def _rows(folders: list[Path], taught: dict[str, Taught]) -> list[Row]:
    with reporting() as say, scoreboard.apart():
        wanted = {one.name: taught[one.name] for one in folders if one.name in taught}
        scoreboard.check_tools(wanted)
        return [scoreboard.score(folder, wanted.get(folder.name), say) for folder in folders]


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
