"""Grades a class from what it has handed in to the files of results."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timezone
from pathlib import Path

from p4lab.grading import (
    folder,
    handins,
    identical,
    journal,
    known,
    proving,
    results,
    roster,
    rules,
    standing,
)
from p4lab.grading.alike import Alike, groups
from p4lab.grading.course import Course
from p4lab.grading.sandbox import Limits
from p4lab.grading.standing import Class
from p4lab.grading.workers import GradingError, Task
from p4lab.grading.writers import layout, plain
from p4lab.grading.writers.changes import Change, changes
from p4lab.grading.writers.layout import Beside, Graded
from p4lab.grading.writers.report import Heading

Files = Mapping[str, Mapping[str, str]]
"""The texts of files by path, by student"""


@dataclass(frozen=True)
class Inbox:
    """Where a class is: its folders, one for each attempt; the list of its students, what its
    instructor has decided, the folders of earlier classes to compare with; and whether the folders
    are the attempts of one student, whom nobody names."""

    folders: Sequence[Path]
    roster: Path | None = None
    rules: Path | None = None
    cohorts: Sequence[Path] = ()
    one: bool = False

    def lists(self) -> tuple[str, ...]:
        """The options of what an instructor has written for it."""
        given = {"--roster": self.roster, "--rules": self.rules}
        return tuple(option for option, path in given.items() if path)


@dataclass(frozen=True)
class How:
    """How it is graded: the seed of hidden cases, limits, worker processes on this machine or the
    address of a Dask cluster; which files are written beside the reports, and whether they tell
    hidden cases."""

    seed: int
    limits: Limits = field(default_factory=Limits)
    workers: int | None = None
    """None: one for each core, fewer for a small class"""
    dask: str | None = None
    formats: Sequence[str] = ()
    reveal: bool = False
    prove: float | None = None
    """Seconds of one core for the proof of a program; None for no proofs"""
    prove_all: float | None = None
    """Most seconds of one core for all programs of the class together"""


@dataclass(frozen=True)
class Outcome:
    """What came of it: the rows of the class, who shares lines, whose points changed, how many
    verdicts were there from a grading that did not finish, and what an instructor should know."""

    settled: Class
    alike: Sequence[Alike]
    changed: Sequence[Change]
    known: int
    remarks: tuple[str, ...] = ()

    @property
    def rows(self) -> Sequence[Graded]:
        return self.settled.rows


def check(inbox: Inbox, out: Path, leave_out: Sequence[Path] = ()) -> None:
    """Raises GradingError for what keeps a class from being graded, before anything is made."""
    results.check_output(out)
    _decided(inbox)
    classes = inbox.cohorts if inbox.one else [*inbox.folders, *inbox.cohorts]
    handins.check(classes, [out, *leave_out])


def grade(
    course: Course,
    inbox: Inbox,
    out: Path,
    how: How,
    *,
    leave_out: Sequence[Path] = (),
    begin: Callable[[int], None] = lambda _: None,
    done: Callable[[object], None] = lambda _: None,
) -> Outcome:
    """Judges everything and writes the results to `out`. `begin` hears how many attempts there are,
    `done` each that has a verdict.

    Raises GradingError, LabError, and OSError for what cannot be written; then, and when it is
    interrupted, earlier results are as before, and what is judged is kept for the next time.
    """
    check(inbox, out, leave_out)
    decided, people = _decided(inbox)
    standing.agree(course, decided, people)
    task = Task(course.name, known.wanted(course), how.seed, how.limits, how.prove)
    besides = [out, *leave_out, *filter(None, (inbox.roster, inbox.rules))]
    with (
        tempfile.TemporaryDirectory(prefix="p4lab-class-") as scratch,
        folder.Hands(how.workers or folder.cores()) as hands,
    ):
        loose: list[str] = []
        if inbox.one:
            found = handins.attempts(inbox.folders)
        else:
            place = Path(scratch) / "class"
            there = handins.entries(
                inbox.folders,
                place,
                besides,
                task.wanted.suffix,
                (decided.due.tzinfo if decided.due else None) or timezone.utc,
                task.wanted.paths,
            )
            found = [entry for entry in there if not entry.loose]
            loose = [entry.source[0][0] for entry in there if entry.loose]
        decided = standing.named(decided, found, people)
        with journal.opened(out, journal.key_of(course, task)) as kept:
            before = len(kept)
            begin(len(found))
            graded: Sequence[Graded] = folder.grade(
                course,
                found,
                task,
                hands,
                most=how.workers or folder.enough(len(found)),
                dask=how.dask,
                journal=kept,
                done=done,
            )
            extra: dict[str, str] = {}
            if how.prove is not None:
                key = journal.key_of(course, replace(task, seed=None))
                proven = proving.prove(
                    course,
                    graded,
                    task,
                    proving.from_json(key, results.text(out, proving.PROOFS)),
                    hands,
                    dask=how.dask,
                    journal=kept,
                    most=how.prove_all,
                    begin=lambda count: begin(len(found) + count),
                    done=done,
                )
                graded, extra = proven.rows, proving.files(key, proven)
            settled = standing.settle(course, found, graded, decided, people)
            earlier = _earlier(inbox.cohorts, Path(scratch) / "earlier", task, hands)
            alike = groups(course, _handed_in(settled), _named(earlier))
            same = identical.groups(course, _handed_in(settled), _named(earlier))
            changed = changes(results.earlier(out), [row.verdict for row in settled.rows])
            unknown = [one for one in found if not people or one.student in settled.strangers]
            remarks = (*settled.remarks(), *handins.remarks(unknown), *_without(inbox, out))
            remarks += identical.told(same)
            if loose:
                remarks += (f"Left out as nobody's submission: {', '.join(loose)}.",)
            beside = Beside(
                settled.people,
                settled.absent,
                decided.canvas.assignment,
                alike,
                changed,
                {course.name: _handed_in(settled), **earlier},
                course.starter,
                frozenset(settled.doubtful),
                remarks,
                settled.teams,
                people.most if people else {},
                inbox.lists(),
            )
            cases = plain.NOISE if course.is_p4 else plain.OTHER_NUMBERS
            noise = cases if any(check.hidden for check in course.checks) else ""
            parts = {part.id: part.title for part in course.parts}
            heading = Heading(course.title, parts, noise)
            files = layout.files(
                course.name,
                heading,
                settled.rows,
                formats=how.formats,
                reveal=how.reveal,
                beside=beside,
            )
            results.write(out, {**extra, **files})
            kept.finish()
    return Outcome(settled, alike, changed, before, remarks)


def _decided(inbox: Inbox) -> tuple[rules.Rules, roster.Roster | None]:
    """What its instructor has decided, and who takes part. Raises GradingError."""
    decided = rules.read(inbox.rules) if inbox.rules else rules.Rules()
    return decided, roster.read(inbox.roster) if inbox.roster else None


def _without(inbox: Inbox, out: Path) -> tuple[str, ...]:
    """A sentence if the results that are replaced came of a roster or rules, and this run has none:
    who leaves an option out by mistake loses what was decided."""
    left = [option for option in results.lists(out) if option not in inbox.lists()]
    if not left:
        return ()
    return (f"The last results in this folder came with {' and '.join(left)}; these do not.",)


def _handed_in(settled: Class) -> Files:
    """The files that count, of each team once."""
    seen: set[str] = set()
    found = {}
    for row in settled.rows:
        if row.files and row.verdict.student not in seen:
            found[row.verdict.student] = row.files
            seen.update(settled.teams.get(row.verdict.student, ()))
    return found


def _named(earlier: Mapping[str, Files]) -> Files:
    """The files of earlier classes by the name of the class and the student."""
    return {
        f"{label}/{student}": files
        for label, students in earlier.items()
        for student, files in students.items()
    }


def _earlier(
    cohorts: Sequence[Path], scratch: Path, task: Task, hands: folder.Hands
) -> dict[str, Files]:
    """What earlier classes handed in, by the names of their folders. Raises GradingError."""
    found: dict[str, Files] = {}
    for number, place in enumerate(cohorts):
        label = place.name.removesuffix(".zip") or str(place)
        if label in found:
            raise GradingError(f"{place}: two earlier classes are called {label}; rename one.")
        there = handins.entries(
            [place], scratch / str(number), suffix=task.wanted.suffix, lab=task.wanted.paths
        )
        there = [entry for entry in there if not entry.loose]
        read = folder.read_all(there, task, hands)
        found[label] = {
            entry.student: submission.files
            for entry, submission in zip(there, read, strict=True)
            if submission.files
        }
    return found
