"""TOML files of ours: what they hold and in which line, and one sentence for every mistake.

Topologies and the maps of hardware are read here; what their rows mean together, each knows itself.
"""

from __future__ import annotations

import difflib
import reprlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from p4lab.errors import Plain, foreign_line
from p4lab.topology.lines import line_table

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MAX_FILE_BYTES = 1 << 20


class Strict(BaseModel):
    """A table of a file: keys that it does not know are mistakes."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True)
class Problem:
    """One mistake in a file: where, and a sentence. `line` counts from 1, and is 0 where there are
    no lines to count: then the sentence names the file."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        if not self.line:
            return self.text
        return f"{self.file}:{self.line}: {self.text}"


class FileError(Plain, Exception):
    """A file that cannot be used. `problems` has every mistake found, in file order."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: problem.line))
        super().__init__("\n".join(map(str, self.problems)))


@dataclass(frozen=True)
class Source:
    """What the data was read from, to turn places in the data into lines."""

    file: str
    lines: dict[tuple[str | int, ...], int]

    def problem(self, place: tuple[str | int, ...], text: str) -> Problem:
        """A problem at `place`, or at the nearest thing around it that has a line."""
        while place and place not in self.lines:
            place = place[:-1]
        return Problem(self.file, self.lines.get(place, 1), text)


Table = TypeVar("Table", bound=Strict)
Words = Callable[[Any, str, str], str]
"""What a file has to say of an error of pydantic's for itself, of the key in quotation marks and
the value; "" for the usual words"""


def read_bytes(path: Path) -> bytes:
    """What a file holds, or one byte more than it may. Raises FileError."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        told = f"cannot read {shown(path)}: {reason}"
        raise FileError([Problem(shown(path), 0, told)]) from error


def shown(path: Path) -> str:
    """A path as messages name it."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except (OSError, ValueError):
        return str(path)


def parse_data(raw: bytes, file: str) -> tuple[dict[str, Any], Source]:
    """Plain data from the bytes of a file, which `file` names in errors. Raises FileError."""
    if len(raw) > MAX_FILE_BYTES:
        raise FileError([Problem(file, 1, "the file is larger than 1 MiB")])
    try:
        text = raw.decode("utf-8-sig").replace("\r\n", "\n")
        return tomllib.loads(text), Source(file, line_table(text))
    except UnicodeDecodeError as error:
        problem = Problem(file, foreign_line(error), "the text is not UTF-8")
        raise FileError([problem]) from error
    except ValueError as error:
        raise FileError([_syntax(file, error)]) from error
    except RecursionError as error:
        raise FileError([Problem(file, 1, "arrays are nested too deep")]) from error


def fill(
    model: type[Table],
    data: dict[str, Any],
    source: Source,
    words: Words = lambda *_: "",
) -> Table:
    """Data in the form of a schema. Raises FileError."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise FileError(
            [
                source.problem(tuple(item["loc"]), _sentence(item, model, words))
                for item in error.errors(include_url=False)
            ]
        ) from error


def _syntax(file: str, error: ValueError) -> Problem:
    text, _, place = str(error).partition(" (at ")
    line = place.split()[1].rstrip(",)") if place.startswith("line ") else "1"
    return Problem(file, int(line), f"this is not TOML: {text[:1].lower()}{text[1:]}")


def _sentence(error: Any, model: type[Strict], words: Words) -> str:
    """A pydantic error in a sentence that says what to write instead."""
    place, kind, context = error["loc"], error["type"], error.get("ctx", {})
    what = f"`{place[-1]}`" if isinstance(place[-1], str) else f"this {place[0]}"
    value = reprlib.repr(error["input"])
    if own := words(error, what, value):
        return own
    if kind == "missing":
        owner = f"this {place[0]}" if len(place) > 1 else "the file"
        return f"{owner} has no {what}: add it"
    if kind == "extra_forbidden":
        known = _known(place, model)
        close = difflib.get_close_matches(str(place[-1]), known, n=1)
        hint = f"did you mean `{close[0]}`?" if close else f"use {', '.join(known)}"
        return f"unknown key {what}: {hint}"
    if kind == "value_error":
        return str(context["error"])
    if kind == "literal_error":
        return f"{what} is {value}, but it must be {context['expected']}"
    if kind.startswith("int_"):
        return f"{what} must be a whole number, not {value}"
    if kind.startswith(("greater_than", "less_than")):
        limit = f"at least {context['ge']}" if "ge" in context else f"at most {context['le']}"
        return f"{what} is {value}, but it must be {limit}"
    return f"{what} is {value}: {error['msg'][:1].lower()}{error['msg'][1:]}"


def _known(place: tuple[Any, ...], model: type[Strict]) -> list[str]:
    """The keys of the table around a place."""
    row = model if len(place) == 1 else get_args(model.model_fields[place[0]].annotation)[0]
    return [info.alias or name for name, info in row.model_fields.items()]
