"""Is the grader to be trusted? Right answers must score everything, wrong ones lose points where
they are wrong.

A lab's answers are data below `solutions/LAB`: `variants/NAME/` holds another right answer, the
student's files by their paths; `mutants.toml` holds mistakes as replacements in the solution. With
them go the solution itself, the starter and an empty submission.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from p4lab.course import marks
from p4lab.course.labs import LabError, home
from p4lab.grading.course import Course
from p4lab.grading.judge import judge
from p4lab.grading.record import Verdict

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Kind = Literal["reference", "variant", "starter", "empty", "mutant"]


class Mutant(BaseModel):
    """A table [[mutant]]: the solution with one mistake. `find` occurs once in the solution without
    its marks. Every check of `breaks` must fail, the first of them with `signature` if given, and
    no other: it passes, or is skipped for the sake of one that fails."""

    model_config = ConfigDict(extra="forbid")
    name: str
    title: str
    file: str
    find: Annotated[str, Field(min_length=1)]
    replace: str
    breaks: Annotated[list[str], Field(min_length=1)]
    signature: str | None = None
    unscripted: str = ""
    """Why the program's own STF scripts do not find it, if so"""
    hidden: bool = False
    """Only the hidden cases find it: public ones have small numbers"""
    across: str = ""
    """Why it breaks checks of several parts, if it does"""


class _MutantFile(BaseModel):
    model_config = ConfigDict(extra="forbid")
    mutant: list[Mutant] = []


@dataclass(frozen=True)
class Answer:
    """A submission and what is known of it: the student's files by path, and for a mutant the
    checks that must fail."""

    name: str
    kind: Kind
    files: Mapping[str, str]
    title: str = ""
    breaks: tuple[str, ...] = ()
    signature: str | None = None
    unscripted: str = ""
    hidden: bool = False


@dataclass(frozen=True)
class Row:
    """What the grader made of an answer. `problem` is empty if that is as it must be."""

    answer: Answer
    verdict: Verdict
    problem: str

    @property
    def failed(self) -> tuple[str, ...]:
        """The checks that failed by themselves, in the order of the lab."""
        return tuple(check.id for check in self.verdict.checks if check.status == "failed")


def answers(course: Course, solutions: Path | None = None) -> list[Answer]:
    """The solution, its variants, the starter, empty files, the mutants. Raises LabError."""
    edited = course.student.edit
    reference = {
        name: marks.solution(course.sources[name], f"p4/{name}") for name in course.student.edit
    }
    folder = (solutions or home(course.name).solutions) / course.name
    found = [Answer("solution", "reference", reference)]
    for path in sorted(path for path in (folder / "variants").glob("*") if path.is_dir()):
        found.append(Answer(path.name, "variant", {name: _text(path / name) for name in edited}))
    found.append(Answer("starter", "starter", course.starter))
    found.append(Answer("empty files", "empty", dict.fromkeys(edited, "")))
    known = {check.id for check in course.checks}
    for mutant in _mutants(folder / "mutants.toml"):
        place = f"solutions/{course.name}/mutants.toml: {mutant.name}"
        if mutant.file not in reference:
            raise LabError(f"{place}: students do not edit {mutant.file}.")
        count = reference[mutant.file].count(mutant.find)
        if count != 1:
            raise LabError(f"{place}: what it looks for occurs {count} times in the solution.")
        if unknown := sorted(set(mutant.breaks) - known):
            raise LabError(f"{place}: the lab has no check {', '.join(unknown)}.")
        parts = {check.part for check in course.checks if check.id in mutant.breaks}
        if (len(parts) > 1) != bool(mutant.across):
            raise LabError(
                f"{place}: `across` says why it breaks checks of several parts, and there are "
                f"{len(parts)}."
            )
        text = reference[mutant.file].replace(mutant.find, mutant.replace)
        found.append(
            Answer(
                mutant.name,
                "mutant",
                {**reference, mutant.file: text},
                mutant.title,
                tuple(mutant.breaks),
                mutant.signature,
                mutant.unscripted,
                mutant.hidden,
            )
        )
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LabError(f"{path}: {error}") from error


def _mutants(path: Path) -> list[Mutant]:
    if not path.is_file():
        return []
    try:
        return _MutantFile.model_validate(tomllib.loads(_text(path))).mutant
    except tomllib.TOMLDecodeError as error:
        raise LabError(f"{path}: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise LabError(f"{path}: {where}: {first['msg']}") from error


def rows(course: Course, found: Sequence[Answer], seed: int) -> Iterator[Row]:
    """Judges each answer, with the hidden cases of `seed`, too: those are what costs points."""
    for answer in found:
        verdict = judge(course, answer.files, student=answer.name, seed=seed)
        yield Row(answer, verdict, _problem(course, answer, verdict))


def _problem(course: Course, answer: Answer, verdict: Verdict) -> str:
    points, most = verdict.points, verdict.max_points
    if answer.kind in ("reference", "variant"):
        return "" if verdict.passed else f"a right answer scores {points:g} of {most:g}"
    if answer.kind == "starter":
        documented = course.starter_points
        return "" if points == documented else f"scores {points:g}, documented are {documented:g}"
    if answer.kind == "empty":
        return "" if points == 0 and verdict.trouble else f"scores {points:g} and says nothing"
    checks = {check.id: check for check in verdict.checks}
    survived = [name for name in answer.breaks if checks[name].status != "failed"]
    if survived:
        return f"survives {', '.join(survived)}"
    shown = [name for name in answer.breaks if not checks[name].hidden]
    if not (shown or answer.hidden):
        return f"survives the public cases of {', '.join(answer.breaks)}"
    dragged = [one.id for one in checks.values() if one.status == "failed"]
    if elsewhere := [name for name in dragged if name not in answer.breaks]:
        return f"fails {', '.join(elsewhere)}, too"
    story = checks[answer.breaks[0]].story
    signature = story.signature if story else ""
    if answer.signature and signature != answer.signature:
        return f"{answer.breaks[0]} says {signature!r}, not {answer.signature!r}"
    if story and not story.hint:
        return f"{answer.breaks[0]} gives no hint"
    return ""
