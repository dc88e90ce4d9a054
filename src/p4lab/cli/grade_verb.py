"""`p4lab grade`: a folder of submissions, judged and reported."""

from __future__ import annotations

import os
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from p4lab.cli.errors import fail, fail_at

if TYPE_CHECKING:
    from p4lab.grading.writers.layout import Graded


class Format(str, Enum):
    """What can be written beside the reports."""

    gradescope = "gradescope"
    prairielearn = "prairielearn"
    junit = "junit"


Lab = Annotated[str, typer.Argument(metavar="LAB", help="The lab, such as 01-bier.")]
Folder = Annotated[
    Path,
    typer.Argument(
        metavar="FOLDER",
        help="The submissions: a folder, a zip or a .p4 file each, named by student.",
    ),
]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Results go here; else grades-LAB.")
]
SeedFile = Annotated[
    Path | None,
    typer.Option(
        "--seed-file",
        metavar="FILE",
        help="The secret that hidden cases are drawn from, made if there is none; else LAB.seed.",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", metavar="N", min=0, help="This seed instead, which others may know."),
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", metavar="N", min=1, max=256, help="Processes; else one per core."),
]
Dask = Annotated[
    str | None,
    typer.Option("--dask", metavar="ADDRESS", help="Judge on a Dask cluster: its scheduler."),
]
Formats = Annotated[
    list[Format] | None, typer.Option("--format", help="Also write this; may be repeated.")
]
Reveal = Annotated[
    bool, typer.Option("--reveal", help="Show students their hidden cases, too: after the release.")
]
Seconds = Annotated[
    int,
    typer.Option("--seconds", metavar="N", min=1, max=3600, help="Processor time per submission."),
]


def grade(
    lab: Lab,
    folder: Folder,
    out: Out = None,
    seed_file: SeedFile = None,
    seed: Seed = None,
    workers: Workers = None,
    dask: Dask = None,
    formats: Formats = None,
    reveal: Reveal = False,
    seconds: Seconds = 10,
) -> None:
    """Grade a folder of submissions: a report for each student, a summary and a table for you.

    The same submissions, seed and lab give the same results, bit for bit. students/ holds the
    reports to give back; keep records.json and the seed, which tell the hidden cases, to yourself.
    """
    from p4lab.course.labs import LabError  # heavy: labs and their checks, and with them pydantic
    from p4lab.grading import folder as grading
    from p4lab.grading.alike import pairs
    from p4lab.grading.course import load
    from p4lab.grading.sandbox import Limits
    from p4lab.grading.workers import GradingError, Task
    from p4lab.grading.writers import layout
    from p4lab.grading.writers.report import Heading

    if seed is not None and seed_file is not None:
        fail("give --seed or --seed-file, not both.")
    out = out or Path(f"grades-{lab}")
    secret = seed_file or Path(f"{lab}.seed")
    try:
        course = load(lab)
        grading.check_output(out)
        found = grading.entries(folder, leave_out=[out, secret])
        number = seed if seed is not None else _secret(secret)
        task = Task(lab, tuple(course.student.edit), number, Limits(cpu_seconds=seconds))
        graded = _judged(course, found, task, workers or _cores(), dask)
        heading = Heading(course.title, {part.id: part.title for part in course.parts})
        wanted = [one.value for one in formats or []]
        alike = pairs(course, {row.verdict.student: row.files for row in graded})
        files = layout.files(lab, heading, graded, formats=wanted, reveal=reveal, alike=alike)
        grading.write(out, files)
    except (GradingError, LabError) as error:
        fail(str(error))
    except OSError as error:
        fail_at(error, out)
    _tell(graded, out)
    if alike:
        typer.echo("Some share lines that few have: a table there says who and which.")


def _secret(path: Path) -> int:
    from p4lab.grading.folder import make_seed, others_may_read, read_seed

    if not os.path.lexists(path):
        make_seed(path)
        typer.echo(
            f"{path} is new: the secret that hidden cases are drawn from. Keep it from students, "
            "and keep it: the same file gives the same cases again."
        )
    seed = read_seed(path)
    if others_may_read(path):
        typer.echo(f"p4lab: {path} can be read by others; run: chmod 600 {path}", err=True)
    return seed


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        return os.cpu_count() or 1


def _judged(course, found, task, workers: int, dask: str | None) -> list[Graded]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    from p4lab.grading.folder import grade as grade_all

    columns = (TextColumn("judging"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("judging", total=len(found))
        return grade_all(
            course, found, task, workers=workers, dask=dask, done=lambda _: progress.advance(bar)
        )


def _tell(graded: list[Graded], out: Path) -> None:
    from p4lab.grading.writers.summary import median
    from p4lab.grading.writers.text import number

    verdicts = [row.verdict for row in graded]
    trouble = sum(bool(verdict.trouble) for verdict in verdicts)
    typer.echo(
        f"{len(verdicts)} submissions, median {number(median(verdicts))} of "
        f"{number(verdicts[0].max_points)} points, {trouble} that could not be graded."
    )
    failed = sum(bool(row.detail) for row in graded)
    if failed:
        typer.echo(f"The grader failed on {failed}: see {out / 'grader-errors.txt'}.", err=True)
    typer.echo(f"Results: {out / 'summary.html'}")
