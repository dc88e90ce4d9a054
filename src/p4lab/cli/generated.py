"""`p4lab mutants LAB --generated`: mutants that nobody wrote, and what the checks make of them."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import typer

from p4lab.cli.errors import VERDICT_NO, fail


def generated(lab: str, seed: int, as_json: bool) -> None:
    """Tries all of them and shows those that survive; exits 1 if there are any."""
    from rich.console import Console  # heavy: rich, and the labs with their checks
    from rich.progress import track

    from p4lab.course.labs import LabError
    from p4lab.course.marks import MarkError
    from p4lab.grading.course import load
    from p4lab.grading.generated import Fate, Mutant, Trial
    from p4lab.grading.trials import fates

    try:
        trial = Trial(load(lab), seed)
        coming = fates(trial, trial.mutants)
        shown = Console(stderr=True)
        count = len(trial.mutants)
        found: dict[Mutant, Fate] = dict(
            track(coming, "trying mutants", count, console=shown, transient=True)
        )
    except (LabError, MarkError) as error:
        fail(str(error))
    ordered = [(mutant, found[mutant]) for mutant in trial.mutants]
    survivors = [(mutant, fate) for mutant, fate in ordered if fate.survives]
    counts = Counter(fate.kind for _, fate in ordered)
    if as_json:
        told = [_as_data(mutant, fate) for mutant, fate in ordered]
        typer.echo(json.dumps({"lab": lab, "seed": seed, **counts, "mutants": told}, indent=2))
    else:
        for mutant, fate in survivors:
            typer.echo("\n".join(_told(mutant, fate)))
        tried = len(ordered) - counts["refused"] - counts["same"]
        typer.echo(
            f"{tried} mutants tried: {counts['killed']} killed, {counts['equal']} proven equal, "
            f"{counts['apart']} told apart by other packets only, {counts['undecided']} undecided"
        )
    if survivors:
        raise typer.Exit(VERDICT_NO)


def _told(mutant: Any, fate: Any) -> list[str]:
    """A survivor in a few lines."""
    lines = [f"{mutant}  [{mutant.digest}]"]
    if fate.kind == "undecided":
        return [*lines, f"  not decided: {fate.why}"]
    if fate.example is None:
        return [*lines, f"  told apart by the case {fate.seed} of {fate.check}"]
    example = fate.example
    lines.append(f"  in   port {example['port']}: {example['packet']}")
    lines += [f"  with {update}" for update in example["updates"]]
    lines += [f"  afterwards {name}[{index}] is another number" for name, index in example["cells"]]
    for name, sent in zip(("solution", "mutant"), example["sent"], strict=True):
        packets = [f"port {port}: {data}" for port, data in sent] or ["nothing"]
        lines += [f"  out  {name}: {packet}" for packet in packets]
    return lines


def _as_data(mutant: Any, fate: Any) -> dict[str, Any]:
    place = {name: getattr(mutant, name) for name in ("file", "line", "operator", "title", "digest")}
    return {**place, **fate.to_json()}
