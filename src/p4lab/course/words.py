"""What is wrong with a file of an author's, in words: its text, and what a model refuses of it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from p4lab.errors import foreign_line
from p4lab.topology.lines import line_table

Place = tuple[str | int, ...]

_PLAIN = {
    "greater than or equal to": "at least",
    "less than or equal to": "at most",
    "a valid integer": "a whole number",
    "a valid string": "a text in quotes",
    "a valid number": "a number",
    "a valid boolean": "true or false",
    "a valid dictionary": "a table",
    "a valid list": "a list",
    ", unable to parse string as an integer": "",
    ", got a number with a fractional part": "",
    ", unable to parse string as a number": "",
}


class TextError(ValueError):
    """A file that is no text; the message says where, and not in which file."""


class PlacedError(ValueError):
    """What is wrong at a place below the table whose validator raises it."""

    def __init__(self, place: Place, told: str) -> None:
        super().__init__(told)
        self.place = place


def text_of(file: Path) -> str:
    """A file's text, with or without the mark that Windows puts in front of UTF-8. Raises TextError
    and OSError."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = foreign_line(error)
        raise TextError(f"line {line} is not UTF-8; save the file as UTF-8.") from error


def refused(error: ValidationError, model: type[BaseModel], text: str, below: Place = ()) -> str:
    """The first thing that a model refuses of a TOML, as `LINE: KEY: what is wrong`. The model is
    of what stands `below` a place of the text."""
    first = error.errors()[0]
    cause = first.get("ctx", {}).get("error")
    place: Place = (*below, *first["loc"])
    if isinstance(cause, PlacedError):
        place += cause.place
    told = _told(first, model)
    named = place[:-1] if first["type"] in ("missing", "extra_forbidden") else place
    name = ".".join(part for part in named if isinstance(part, str))
    return f"{line_of(text, *place)}: {name}{': ' if name else ''}{told}"


def line_of(text: str, *place: str | int) -> int:
    """The line of a TOML where something stands, or what it would stand in."""
    lines = line_table(text)
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place, 1)


def _told(first: Mapping[str, Any], model: type[BaseModel]) -> str:
    """What pydantic says, for who does not know it."""
    kind, said, key = first["type"], str(first["msg"]), first["loc"][-1] if first["loc"] else ""
    if kind == "value_error":
        return said.removeprefix("Value error, ")
    if kind == "missing":
        return f"the key {key} is missing"
    if kind == "extra_forbidden":
        known = sorted(_keys(model, first["loc"][:-1]))
        near = difflib.get_close_matches(str(key), known, 1)
        more = f"did you mean {near[0]}?" if near else f"choose from {', '.join(known)}"
        return f"unknown key {key}" + (f"; {more}" if known else "")
    must = re.sub(r"^.*? should ", "must ", said)
    must = re.sub(r"after validation, ", "", must)
    for words, plain in _PLAIN.items():
        must = must.replace(words, plain)
    given = first["input"]
    shown = isinstance(given, str | int | float) and ", not " not in must
    return f"{must}, not {given!r}" if shown else must


def _keys(model: type[BaseModel], place: Place) -> set[str]:
    """The keys of the table at a place of a model; none if it is not clear which table that is."""
    here = [model]
    for part in place:
        if isinstance(part, str):
            fields = [one.model_fields[part] for one in here if part in one.model_fields]
            here = [found for field in fields for found in _models(field.annotation)]
    if len(here) != 1:
        return set()
    return {field.alias or name for name, field in here[0].model_fields.items()}


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)
