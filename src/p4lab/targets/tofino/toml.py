"""TOML files of this target, with one sentence and a line per mistake."""

from __future__ import annotations

import difflib
import reprlib
import sys
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from p4lab.targets import TargetError
from p4lab.topology.file import Problem, Source
from p4lab.topology.lines import line_table

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MAX_FILE_BYTES = 1 << 20
ROOT = Path(__file__).resolve().parents[4]
HARDWARE = ROOT / "hw"


class Strict(BaseModel):
    """A table of a file: keys that it does not know are mistakes."""

    model_config = ConfigDict(extra="forbid")


class HardwareError(TargetError):
    """A map that cannot be used. `problems` has every mistake found, in file order."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: problem.line))
        super().__init__("\n".join(map(str, self.problems)))


Table = TypeVar("Table", bound=Strict)


def read(path: Path, model: type[Table]) -> tuple[Table, Source]:
    """What a file holds, and where. Raises HardwareError."""
    shown = _shown(path)
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise HardwareError([Problem(shown, 1, f"cannot read the file: {reason}")]) from error
    return parse(raw, shown, model)


def parse(raw: bytes, file: str, model: type[Table]) -> tuple[Table, Source]:
    """The same from the bytes of a file; `file` names it in errors. Raises HardwareError."""
    if len(raw) > MAX_FILE_BYTES:
        raise HardwareError([Problem(file, 1, "the file is larger than 1 MiB")])
    try:
        text = raw.decode("utf-8").replace("\r\n", "\n")
        data = tomllib.loads(text)
        source = Source(file, line_table(text))
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise HardwareError([Problem(file, line, "the text is not UTF-8")]) from error
    except ValueError as error:
        raise HardwareError([_syntax(file, error)]) from error
    except RecursionError as error:
        raise HardwareError([Problem(file, 1, "arrays are nested too deep")]) from error
    try:
        return model.model_validate(data), source
    except ValidationError as error:
        problems = [
            source.problem(tuple(item["loc"]), _sentence(item, model))
            for item in error.errors(include_url=False)
        ]
        raise HardwareError(problems) from error


def _shown(path: Path) -> str:
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _syntax(file: str, error: ValueError) -> Problem:
    text, _, place = str(error).partition(" (at ")
    line = place.split()[1].rstrip(",)") if place.startswith("line ") else "1"
    return Problem(file, int(line), f"this is not TOML: {text[:1].lower()}{text[1:]}")


def _sentence(error: Any, model: type[Strict]) -> str:
    """A pydantic error in a sentence that says what to write instead."""
    place, kind, context = error["loc"], error["type"], error.get("ctx", {})
    what = f"`{place[-1]}`" if isinstance(place[-1], str) else f"this {place[0]}"
    shown = reprlib.repr(error["input"])
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
        return f"{what} is {shown}, but it must be {context['expected']}"
    if kind.startswith("int_"):
        return f"{what} must be a whole number, not {shown}"
    if kind.startswith(("greater_than", "less_than")):
        limit = f"at least {context['ge']}" if "ge" in context else f"at most {context['le']}"
        return f"{what} is {shown}, but it must be {limit}"
    return f"{what} is {shown}: {error['msg'][:1].lower()}{error['msg'][1:]}"


def _known(place: tuple[Any, ...], model: type[Strict]) -> list[str]:
    """The keys of the table around a place."""
    if len(place) == 1:
        return list(model.model_fields)
    row = getattr(model.model_fields[place[0]].annotation, "__args__", (model,))[0]
    return list(row.model_fields)
