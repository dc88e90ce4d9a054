"""What a class has handed in, as its platform exports it: who, which attempt, which files.

Understood are a folder or a zip with one folder, zip or file for each student, and the exports of
four platforms, of two as their sources write them (looked at in 2026-11):

Canvas    lib/content_zipper.rb: flat, one file for each upload,
          NAME[_LATE]_USER_UPLOAD_FILE; NAME is the sortable name in small letters without spaces,
          or `anon`, and USER then a word
Moodle    mod/assign/classes/downloader.php: NAME_NUMBER_assignsubmission_file, a folder, or with
          _FILE behind it a file; NAME is a team's where teams hand in
Gradescope
          a folder for each hand-in, and submission_metadata.yml, which says whose they are
          (`gradescope_export`)

ILIAS     a folder for each student, LAST_FIRST_LOGIN_NUMBER, below one folder; as its teachers
          describe it

Several attempts of one student are several folders of the class, one after the other, or entries
NAME@WHEN, where WHEN is a time (2026-11-20T23:10) or a number.
"""

from __future__ import annotations

import os
import re
import stat
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone, tzinfo
from pathlib import Path, PurePath, PurePosixPath

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
_ILIAS = re.compile(r".+_.+_(?P<login>[^_@]+)_\d+", re.DOTALL)
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
    folders: Sequence[Path],
    scratch: Path,
    leave_out: Iterable[Path] = (),
    suffix: str = ".p4",
    zone: tzinfo = timezone.utc,
    lab: Iterable[str] = (),
) -> list[Entry]:
    """Everything in the folders of a class, by student and then from the first attempt to the last.

    Hidden files and the paths `leave_out` are left out. Zips in place of folders are unpacked below
    `scratch`. A student is named by the file or folder; where two are of one name in one folder,
    each keeps its whole name, or gets the platform's number. The lab asks for files with `suffix`,
    and has files with the paths `lab`. Times without a zone are those of `zone`. Raises
    GradingError.
    """
    parts = {part for path in lab for part in PurePosixPath(path).parts}
    others = {os.path.abspath(path) for path in leave_out}
    found: list[Entry] = []
    for number, folder in enumerate(folders):
        place = scratch / str(number)
        packed = folder.is_file()
        there = _inner(_unpacked(folder, place) if packed else folder)
        if packed:
            there = _class_in(there, suffix, parts)
        attempts = _attempts(_entries_of(_visible(there, others, folder), suffix, zone), zone)
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


def remarks(found: Sequence[Entry]) -> tuple[str, ...]:
    """What an instructor should know of how entries are named, in sentences."""
    told = []
    untimed = sorted({one.student for one in found if _is_untimed(one)})
    if untimed:
        listed = ", ".join(untimed)
        told.append(f"Neither a number nor a time follows the @, so this is a name: {listed}.")
    alike: dict[str, set[str]] = {}
    for one in found:
        if not (one.user or one.members):
            alike.setdefault(student_of(PurePath(one.student)), set()).add(one.student)
    for names in alike.values():
        if len(names) > 1:
            told.append(f"{' and '.join(sorted(names))} may be of one student.")
    return tuple(told)


def _is_untimed(entry: Entry) -> bool:
    """Whether a name has an @ like an attempt, but no time after it, and is not an e-mail address:
    an address has a dot after its @."""
    name, at, rest = entry.student.rpartition("@")
    return bool(name and at) and not entry.user and not entry.members and "." not in rest


def _visible(there: Path, others: set[str], named: Path) -> list[Path]:
    try:
        listed = sorted(there.iterdir())
    except OSError as error:
        raise GradingError(f"{named}: {error.strerror}; give the folder of submissions.") from error
    paths = [
        path for path in listed if not _is_litter(path.name) and os.path.abspath(path) not in others
    ]
    if not paths:
        raise GradingError(f"{named} has no submissions: put a folder, zip or .p4 for each in it.")
    return paths


def _is_litter(name: str) -> bool:
    return name.startswith(".") or name.lower() in _LITTER


def _entries_of(paths: Sequence[Path], suffix: str, zone: tzinfo) -> list[Entry]:
    """The entries of one folder, each student once but for attempts."""
    uploads: dict[tuple[str, str], list[tuple[str, Path]]] = {}
    typed: dict[tuple[str, str], Entry] = {}
    late: set[tuple[str, str]] = set()
    single: list[Entry] = []
    named, paths = _of_gradescope(paths, zone)
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
            single.append(Entry(student_of(path), ((path.name, path),), members=_of_ilias(path)))
    single = _told_apart(single, suffix)
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


def _told_apart(single: Sequence[Entry], suffix: str) -> list[Entry]:
    """Where two are of one name, the one that looks like a submission has it: ada.p4 is ada's, also
    next to ada.docx. Otherwise each keeps its whole name."""
    names = Counter(entry.student for entry in single)
    proper = Counter(one.student for one in single if _is_proper(one.source[0][1], suffix))
    return [
        entry
        if names[entry.student] == 1
        or (proper[entry.student] == 1 and _is_proper(entry.source[0][1], suffix))
        else replace(entry, student=entry.source[0][0])
        for entry in single
    ]


def _is_proper(path: Path, suffix: str) -> bool:
    """Whether this looks like a submission: a folder, a zip, or a file of the lab's kind."""
    name = path.name.lower().removesuffix(".txt")
    return not _is_file(path) or name.endswith((suffix, ".zip"))


def _of_ilias(path: Path) -> tuple[tuple[str, ...], ...]:
    """Who handed in a folder that is named as ILIAS names one: the whole name may be somebody's,
    or the login in it."""
    match = _ILIAS.fullmatch(path.name) if _is_folder(path) else None
    return ((path.name, match["login"]),) if match else ()


def _class_in(folder: Path, suffix: str, lab: set[str]) -> Path:
    """The one folder of a zip that a whole class is in, if there is one. It has several entries,
    all of which look like submissions, and none of which is called like a part of the lab: what
    has those is the folder of one student."""
    tops = [path for path in folder.iterdir() if not _is_litter(path.name)]
    if len(tops) != 1 or not _is_folder(tops[0]):
        return folder
    inside = [path for path in tops[0].iterdir() if not _is_litter(path.name)]
    ours = len(inside) > 1 and all(
        _is_proper(path, suffix) and path.name not in lab for path in inside
    )
    return tops[0] if ours else folder


def _inner(folder: Path) -> Path:
    """The folder that Gradescope puts all of an export in, if there is one."""
    inside = [path.parent for path in folder.glob(f"*/{gradescope_export.NAME}")]
    return inside[0] if len(inside) == 1 else folder


def _of_gradescope(paths: Sequence[Path], zone: tzinfo) -> tuple[list[Entry], list[Path]]:
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
                when=_time(hand_in.when, zone),
                members=hand_in.submitters,
            )
        )
    return entries, others


def _is_loose(path: Path, suffix: str, exported: bool) -> bool:
    """Whether this is a file whose name does not look like a submission's. Next to what a platform
    has exported that is any other file; else `ada.docx` is ada's, who should hear what is wrong."""
    name = path.name.lower()
    if _is_proper(path, suffix):
        return False
    return exported or name.startswith("readme") or PurePosixPath(name).suffix in _LISTS


def _is_file(path: Path) -> bool:
    return stat.S_ISREG(os.lstat(path).st_mode)


def _is_folder(path: Path) -> bool:
    return stat.S_ISDIR(os.lstat(path).st_mode)


def _attempts(found: Sequence[Entry], zone: tzinfo) -> Iterator[tuple[Entry, float]]:
    """Each entry under its student's name, and what it is sorted by among those of one student."""
    for entry in found:
        match = None if entry.user or entry.members else _ATTEMPT.fullmatch(entry.student)
        number = match is not None and len(match["when"]) <= 3
        when = _time(match["when"], zone) if match and not number else None
        if match is None or not (number or when):
            yield entry, 0
        else:
            order = when.timestamp() if when else float(match["when"])
            yield replace(entry, student=match["name"], when=when), order


def _time(text: str, zone: tzinfo) -> datetime | None:
    """A time as it may stand in the name of a file, or a day, which is its first moment. Without a
    zone it is that of `zone`, on whatever machine it is read."""
    day, rest = text[:10], text[11:]
    written = re.search(r"(Z|[+-]\d\d:?\d\d)$", rest)
    clock = rest[: written.start()] if written else rest
    digits = re.sub(r"\D", "", clock).ljust(6, "0")
    offset = (written[0] if written else "").replace("Z", "+00:00")
    if offset and ":" not in offset:
        offset = f"{offset[:3]}:{offset[3:]}"
    try:
        when = datetime.fromisoformat(f"{day}T{digits[:2]}:{digits[2:4]}:{digits[4:6]}{offset}")
    except ValueError:
        return None
    return when if when.tzinfo else when.replace(tzinfo=zone)


# ---- Zips of a whole class ----------------------------------------------------------------------


def _unpacked(archive: Path, place: Path) -> Path:
    """The folder that the members of an export are in. A member larger than anything that is read
    is cut: whoever reads it says that it is too large. Raises GradingError."""
    if not zipfile.is_zipfile(archive) and archive.suffix.lower() != ".zip":
        raise GradingError(
            f"{archive} is one file; give the folder of submissions, or --one for a single one."
        )
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
