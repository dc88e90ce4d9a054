"""What a class has handed in, as its platform exports it: who, which attempt, which files.

Understood are a folder or a zip with one folder, zip or file for each student, and the exports of
three platforms, of two as their sources write them (looked at in 2026-11):

Canvas    lib/content_zipper.rb: flat, one file for each upload,
          NAME[_LATE]_USER_UPLOAD_FILE; NAME is the sortable name in small letters without spaces,
          or `anon`, and USER then a word
Moodle    mod/assign/classes/downloader.php: NAME_NUMBER_assignsubmission_file, a folder, or with
          _FILE behind it a file; NAME is a team's where teams hand in
Gradescope
          a folder for each hand-in, and submission_metadata.yml, which says whose they are
          (`gradescope_export`)

Several attempts of one student are several folders of the class, one after the other, or entries
NAME@WHEN, where WHEN is a time (2026-11-20T23:10) or a number.
"""

from __future__ import annotations

import os
import re
import stat
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path, PurePosixPath

from p4lab.grading import gradescope_export
from p4lab.grading.submission import MEMBERS, ZIP_BYTES
from p4lab.grading.workers import GradingError
from p4lab.grading.writers.text import student_of

EXPORT_MEMBERS = 100 * MEMBERS
EXPORT_BYTES = 4 << 30
"""Most that is unpacked of an export"""
_NOWHERE = "a link that was handed in"
"""What links of an export are made to lead to"""

_LITTER = frozenset({"__macosx", "thumbs.db", "desktop.ini"})
"""What Windows and macOS leave in folders"""
_LISTS = frozenset(
    {".csv", ".tsv", ".xls", ".xlsx", ".ods", ".md", ".html", ".json", ".toml", ".yaml", ".yml"}
    | {".log", ".seed"}
)
"""What an instructor keeps next to submissions, or a platform does"""
_CANVAS = re.compile(
    r"(?:(?P<late_anonymous>LATE_)?anon_(?P<anonymous>[^_]+)|"
    r"(?P<name>.+?)(?P<late>_LATE)?_(?P<user>\d+))_(?P<upload>\d+)_(?P<file>.+)",
    re.DOTALL,
)
_MOODLE = re.compile(
    r"(?P<name>.+)_(?P<user>\d+)_assignsubmission_(?P<plugin>[a-z]+)(?:_(?P<file>.*))?", re.DOTALL
)
_ATTEMPT = re.compile(
    r"(?P<name>.+)@(?P<when>\d{1,3}|\d{4}-\d\d-\d\d(?:[T_ ]\d\d[.:-]?\d\d(?:[.:-]?\d\d)?"
    r"(?:Z|[+-]\d\d:?\d\d)?)?)",
    re.DOTALL,
)


@dataclass(frozen=True)
class Entry:
    """One attempt of a student or a team: the name of every file or folder of it, and where that
    is. `user` is the platform's number for who it is; `late` is what it says of the time, `when`
    the time itself if it is known. `members` are those who handed it in, if the platform names
    each: what they may be called, the surest first. Attempts come in the order of `turn`. `loose`
    marks a file whose name does not look like a submission's: a note, or a list."""

    student: str
    source: tuple[tuple[str, Path], ...]
    user: str = ""
    late: bool = False
    when: datetime | None = None
    turn: tuple[int, float] = (0, 0)
    members: tuple[tuple[str, ...], ...] = ()
    loose: bool = False


def entries(
    folders: Sequence[Path], scratch: Path, leave_out: Iterable[Path] = (), suffix: str = ".p4"
) -> list[Entry]:
    """Everything in the folders of a class, by student and then from the first attempt to the last.

    Hidden files and the paths `leave_out` are left out. Zips in place of folders are unpacked below
    `scratch`. A student is named by the file or folder; where two are of one name in one folder,
    each keeps its whole name, or gets the platform's number. The lab asks for files with `suffix`.
    Raises GradingError.
    """
    others = {os.path.abspath(path) for path in leave_out}
    found: list[Entry] = []
    for number, folder in enumerate(folders):
        place = scratch / str(number)
        there = _unpacked(folder, place) if folder.is_file() else folder
        there = _inner(there)
        attempts = _attempts(_entries_of(_visible(there, others, folder), suffix))
        found += [replace(entry, turn=(number, order)) for entry, order in attempts]
    return sorted(found, key=lambda entry: (entry.student, entry.turn))


def attempts(sources: Sequence[Path]) -> list[Entry]:
    """What one student has handed in, whom a platform knows and does not name."""
    return [
        Entry("student", ((path.name, path),), turn=(number, 0))
        for number, path in enumerate(sources)
    ]


def check(folders: Sequence[Path], leave_out: Iterable[Path] = ()) -> None:
    """Raises GradingError for a folder that is not there or has nothing in it."""
    others = {os.path.abspath(path) for path in leave_out}
    for folder in folders:
        if not folder.is_file():
            _visible(folder, others, folder)


def _visible(there: Path, others: set[str], named: Path) -> list[Path]:
    try:
        listed = sorted(there.iterdir())
    except OSError as error:
        raise GradingError(f"{named}: {error.strerror}; give the folder of submissions.") from error
    paths = [
        path
        for path in listed
        if not path.name.startswith(".")
        and path.name.lower() not in _LITTER
        and os.path.abspath(path) not in others
    ]
    if not paths:
        raise GradingError(f"{named} has no submissions: put a folder, zip or .p4 for each in it.")
    return paths


def _entries_of(paths: Sequence[Path], suffix: str) -> list[Entry]:
    """The entries of one folder, each student once but for attempts."""
    uploads: dict[tuple[str, str], list[tuple[str, Path]]] = {}
    typed: dict[tuple[str, str], Entry] = {}
    late: set[tuple[str, str]] = set()
    single: list[Entry] = []
    named, paths = _of_gradescope(paths)
    exported = bool(named)
    for path in paths:
        # A link is no file, but is a student's all the same, who should hear of it.
        if not _is_folder(path) and (match := _CANVAS.fullmatch(path.name)):
            key = (match["name"] or "anonymous", match["user"] or match["anonymous"])
            uploads.setdefault(key, []).append((match["file"], path))
            if match["late"] or match["late_anonymous"]:
                late.add(key)
        elif match := _MOODLE.fullmatch(path.name):
            exported = True
            key = (match["name"], match["user"])
            if match["plugin"] == "file":
                uploads.setdefault(key, []).append((match["file"] or path.name, path))
            else:
                typed[key] = Entry(path.name, ((path.name, path),), loose=True)
        else:
            single.append(Entry(student_of(path), ((path.name, path),)))
    names = [entry.student for entry in single]
    single = [
        entry if names.count(entry.student) == 1 else replace(entry, student=entry.source[0][0])
        for entry in single
    ]
    exported = exported or bool(uploads)
    single = [replace(one, loose=_is_loose(one.source[0][1], suffix, exported)) for one in single]
    taken = [entry.student for entry in single] + [name for name, _ in uploads]
    alone = [entry for key, entry in typed.items() if key not in uploads]
    return [*named, *single, *alone] + [
        Entry(
            name if taken.count(name) == 1 else f"{name} {user}",
            tuple(files),
            user,
            (name, user) in late,
        )
        for (name, user), files in uploads.items()
    ]


def _inner(folder: Path) -> Path:
    """The folder that Gradescope puts all of an export in, if there is one."""
    inside = [path.parent for path in folder.glob(f"*/{gradescope_export.NAME}")]
    return inside[0] if len(inside) == 1 else folder


def _of_gradescope(paths: Sequence[Path]) -> tuple[list[Entry], list[Path]]:
    """The entries that Gradescope's file names, and what else there is. Raises GradingError."""
    listed = [path for path in paths if path.name == gradescope_export.NAME and _is_file(path)]
    if not listed:
        return [], list(paths)
    try:
        with listed[0].open(encoding="utf-8", errors="replace") as lines:
            known = gradescope_export.read(lines)
    except OSError as error:
        raise GradingError(f"{listed[0]}: {error.strerror}.") from error
    labels = {
        name: " and ".join(names[-1] for names in hand_in.submitters)
        for name, hand_in in known.items()
    }
    entries, others = [], []
    for path in paths:
        hand_in = known.get(path.name)
        if path == listed[0]:
            continue
        if hand_in is None or not hand_in.submitters:
            others.append(path)
            continue
        label = labels[path.name]
        if list(labels.values()).count(label) > 1:
            label = f"{label} {' '.join(names[0] for names in hand_in.submitters)}"
        entries.append(
            Entry(
                label,
                ((path.name, path),),
                when=_time(hand_in.when),
                members=hand_in.submitters,
            )
        )
    return entries, others


def _is_loose(path: Path, suffix: str, exported: bool) -> bool:
    """Whether this is a file whose name does not look like a submission's. Next to what a platform
    has exported that is any other file; else `ada.docx` is ada's, who should hear what is wrong."""
    name = path.name.lower()
    if not _is_file(path) or name.removesuffix(".txt").endswith((suffix, ".zip")):
        return False
    return exported or name.startswith("readme") or PurePosixPath(name).suffix in _LISTS


def _is_file(path: Path) -> bool:
    return stat.S_ISREG(os.lstat(path).st_mode)


def _is_folder(path: Path) -> bool:
    return stat.S_ISDIR(os.lstat(path).st_mode)


def _attempts(found: Sequence[Entry]) -> Iterator[tuple[Entry, float]]:
    """Each entry under its student's name, and what it is sorted by among those of one student."""
    for entry in found:
        match = None if entry.user or entry.members else _ATTEMPT.fullmatch(entry.student)
        number = match is not None and len(match["when"]) <= 3
        when = _time(match["when"]) if match and not number else None
        if match is None or not (number or when):
            yield entry, 0
        else:
            order = when.timestamp() if when else float(match["when"])
            yield replace(entry, student=match["name"], when=when), order


def _time(text: str) -> datetime | None:
    """A time as it may stand in the name of a file; without a zone it is that of this machine."""
    day, rest = text[:10], text[11:]
    zone = re.search(r"(Z|[+-]\d\d:?\d\d)$", rest)
    clock = rest[: zone.start()] if zone else rest
    digits = re.sub(r"\D", "", clock).ljust(6, "0")
    offset = (zone[0] if zone else "").replace("Z", "+00:00")
    if offset and ":" not in offset:
        offset = f"{offset[:3]}:{offset[3:]}"
    try:
        when = datetime.fromisoformat(f"{day}T{digits[:2]}:{digits[2:4]}:{digits[4:6]}{offset}")
    except ValueError:
        return None
    return when if when.tzinfo else when.astimezone()


# ---- Zips of a whole class ----------------------------------------------------------------------


def _unpacked(archive: Path, place: Path) -> Path:
    """The folder that the members of an export are in. A member larger than anything that is read
    is cut: whoever reads it says that it is too large. Raises GradingError."""
    place.mkdir(parents=True)
    left = EXPORT_BYTES
    try:
        with zipfile.ZipFile(archive) as members:
            infos = members.infolist()
            if len(infos) > EXPORT_MEMBERS:
                raise GradingError(f"{archive}: more than {EXPORT_MEMBERS} files; unpack it.")
            for info in infos:
                path = _place(place, info)
                if path is None:
                    continue
                # An empty folder is a student's, too.
                (path if info.is_dir() else path.parent).mkdir(parents=True, exist_ok=True)
                if info.is_dir():
                    continue
                if stat.S_ISLNK(info.external_attr >> 16):
                    path.symlink_to(_NOWHERE)  # no one follows it, and its student hears of it
                    continue
                whole = path.name == gradescope_export.NAME  # it says who everybody is
                with members.open(info) as member:
                    data = member.read(left if whole else min(left, ZIP_BYTES + 1))
                left -= len(data)
                if left <= 0:
                    raise GradingError(f"{archive}: more than {EXPORT_BYTES >> 30} GiB; unpack it.")
                path.write_bytes(data)
    except GradingError:
        raise
    except Exception as error:  # the reader of zips has no error of its own for all damage
        raise GradingError(f"{archive}: the zip cannot be read: {error}") from error
    return place


def _place(folder: Path, info: zipfile.ZipInfo) -> Path | None:
    """Where a member goes; None for what is neither a file nor a folder nor a link, or would lead
    out of the folder."""
    name = info.filename.replace("\\", "/")
    parts = PurePosixPath(name).parts
    kind = stat.S_IFMT(info.external_attr >> 16)
    if not parts or name.startswith("/") or ".." in parts:
        return None
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK) or "\0" in name:
        return None
    path = folder.joinpath(*parts)
    return None if os.path.lexists(path) else path
