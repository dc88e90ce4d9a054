"""`p4lab doctor`: what is missing on this machine, and the fix."""

from __future__ import annotations

import json
from dataclasses import asdict

import typer

from p4lab.cli.errors import VERDICT_NO
from p4lab.cli.options import Json

WORDS = {"ok": "[green]OK[/]", "missing": "[yellow]optional[/]", "broken": "[red]broken[/]"}


def doctor(as_json: Json = False) -> None:
    """Look at this machine: what p4lab needs, what is there, and one line on how to get the rest.

    Exits 1 if something is broken; what is missing but optional does not count. The JSON object has
    `findings`: each with name, state (ok, missing or broken), detail and fix.
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from p4lab.doctor import examine

    with Console(stderr=True).status("looking") as status:
        findings = list(examine(lambda what: status.update(f"{what} ...")))
    if as_json:
        typer.echo(json.dumps({"findings": [asdict(row) for row in findings]}, indent=2))
    else:
        table = Table(box=None, show_header=False)
        for row in findings:
            fix = "" if row.state == "ok" else f"\n[dim]{escape(row.fix)}[/]"
            table.add_row(WORDS[row.state], escape(row.name), escape(row.detail) + fix)
        Console().print(table)
    if any(row.state == "broken" for row in findings):
        raise typer.Exit(VERDICT_NO)
