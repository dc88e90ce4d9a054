"""`p4lab grade`: a class's submissions, judged and reported."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from p4lab.cli.errors import fail, fail_at
from p4lab.cli.options import Json
from p4lab.plurals import count_of

if TYPE_CHECKING:
    from p4lab.grading.classes import Outcome

INTERRUPTED = 130  # as a shell calls it

PROVE = 10.0
PROVE_ALL = 600.0
"""Seconds of one core for the proof of a program, and for those of all: of 300 programs the proofs
are ready within ten minutes also where the steps are slow"""

LINE = 60.0
"""Seconds between two lines that say how far a grading is, without a terminal"""


class Format(str, Enum):
    """What can be written beside the reports."""

    gradescope = "gradescope"
    prairielearn = "prairielearn"
    junit = "junit"
    canvas = "canvas"
    moodle = "moodle"
    dolos = "dolos"


Lab = Annotated[str, typer.Argument(metavar="LAB", help="The lab, such as 01-bier.")]
Folders = Annotated[
    list[Path],
    typer.Argument(
        metavar="FOLDER...",
        help="The submissions: a folder, a zip or a single file each, named after its student; or "
        "Canvas or Moodle exports, also as a zip. Several are attempts, one after the other.",
    ),
]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Where results go; default: grades-LAB.")
]
SeedFile = Annotated[
    Path | None,
    typer.Option(
        "--seed-file",
        metavar="FILE",
        help="The secret that hidden cases are drawn from, made if missing; default: LAB.seed.",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", metavar="N", min=0, help="Use this seed instead; it is not secret."),
]
Roster = Annotated[
    Path | None,
    typer.Option(
        "--roster",
        metavar="FILE.csv",
        help="Who takes part: your own list, or what Canvas or Moodle exports (docs/grading.md).",
    ),
]
Rules = Annotated[
    Path | None,
    typer.Option(
        "--rules",
        metavar="FILE.toml",
        help="Deadline, late days, which attempt counts, and what you change by hand.",
    ),
]
Cohorts = Annotated[
    list[Path] | None,
    typer.Option(
        "--cohort", metavar="FOLDER", help="An earlier class to compare with; may be repeated."
    ),
]
One = Annotated[
    bool,
    typer.Option("--one", help="FOLDER is one submission, as platforms hand it over: `student`."),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="N",
        min=1,
        max=256,
        help="Processes; default: one per core, fewer for a small class.",
    ),
]
Dask = Annotated[
    str | None,
    typer.Option("--dask", metavar="ADDRESS", help="Judge on a Dask cluster: its scheduler."),
]
Formats = Annotated[
    list[Format] | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="Also write this; may be repeated: "
        f"{', '.join(one.value for one in list(Format)[:-1])} or {list(Format)[-1].value}.",
    ),
]
Reveal = Annotated[
    bool, typer.Option("--reveal", help="Show students their hidden cases, too: after the release.")
]
Seconds = Annotated[
    int | None,
    typer.Option(
        "--seconds",
        metavar="N",
        min=1,
        max=3600,
        help="Processor time for each submission; else what the lab gives, which is mostly 10.",
    ),
]
Prove = Annotated[
    float | None,
    typer.Option(
        "--prove",
        metavar="SECONDS",
        min=0.1,
        max=3600,
        help="Processor time for the proof of each program that passes all cases; else 10, and of "
        "a large class less.",
    ),
]
NoProve = Annotated[bool, typer.Option("--no-prove", help="Judge by cases alone.")]


def grade(
    lab: Lab,
    folders: Folders,
    out: Out = None,
    seed_file: SeedFile = None,
    seed: Seed = None,
    roster: Roster = None,
    rules: Rules = None,
    cohorts: Cohorts = None,
    one: One = False,
    workers: Workers = None,
    dask: Dask = None,
    formats: Formats = None,
    reveal: Reveal = False,
    seconds: Seconds = None,
    prove: Prove = None,
    no_prove: NoProve = False,
    as_json: Json = False,
) -> None:
    """Grade a class: a report for each student, a summary and a table for you.

    The same submissions, seed and lab give the same results, bit for bit. students/ holds the
    reports to give back; keep records.json and the seed, which reveal the hidden cases, to
    yourself. After Ctrl-C the same command continues where it stopped.

    The JSON object has lab, out, students, alike, changed, strangers and late_unknown.
    """
    from p4lab.course.labs import LabError  # heavy: labs and their checks, and with them pydantic
    from p4lab.grading import classes
    from p4lab.grading.course import load
    from p4lab.grading.sandbox import Limits, can_seal
    from p4lab.grading.workers import GradingError

    if seed is not None and seed_file is not None:
        fail("give --seed or --seed-file, not both.")
    out = out or Path(f"grades-{lab}")
    secret = seed_file or Path(f"{lab}.seed")
    try:
        course = load(lab)
        inbox = classes.Inbox(folders, roster, rules, cohorts or (), one)
        classes.check(inbox, out, [secret])
        how = classes.How(
            seed if seed is not None else secret_seed(secret),
            Limits(cpu_seconds=seconds),
            workers,
            dask,
            [one.value for one in formats or []],
            reveal,
            None if no_prove else prove or PROVE,
            None if prove else PROVE_ALL,
        )
        if not can_seal():
            typer.echo(
                "p4lab: this system has no filter of system calls, so only limits on resources "
                "keep submissions from starting processes; do not grade as root here.",
                err=True,
            )
        with _stopping(), _closed(out), _progress() as (begin, done):
            outcome = classes.grade(
                course, inbox, out, how, leave_out=[secret], begin=begin, done=done
            )
    except (GradingError, LabError) as error:
        fail(str(error))
    except OSError as error:
        fail_at(error, out)
    except KeyboardInterrupt:
        _stopped(out)
    if as_json:
        typer.echo(json.dumps(_json(lab, out, outcome), indent=2))
    else:
        _tell(outcome, out)


def secret_seed(path: Path) -> int:
    """The seed in a file, which is made if there is none."""
    from p4lab.grading.seed import make_seed, others_may_read, read_seed

    if not os.path.lexists(path):
        make_seed(path)
        typer.echo(
            f"{path} is new: the secret that hidden cases are drawn from. Keep it from students, "
            "and keep it: the same file gives the same cases again.",
            err=True,
        )
    seed = read_seed(path)
    if others_may_read(path):
        typer.echo(f"p4lab: {path} can be read by others; run: chmod 600 {path}", err=True)
    return seed


@contextmanager
def _closed(out: Path) -> Iterator[None]:
    """Makes the folder of results for its owner alone, who may have opened one that is there; it
    goes again if nothing comes into it. Raises OSError."""
    if made := not out.exists():
        out.parent.mkdir(parents=True, exist_ok=True)
        out.mkdir(mode=0o700)
    try:
        yield
    finally:
        if made:
            with suppress(OSError):  # there is something in it
                out.rmdir()


@contextmanager
def _stopping() -> Iterator[None]:
    """Whoever ends this process by SIGTERM, as a batch system does, ends it as Ctrl-C would."""

    def stop(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _stopped(out: Path) -> NoReturn:
    from p4lab.grading.journal import JOURNAL

    kept = out / JOURNAL
    told = f"what is judged is kept in {kept}; the same command continues from there."
    typer.echo(f"p4lab: stopped; {told if kept.exists() else 'nothing was judged yet.'}", err=True)
    raise typer.Exit(INTERRUPTED)


class Lines:
    """Says about once a minute how far a grading is, for who reads its output in a file."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._told = clock()
        self._judged = self._proofs = self._done = 0

    def begin(self, total: int) -> None:
        """First with how many are to be judged, then with these and the proofs after them."""
        self._judged, self._proofs = (self._judged or total), total - (self._judged or total)

    def done(self, _: object) -> None:
        self._done += 1
        if self._clock() - self._told >= LINE:
            self._told = self._clock()
            typer.echo(str(self), err=True)

    def __str__(self) -> str:
        told = f"{min(self._done, self._judged)} of {self._judged} judged"
        if self._proofs:
            told += f", {max(0, self._done - self._judged)} of {self._proofs} proofs tried"
        return told


@contextmanager
def _progress() -> Iterator[tuple[Callable[[int], None], Callable[[object], None]]]:
    """A bar on the terminal, or a line now and then where there is none: to be told how many there
    are, and of each that is done."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("judging"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    if not console.is_terminal:
        lines = Lines()
        yield lines.begin, lines.done
        return
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("judging", total=None)
        yield (lambda total: progress.update(bar, total=total)), (lambda _: progress.advance(bar))


def _tell(outcome: Outcome, out: Path) -> None:
    from p4lab.grading.writers.summary import Aside, median, proofs
    from p4lab.grading.writers.text import number, one_line

    everybody = [row.verdict for row in outcome.rows]
    aside = Aside(outcome.settled.absent, teams=outcome.settled.teams)
    verdicts = aside.present(everybody)
    trouble = sum(bool(verdict.trouble) for verdict in verdicts)
    typer.echo(
        f"{aside.handed_in(everybody)}, median {number(median(verdicts))} of "
        f"{number(everybody[0].max_points)} points, {trouble} that could not be graded."
    )
    if outcome.known:
        were = count_of(outcome.known, "was", "were")
        typer.echo(f"{were} judged before, in a run that did not finish.")
    failed = sum(bool(row.detail) for row in outcome.rows)
    if failed:
        typer.echo(f"The grader failed on {failed}: see {out / 'grader-errors.txt'}.", err=True)
    for remark in outcome.remarks:
        typer.echo(one_line(remark), err=True)
    if proven := proofs(verdicts):
        typer.echo(f"Proofs: {proven}.")
    if outcome.changed:
        have = count_of(len(outcome.changed), "student has", "students have")
        typer.echo(f"{have} different points than before: {out / 'changes.csv'}")
    typer.echo(f"Results: {out / 'summary.html'}")
    if outcome.alike:
        typer.echo("Some share rare lines: a table there shows who and which.")


def _json(lab: str, out: Path, outcome: Outcome) -> dict[str, Any]:
    return {
        "lab": lab,
        "out": str(out),
        "students": [
            {
                "student": row.verdict.student,
                "points": row.verdict.points,
                "max_points": row.verdict.max_points,
                "trouble": row.verdict.trouble,
                "checks": {check.id: check.points for check in row.verdict.checks},
                "adjustments": [vars(one) for one in row.verdict.adjustments],
                "notes": list(row.notes),
                "proof": row.verdict.proof and vars(row.verdict.proof),
            }
            for row in outcome.rows
        ],
        "alike": [
            {"students": one.students, "other": one.other, "lines": one.lines}
            for one in outcome.alike
        ],
        "changed": [vars(one) for one in outcome.changed],
        "strangers": list(outcome.settled.strangers),
        "late_unknown": list(outcome.settled.doubtful),
    }
