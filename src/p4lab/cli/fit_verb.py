"""`p4lab fit`: does a program fit the stages of a Tofino 1?"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from p4lab.cli.errors import VERDICT_NO, fail
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
from p4lab.fit import TruthMissing, estimate_file, read_truth
from p4lab.fit.svg import drawing
from p4lab.fit.terminal import chart

Svg = Annotated[
    Path | None,
    typer.Option("--svg", metavar="FILE", help="Also draw the stages into FILE."),
]
Compiled = Annotated[
    Path | None,
    typer.Option(
        "--compiled",
        metavar="DIR",
        help="bf-p4c's output folder for this program, to compare its numbers.",
    ),
]


def fit(
    program: Program,
    include: IncludeDirs = None,
    define: Defines = None,
    as_json: Json = False,
    svg: Svg = None,
    compiled: Compiled = None,
) -> None:
    """Estimate whether a program fits a Tofino 1: stages, memory, latency (docs/fit.md).

    Exits 1 if it does not. The JSON object has `program`, `architecture`, `fits`, `caveats`,
    `pipes` (each with `gresses`, `stages`, `lower_bound`, `fits`) and, with `--compiled`, `truth`.
    """
    existing_file(program, "P4 program")
    try:
        estimate = estimate_file(program, existing_dirs(include), split_defines(define))
    except ValueError as error:
        typer.echo(str(error).rstrip("\n"), err=True)
        raise typer.Exit(VERDICT_NO) from error
    try:
        truth = read_truth(compiled) if compiled else None
    except TruthMissing as error:
        fail(str(error))
    if svg:
        write_text(svg, drawing(estimate))
    if as_json:
        report = estimate.to_dict()
        if truth:
            report["truth"] = asdict(truth)
        typer.echo(json.dumps(report, indent=2))
    else:
        from rich.console import Console  # heavy: rich

        console = Console(highlight=False, soft_wrap=True)
        console.print(chart(estimate, truth))
    if not estimate.fits:
        raise typer.Exit(VERDICT_NO)
