"""Numbers that a student has computed, in a TOML file of theirs, put into the lab's formulas.

A file of such a check has what is `given`, and conditions that `holds` lists, in order: each an
expression over what is given and the student's numbers, and what to say if it is not true, with the
numbers put in. What the conditions leave open is compared with the reference's numbers.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from p4lab.course.labs import LabError
from p4lab.course.material import Inside
from p4lab.grading import drawing
from p4lab.grading.course import Check, Course
from p4lab.grading.drawing import DrawError
from p4lab.grading.record import Place, Story
from p4lab.grading.rows import ScenarioError
from p4lab.grading.scenario import read
from p4lab.grading.work import Work
from p4lab.topology.lines import line_table

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

WRONG = "wrong number"
MISSING = "number missing"
UNREADABLE = "no TOML"

_AT_LINE = re.compile(r"\(at line (\d+),")
_ZERO_FIRST = re.compile(r"\s*(\w+\s*=\s*[-+]?)0+(\d[\d.]*)\s*(#.*)?")

LARGEST_FILE = 64 << 10  # characters
LARGEST = 10**9
"""No number of a lab is as large; larger ones could make a formula run for long."""
RELATIVE = 5e-3
"""How far a number may be from the reference's: it may have been rounded."""


class Holds(BaseModel):
    """A condition, and what is said if it is not true; `{...}` in that is computed. `number` is
    the one to look at."""

    model_config = ConfigDict(extra="forbid")
    that: str
    told: str
    number: str


class NumbersFile(BaseModel):
    """The file of a check. `numbers` are looked for in the table `table` of the student's file
    `answers`; those in `whole` are whole numbers."""

    model_config = ConfigDict(extra="forbid")
    say: str
    answers: Inside
    table: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$")]
    numbers: Annotated[list[str], Field(min_length=1)]
    whole: list[str] = []
    given: dict[str, int | float] = {}
    holds: list[Holds] = []


class _Unusable(Exception):
    """A number that is not there or is none: which one, and a sentence; the line of what is no
    TOML, 0 if it is not known."""

    def __init__(self, kind: str, name: str, sentence: str, line: int = 0) -> None:
        super().__init__(sentence)
        self.kind = kind
        self.name = name
        self.line = line


def story(course: Course, check: Check, work: Work) -> Story | None:
    """What is wrong with the student's numbers; None if nothing is. Raises LabError."""
    file = _read(course.folder / str(check.numbers), f"labs/{course.name}/{check.numbers}")
    if file.answers not in course.student.edit:
        raise LabError(f"labs/{course.name}/{check.numbers}: students do not edit {file.answers}.")
    text = work.files[file.answers]
    place, why = None, ""
    try:
        numbers = _numbers(text, file)
        kind, name, summary = _wrong(file, numbers, course)
    except _Unusable as error:
        numbers, kind, name, summary = {}, error.kind, error.name, str(error)
        place = _line(text, file, error.line)
    if not kind:
        return None
    found = ", ".join(f"{name} = {drawing.shown(number)}" for name, number in numbers.items())
    said = (f"in {file.answers}, [{file.table}] says {found}",) if found else ()
    if name and (place := _place(text, file, name)) is not None:
        why = f"{name} is here"
    elif kind == MISSING and (place := _place(text, file)) is not None:
        why = f"{name} belongs below this"
    hint = course.hint(check, kind, name)
    return Story((file.say, *said), summary, kind, hint, place=place, why=why)


def _read(path: Path, shown: str) -> NumbersFile:
    try:
        return NumbersFile.model_validate(read(path))
    except ScenarioError as error:
        raise LabError(f"{shown}: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise LabError(f"{shown}: {where}: {first['msg']}") from error


def _numbers(text: str, file: NumbersFile) -> dict[str, int | float]:
    """The student's numbers, which are finite and not huge. Raises _Unusable."""
    if len(text) > LARGEST_FILE:
        raise _Unusable(UNREADABLE, "", f"{file.answers} is too large for a handful of numbers.")
    try:
        table = tomllib.loads(text).get(file.table, {})
    except tomllib.TOMLDecodeError as error:
        at = _AT_LINE.search(str(error))
        line = int(at[1]) if at else 0
        told = _leading_zero(text, line) or f"{file.answers} is not valid TOML: {error}."
        raise _Unusable(UNREADABLE, "", told, line) from error
    except (ValueError, RecursionError) as error:  # a number of many digits, a thousand brackets
        raise _Unusable(UNREADABLE, "", f"{file.answers} cannot be read as TOML.") from error
    found: dict[str, int | float] = {}
    for name in file.numbers:
        number = table.get(name) if isinstance(table, dict) else None
        if number is None:
            told = f"{file.answers} has no line `{name} = ...` below [{file.table}]."
            raise _Unusable(MISSING, name, told)
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise _Unusable(WRONG, name, f"{name} shall be a number.")
        if not math.isfinite(number) or abs(number) > LARGEST:
            raise _Unusable(WRONG, name, f"{name} is far too large to be right.")
        if name in file.whole and number != int(number):
            raise _Unusable(WRONG, name, f"{name} = {number} is not a whole number.")
        found[name] = number
    return found


def _leading_zero(text: str, line: int) -> str:
    """What to say of a number that begins with a zero, as TOML's do not; empty for another line."""
    lines = text.splitlines()
    found = _ZERO_FIRST.fullmatch(lines[line - 1]) if 0 < line <= len(lines) else None
    return f"A number in TOML has no leading zero: write {found[1]}{found[2]}." if found else ""


def _wrong(
    file: NumbersFile, numbers: Mapping[str, int | float], course: Course
) -> tuple[str, str, str]:
    """Kind, number and sentence for the first condition that does not hold; empty if all do."""
    names = {**file.given, **numbers}
    right = _numbers(course.sources[file.answers], file)
    for condition in file.holds:
        try:
            holds = bool(drawing.evaluate(condition.that, names))
            told = condition.told if holds else drawing.filled(condition.told, names)
        except DrawError:  # such as a division by a number that is 0
            holds, told = False, f"The formula has no value for {condition.number}."
        if not holds:
            return WRONG, _to_look_at(condition, numbers, right), told
    for name, number in numbers.items():
        if not _is_close(number, right[name]):
            return WRONG, name, f"{name} = {drawing.shown(number)} is not right."
    return "", "", ""


def _to_look_at(
    condition: Holds, numbers: Mapping[str, int | float], right: Mapping[str, int | float]
) -> str:
    """The number that a condition names, or if that is right and another one in it is not, that."""
    in_it = (name for name in numbers if re.search(rf"\b{name}\b", condition.that))
    wrong = [name for name in in_it if not _is_close(numbers[name], right[name])]
    return condition.number if condition.number in wrong or not wrong else wrong[0]


def _is_close(number: int | float, right: int | float) -> bool:
    return math.isclose(number, right, rel_tol=RELATIVE, abs_tol=RELATIVE)


def _place(text: str, file: NumbersFile, *name: str) -> Place | None:
    """The line where a number is, or without one its table, if it is."""
    try:
        return _line(text, file, line_table(text).get((file.table, *name), 0))
    except RecursionError:  # brackets in a thousand brackets, which TOML's own reader got over
        return None


def _line(text: str, file: NumbersFile, line: int) -> Place | None:
    lines = text.split("\n")
    if not 0 < line <= len(lines):
        return None
    return Place(file.answers, line, lines[line - 1].strip())
