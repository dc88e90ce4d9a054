"""`p4lab bench`: how fast the engine is here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from p4lab.bench import Measure, Say, describe, measure_all
from p4lab.cli.console import print_whole
from p4lab.cli.options import Json
from p4lab.notebook.pace import saving

if TYPE_CHECKING:
    from rich.table import Table  # heavy: only those who print need it


class What(str, Enum):
    """What is measured."""

    engine = "engine"
    engines = "engines"
    grade = "grade"
    scale = "scale"
    fabric = "fabric"
    notebook = "notebook"
    classroom = "class"


Only = Annotated[
    What,
    typer.Argument(
        metavar="[WHAT]",
        help="engine; engines: native code next to the interpreter; grade: a class of 300; scale: "
        "large networks in virtual time; fabric: 640 ports of 100 Gb/s; notebook: from a save to "
        "the new picture; class: a server with students who check.",
        show_choices=False,
    ),
]
Seconds = Annotated[
    float, typer.Option("--seconds", min=0.05, max=600, help="How long each measurement takes.")
]
Students = Annotated[
    int | None,
    typer.Option("--students", min=1, max=1000, help="Of a class; default: 20 for each core."),
]


def bench(
    what: Only = What.engine,
    seconds: Seconds = 1.0,
    students: Students = None,
    as_json: Json = False,
) -> None:
    """Measure the engine on this machine: compiling, processing, forwarding, memory; or its two
    engines, the interpreter and native code, on BIER and MSR6; or grading; or networks in virtual
    time of up to 1,000 switches, next to ns-3; or a fabric of 640 ports; or JupyterLab, if Chromium
    is there; or a class's server, as root.

    What is measured and how: docs/speed.md. The JSON object has `machine` (processor, cores,
    kernel, load: programs that were busy before) and `measures`: each with group, name, unit, value
    (the median, null if it could not be measured), least, most, goal, at_most (the goal is an upper
    bound), met and note.
    """
    from rich.console import Console  # heavy: rich

    machine = describe()
    with Console(stderr=True).status("starting") as status:
        say = lambda now: status.update(f"{now} ...")  # noqa: E731
        measures = list(_measured(what, seconds, students, say))
    if as_json:
        rows = [{**asdict(row), "met": row.met} for row in measures]
        typer.echo(json.dumps({"machine": asdict(machine), "measures": rows}, indent=2))
    else:
        console = Console(emoji=False)
        console.print(str(machine), highlight=False)
        print_whole(_table(measures))


def _measured(what: What, seconds: float, students: int | None, say: Say) -> Iterator[Measure]:
    """The measures of the engine end with what a student waits for after a save."""
    if what == What.classroom:
        from p4lab.classroom.load import class_load  # heavy: tornado

        yield from class_load(say, students)
        return
    if what != What.notebook:
        yield from measure_all(what.value, seconds, say)
    if what in (What.engine, What.notebook):
        yield from saving(seconds, say)


def _table(measures: list[Measure]) -> Table:
    from rich.table import Table

    table = Table(box=None)
    # No column wraps: a row is a line, also in a pipe that says nothing of its width.
    table.add_column("what", no_wrap=True)
    for column in ("median", "least", "most", "goal"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    group = ""
    for row in measures:
        if row.group != group:
            group = row.group
            table.add_section()
            table.add_row(f"[bold]{group}[/bold]")
        bound = "at most" if row.at_most else "at least"
        goal = "" if row.goal is None else f"{bound} {_number(row.goal, row.unit)}"
        figures = [_number(value, row.unit) for value in (row.value, row.least, row.most)]
        verdict = {True: "met", False: "not met", None: row.note}[row.met]
        table.add_row(f"  {row.name}", *figures, goal, verdict)
    return table


def _number(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    digits = 0 if value >= 100 else 2
    return f"{value:,.{digits}f} {unit}".rstrip()
