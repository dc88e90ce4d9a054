"""`p4lab mutants LAB --generated`: mutants that nobody wrote, and what the checks make of them."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import typer

from p4lab.cli.errors import VERDICT_NO, fail
from p4lab.plurals import count_of

if TYPE_CHECKING:
    from p4lab.grading.generated import Fate, Mutant, Trial


def generated(lab: str, seed: int, seconds: float, as_json: bool) -> None:
    """Tries all of them and shows those that survive; exits 1 if there are any."""
    trial, found = tried(lab, seed, seconds)
    survivors = [(mutant, fate) for mutant, fate in found.items() if fate.survives]
    if as_json:
        counts: Counter[str] = Counter(fate.kind for fate in found.values())
        told = [_as_data(mutant, fate) for mutant, fate in found.items()]
        head: dict[str, Any] = {"lab": lab, "seed": trial.seed, **counts}
        typer.echo(json.dumps({**head, "mutants": told}, indent=2))
    else:
        for mutant, fate in survivors:
            typer.echo("\n".join(_told(mutant, fate)))
        typer.echo(summary(found))
    if survivors:
        raise typer.Exit(VERDICT_NO)


def tried(lab: str, seed: int, seconds: float) -> tuple[Trial, dict[Mutant, Fate]]:
    """All mutants of a lab with their fates, in the order of the text, while progress is shown."""
    from rich.console import Console  # heavy: rich, and the labs with their checks
    from rich.progress import track

    from p4lab.course.labs import LabError
    from p4lab.course.marks import MarkError
    from p4lab.grading.course import load
    from p4lab.grading.generated import Trial
    from p4lab.grading.trials import fates

    try:
        trial = Trial(load(lab), seed, seconds)
        shown = Console(stderr=True)
        coming = fates(trial, trial.mutants)
        count = len(trial.mutants)
        found = dict(track(coming, "trying mutants", count, console=shown, transient=True))
    except (LabError, MarkError) as error:
        fail(str(error))
    return trial, {mutant: found[mutant] for mutant in trial.mutants}


def summary(found: dict[Mutant, Fate]) -> str:
    """How many mutants came to what."""
    counts = Counter(fate.kind for fate in found.values())
    count = len(found) - counts["refused"] - counts["same"]
    return (
        f"{count_of(count, 'mutant')} tried: {counts['killed']} killed, "
        f"{counts['equal']} equal to the solution, {counts['apart']} told apart by other packets "
        f"only, {counts['undecided']} undecided"
    )


def _told(mutant: Mutant, fate: Fate) -> list[str]:
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


def _as_data(mutant: Mutant, fate: Fate) -> dict[str, Any]:
    place = {
        name: getattr(mutant, name) for name in ("file", "line", "operator", "title", "digest")
    }
    return {**place, **fate.to_json()}
