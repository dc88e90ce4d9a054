"""`p4lab check` and `p4lab watch`: a student's own verdict, as often as they like."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from p4lab.cli.errors import VERDICT_NO, fail
from p4lab.cli.options import Json, Lab

if TYPE_CHECKING:
    from p4lab.grading.benches.bmv2 import Bmv2Bench
    from p4lab.grading.benches.tofino import TofinoBench
    from p4lab.grading.course import Course
    from p4lab.grading.elsewhere import Bench
    from p4lab.grading.record import Verdict

Folder = Annotated[
    Path, typer.Argument(metavar="[DIR]", help="The folder of `p4lab start`; else this folder.")
]
All = Annotated[bool, typer.Option("--all", help="Tell every failed check, not only the first.")]

Target = Annotated[
    str,
    typer.Option(
        "--target",
        metavar="engine|bmv2|tofino-model",
        help="What runs your program; others than the engine need root.",
    ),
]

LOOK = 0.2  # seconds between two looks at the files


def check(
    lab: Lab,
    folder: Folder = Path("."),
    all_: All = False,
    target: Target = "engine",
    as_json: Json = False,
) -> None:
    """Check your work on a lab; exits 0 only if everything passes that the target can judge.

    The JSON object has lab, student, trouble and checks; each check has id, title, part, status,
    points, max_points, waits_for, beyond (what the target lacks), cases and story.
    """
    from rich.console import Console  # heavy: rich, for nothing but a report

    from p4lab.grading.text import render

    course = _course(lab)
    try:
        with _bench(target, course) as bench:
            verdict = _verdict(course, folder, bench)
    except _UnreadableError as error:
        fail(str(error))
    if as_json:
        typer.echo(json.dumps(verdict.to_json(), indent=2))
    else:
        stories = len(verdict.checks) if all_ else 1
        Console(emoji=False).print(render(course, verdict, stories=stories, folder=str(folder)))
    if not verdict.passed:
        raise typer.Exit(VERDICT_NO)


def watch(lab: Lab, folder: Folder = Path(".")) -> None:
    """Check again whenever you save; Ctrl-C ends it."""
    from rich.console import Console

    from p4lab.grading.text import render

    course = _course(lab)
    console = Console(emoji=False)
    for _ in _changes(course, folder):
        try:
            verdict = _verdict(course, folder)
        except _UnreadableError as error:  # an editor may be about to put it there
            console.print(f"[red]{error}[/]")
            continue
        console.clear()
        console.print(render(course, verdict, folder=str(folder)))
        console.print(f"\n[dim]Waiting for changes in {folder} (Ctrl-C to stop)[/]")
        if verdict.passed:
            console.print("[bold green]Everything passes.[/]")


@contextmanager
def _bench(target: str, course: Course) -> Iterator[Bench | None]:
    """What judges in place of the engine, None for the engine itself."""
    if target == "engine":
        yield None
        return
    from p4lab.course.labs import LabError
    from p4lab.network import NetworkError

    if target == "wedge":
        fail("checks put packets into every port, and a rack has nobody there: try tofino-model.")
    if target not in ("bmv2", "tofino-model"):
        fail(f"checks run on engine, bmv2 and tofino-model, not on {target!r}.")
    if target == "bmv2" and not course.is_v1model:
        fail(f"{course.name} is for TNA, and bmv2 runs v1model only: leave out --target.")
    if target == "tofino-model" and course.is_v1model:
        fail(f"{course.name} is for v1model, and a Tofino runs TNA only: leave out --target.")
    try:
        with _opened(target, course) as bench:
            yield bench
    except (LabError, NetworkError) as error:
        fail(str(error))


def _opened(target: str, course: Course) -> Bmv2Bench | TofinoBench:
    """The bench of a target. Raises NetworkError with what is missing."""
    if target == "bmv2":
        from p4lab.targets import bmv2

        bmv2.tools()
        from p4lab.grading.benches.bmv2 import Bmv2Bench

        return Bmv2Bench(course)
    from p4lab.targets.tofino import tools

    tools.find(target)
    from p4lab.grading.benches.tofino import TofinoBench

    return TofinoBench(course)


class _UnreadableError(Exception):
    """A student's file that is not there or no text; the message says so."""


def _course(lab: str) -> Course:
    from p4lab.course.labs import LabError
    from p4lab.grading.course import load

    try:
        return load(lab)
    except LabError as error:
        fail(str(error))


def _verdict(course: Course, folder: Path, bench: Bench | None = None) -> Verdict:
    from rich.console import Console

    from p4lab.course.home import command
    from p4lab.course.labs import LabError
    from p4lab.grading.judge import judge

    files = {}
    for name in course.student.edit:
        path = folder / name
        try:
            files[name] = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            told = f"{path} is not there; {command()} start {course.name} {folder} makes it."
            raise _UnreadableError(told) from None
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise _UnreadableError(f"{path} cannot be read: {reason}.") from error
    try:
        with Console(stderr=True).status("checking") as status:
            return judge(course, files, bench=bench, say=lambda what: status.update(f"{what} ..."))
    except LabError as error:
        fail(str(error))


def _changes(course: Course, folder: Path) -> Iterator[None]:
    """Now, and whenever one of the student's files has changed."""
    last = None
    while True:
        now = [_stamp(folder / name) for name in course.student.edit]
        if now != last:
            last = now
            yield
        try:
            time.sleep(LOOK)
        except KeyboardInterrupt:
            return


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
