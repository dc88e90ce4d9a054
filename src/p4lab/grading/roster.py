"""Who takes part: a CSV file with a line for each student, and whose an entry is by it.

Three kinds are read, by their first line:

own      id, and if wanted name, email, team, user (the platform's number), days (late days), in
         capitals or not; other columns are left alone
Canvas   the grade book as Canvas exports it: Student, ID, SIS User ID, SIS Login ID, Section
Moodle   the grading worksheet of an assignment: Identifier, Full name, ..., Grade, ...
"""

from __future__ import annotations

import csv
import difflib
import hashlib
import io
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Literal

from p4lab.errors import foreign_line
from p4lab.grading.workers import GradingError

Kind = Literal["own", "canvas", "moodle"]

LARGEST = 16 << 20  # bytes
_OWN = ("id", "name", "email", "team", "user", "days")
_CANVAS_IDS = ("ID", "SIS User ID", "SIS Login ID", "Integration ID")
_LOGIN = re.compile(r"[a-z0-9]([a-z0-9]|-(?=[a-z0-9])){0,18}")
MISSPELT = 0.81
"""How alike a column has to be to one that is read to be taken for a typing mistake: `tem` is one
of `team`, `surname`, `term` and `uid` are columns of a class list"""
_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september",
           "october", "november", "december")  # fmt: skip
_CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::\d\d)?"
_HALF = r"(?:\s?(?P<half>am|pm))?"
# English whatever the locale is, which strptime goes by.
_MOODLE_TIMES = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"(?:\w+, )?(?P<day>\d{{1,2}}) (?P<month>[a-z]+) (?P<year>\d{{4}}), {_CLOCK}{_HALF}",
        rf"(?:\w+, )?(?P<month>[a-z]+) (?P<day>\d{{1,2}}), (?P<year>\d{{4}}), {_CLOCK}{_HALF}",
        rf"(?P<year>\d{{4}})-(?P<month>\d\d)-(?P<day>\d\d) {_CLOCK}(?P<half>)",
    )
)


@dataclass(frozen=True)
class Person:
    """A student. `id` is what their results are named by; `row` is the line of the file by its
    columns. `when` is when they handed in, if the file says so."""

    id: str
    name: str = ""
    email: str = ""
    team: str = ""
    user: str = ""
    days: int | None = None
    when: datetime | None = None
    row: Mapping[str, str] = field(default_factory=dict)
    others: frozenset[str] = frozenset()
    """Further numbers and logins of theirs"""


@dataclass(frozen=True)
class Roster:
    """A course's students in the order of the file, with its columns. `ignored` are columns that
    nobody reads; `unread` says in a sentence each which times are not understood."""

    kind: Kind
    columns: tuple[str, ...]
    people: tuple[Person, ...]
    most: Mapping[str, str] = field(default_factory=dict)
    """The points possible of each column, where it is Canvas' grade book"""
    ignored: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    def owners(self, label: str, user: str = "") -> tuple[Person, ...]:
        """Whose an entry is that its platform calls so: one person, or all of a team; empty if
        nobody's, or if it could be several people's."""
        found = self.candidates(label, user)
        teams = {person.team for person in found}
        if len(teams) == 1 and found[0].team:
            return tuple(one for one in self.people if one.team == found[0].team)
        return found if len(found) == 1 else ()

    def candidates(self, label: str, user: str = "") -> tuple[Person, ...]:
        """All to whom an entry could belong that its platform calls so, by what tells most."""
        return tuple(next(filter(None, self._ways(label, user)), ()))

    def person(self, label: str) -> Person | None:
        """The one person who has this id, email or login; None if there is none, or several."""
        key = label.strip().casefold()
        found = [
            one
            for one in self.people
            if key and (key in (one.id.casefold(), one.email.casefold()) or key in one.others)
        ]
        return found[0] if len(found) == 1 else None

    def _ways(self, label: str, user: str) -> Iterable[list[Person]]:
        """The people whom an entry may belong to, by what tells most first."""
        if user:
            yield [one for one in self.people if one.user == user]
        yield [one for one in self.people if one.id == label]
        key = label.casefold()
        yield [one for one in self.people if one.id.casefold() == key]
        yield [one for one in self.people if key in (one.email.casefold(), _local(one.email))]
        yield [one for one in self.people if key in one.others]
        name = plain(label)
        yield [one for one in self.people if name and plain(one.team) == name]
        yield [one for one in self.people if name in _spellings(one.name)]


def meant(label: str, people: Iterable[Person]) -> tuple[Person, ...]:
    """Who may be called so, by what tells most: the id, an address or a number, the name however it
    is spelt. Several if it is not clear."""
    people = tuple(people)
    key, name = label.strip().casefold(), plain(label)
    ways: tuple[Callable[[Person], bool], ...] = (
        lambda one: label == one.id,
        lambda one: key == one.id.casefold(),
        lambda one: key in ({one.email.casefold(), _local(one.email), one.user} | one.others),
        lambda one: name in _spellings(one.name),
    )
    for fits in ways:
        if found := tuple(one for one in people if label.strip() and fits(one)):
            return found
    return ()


def nearest(label: str, people: Iterable[Person], most: int = 3) -> list[Person]:
    """Those who are called nearly so, the nearest first."""
    called: dict[str, Person] = {}
    for one in people:
        for name in (one.id, one.email, _local(one.email), one.user, one.name):
            called.setdefault(name.casefold(), one)
    near = difflib.get_close_matches(label.casefold(), filter(None, called), n=10)
    return list({called[name].id: called[name] for name in near}.values())[:most]


def login_of(id: str) -> str:
    """The name of a student's user on a class's server: `p4-` and the id, or, of an id that is no
    name of a user, what is left of it and six digits of its hash."""
    if _LOGIN.fullmatch(id):
        return f"p4-{id}"
    ascii = unicodedata.normalize("NFKD", id).encode("ascii", "ignore").decode().lower()
    rest = re.sub(r"[^a-z0-9]+", "-", ascii).strip("-")
    return f"p4-{rest[:12]}-{hashlib.sha256(id.encode()).hexdigest()[:6]}".replace("--", "-")


def plain(name: str) -> str:
    """The letters and digits of a name, as platforms leave them of it."""
    text = unicodedata.normalize("NFKD", name).casefold()
    return "".join(char for char in text if char.isalnum())


def _spellings(name: str) -> set[str]:
    """A name with the family name last and first: Ada Lovelace; Lovelace, Ada."""
    if "," in name:
        last, _, first = name.partition(",")
        orders = [f"{last}{first}", f"{first}{last}"]
    else:
        words = name.split()
        orders = ["".join(words[cut:] + words[:cut]) for cut in range(max(len(words), 1))]
    return {plain(order) for order in orders} - {""}


def _local(email: str) -> str:
    return email.casefold().partition("@")[0]


def read(path: Path) -> Roster:
    """The students of a file. Raises GradingError."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise GradingError(f"{path}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise GradingError(
            f"{path}: line {foreign_line(error)} is not UTF-8; save it as CSV in UTF-8."
        ) from error
    if len(data) > LARGEST:
        raise GradingError(f"{path}: too large for a list of students.")
    head = text.split("\n", 1)[0]
    separator = ";" if head.count(";") > head.count(",") else ","
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    except csv.Error as error:
        raise GradingError(f"{path}: it cannot be read as CSV: {error}.") from error
    return _roster(path, lines)


def _roster(path: Path, lines: Sequence[Sequence[str]]) -> Roster:
    columns = tuple(name.strip() for name in (lines[0] if lines else ()))
    kind = _kind(columns)
    if kind is None:
        raise GradingError(
            f"{path}: the first line names no column `id`, and it is neither Canvas' grade book "
            "nor Moodle's grading worksheet in English; download that with Moodle set to English, "
            "or give a list with the columns id and name."
        )
    ignored: tuple[str, ...] = ()
    if kind == "own":
        columns = _in_small_letters(columns)
        ignored = _ignored(columns, path)
    people: list[Person] = []
    unread: list[str] = []
    most: Mapping[str, str] = {}
    for number, cells in enumerate(lines[1:], 2):
        row = dict(zip(columns, (cell.strip() for cell in cells), strict=False))
        if kind == "canvas" and "Points Possible" in row.get("Student", ""):
            most = row
        person = _PERSON[kind](row, f"{path}:{number}")
        if person is None:
            continue
        if any(person.id == other.id for other in people):
            raise GradingError(f"{path}:{number}: {person.id!r} is there twice.")
        if kind == "moodle" and person.when is None and (text := _time_of(row)):
            unread.append(
                f"{path}:{number}: the time {text!r} is not understood; download the worksheet "
                "with Moodle set to English."
            )
        people.append(replace(person, others=person.others | {login_of(person.id)}))
    if not people:
        raise GradingError(f"{path}: there is nobody in it.")
    return Roster(kind, columns, tuple(people), most, ignored, tuple(unread))


def _in_small_letters(columns: Sequence[str]) -> tuple[str, ...]:
    """The columns of a list of one's own, those that are read as `_OWN` spells them."""
    small = (name.casefold() for name in columns)
    return tuple(
        own if own in _OWN and own not in columns else name
        for own, name in zip(small, columns, strict=True)
    )


def _ignored(columns: Sequence[str], path: Path) -> tuple[str, ...]:
    """The columns that nobody reads. Raises GradingError for one that is there twice, and for what
    looks like a typing mistake in one that is missing."""
    for name in _OWN:
        if columns.count(name) > 1:
            raise GradingError(f"{path}:1: the column {name} is there twice.")
    others = tuple(dict.fromkeys(name for name in columns if name and name not in _OWN))
    missing = [name for name in _OWN if name not in columns]
    for name in others:
        if near := difflib.get_close_matches(plain(name), missing, 1, MISSPELT):
            raise GradingError(f"{path}:1: unknown column {name}; did you mean {near[0]}?")
    return others


def _kind(columns: Sequence[str]) -> Kind | None:
    if {"Student", "ID", "Section"} <= set(columns):
        return "canvas"
    if {"Identifier", "Full name", "Grade"} <= set(columns):
        return "moodle"
    if "id" in columns:
        return "own"
    # A German Moodle has a column ID, too, but nothing else that a list of one's own has.
    known = set(map(str.casefold, columns)) & set(_OWN)
    return "own" if "id" in known and (len(known) > 1 or len(columns) == 1) else None


def _own(row: Mapping[str, str], place: str) -> Person | None:
    cells = {name: row.get(name, "") for name in _OWN}
    if not any(row.values()):
        return None
    if not cells["id"]:
        raise GradingError(f"{place}: the column id is empty.")
    days = cells.pop("days")
    if days and not (days.isdecimal() and len(days) < 4):
        raise GradingError(f"{place}: days is a number of days, not {days!r}.")
    number, name, email, team, user = cells.values()
    return Person(number, name, email, team, user, int(days) if days else None, row=row)


def _canvas(row: Mapping[str, str], place: str) -> Person | None:
    """None for the lines that Canvas has beside those of students."""
    name = row.get("Student", "")
    ids = [row[column] for column in _CANVAS_IDS if row.get(column)]
    if not ids or "Points Possible" in name or name == "Student, Test":
        return None
    login = row.get("SIS Login ID", "")
    return Person(
        login or row.get("SIS User ID") or ids[0],
        name,
        login if "@" in login else "",
        user=row.get("ID", ""),
        row=row,
        others=frozenset(one.casefold() for one in ids),
    )


def _moodle(row: Mapping[str, str], place: str) -> Person | None:
    number = re.search(r"\d+$", row.get("Identifier", ""))
    if number is None:
        return None
    email, known = row.get("Email address", ""), row.get("ID number", "")
    return Person(
        known or email or row.get("Full name") or row["Identifier"],
        row.get("Full name", ""),
        email,
        row.get("Group", ""),
        number[0],
        when=_moodle_time(_time_of(row)),
        row=row,
    )


def _time_of(row: Mapping[str, str]) -> str:
    """When somebody handed in, as the worksheet writes it; empty for who has not."""
    text = row.get("Last modified (submission)", "")
    return "" if text == "-" else text


def _moodle_time(text: str) -> datetime | None:
    """The time as an English Moodle writes it, which is without a zone; None for any other."""
    for form in _MOODLE_TIMES:
        if found := form.fullmatch(text):
            with suppress(ValueError):  # such as the 31st of a short month
                month, hour = _month(found["month"]), int(found["hour"])
                if found["half"]:
                    hour = _of_the_day(hour, found["half"].casefold() == "pm")
                day = int(found["day"])
                return datetime(int(found["year"]), month, day, hour, int(found["minute"]))
    return None


def _month(text: str) -> int:
    """The number of a month. Raises ValueError."""
    if text.isdecimal():
        return int(text)
    names = [name if len(text) > 3 else name[:3] for name in _MONTHS]
    return names.index(text.casefold()) + 1


def _of_the_day(hour: int, afternoon: bool) -> int:
    """An hour of a clock with twelve as one of the day. Raises ValueError."""
    if not 1 <= hour <= 12:
        raise ValueError(hour)
    return hour % 12 + (12 if afternoon else 0)


_PERSON = {"own": _own, "canvas": _canvas, "moodle": _moodle}
