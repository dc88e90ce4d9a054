"""What a student of a lab gets: the starter, cut from the solution, and the files around it."""

from __future__ import annotations

import itertools
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from p4lab import _engine
from p4lab.command import command
from p4lab.course import marks, renewal
from p4lab.course.home import HERE, names, own_folder, work_on
from p4lab.course.home import command as command_here
from p4lab.course.labs import LabError, author_text, home, read_lab
from p4lab.course.renewal import State
from p4lab.plurals import count_of

_BLANK = 1 << 10  # bytes: what is longer has more than blanks
_MOST_NAMED = 3

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
    progress: Inside | None = None
    """Where `p4lab check` writes down which parts are done, if it does"""


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
        if not self.path.is_file():
            return True
        return author_text(self.path, str(self.path)) != self.text


def student(lab: str) -> Student:
    """The table [student] of a lab. Raises LabError."""
    return read_lab(lab, _StudentFile).student


def cuts(lab: str) -> Iterator[Cut]:
    """Every file of a lab that is cut from its solution. Raises LabError and marks.MarkError."""
    for name in student(lab).edit:
        text = marks.starter(_source(lab, name), f"p4/{name}")
        yield Cut(home(lab).labs / lab / "starter" / name, text)
    for handout in sorted((home(lab).labs / lab).glob("*.md")):
        text = author_text(handout, f"labs/{lab}/{handout.name}")
        yield Cut(handout, _QUOTE.sub(lambda quote: _quoted(lab, quote), text))


def _quoted(lab: str, quote: re.Match[str]) -> str:
    code = marks.quotation(_source(lab, quote["file"]), f"p4/{quote['file']}", quote["name"])
    return f"{quote['head']}{code}{quote['tail']}"


def _source(lab: str, name: str) -> str:
    try:
        return author_text(source(lab, _inside(name)), f"p4/{name}")
    except (OSError, ValueError) as error:
        raise LabError(f"labs/{lab}: p4/{name}: {error}") from error


def start(lab: str, folder: Path) -> Iterator[tuple[str, State]]:
    """Puts a lab's files into a folder: each file's path there and what became of it.

    Where a student has written, that stays: see `renewal.State`. If the lab has changed since the
    folder was begun, its changes get there as far as they leave the student's alone; what could not
    be merged is laid beside, once. Raises BegunForAnother, since one lab's files may be another's
    solution, LabError, and OSError where the folder cannot be written.
    """
    student(lab)
    if other := begun_for_another(lab, folder):
        raise BegunForAnother(lab, folder, other)
    begun = renewal.begun_with(folder)
    try:
        for name, text in starter_of(lab):
            state = renewal.place(folder / name, text, begun.get(name))
            if state != "kept":
                begun[name] = text
            yield name, state
    finally:
        if begun:
            renewal.remember(folder, begun, lab)


class BegunForAnother(LabError):
    """A folder that was begun for another lab; `instead` is one to begin this lab in."""

    def __init__(self, lab: str, folder: Path, other: str) -> None:
        self.instead = _elsewhere(lab, folder)
        self.told = f"{folder} was begun for {other}; {lab} needs a folder of its own"
        again = f"{command_here()} start {lab} {shlex.quote(str(self.instead))}"
        super().__init__(f"{self.told}: {again}")


def _elsewhere(lab: str, folder: Path) -> Path:
    """A folder beside another that a lab can be begun in."""
    beside = folder
    if folder.name in ("", ".."):  # with_name wants a name
        beside = Path(os.path.relpath(folder.resolve().parent)) / "here"
    name = own_folder(lab)
    others = (f"{name}-{number}" for number in itertools.count(2))
    tried = (beside.with_name(one) for one in itertools.chain([name], others))
    return next(one for one in tried if not begun_for_another(lab, one))


def begun_for_another(lab: str, folder: Path) -> str:
    """The other lab that a folder was begun for; empty if there is none."""
    begun = renewal.begun_for(folder) or _nearest(lab, renewal.begun_with(folder))
    return "" if begun == lab else begun


def _nearest(lab: str, begun: Iterable[str]) -> str:
    """Of which lab the files are that a folder remembers without its name; this one, if another is
    as near. Empty if they are of none."""
    files, apart = set(begun), {}
    for one in names() if files else ():
        try:
            wanted = student(one)
        except LabError:  # its own author will be told
            continue
        if files & set(wanted.edit):
            apart[one] = (len(files ^ {*wanted.edit, *wanted.files}), one != lab)
    return min(apart, key=apart.__getitem__, default="")


def starter_of(lab: str) -> Iterator[tuple[str, str]]:
    """Every file that a student gets: its path and its text. Raises LabError."""
    wanted = student(lab)
    starter = home(lab).labs / lab / "starter"
    for name in [*wanted.edit, *wanted.files]:
        try:
            if name in wanted.edit:
                yield name, author_text(starter / name, f"labs/{lab}/starter/{name}")
            else:
                yield name, given(lab, name)
        except OSError as error:
            raise LabError(
                f"labs/{lab}: {name}: {error.strerror}; {command()} starter {lab}"
            ) from error


def is_older(lab: str, folder: Path) -> bool:
    """Whether a lab has changed since a student began it in this folder. Raises LabError."""
    begun = {} if begun_for_another(lab, folder) else renewal.begun_with(folder)
    return any(begun.get(name, text) != text for name, text in starter_of(lab))


def lacking(lab: str, folder: Path, of: _engine.Compilation | None = None) -> Iterator[str]:
    """What is said of the files with tasks that are empty or gone in a student's folder: what to
    do. With a program that does not compile, only of those that it asks for. Raises LabError."""
    empty = [name for name in student(lab).edit if _is_empty(folder / name)]
    gone = [name for name in student(lab).edit if not os.path.lexists(folder / name)]
    if of is not None:
        read = {os.path.normpath(file) for file in of.files}
        missed = " ".join(f"{one['message']} {one['hint']}" for one in of.diagnostics)
        empty = [name for name in empty if os.path.normpath(folder / name) in read]
        gone = [name for name in gone if str(folder / name) in missed]
    if (empty or gone) and (other := begun_for_another(lab, folder)):
        yield str(BegunForAnother(lab, folder, other))
        return
    again = f"{command()} start {lab}"
    if folder.resolve() != work_on(lab):
        again += f" {shlex.quote(str(folder))}"
    for these, what in ((empty, "empty"), (gone, "missing")):
        be, them = ("is", "it") if len(these) == 1 else ("are", "them")
        first = f", delete {them}, then" if what == "empty" else ""
        if these:
            yield f"{_row(these)} {be} {what}. To begin with the starter again{first}: {again}"


def remedied(trouble: str, lacks: Iterable[str]) -> tuple[str, list[str]]:
    """What is said of trouble, with the remedy if one of `lacks` is about it, and the others."""
    every = list(lacks)
    told = next((one for one in every if trouble and one.startswith(trouble)), trouble)
    return told, [one for one in every if one != told]


def _is_empty(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size < _BLANK and not path.read_bytes().strip()
    except OSError:
        return False


def _row(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {count_of(more, 'other')}" if more > 0 else "")


def source(lab: str, name: str) -> Path:
    """Where a file of a lab's solution is: below the p4/ of its home, or of this checkout, whose
    headers other courses may use."""
    own = home(lab).sources / name
    return own if own.is_file() else HERE.sources / name


def given(lab: str, name: str) -> str:
    """A file that students get as it is: without the marks that it has if another lab is cut from
    it. Raises LabError, OSError."""
    return marks.solution(author_text(source(lab, name), f"p4/{name}"), f"p4/{name}")


def differing(lab: str, folder: Path) -> list[str]:
    """The files in a student's folder that the lab gives and that are not as it gives them, so that
    what runs there is not what is judged. Raises LabError."""
    found = []
    for name in student(lab).files:
        path = folder / name
        if not path.is_file():
            continue  # the compiler says so if it is missed
        try:
            as_given = [given(lab, name), author_text(source(lab, name), f"p4/{name}")]
            text = path.read_text(encoding="utf-8-sig", errors="replace")
        except OSError as error:
            raise LabError(f"labs/{lab}: {name}: {error.strerror}") from error
        if text.splitlines() not in [one.splitlines() for one in as_given]:
            found.append(name)
    return found
