"""`p4lab doctor`: what is missing on this machine, and the fix."""

from __future__ import annotations

import json
from dataclasses import asdict

import typer

import p4lab.doctor
from p4lab.cli.errors import VERDICT_NO
from p4lab.cli.options import Json

COLOURS = {"ok": "green", "missing": "yellow", "broken": "red"}


def doctor(as_json: Json = False) -> None:
    """Look at this machine: what p4lab needs, what is there, and one line on how to get the rest.

    Exits 1 if something is broken; what is missing but optional does not count. The JSON object has
    `findings`: each with name, state (ok, missing or broken), detail and fix.
    """
    from rich.console import Console  # heavy: rich

    with Console(stderr=True).status("looking") as status:
        probes = p4lab.doctor.all_probes()
        findings = list(p4lab.doctor.examine(probes, lambda what: status.update(f"{what} ...")))
    if as_json:
        typer.echo(json.dumps({"findings": [asdict(row) for row in findings]}, indent=2))
    else:
        for state, line in p4lab.doctor.lines(findings):
            if state is None:
                typer.echo(typer.style(line, dim=True))
            else:
                typer.echo(typer.style(line[:8], fg=COLOURS[state]) + line[8:])
    if any(row.state == "broken" for row in findings):
        raise typer.Exit(VERDICT_NO)
