"""`p4lab mutants`: a lab's graders, judged by answers that are known to be right or wrong."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from p4lab.cli.console import print_whole
from p4lab.cli.errors import VERDICT_NO, fail
from p4lab.cli.options import Json, Lab
from p4lab.plurals import count_of

if TYPE_CHECKING:
    from rich.table import Table

    from p4lab.grading.mutants import Row

Seed = Annotated[
    int, typer.Option("--seed", min=0, help="Seed of the hidden cases for right answers.")
]


Seconds = Annotated[
    float,
    typer.Option("--seconds", min=0.1, help="Seconds of the prover for each generated mutant."),
]
Generated = Annotated[
    bool, typer.Option("--generated", help="Try hundreds of generated mistakes instead.")
]


def mutants(
    lab: Lab,
    seed: Seed = 1,
    generated: Generated = False,
    seconds: Seconds = 10.0,
    as_json: Json = False,
) -> None:
    """For authors: judge the solution, its variants, the starter and the mutants of a lab.

    Exits 1 if a right answer loses points or a wrong one keeps those it must lose. The JSON object
    has lab, seed and answers; each answer has name, kind, points, max_points, breaks, failed,
    trouble and problem, which is empty if it is judged as it must be.
    """
    if generated:
        from p4lab.cli.generated import generated as try_generated

        return try_generated(lab, seed, seconds, as_json)
    from rich.console import Console  # heavy: rich, and the labs with their checks
    from rich.progress import track

    from p4lab.course.labs import LabError
    from p4lab.course.marks import MarkError
    from p4lab.grading.course import load
    from p4lab.grading.mutants import answers, rows

    try:
        course = load(lab)
        found = answers(course)
        judging = rows(course, found, seed)
        shown = Console(stderr=True)
        judged = list(track(judging, "judging", len(found), console=shown, transient=True))
    except (LabError, MarkError) as error:
        fail(str(error))
    problems = [row for row in judged if row.problem]
    if as_json:
        told = [as_data(row) for row in judged]
        typer.echo(json.dumps({"lab": lab, "seed": seed, "answers": told}, indent=2))
        raise typer.Exit(VERDICT_NO if problems else 0)
    print_whole(table(judged))
    for row in problems:
        typer.echo(f"{row.answer.name}: {row.problem}")
    wrong = sum(row.answer.kind == "mutant" for row in judged)
    judgings = count_of(len(judged), "answer")
    typer.echo(f"{judgings}, {wrong} of them wrong; {len(problems)} not judged right")
    if problems:
        raise typer.Exit(VERDICT_NO)


def as_data(row: Row) -> dict[str, Any]:
    """An answer and what the grader made of it."""
    return {
        "name": row.answer.name,
        "kind": row.answer.kind,
        "points": row.verdict.points,
        "max_points": row.verdict.max_points,
        "breaks": list(row.answer.breaks),
        "failed": list(row.failed),
        "trouble": row.verdict.trouble,
        "problem": row.problem,
    }


def table(judged: list[Row]) -> Table:
    """One line for each answer: its points, and the checks that it failed."""
    from rich.table import Table

    shown = Table("answer", "points", "fails", show_edge=False, pad_edge=False)
    for row in judged:
        failed = ", ".join(
            f"[bold]{name}[/]" if name in row.answer.breaks else name for name in row.failed
        )
        colour = "red" if row.problem else "green"
        name = f"[{colour}]{row.answer.name}[/]"
        shown.add_row(name, f"{row.verdict.points:g}", failed or row.verdict.trouble)
    return shown
