"""`p4lab strengthen`: packets that told mutants from the solution become cases of checks."""

from __future__ import annotations

from typing import Annotated

import typer

from p4lab.cli.errors import VERDICT_NO, fail
from p4lab.cli.mutants_verb import Seconds
from p4lab.cli.options import Lab

Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the hidden cases.")]


def strengthen(lab: Lab, seed: Seed = 1, seconds: Seconds = 10.0) -> None:
    """For authors: write cases for generated mutants that the checks of a lab let through.

    Tries the mutants as `p4lab mutants LAB --generated` does. The packet that tells a survivor
    from the solution becomes a file below labs/LAB/checks/found, in the check that fits: the
    mutant fails it, and right answers pass. Exits 1 if a mutant is left that is not equal to the
    solution.
    """
    from p4lab.cli.generated import summary, tried  # heavy: the labs with their checks
    from p4lab.course.labs import LabError
    from p4lab.grading.strengthen import Left, Strengthening, Written

    trial, found = tried(lab, seed, seconds)
    typer.echo(summary(found))
    undecided = [mutant for mutant, fate in found.items() if fate.kind == "undecided"]
    left = [f"{mutant}  [{mutant.digest}]: not decided" for mutant in undecided]
    try:
        for outcome in Strengthening(trial, found).run():
            if isinstance(outcome, Written):
                typer.echo(f"labs/{lab}/{outcome.file}")
            elif isinstance(outcome, Left):
                left.append(f"{outcome.mutant}  [{outcome.mutant.digest}]: {outcome.why}")
    except LabError as error:
        fail(str(error))
    for line in left:
        typer.echo(line)
    if left:
        raise typer.Exit(VERDICT_NO)
