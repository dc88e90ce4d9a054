"""`p4lab bench`: how fast the engine is here."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from p4lab.cli.options import Json

if TYPE_CHECKING:
    from p4lab.bench import Measure

Seconds = Annotated[
    float, typer.Option("--seconds", min=0.05, max=600, help="How long each measurement takes.")
]


def bench(seconds: Seconds = 1.0, as_json: Json = False) -> None:
    """Measure the engine on this machine: compiling, interpreting, forwarding, memory.

    The JSON object has `measures`: each with name, unit, value (null if it could not be measured),
    goal, at_most (the goal is an upper bound), met and note.
    """
    from rich.console import Console

    from p4lab.bench import measure

    with Console(stderr=True).status("starting") as status:
        measures = list(measure(seconds, lambda what: status.update(f"{what} ...")))
    if as_json:
        rows = [{**asdict(row), "met": row.met} for row in measures]
        typer.echo(json.dumps({"measures": rows}, indent=2))
    else:
        Console().print(_table(measures))


def _table(measures: list[Measure]):  # -> rich.table.Table, imported only here
    from rich.table import Table

    table = Table(box=None)
    table.add_column("what")
    for column in ("measured", "goal"):
        table.add_column(column, justify="right")
    table.add_column("")
    for row in measures:
        value = "-" if row.value is None else _number(row.value, row.unit)
        bound = "at most" if row.at_most else "at least"
        goal = "" if row.goal is None else f"{bound} {_number(row.goal, row.unit)}"
        verdict = {True: "met", False: "not met", None: row.note}[row.met]
        table.add_row(row.name, value, goal, verdict)
    return table


def _number(value: float, unit: str) -> str:
    digits = 0 if value >= 100 else 2
    return f"{value:,.{digits}f} {unit}".rstrip()
