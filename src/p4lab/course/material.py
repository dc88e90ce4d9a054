"""What a student of a lab gets: the starter, cut from the solution, and the files around it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from p4lab.course import marks
from p4lab.course.labs import LABS, LabError, read_lab
from p4lab.paths import ROOT

SOURCES = ROOT / "p4"

# In a handout: this comment, then a fenced block whose text is the quotation.
_QUOTE = re.compile(
    r"(?P<head><!-- quote (?P<file>\S+) (?P<name>\S+) -->\n```[^\n]*\n)"
    r"(?P<code>.*?)(?P<tail>^```$)",
    re.DOTALL | re.MULTILINE,
)


def _inside(path: str) -> str:
    """Accepts a path that stays below the folder it is joined to."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\\" in path:
        raise ValueError("write a path below p4/, without '..'")
    return path


Inside = Annotated[str, AfterValidator(_inside)]


class Student(BaseModel):
    """The table [student] of a lab.toml."""

    model_config = ConfigDict(extra="forbid")
    program: Inside
    edit: Annotated[list[Inside], Field(min_length=1)]
    files: list[Inside]


class _StudentFile(BaseModel):
    model_config = ConfigDict(extra="ignore")
    student: Student


@dataclass(frozen=True)
class Cut:
    """A file that is made from the solution: where it belongs and what it shall hold."""

    path: Path
    text: str

    @property
    def drifted(self) -> bool:
        """Whether the file is missing or holds something else."""
        return not self.path.is_file() or self.path.read_text(encoding="utf-8") != self.text


def student(lab: str) -> Student:
    """The table [student] of a lab. Raises LabError."""
    return read_lab(lab, _StudentFile).student


def cuts(lab: str) -> Iterator[Cut]:
    """Every file of a lab that is cut from its solution. Raises LabError and marks.MarkError."""
    for name in student(lab).edit:
        text = marks.starter(_source(lab, name), f"p4/{name}")
        yield Cut(LABS / lab / "starter" / name, text)
    for handout in sorted((LABS / lab).glob("*.md")):
        text = handout.read_text(encoding="utf-8")
        yield Cut(handout, _QUOTE.sub(lambda quote: _quoted(lab, quote), text))


def _quoted(lab: str, quote: re.Match[str]) -> str:
    code = marks.quotation(_source(lab, quote["file"]), f"p4/{quote['file']}", quote["name"])
    return f"{quote['head']}{code}{quote['tail']}"


def _source(lab: str, name: str) -> str:
    try:
        return (SOURCES / _inside(name)).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise LabError(f"labs/{lab}: p4/{name}: {error}") from error


State = Literal["new", "unchanged", "kept"]


def start(lab: str, folder: Path) -> Iterator[tuple[str, State]]:
    """Puts a lab's files into a folder: each file's path there and what became of it.

    A file that is there already stays as it is: `unchanged` if it is the lab's own, else `kept`.
    Raises LabError, and OSError where the folder cannot be written.
    """
    wanted = student(lab)
    starter = LABS / lab / "starter"
    for name in [*wanted.edit, *wanted.files]:
        try:
            text = (
                (starter / name).read_text(encoding="utf-8") if name in wanted.edit else given(name)
            )
        except OSError as error:
            raise LabError(f"labs/{lab}: {name}: {error.strerror}; p4lab cut {lab}") from error
        yield name, _place(folder / name, text.encode())


def given(name: str) -> str:
    """A file that students get as it is: without the marks that it has if another lab is cut from
    it. Raises OSError."""
    return marks.solution((SOURCES / name).read_text(encoding="utf-8"), f"p4/{name}")


def _place(path: Path, data: bytes) -> State:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("xb") as file:
            file.write(data)
    except FileExistsError:
        return "unchanged" if path.is_file() and path.read_bytes() == data else "kept"
    return "new"
