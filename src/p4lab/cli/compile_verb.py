"""`p4lab compile`: what the front end has to say about a program."""

from __future__ import annotations

import json
import sys

import typer

from p4lab.cli.errors import VERDICT_NO
from p4lab.cli.options import (
    Defines,
    IncludeDirs,
    Json,
    Program,
    existing_dirs,
    existing_file,
    split_defines,
)


def compile_program(
    program: Program,
    include: IncludeDirs = None,
    define: Defines = None,
    as_json: Json = False,
) -> None:
    """Check a P4 program: prints errors and warnings, exits 1 if there is an error.

    The JSON object has `ok`, `program` (its path), `diagnostics` (each with severity, code,
    message, hint, file, line, column, end_line, end_column, labels).
    """
    existing_file(program, "P4 program")
    from p4lab import _engine

    result = _engine.compile(str(program), existing_dirs(include), split_defines(define))
    if as_json:
        report = {
            "ok": result.ok,
            "program": str(program),
            "diagnostics": result.diagnostics,
        }
        typer.echo(json.dumps(report, indent=2))
    else:
        typer.echo(result.render(color=sys.stderr.isatty()), err=True, nl=False)
        typer.echo(_verdict(str(program), result.diagnostics))
    if not result.ok:
        raise typer.Exit(VERDICT_NO)


def _verdict(program: str, diagnostics: list[dict]) -> str:
    counts = []
    for severity in ("error", "warning"):
        number = sum(1 for diagnostic in diagnostics if diagnostic["severity"] == severity)
        if number:
            counts.append(f"{number} {severity}{'s' if number > 1 else ''}")
    return f"{program}: {', '.join(counts) or 'no errors'}"
