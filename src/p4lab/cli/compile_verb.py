"""`p4lab compile`: what the front end has to say about a program."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from p4lab import _engine
from p4lab.cli.errors import VERDICT_NO, fail
from p4lab.cli.explain_verb import pointer
from p4lab.cli.options import (
    Defines,
    IncludeDirs,
    Json,
    Program,
    existing_dirs,
    existing_file,
    split_defines,
    write_text,
)
from p4lab.command import command
from p4lab.engine import NO_MAIN
from p4lab.plurals import count_of

_NOT_DECLARED = "E0201"
_LARGEST = 1 << 20  # bytes of a file that is looked into

P4Info = Annotated[
    Path | None,
    typer.Option(
        "--p4info",
        metavar="FILE",
        help="Also write P4Info: as JSON if FILE ends in .json, otherwise as text.",
    ),
]

Bfrt = Annotated[
    Path | None,
    typer.Option(
        "--bfrt",
        metavar="FILE",
        help="Also write what a TNA program shows to BF Runtime, as bf-p4c's bf-rt.json.",
    ),
]

Lint = Annotated[
    str | None,
    typer.Option(
        "--lint",
        metavar="TARGETS",
        help="Also warn about what these would reject: bmv2, tofino, or both with a comma.",
    ),
]


def compile_program(
    program: Program,
    include: IncludeDirs = None,
    define: Defines = None,
    as_json: Json = False,
    p4info: P4Info = None,
    bfrt: Bfrt = None,
    lint: Lint = None,
) -> None:
    """Check a P4 program: prints errors and warnings, exits 1 if there is an error.

    The JSON object has `ok`, `program` (its path), `diagnostics` (each with severity, code,
    message, hint, file, line, column, end_line, end_column, labels). With `--p4info` and
    `--bfrt` also what only the control plane would stumble over is an error.
    """
    existing_file(program, "P4 program")
    dirs, macros = existing_dirs(include), split_defines(define)
    targets = [name.strip() for name in lint.split(",")] if lint else []
    try:
        result = _engine.compile(str(program), dirs, macros, lints=targets)
    except ValueError as error:
        fail(f"--lint: {error}.")
    diagnostics, ok = result.diagnostics, result.ok
    text = result.render(color=sys.stderr.isatty())
    if ok and (p4info is not None or bfrt is not None):
        refused = result.p4info_diagnostics
        diagnostics, ok = diagnostics + refused, not refused
        text += _refusal(result) if refused else ""
    if ok and p4info is not None:
        write_text(p4info, result.p4info(json=p4info.suffix == ".json"))
    if ok and bfrt is not None:
        try:
            write_text(bfrt, result.bfrt())
        except ValueError as error:
            fail(f"--bfrt: {error}.")
    if as_json:
        report = {
            "ok": ok,
            "program": str(program),
            "diagnostics": diagnostics,
        }
        typer.echo(json.dumps(report, indent=2))
    else:
        typer.echo(text + pointer(diagnostics), err=True, nl=False)
        typer.echo(_verdict(str(program), diagnostics))
        if any(one["code"] == _NOT_DECLARED for one in diagnostics) and (
            whole := _includes(program)
        ):
            again = f"{command()} compile {shlex.quote(str(whole))}"
            typer.echo(f"It is a part of {whole}. To check that: {again}")
        if result.ok and result.program is None:
            typer.echo(NO_MAIN)
    if not ok:
        raise typer.Exit(VERDICT_NO)


def _includes(part: Path) -> Path | None:
    """A program beside a file that includes it, if there is one."""
    line = re.compile(rf'^\s*#\s*include\s+"{re.escape(part.name)}"', re.MULTILINE)
    for path in sorted(part.parent.glob("*.p4")):
        try:
            if path.stat().st_size <= _LARGEST and line.search(path.read_text(errors="replace")):
                return path
        except OSError:
            continue
    return None


def _refusal(result: _engine.Compilation) -> str:
    """The diagnostics of a program that P4Info cannot describe, as text with its lines."""
    try:
        result.p4info()
    except ValueError as error:
        return str(error)
    raise AssertionError("P4Info describes what it refuses")


def _verdict(program: str, diagnostics: list[dict[str, Any]]) -> str:
    counts = []
    for severity in ("error", "warning"):
        number = sum(1 for diagnostic in diagnostics if diagnostic["severity"] == severity)
        if number:
            counts.append(count_of(number, severity))
    return f"{program}: {', '.join(counts) or 'no errors'}"
