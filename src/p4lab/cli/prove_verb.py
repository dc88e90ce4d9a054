"""`p4lab prove`: do two programs do the same with all packets?"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from p4lab.cli.errors import VERDICT_NO, fail, no_file
from p4lab.cli.options import Defines, IncludeDirs, Json, existing_dirs, split_defines

if TYPE_CHECKING:
    from p4lab.prove.compare import Outcome

One = Annotated[str, typer.Argument(metavar="LAB|FILE", help="A lab, or the reference program.")]
Other = Annotated[
    Path,
    typer.Argument(metavar="DIR|FILE", help="The folder of a submission, or the other program."),
]
Seconds = Annotated[float, typer.Option("--seconds", min=0.1, help="Time for all of it.")]
Entries = Annotated[int | None, typer.Option("--entries", min=1, help="Entries per table.")]
Passes = Annotated[int | None, typer.Option("--passes", min=1, help="Passes of a packet.")]


def prove(
    one: One,
    other: Other,
    include: IncludeDirs = None,
    define: Defines = None,
    seconds: Seconds = 10.0,
    entries: Entries = None,
    passes: Passes = None,
    as_json: Json = False,
) -> None:
    """Compare two programs for all packets within bounds, by proof and not by samples.

    Says that they are equal, or shows a packet that tells them apart, which was replayed on the
    engine (exit status 1), or says that it could not be decided (status 2). The JSON object has
    `verdict`, `why`, `stages` and `example`.
    """
    try:
        from p4lab.prove.compare import compare  # heavy: the solver, which may be missing
    except ImportError:
        fail("bitwuzla is missing, which answers the prover's questions: pip install bitwuzla.")
    reference, student, bounds = _programs(one, other, existing_dirs(include), define)
    bounds = replace(bounds, entries=entries or bounds.entries, passes=passes or bounds.passes)
    try:
        outcome = compare(reference, student, bounds, seconds)
    except ValueError as error:
        fail(f"the programs cannot be compared: {error}.")
    typer.echo(json.dumps(_as_json(outcome), indent=2) if as_json else _text(outcome))
    if outcome.verdict != "equal":
        raise typer.Exit(VERDICT_NO if outcome.verdict == "different" else 2)


def _programs(one: str, other: Path, dirs: list[str], define: list[str] | None) -> Any:
    """Both programs, and the bounds."""
    from p4lab.prove.compare import Bounds

    if one.endswith(".p4"):
        from p4lab.engine import ProgramError, load_program

        pairs = split_defines(define)
        for path in (Path(one), other):
            if not path.is_file():
                no_file(path, "P4 program")
        try:
            programs = [load_program(path, pairs, dirs) for path in (one, other)]
        except ProgramError as error:
            fail(str(error))
        return (*programs, Bounds())
    from p4lab.course.labs import LabError
    from p4lab.grading.proofs import ProofError, programs_of

    try:
        return programs_of(one, other)
    except (LabError, ProofError) as error:
        fail(str(error))


def _text(outcome: Outcome) -> str:
    from p4lab.prove.compare import describe_bounds

    lines = []
    if outcome.verdict == "equal":
        passes = "any number of passes" if outcome.is_for_all_journeys else "so many passes"
        bounds = describe_bounds(outcome.bounds, outcome.stages)
        lines.append(f"equal within these bounds, with {passes}: {bounds}")
    elif outcome.example is not None:
        example = outcome.example
        lines.append("different: this packet tells them apart")
        lines.append(f"  in   port {example.port}: {example.packet.hex()}")
        lines += [f"  with {update}" for update in example.updates]
        if example.is_endless:
            lines.append("  the other program sends it around for ever")
        if example.now:
            lines.append(f"  at   {example.now} ps")
        for register, index in example.cells:
            lines.append(f"  afterwards {register}[{index}] is another number")
        if example.passes[0] != example.passes[1]:
            own, theirs = example.passes
            lines.append(f"  packets come back {theirs} times, with the reference {own} times")
        for name, sent in zip(("reference", "other"), example.sent, strict=True):
            for port, data in sent or [(None, b"")]:
                what = "nothing" if port is None else f"port {port}: {data.hex()}"
                lines.append(f"  out  {name}: {what}")
    else:
        lines.append(f"not decided: {outcome.why}")
    for stage in outcome.stages:
        state = "covered" if stage.is_whole else "begun"
        given_up = sum(stage.beyond.values())
        lines.append(
            f"  {stage.leg}, {stage.entries} entries, {stage.passes} passes: {state}, "
            f"{stage.paths} paths, {given_up} beyond the bounds, {stage.questions} questions"
        )
    return "\n".join(lines)


def _as_json(outcome: Outcome) -> dict[str, Any]:
    shown: dict[str, Any] = {"verdict": outcome.verdict, "why": outcome.why}
    shown["stages"] = [vars(stage) for stage in outcome.stages]
    example = outcome.example
    shown["example"] = example and {
        "port": example.port,
        "packet": example.packet.hex(),
        "now": example.now,
        "updates": example.updates,
        "sent": [[(port, data.hex()) for port, data in sent] for sent in example.sent],
    }
    return shown
