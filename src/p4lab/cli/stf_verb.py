"""`p4lab stf`: packets in, packets out, judged by a script."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from p4lab import _engine
from p4lab.cli.errors import BAD_INPUT, VERDICT_NO, fail
from p4lab.cli.explain_verb import pointer
from p4lab.cli.options import (
    Bmv2Compat,
    Defines,
    IncludeDirs,
    Json,
    Program,
    Undefined,
    existing_dirs,
    existing_file,
    split_defines,
    tell_undefined,
)
from p4lab.engine import NO_MAIN
from p4lab.scripts import defines_of

Tests = Annotated[list[Path], typer.Argument(metavar="TEST.stf...", help="The scripts to run.")]
Lax = Annotated[
    bool,
    typer.Option(
        "--lax", help="Judge as p4c's runner does: prefixes pass, other ports are ignored."
    ),
]


def stf(
    program: Program,
    tests: Tests,
    include: IncludeDirs = None,
    define: Defines = None,
    lax: Lax = False,
    bmv2_compat: Bmv2Compat = False,
    undefined: Undefined = None,
    as_json: Json = False,
) -> None:
    """Run Simple Test Framework scripts on a program; exits 1 if one fails.

    Scripts may hold lines of simple_switch_CLI, and be records of sessions with it. A script whose
    first line is `# defines: NAME=VALUE ...` has the program compiled with these; -D wins.

    The JSON object has `ok`, `program`, `mode` and `tests`. Each test has script, passed,
    packets_sent, packets_received, findings (line, column, kind, passed, message, difference) and
    notes (line, column, message). A difference has port, expected and received (hexadecimal),
    bytes (indices that differ) and cause (line of the packet).
    """
    existing_file(program, "P4 program")
    for test in tests:
        existing_file(test, "STF script")
    tell_undefined(undefined)

    given = {name for name, _ in split_defines(define)}
    programs: dict[tuple[str, ...], _engine.Program] = {}
    reports, readable = [], True
    for test in tests:
        own = [f"{name}={value}" for name, value in defines_of(test) if name not in given]
        if (key := tuple(own)) not in programs:
            compiled = compile_or_fail(program, include, [*own, *(define or ())], bmv2_compat)
            if undefined is not None:
                compiled = compiled.with_undefined(undefined)
            programs[key] = compiled
        try:
            report = _engine.stf(programs[key], str(test), lax=lax)
        except (OSError, ValueError) as error:
            fail(f"{test}: {error}")
        readable &= not report["unreadable"]
        reports.append(report)
        if not as_json:
            typer.echo(report.pop("text"), nl=False)
    ok = all(report["passed"] for report in reports)
    if as_json:
        typer.echo(json.dumps(_json(program, lax, ok, reports), indent=2))
    elif len(reports) > 1:
        passed = sum(report["passed"] for report in reports)
        typer.echo(f"{passed} passed, {len(reports) - passed} failed")
    if not readable:
        raise typer.Exit(BAD_INPUT)
    if not ok:
        raise typer.Exit(VERDICT_NO)


def _json(program: Path, lax: bool, ok: bool, reports: list[dict[str, Any]]) -> dict[str, Any]:
    tests = [{k: v for k, v in report.items() if k != "text"} for report in reports]
    mode = "lax" if lax else "strict"
    return {"ok": ok, "program": str(program), "mode": mode, "tests": tests}


def compile_or_fail(
    program: Path,
    include: list[Path] | None,
    define: list[str] | None,
    bmv2_compat: bool = False,
) -> _engine.Program:
    """The program ready to run; its diagnostics and status 2 where it has errors."""
    dirs, macros = existing_dirs(include), split_defines(define)
    result = _engine.compile(str(program), dirs, macros, bmv2_compat=bmv2_compat)
    if result.program is None:
        text = result.render(color=sys.stderr.isatty())
        typer.echo(text + pointer(result.diagnostics), err=True, nl=False)
        if result.ok:
            fail(f"{program}: {NO_MAIN}")
        fail(f"{program} does not compile, so there is nothing to run.")
    return result.program
