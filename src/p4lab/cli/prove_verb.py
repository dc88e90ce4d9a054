"""`p4lab prove`: do two programs do the same with all packets?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from p4lab.cli.errors import VERDICT_NO, fail, no_file
from p4lab.cli.options import Defines, IncludeDirs, Json, existing_dirs, split_defines

if TYPE_CHECKING:
    from p4lab import _engine
    from p4lab.grading.course import Course
    from p4lab.prove.compare import Outcome

One = Annotated[str, typer.Argument(metavar="LAB|FILE", help="A lab, or the reference program.")]
Other = Annotated[
    Path,
    typer.Argument(metavar="DIR|FILE", help="The folder of a submission, or the other program."),
]
Seconds = Annotated[
    float, typer.Option("--seconds", min=0.1, help="Time of one core for all of it.")
]
Entries = Annotated[
    int | None, typer.Option("--entries", min=1, max=16, help="Most entries per table.")
]
Passes = Annotated[
    int | None, typer.Option("--passes", min=1, max=64, help="Most passes of a packet.")
]


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
    engine (exit status 1), or says that it could not be decided, or why they cannot be compared
    (status 2).

    The JSON object has verdict, why, bounds, stages and example; of a lab also check and story, the
    macros that decide (defines), and verdict and stages for each set of macros (settings).
    """
    try:
        import p4lab.prove.compare  # noqa: F401 # heavy: bitwuzla, which may be missing
    except ImportError:
        fail("bitwuzla is missing, which answers the prover's questions: pip install bitwuzla.")
    if one.endswith(".p4"):
        _of_files(
            Path(one), other, existing_dirs(include), define, seconds, entries, passes, as_json
        )
    if include or define:
        fail("-I and -D are for two files; a lab says by itself how it is compiled.")
    _of_lab(one, other, seconds, entries, passes, as_json)


def _end(verdict: str) -> NoReturn:
    status = {"equal": 0, "different": VERDICT_NO}.get(verdict, 2)
    raise typer.Exit(status)


# ---- A submission -------------------------------------------------------------------------------


def _of_lab(
    lab: str, folder: Path, seconds: float, entries: int | None, passes: int | None, as_json: bool
) -> NoReturn:
    from rich.console import Console

    from p4lab.course.labs import LabError
    from p4lab.grading.apart import examine_apart, read_apart
    from p4lab.grading.course import load
    from p4lab.grading.known import wanted
    from p4lab.grading.sandbox import Limits

    try:
        course = load(lab)
        if not course.is_p4:
            fail(f"{lab} has no P4 program: its policies are measured, and nothing is proven.")
        found = read_apart(folder, wanted(course), Limits())
        if found.trouble:
            fail(f"{folder}: {found.trouble}")
        waiting = Console(stderr=True).status("proving")
        shown = examine_apart(
            course, found.files, seconds, Limits(), waiting, entries=entries, passes=passes
        )
    except LabError as error:
        fail(str(error))
    if "fault" in shown:
        fail(f"{folder}: {shown['fault'].rstrip('.')}.")
    if as_json:
        typer.echo(json.dumps({k: v for k, v in shown.items() if k != "covered"}, indent=2))
    else:
        _tell_of_lab(course, shown, seconds)
    _end(shown["verdict"])


def _tell_of_lab(course: Course, shown: dict[str, Any], seconds: float) -> None:
    from rich.console import Console

    from p4lab.grading.record import story_of
    from p4lab.grading.text import story

    if shown["story"] is None:
        typer.echo("\n".join(_without_example(shown, seconds, "your program and the reference")))
        return
    title = next(check.title for check in course.checks if check.id == shown["check"])
    typer.echo("Different: your program does something else with a packet than it should.")
    typer.echo(f"It belongs to the check: {title}\n")
    Console(emoji=False).print(story(story_of(shown["story"])))


def _without_example(shown: dict[str, Any], seconds: float, both: str) -> Iterator[str]:
    """Nothing was found that differs: all there is to say."""
    if shown["verdict"] == "equal":
        yield f"Equal: within these bounds, {both} send the same, whatever packet comes in."
        yield from (f"  {bound}" for bound in shown["bounds"].split("; "))
    elif shown["verdict"] == "different":
        yield "Different, but only in what no check looks at."
    else:
        yield f"Not decided: {shown['why']}. Nothing was found that differs."
        if "time" in shown["why"]:
            yield f"It had {seconds:g} s of one core; --seconds gives it more."
    yield "Compared:"
    yield from (f"  {line}" for line in shown["covered"])


# ---- Two files ----------------------------------------------------------------------------------


def _of_files(
    one: Path,
    other: Path,
    dirs: list[str],
    define: list[str] | None,
    seconds: float,
    entries: int | None,
    passes: int | None,
    as_json: bool,
) -> NoReturn:
    from rich.console import Console  # heavy: rich

    from p4lab.engine import ProgramError, load_program
    from p4lab.prove import told
    from p4lab.prove.compare import Bounds, compare

    pairs = split_defines(define)
    for path in (one, other):
        if not path.is_file():
            no_file(path, "P4 program")
    bounds = Bounds()
    bounds = replace(bounds, entries=entries or bounds.entries, passes=passes or bounds.passes)
    try:
        reference, student = (load_program(path, pairs, dirs) for path in (one, other))
    except ProgramError as error:
        fail(str(error))
    try:
        with Console(stderr=True).status("proving"):
            outcome = compare(reference, student, bounds, seconds)
    except ValueError as error:
        fail(f"the programs cannot be compared: {error}.")
    shown = told.as_json(outcome)
    if as_json:
        typer.echo(json.dumps(shown, indent=2))
    elif outcome.example is None:
        shown["covered"] = list(told.covered(outcome))
        typer.echo("\n".join(_without_example(shown, seconds, "both programs")))
    else:
        typer.echo("\n".join(_example(reference, student, outcome)))
    _end(outcome.verdict)


def _example(
    reference: _engine.Program, student: _engine.Program, outcome: Outcome
) -> Iterator[str]:
    from p4lab.grading.found import packets, steps

    example = outcome.example
    assert example is not None
    yield "Different: here is a packet that tells them apart."
    yield from (f"  {step}" for step in steps(reference, example))
    programs = (("the first", reference), ("the second", student))
    for (name, program), sent in zip(programs, example.sent, strict=True):
        for line in packets(program, sent) or ["nothing"]:
            yield f"  {name} program sends {line}"
    if example.is_endless:
        yield "  the second program sends it around for ever"
    for register, index in example.cells:
        yield f"  afterwards {register}[{index}] is another number"
    for counter, index in example.counts:
        yield f"  afterwards {counter}[{index}] has counted other packets"
    if example.undefined is not None:
        yield "  the second program reads what P4 leaves undefined: it holds noise here"
