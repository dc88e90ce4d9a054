"""`p4lab check` and `p4lab watch`: a student's own verdict, as often as they like.

Files are read and judged as `p4lab grade` does it, in a sandbox, so that both say the same of one
folder and nothing in it can stop this process.
"""

from __future__ import annotations

import json
import os
import shlex
import textwrap
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from p4lab.cli.asked import MayNameACheck
from p4lab.cli.errors import VERDICT_NO, fail, fail_at
from p4lab.cli.options import Json, Lab, labs_only
from p4lab.cli.verbs import registered
from p4lab.plurals import count_of

if TYPE_CHECKING:
    from rich.console import Console

    from p4lab.grading.benches.bmv2 import Bmv2Bench
    from p4lab.grading.benches.tofino import TofinoBench
    from p4lab.grading.course import Course
    from p4lab.grading.elsewhere import Bench
    from p4lab.grading.progress import Progress
    from p4lab.grading.record import Verdict
    from p4lab.grading.submission import Submission

Folder = Annotated[
    Path | None,
    typer.Argument(
        metavar="[DIR]",
        help="Your folder for the lab; else this folder, or without files of the lab here, that "
        "of its notebook.",
    ),
]
All = Annotated[bool, typer.Option("--all", help="Tell every failed check, not only the first.")]

Target = Annotated[
    str,
    typer.Option(
        "--target",
        metavar="engine|bmv2|tofino-model",
        help="What runs your program; tofino-model needs root.",
    ),
]

Prove = Annotated[
    bool,
    typer.Option("--prove", help="Also look for packets that no case has: a proof, or an example."),
]
Seconds = Annotated[
    float,
    typer.Option("--seconds", min=0.1, max=3600, help="Time of one core for the proof."),
]

OnePart = Annotated[
    str | None,
    typer.Option("--part", metavar="PART", help="Only this part: its number or name."),
]

WatchIt = Annotated[
    str | None,
    typer.Option(
        "--watch-it",
        metavar="[CHECK]",
        help="Step through the packet of a failed check, up to where it goes wrong.",
    ),
]

Hint = Annotated[
    str | None,
    typer.Option(
        "--hint",
        metavar="[CHECK]",
        help="A hint beyond the story of a failed check; each call says one thing more.",
    ),
]

LOOK = 0.2  # seconds between two looks at the files


@registered(cls=MayNameACheck)
def check(
    lab: Lab,
    folder: Folder = None,
    all_: All = False,
    part: OnePart = None,
    watch_it: WatchIt = None,
    hint: Hint = None,
    target: Target = "engine",
    prove: Prove = False,
    seconds: Seconds = 10.0,
    as_json: Json = False,
) -> None:
    """Check your work on a lab; exits 0 only if everything passes that the target can judge, and
    with --part if all of that part passes.

    --watch-it shows one failed check as a film: its packet, step by step through your program, up
    to where it goes wrong. Enter goes on, b back, q ends it. CHECK is a number, as 2.1, or a
    name; without it, it is the first that fails, with --part of that part. The exit status is 0
    then.

    --hint says what the story of a failed check leaves open, and in the end nearly the code. Each
    call says one thing more. How many you have asked for is kept in hints.toml, which an
    instructor may ask for.

    The JSON object has lab, student, trouble, checks, proof, notes (how your folder was read) and
    progress (done and next, of a lab that keeps it); each check has id, title, part, status,
    points, max_points, waits_for, beyond (what the target lacks), cases, story, and left (the story
    of a failure that may come of those in waits_for).
    """
    from rich.console import Console  # heavy: rich, for nothing but a report

    from p4lab.cli.hosts import linux_hosts
    from p4lab.grading.judge import unread
    from p4lab.grading.record import of_part, opened
    from p4lab.grading.text import render

    course = _course(lab)
    wanted = _part(course, part)
    _may_be(target, course)
    if target == "bmv2":
        from p4lab.targets.bmv2 import missing

        if not missing():  # what is missing is reported when its turn comes
            linux_hosts()
    if prove and target != "engine":
        fail("a proof is about the program, on whatever target it runs: leave out --target.")
    if watch_it is not None and target != "engine":
        fail("only the engine can be watched: leave out --target.")
    given, top = folder, _meant(course, folder)
    found = _read(course, top)
    if found.trouble:
        if as_json:
            typer.echo(_record(unread(course, "", found), found))
        fail(_told(course, given, top, found))
    folder = _inside(top, found)
    shown = Console(emoji=False)
    if not as_json:
        if top != (given or Path(".")):
            typer.echo(f"Your files are those in {top}.")
        if watch_it is not None or hint is not None:
            _tell_of_notes(shown, course, folder, found)
    if watch_it is not None:
        _watch_it(course, found.files, _check(course, watch_it), wanted, as_json)
        return
    if hint is not None:
        _hint(course, found, folder, _check(course, hint), wanted, as_json)
        return
    # In front of the bench, which may start threads: a fork wants none.
    verdict = _on_engine(course, found.files)
    if prove and not verdict.trouble:
        verdict = _proven(course, found.files, verdict, seconds, wanted)
    if target != "engine" and not verdict.trouble:
        with _bench(target, course) as bench:
            verdict = _on_bench(course, found.files, bench)
    progress = _progress(course, folder, verdict)
    verdict = whole = opened(verdict, wanted)
    if wanted:
        verdict = replace(verdict, checks=tuple(of_part(verdict, wanted)))
    if as_json:
        typer.echo(_record(verdict, found, progress))
    else:
        stories = len(verdict.checks) if all_ else 1
        told = _tell_of_notes(shown, course, folder, found, whole.trouble)
        whole = replace(whole, trouble=told)
        shown.print(render(course, whole, stories=stories, folder=str(folder), part=wanted))
        _offer_film(shown, course, folder, verdict)
        _tell_of_progress(shown, progress)
        _tell_of_files(shown, course, folder, found)
    if not verdict.passed:
        raise typer.Exit(VERDICT_NO)


def watch(lab: Lab, folder: Folder = None, part: OnePart = None) -> None:
    """Check again whenever you save; Ctrl-C ends it."""
    from rich.console import Console

    from p4lab.grading.record import opened
    from p4lab.grading.text import render

    course = _course(lab)
    wanted = _part(course, part)
    console = Console(emoji=False)
    given, top = folder, _meant(course, folder)
    for _ in _changes(course, top):
        found = _read(course, top)
        if found.trouble:  # an editor may be about to put it there
            told = _told(course, given, top, found)
            console.print(told, style="red", markup=False, highlight=False)
            continue
        folder = _inside(top, found)
        verdict = _on_engine(course, found.files)
        console.clear()
        told = _tell_of_notes(console, course, folder, found, verdict.trouble)
        shown = replace(opened(verdict, wanted), trouble=told)
        console.print(render(course, shown, folder=str(folder), part=wanted))
        _tell_of_progress(console, _progress(course, folder, verdict))
        _tell_of_files(console, course, folder, found)
        console.print(f"\n[dim]Waiting for changes in {folder} (Ctrl-C to stop)[/]")
        if verdict.passed:
            console.print("[bold green]Everything passes.[/]")


def _part(course: Course, written: str | None) -> str | None:
    """The id of the part that a user means by its number, id or title; ends the verb if none."""
    if written is None:
        return None
    for number, part in enumerate(course.parts, 1):
        if written.lower() in (str(number), part.id.lower(), part.title.lower()):
            return part.id
    known = ", ".join(f"{number} {part.id}" for number, part in enumerate(course.parts, 1))
    fail(f"{course.name} has no part {written!r}; it has {known or 'no parts'}.")


def _check(course: Course, written: str) -> str | None:
    """The id of the check that a user means by its number or id; None for the first that fails.
    Ends the verb if there is no such check."""
    from p4lab.grading.text import number_of

    if not written:
        return None
    for one in course.checks:
        if written in (one.id, number_of(course, one.id)):
            return one.id
    known = ", ".join(f"{number_of(course, one.id)} {one.id}".strip() for one in course.checks)
    fail(f"{course.name} has no check {written!r}; it has {known}.")


def _watch_it(
    course: Course, files: Mapping[str, str], check: str | None, part: str | None, as_json: bool
) -> None:
    """Shows the film of a check, or of the first that fails, of all or of a part."""
    from rich.console import Console

    from p4lab.cli.film import play
    from p4lab.grading.apart import film_apart
    from p4lab.grading.sandbox import Limits

    waiting = Console(stderr=True).status("checking")
    film = film_apart(course, files, check, Limits(), waiting, part)
    if as_json:
        typer.echo(json.dumps(film.to_json(), indent=2))
    else:
        play(film, {**course.sources, **course.starter, **files}, Console(emoji=False))


def _hint(
    course: Course,
    found: Submission,
    folder: Path,
    check: str | None,
    part: str | None,
    as_json: bool,
) -> None:
    """One step more of the hints to a check, or to the first that fails, of all or of a part."""
    from p4lab.course.home import command
    from p4lab.grading.asked import FILE
    from p4lab.grading.steps import ask

    verdict = _on_engine(course, found.files)
    kept = folder if folder.is_dir() else folder.parent
    try:
        given = ask(course, verdict, check, kept, found.asked, part)
    except OSError as error:
        fail_at(error, kept / FILE)
    if as_json:
        typer.echo(json.dumps(given.to_json(), indent=2))
        return
    if given.why:
        typer.echo(given.why)
        return
    typer.echo(given.title)
    if given.story:
        typer.echo("\nThe story says:")
    for step in given.story:
        typer.echo(f"\n- {step.title}\n{textwrap.indent(step.text.rstrip(), '  ')}")
    for number, step in enumerate(given.steps, 1):
        typer.echo(f"\n{number}. {step.title}\n{textwrap.indent(step.text.rstrip(), '   ')}")
    count = len(given.steps)
    told = f"\n{count} of {count_of(given.of, 'hint')}."
    if count < given.of:
        where = course.name if folder == Path(".") else f"{course.name} {shlex.quote(str(folder))}"
        told += f" For the next: {command()} check {where} --hint {given.check}"
    typer.echo(told)


def _record(verdict: Verdict, found: Submission, progress: Progress | None = None) -> str:
    """The verdict, how the folder was read and what is done in it, as JSON."""
    kept = progress and progress.to_json()
    told = {**verdict.to_json(), "notes": found.told(), "progress": kept}
    return json.dumps(told, indent=2)


def _progress(course: Course, folder: Path, verdict: Verdict) -> Progress | None:
    """What is done in the folder, this verdict included; says why if that cannot be kept."""
    from p4lab.grading.progress import ProgressError, recorded

    try:
        return recorded(course, folder, verdict)
    except ProgressError as error:
        typer.echo(str(error), err=True)
        return None


def _tell_of_progress(shown: Console, progress: Progress | None) -> None:
    if progress is not None:
        shown.print(f"\n{progress}", markup=False, highlight=False, soft_wrap=True)


def _offer_film(shown: Console, course: Course, folder: Path, verdict: Verdict) -> None:
    """Says how to watch the first packet that goes wrong. One that only a proof has found is in no
    case, and cannot be watched."""
    from p4lab.course.home import command
    from p4lab.grading.text import number_of

    failed = [one for one in verdict.checks if one.story is not None and not one.proved]
    with_packet = next((one for one in failed if one.story and one.story.differences), None)
    if with_packet is not None:
        where = course.name if folder == Path(".") else f"{course.name} {shlex.quote(str(folder))}"
        which = number_of(course, with_packet.id) or with_packet.id
        told = f"\nWatch it, step by step: {command()} check {where} --watch-it {which}"
        shown.print(told, markup=False, highlight=False, soft_wrap=True)


def _tell_of_files(shown: Console, course: Course, folder: Path, found: Submission) -> None:
    """The given files that differ: `run` has another program then."""
    from p4lab.cli.running import newer
    from p4lab.course.home import command
    from p4lab.course.material import begun_for_another, is_older
    from p4lab.grading.submission import not_judged

    if is_older(course.name, folder):
        shown.print(newer(course.name, folder), style="bold yellow", markup=False, soft_wrap=True)
    for name in found.changed:
        shown.print(not_judged(name), style="bold yellow", markup=False, soft_wrap=True)
    if found.changed and not begun_for_another(course.name, folder):
        start = f"{command()} start {course.name} {shlex.quote(str(folder))}"
        files = "it" if len(found.changed) == 1 else "them"
        more = f"run and trace use yours. To get the starter's back, delete {files}, then: {start}"
        shown.print(more, markup=False, highlight=False, soft_wrap=True)


def _tell_of_notes(
    shown: Console, course: Course, folder: Path, found: Submission, trouble: str = ""
) -> str:
    """What was taken for what, before a story speaks of the lines of such a file, and how files
    that were not there come back; gives what is left to say of a verdict's trouble."""
    from p4lab.course.material import lacking, remedied

    lacks = lacking(course.name, folder) if folder.is_dir() else ()
    trouble, others = remedied(trouble, lacks)
    for note in (*found.notes, *others):
        shown.print(note, style="yellow", markup=False, highlight=False, soft_wrap=True)
    return trouble


def _may_be(target: str, course: Course) -> None:
    """Ends the verb if checks of a course cannot run on a target."""
    if target == "engine":
        return
    if not course.is_p4:
        fail(f"{course.name} has no P4 program for {target}: leave out --target.")
    if target == "wedge":
        fail("checks put packets into every port, and a rack has nobody there: try tofino-model.")
    if target not in ("bmv2", "tofino-model"):
        fail(f"checks run on engine, bmv2 and tofino-model, not on {target!r}.")
    if target == "bmv2" and not course.is_v1model:
        fail(f"{course.name} is for TNA, and bmv2 runs v1model only: leave out --target.")
    if target == "tofino-model" and course.is_v1model:
        fail(f"{course.name} is for v1model, and a Tofino runs TNA only: leave out --target.")


@contextmanager
def _bench(target: str, course: Course) -> Iterator[Bench]:
    """What judges in place of the engine."""
    from p4lab.course.labs import LabError
    from p4lab.network import NetworkError

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
    from p4lab.grading.benches.tofino import TofinoBench

    bench = TofinoBench(course)
    for note in bench.notes:
        typer.echo(f"Note: {note}", err=True)
    return bench


def _course(lab: str) -> Course:
    from p4lab.course.labs import LabError
    from p4lab.grading.course import load

    labs_only(lab)
    try:
        course = load(lab)
        course.prepare(None)
    except LabError as error:
        fail(str(error))
    return course


def _read(course: Course, folder: Path) -> Submission:
    """What is in the student's folder."""
    from p4lab.grading.apart import read_apart
    from p4lab.grading.known import wanted
    from p4lab.grading.sandbox import Limits

    return read_apart(folder, wanted(course), Limits())


def _meant(course: Course, given: Path | None) -> Path:
    """The folder with a student's files: the one given; without that this one if it has any, else
    that of the notebook if there is one."""
    from p4lab.course.home import work_on

    here = [name for path in course.student.edit for name in (path, Path(path).name)]
    if given is not None or any(map(os.path.lexists, here)):
        return given or Path(".")
    theirs = work_on(course.name)
    return Path(os.path.relpath(theirs)) if theirs.is_dir() else Path(".")


def _inside(top: Path, found: Submission) -> Path:
    """Where the files that were read are: hints and progress are kept beside them."""
    return top / found.place if top.is_dir() else top


def _told(course: Course, given: Path | None, folder: Path, found: Submission) -> str:
    """Why there is nothing to judge, and the remedy if there is one."""
    from p4lab.course.home import command, own_folder

    there = any(os.path.lexists(folder / name) for name in course.student.edit)
    if there or (os.path.lexists(folder) and not folder.is_dir()):
        return f"{folder}: {found.trouble}"
    begin = f"{command()} start {course.name}"
    name = f"{command()} check {course.name} FOLDER"
    if given is None:
        return (
            f"this folder has no files of {course.name}. To begin the lab: {begin}. "
            f"If they are in another folder, name it: {name}"
        )
    if _holds_something(folder):  # a home, perhaps, and no place for a lab
        return (
            f"{folder}: {found.trouble} If your work is in another folder, name it: {name}. "
            f"To begin the lab in a new one: {begin} {own_folder(course.name)}"
        )
    return f"{folder}: {found.trouble} To begin the lab there: {begin} {shlex.quote(str(folder))}"


def _holds_something(folder: Path) -> bool:
    try:
        return any(folder.iterdir())
    except OSError:
        return False


def _on_engine(course: Course, files: Mapping[str, str]) -> Verdict:
    from rich.console import Console

    from p4lab.grading.apart import judge_apart
    from p4lab.grading.sandbox import Limits

    waiting = Console(stderr=True).status("checking")
    judged = judge_apart(course, "", files, None, Limits(), waiting)
    if judged.detail:
        typer.echo(judged.detail, err=True)
    return judged.verdict


def _proven(
    course: Course, files: Mapping[str, str], verdict: Verdict, seconds: float, part: str | None
) -> Verdict:
    """The verdict after a proof: what passes all cases may fail with a packet that it finds."""
    from rich.console import Console

    from p4lab.grading.apart import charge_apart, prove_apart
    from p4lab.grading.attempts import with_attempt
    from p4lab.grading.sandbox import Limits

    waiting = Console(stderr=True).status("proving")
    attempt = prove_apart(course, files, seconds, Limits(), waiting)
    if attempt.detail:
        typer.echo(attempt.detail, err=True)
    if attempt.found is not None:
        verdict = charge_apart(course, files, verdict, [attempt.found], Limits())
    return with_attempt(verdict, attempt, part)


def _on_bench(course: Course, files: Mapping[str, str], bench: Bench) -> Verdict:
    """The verdict on another target, on a program that the engine has judged within limits."""
    from rich.console import Console

    from p4lab.course.labs import LabError
    from p4lab.grading.judge import judge

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
        found = path.lstat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
