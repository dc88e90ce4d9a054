"""Reads what one student handed in: a folder, a zip or a single file.

All of it is hostile until proven otherwise. Nothing is unpacked to a disk, no link is followed, and
of everything that a submission holds only the files that the lab asks for are read, each up to a
limit. What cannot be graded is told in one sentence and never raises.

Students hand in what their platform makes of it, or the whole checkout that they work in. There, a
file that is as the course hands it out is nobody's work, and what lies below `labs/`, `solutions/`
and `tests/` is not asked for.

Files that the lab gives are judged as the lab has them. One that the student has changed all the
same is reported: the verdict is not about the program that they see running.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any

from p4lab.errors import foreign_line
from p4lab.grading import asked
from p4lab.paths import reading
from p4lab.plurals import count_of

FILE_BYTES = 1 << 20
"""Largest file that is graded. The labs' own files have about 20 KiB."""
ZIP_BYTES = 16 << 20
"""Largest zip that is opened, packed. Its list of members alone takes 60 times as much memory."""
MEMBERS = 5_000
"""Most files that a submission may hold, whether they are of use or not."""
FOLDERS = 5_000
"""Most folders that are looked into."""
DEPTH = 16
"""Most folders inside one another."""
COMPARED = 100
"""Most files of one name that are looked into to see whose they are."""
PATH_CHARACTERS = 1_000
"""Longest path of a file inside a submission."""
SHOWN_NAMES = 3
"""Most files that are named to a reader who looks for another"""
SHOWN_CHARACTERS = 80
"""Longest name that is repeated to the reader."""

_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# What the reader of zips is known to raise for damaged ones.
_DAMAGED = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
)
_ENCRYPTED = 0x1  # of a member's flag bits
_MADE = ("CACHEDIR.TAG", "pyvenv.cfg")
"""What marks a folder as something that a tool has made and can make again"""
_MADE_NAMES = frozenset({"__MACOSX", "__pycache__", "node_modules"})
_CHECKOUT = re.compile(r"(?P<root>.*/|)labs/[^/]+/lab\.toml")
_HANDED_OUT = ("labs", "solutions", "tests", "src", "docs", "crates")
"""Folders of a checkout in which nobody solves a lab"""
_DOCUMENTS = frozenset({".doc", ".docx", ".odt", ".pdf", ".rtf", ".xlsx", ".ods", ".pptx", ".odp"})
_ARCHIVES = frozenset({".tar", ".gz", ".tgz", ".bz2", ".xz", ".rar", ".7z"})
_AGAIN = re.compile(r"(-\d+| ?\(\d+\))$")
"""What Canvas and browsers append to the name of a file that is there for the second time"""
_APPENDED = ".txt"
"""What editors on Windows append to a name, whose end is not shown there"""

Source = Sequence[tuple[str, Path]]
"""What was handed in: one file or folder, or several files; the name of each and where it is"""


@dataclass(frozen=True)
class Submission:
    """The text of the files to grade, by their path in the lab. `trouble` is the one sentence that
    says why there is nothing to grade; `notes` say what was taken for what, `changed` are given
    files that differ from the starter's, and `left` is the number of files that were not looked
    at."""

    files: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    trouble: str = ""
    left: int = 0
    changed: tuple[str, ...] = ()
    asked: Mapping[str, int] | None = None
    """How many steps of hints its author has asked for, by check; None: nobody knows"""
    place: str = ""
    """The folder inside of it that all the files are in; empty if they are at its top"""

    def told(self) -> tuple[str, ...]:
        """Everything that its author should know of how it was read."""
        notes = (*map(not_judged, self.changed), *self.notes)
        if not self.left:
            return notes
        left = count_of(self.left, "other file was", "other files were")
        return (*notes, f"{left} not looked at.")

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "files": dict(self.files)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Submission:
        """The submission that `to_json` gave. Raises KeyError for anything else."""
        files, notes, changed = data["files"], data["notes"], data["changed"]
        rest = (data["trouble"], data["left"], tuple(changed), data["asked"], data["place"])
        return cls(dict(files), tuple(notes), *rest)


class _Refused(Exception):
    """The sentence that becomes `Submission.trouble`."""


@dataclass(frozen=True)
class _Found:
    """A file inside a submission: its path, how to get its bytes, and where it is if it is not in a
    zip."""

    path: str
    read: Callable[[], bytes]
    place: Path | None = None


@dataclass(frozen=True)
class Wanted:
    """What a lab asks for: files `edit` (paths in the lab, such as bier/bier.p4). `known` are
    digests of these files as the course hands them out; `given` those of the files that nobody
    shall edit, by path."""

    edit: Sequence[str]
    known: frozenset[str] = frozenset()
    given: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def suffix(self) -> str:
        """Of a program that is handed in alone: .p4, unless the lab asks for something else."""
        suffixes = {PurePosixPath(name).suffix for name in self.edit}
        return ".p4" if ".p4" in suffixes else min(suffixes)

    @property
    def paths(self) -> tuple[str, ...]:
        """Of all files of the lab that lie in a student's folder."""
        return (*self.edit, *self.given)

    def to_json(self) -> dict[str, Any]:
        given = {name: sorted(digests) for name, digests in self.given.items()}
        return {"edit": list(self.edit), "known": sorted(self.known), "given": given}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Wanted:
        """What `to_json` gave. Raises KeyError for anything else."""
        given = {name: frozenset(digests) for name, digests in data["given"].items()}
        return cls(tuple(data["edit"]), frozenset(data["known"]), given)


def read(source: Path | Source, wanted: Wanted) -> Submission:
    """What was handed in of the files that a lab asks for.

    A file is recognised by its path, at the top or below a folder that was handed in with it, or
    else by its name if only one file has it. A zip is opened where there is no such file beside it,
    and no other zip. Files that are as the course hands them out are taken
    only if there is nothing else. One of the files is enough: whoever judges takes the others from
    the starter. Never raises for what a student may have made.
    """
    try:
        if isinstance(source, Path):
            source = [(source.name, source)]
        if len(source) == 1:
            return _read(*source[0], wanted)
        return _several(source, wanted)
    except _Refused as refused:
        return Submission(trouble=str(refused))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        return Submission(trouble=f"The submission cannot be read: {reason}.")


def digest(text: str) -> str:
    """What is equal for files whose lines are."""
    return hashlib.sha256("\n".join(text.splitlines()).encode(errors="replace")).hexdigest()


def not_judged(name: str) -> str:
    """What is said of a given file that differs."""
    return f"{name} differs from the starter's and is not judged; the starter's is used."


def _read(name: str, path: Path, wanted: Wanted) -> Submission:
    mode = os.lstat(path).st_mode
    if stat.S_ISLNK(mode):
        raise _Refused("The submission is a symbolic link; hand in the files themselves.")
    if stat.S_ISDIR(mode):
        return _choose_or_open(list(_in_folder(path)), wanted)
    if not stat.S_ISREG(mode):
        raise _Refused(
            f"The submission is {_kind(mode)}; hand in a folder, a zip or a {wanted.suffix} file."
        )
    # Windows and mail programs put .txt behind names that they do not know.
    suffix = PurePosixPath(name.lower().removesuffix(".txt")).suffix
    with _open(path) as file:
        magic = file.read(4)
        if suffix == wanted.suffix:
            return _single(name, path, wanted)
        # A document of Word is a zip inside, of which its author knows nothing.
        if suffix == ".zip" or (magic[:2] == b"PK" and suffix not in _DOCUMENTS):
            file.seek(0)
            return _in_zip(file, wanted)
    if suffix in _DOCUMENTS:
        raise _Refused(
            f"The submission is a {suffix} document; hand in {_one_of(wanted.edit)} as plain text."
        )
    if suffix in _ARCHIVES:
        raise _Refused(f"The submission is a {suffix} file, which is not opened; make a zip of it.")
    raise _Refused(f"The submission is neither a folder, nor a zip, nor a {wanted.suffix} file.")


def _single(name: str, path: Path, wanted: Wanted) -> Submission:
    """One file. Many systems rename files after students: a lab of one file takes any name."""
    found = _Found(name, _reader(path, name))
    if len(wanted.edit) == 1:
        wanted_name, text = wanted.edit[0], _text(found)
        files, notes = _with_lines({wanted_name: text})
        if not text.strip():  # which its student knows by its own name
            notes += (_taken(wanted_name, found),)
        return Submission(files, notes)
    return _choose([found], wanted)


def _several(source: Source, wanted: Wanted) -> Submission:
    """Files that were handed in one by one."""
    return _choose_or_open(
        [_Found(name, _reader(path, name), path) for name, path in source], wanted
    )


def _choose_or_open(found: Sequence[_Found], wanted: Wanted) -> Submission:
    """If none of the files is asked for, and one of them is a zip, they are in there."""
    zips = [(file.path, file.place) for file in found if file.path.lower().endswith(".zip")]
    if not zips or any(_match(name, found, wanted) for name in wanted.edit):
        return _choose(found, wanted)
    name, place = zips[0]
    if len(zips) > 1 or place is None:
        places = ", ".join(sorted(shown(path) for path, _ in zips)[:3])
        raise _Refused(f"{len(zips)} zips may hold {wanted.edit[0]} ({places}); hand in one.")
    return _read(name, place, wanted)


# ---- Where files are ----------------------------------------------------------------------------


def _in_folder(top: Path) -> Iterator[_Found]:
    """The regular files below a folder, without those that tools leave behind."""
    waiting = [(top, PurePosixPath(), 0)]
    files = folders = 0
    while waiting:
        folder, inside, depth = waiting.pop()
        folders += 1
        if folders > FOLDERS:
            raise _Refused(f"The submission has more than {FOLDERS} folders.")
        for entry in _entries(folder, inside):
            name = inside / entry.name
            if entry.is_dir(follow_symlinks=False):
                if depth + 1 > DEPTH:
                    raise _Refused(f"The submission has folders more than {DEPTH} deep.")
                waiting.append((Path(entry.path), name, depth + 1))
                continue
            files += 1
            if files > MEMBERS:
                raise _Refused(_too_many())
            yield _Found(str(name), _reader(Path(entry.path), entry.name), Path(entry.path))


def _entries(folder: Path, inside: PurePosixPath) -> list[os.DirEntry[str]]:
    """What is in a folder, sorted: the order of a file system is not a property of a submission. A
    folder inside that may not be read has nothing of use."""
    try:
        with os.scandir(folder) as entries:
            found = list(itertools.islice(entries, MEMBERS + 1))
    except PermissionError:
        if not inside.parts:
            raise
        return []
    if inside.parts and any(one.name in _MADE for one in found):
        return []
    if len(found) > MEMBERS:
        raise _Refused(_too_many())
    return sorted((one for one in found if not _is_litter(one.name)), key=lambda one: one.name)


def _reader(path: Path, name: str) -> Callable[[], bytes]:
    """The name is what a student calls the file: a platform may store it under another one."""
    return lambda: _bytes_of(path, name)


def _in_zip(file: IO[bytes], wanted: Wanted) -> Submission:
    size = os.fstat(file.fileno()).st_size
    if size > ZIP_BYTES:
        raise _Refused(
            f"The zip is larger than {ZIP_BYTES >> 20} MiB; hand in only the files of the lab."
        )
    try:
        with zipfile.ZipFile(file) as archive:
            if len(archive.infolist()) > MEMBERS:
                raise _Refused(_too_many())
            found = list(_members(archive))
            if not found and any(map(_leads_out, archive.infolist())):
                raise _Refused(
                    "All files of the zip have paths that lead out of it; make a new one."
                )
            return _choose(found, wanted)
    except _DAMAGED as error:
        raise _Refused("The zip is damaged and cannot be opened; make a new one.") from error


def _members(archive: zipfile.ZipFile) -> Iterator[_Found]:
    for info in archive.infolist():
        path = info.filename.replace("\\", "/")
        parts = PurePosixPath(path).parts
        # A name that leads out of the archive leads nowhere here: nothing is unpacked.
        if not parts or info.is_dir() or _leads_out(info):
            continue
        if any(_is_litter(part) for part in parts):
            continue
        if len(parts) - 1 > DEPTH:
            raise _Refused(f"The submission has folders more than {DEPTH} deep.")
        yield _Found(str(PurePosixPath(path)), _member_reader(archive, info))


def _leads_out(info: zipfile.ZipInfo) -> bool:
    path = info.filename.replace("\\", "/")
    return path.startswith("/") or ".." in PurePosixPath(path).parts


def _member_reader(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Callable[[], bytes]:
    def read_member() -> bytes:
        name = shown(info.filename)
        mode = info.external_attr >> 16
        if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
            raise _Refused(f"{name} in the zip is {_kind(mode)}; hand in the file itself.")
        if info.flag_bits & _ENCRYPTED:
            raise _Refused(f"{name} in the zip has a password; hand it in without one.")
        if info.compress_type not in _PACKED:
            raise _Refused(f"{name} is packed in an unusual way; make a new zip.")
        if info.file_size > FILE_BYTES:
            raise _Refused(_too_large(name))
        with archive.open(info) as member:
            # The size above is what the zip claims.
            data = member.read(FILE_BYTES + 1)
        if len(data) > FILE_BYTES:
            raise _Refused(_too_large(name))
        return data

    return read_member


def _is_litter(name: str) -> bool:
    """Whether a file or folder comes from a tool and not from the student."""
    return name.startswith(".") or name in _MADE_NAMES


# ---- Which files are graded ---------------------------------------------------------------------


def _choose(found: Sequence[_Found], wanted: Wanted) -> Submission:
    edit = wanted.edit
    chosen = {name: hit for name in edit if (hit := _match(name, found, wanted))}
    programs = [
        file
        for file in found
        if file.path.lower().endswith(wanted.suffix) and not _of_course(file, found)
    ]
    if not chosen and len(edit) == 1 and len(programs) == 1:
        chosen = {edit[0]: programs[0]}
    if not chosen:
        raise _Refused(_nothing(found, _one_of(edit)))
    place = _place(chosen)
    notes = [_taken(name, hit) for name, hit in chosen.items() if hit.path != name]
    if place and len(notes) > 1:
        notes = [f"All files are taken from {shown(place)}."]
    notes += [
        f"{name} was not handed in: the starter's is used." for name in edit if name not in chosen
    ]
    rest = [one for name, hit in chosen.items() for one in _left_out(name, hit, found, wanted)]
    notes += [f"{shown(one.path)} was left out." for one in rest]
    texts, unread = _texts(chosen)
    files, mended = _with_lines(texts)
    notes += [*unread, *mended]
    if any(text.strip() for text in files.values()):
        blank = [name for name, text in files.items() if not text.strip()]
        notes += [f"{name} is empty: the starter's is used." for name in blank]
    beside = _given(chosen, found, wanted.given)
    changed = tuple(n for n, hit in beside.items() if _digest_of(hit) not in wanted.given[n])
    kept = [file for file in found if PurePosixPath(file.path).name == asked.FILE]
    left = len(found) - len(chosen) - len(beside) - len(kept) - len(rest)
    with_it = [file for file in kept if file.path == str(PurePosixPath(place, asked.FILE))]
    return Submission(files, tuple(notes), "", left, changed, _asked(with_it or kept), place)


def _taken(name: str, hit: _Found) -> str:
    return f"{name} is taken from {shown(hit.path)}."


def _texts(chosen: Mapping[str, _Found]) -> tuple[dict[str, str], list[str]]:
    """The texts of the files that can be graded, and a sentence on each of the others: the
    starter's in its place costs its own points and no others. Refuses if nothing is left."""
    texts: dict[str, str] = {}
    refused: list[_Refused] = []
    for name, hit in chosen.items():
        try:
            texts[name] = _text(hit)
        except _Refused as error:
            refused.append(error)
    if refused and not any(text.strip() for text in texts.values()):
        raise refused[0]
    return texts, [f"{error} The starter's is used in its place." for error in refused]


def _place(chosen: Mapping[str, _Found]) -> str:
    """The folder below which each of the files has its path in the lab; empty for the top, or if
    there is no such folder."""
    inside = {hit.path.removesuffix(name) for name, hit in chosen.items()}
    place = inside.pop()
    return place[:-1] if not inside and place.endswith("/") else ""


def _asked(kept: Sequence[_Found]) -> Mapping[str, int] | None:
    """The hints that were asked for, by the one file that says so; None if nobody can tell."""
    if len(kept) != 1:
        return None
    try:
        return asked.read(_text(kept[0]))
    except _Refused:
        return None


def _given(
    chosen: Mapping[str, _Found], found: Sequence[_Found], given: Iterable[str]
) -> dict[str, _Found]:
    """The files beside those that were chosen which the lab gives, by path in the lab: below the
    same folder, or where a platform has thrown all into one."""
    places: dict[str, list[_Found]] = {}
    for file in found:
        places.setdefault(file.path, []).append(file)
    beside: dict[str, _Found] = {}
    for mine, hit in chosen.items():
        whole = hit.path == mine or hit.path.endswith("/" + mine)
        for name in given:
            if whole:
                path = hit.path[: -len(mine)] + name
            else:
                path = str(PurePosixPath(hit.path).with_name(PurePosixPath(name).name))
            if len(there := places.get(path, [])) == 1:
                beside.setdefault(name, there[0])
    return beside


def _match(name: str, found: Sequence[_Found], wanted: Wanted) -> _Found | None:
    """The file that is meant by `name`, or None. Refuses to guess between several."""
    for fits in _ways(name):
        hits = [file for file in found if fits(file.path)]
        if hits:
            hits = _own(hits, found, wanted.known)
        if len(hits) > 1:
            raise _Refused(_several_may_be(name, hits))
        if hits:
            hit = hits[0]
            near = (str(PurePosixPath(hit.path).parent), _root_of(name, hit))
            others = _left_out(name, hit, found, wanted)
            beside = [one for one in others if str(PurePosixPath(one.path).parent) in near]
            if beside:
                raise _Refused(_several_may_be(name, [hit, *beside]))
            return hit
    return None


def _ways(wanted: str) -> tuple[Callable[[str], bool], ...]:
    """How a file may be called that is meant by `wanted`, the surest first."""
    name = PurePosixPath(wanted).name
    return (
        lambda path: path == wanted,
        lambda path: path.endswith("/" + wanted),
        lambda path: PurePosixPath(path).name == name,
        lambda path: _first_name(path) == name,
        lambda path: _first_name(path.lower().removesuffix(_APPENDED)) == name.lower(),
    )


def _left_out(name: str, hit: _Found, found: Sequence[_Found], wanted: Wanted) -> list[_Found]:
    """Other work of the student that is called like the file which was taken for `name`, and
    differs from it: it may be the newer. What is another file of the lab is none."""
    lab = [path for path in wanted.paths if path != name]
    called = [
        file
        for file in found
        if file.path != hit.path
        and any(fits(file.path) for fits in _ways(name))
        and not any(file.path == path or file.path.endswith("/" + path) for path in lab)
    ]
    if not called or len(called) >= COMPARED:
        return []
    own = _own([hit, *called], found, wanted.known)
    text = _digest_of(hit)
    return [one for one in own if one is not hit and not (text and _digest_of(one) == text)]


def _root_of(name: str, hit: _Found) -> str:
    """The folder in which a file has its path in the lab; that of the file if it has another."""
    inside = hit.path.endswith(name)
    return str(
        PurePosixPath(hit.path.removesuffix(name)) if inside else PurePosixPath(hit.path).parent
    )


def _several_may_be(name: str, hits: Sequence[_Found]) -> str:
    places = ", ".join(sorted(shown(hit.path) for hit in hits)[:3])
    return f"{len(hits)} files may be {name} ({places}); hand in one."


def _one_of(names: Sequence[str]) -> str:
    """The files of a lab, any of which is enough."""
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _first_name(path: str) -> str:
    """The name that a file had before something was appended to it."""
    last = PurePosixPath(path)
    return _AGAIN.sub("", last.stem) + last.suffix


def _own(hits: list[_Found], found: Sequence[_Found], known: frozenset[str]) -> list[_Found]:
    """Those of the files that may be the student's own work: in a checkout not those of the
    course, then not what is as it was handed out, and of equal ones the first."""
    roots = {place["root"] for file in found if (place := _CHECKOUT.fullmatch(file.path))}
    course = tuple(f"{root}{folder}/" for root in roots for folder in _HANDED_OUT)
    hits = [hit for hit in hits if not hit.path.startswith(course)] if course else hits
    # A zip may have two of one name, and a joker hundreds of files to be compared.
    if len({hit.path for hit in hits}) < len(hits) or len(hits) > COMPARED:
        return hits
    digests = [_digest_of(hit) for hit in hits]
    own = [hit for hit, text in zip(hits, digests, strict=True) if text not in known]
    if own:
        same = len(set(digests) - known) == 1 and "" not in digests
        return own[:1] if same else own
    if not roots:
        return hits
    solved = tuple(f"{root}p4/" for root in roots)
    return [hit for hit in hits if not hit.path.startswith(solved)][:1]


def _of_course(file: _Found, found: Sequence[_Found]) -> bool:
    """Whether a file is in a checkout, which is full of programs that the student did not write."""
    roots = {place["root"] for other in found if (place := _CHECKOUT.fullmatch(other.path))}
    return file.path.startswith(tuple(roots))


def _digest_of(file: _Found) -> str:
    """Empty for what cannot be read."""
    try:
        return digest(file.read().decode("utf-8-sig"))
    except (_Refused, UnicodeDecodeError):
        return ""


def _nothing(found: Sequence[_Found], wanted: str) -> str:
    if not found:
        return f"The submission is empty; hand in {wanted}."
    if any(_CHECKOUT.fullmatch(file.path) for file in found):
        return f"The submission is a checkout of the course without a {wanted} of your own."
    if any(file.path.lower().endswith(".zip") for file in found):
        return f"The submission has no {wanted}; a zip inside of a zip is not opened."
    links = [file for file in found if file.place is not None and file.place.is_symlink()]
    if links:
        return f"{shown(links[0].path)} is a symbolic link; hand in the files themselves."
    programs = [file for file in found if file.path.lower().endswith(".p4")]
    names = sorted(shown(file.path) for file in programs or found)
    more = ", ..." if len(names) > SHOWN_NAMES else ""
    return f"The submission has no {wanted}, only {', '.join(names[:SHOWN_NAMES])}{more}."


def _text(file: _Found) -> str:
    """The text of a file that is to be graded."""
    name = shown(file.path)  # its author knows it by that
    if len(file.path) > PATH_CHARACTERS:
        raise _Refused(f"The path of {name} has more than {PATH_CHARACTERS} characters.")
    data = file.read()
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise _Refused(f"{name} is UTF-16; save it as UTF-8.")
    nul = data.find(b"\0")
    if nul >= 0:
        raise _Refused(f"{name} is not text: byte {nul + 1} is zero.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = foreign_line(error)
        raise _Refused(f"{name}, line {line}, is not UTF-8; save the file as UTF-8.") from error


def _with_lines(files: Mapping[str, str]) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """Files as their authors see them, and what is said of that: on an old Mac a line ends in CR
    alone, which P4 takes for a space, so that the first comment would swallow the rest."""
    mac = [name for name, text in files.items() if "\r" in text and "\n" not in text]
    notes = (f"{name} has the line ends of old Macs (CR), read as new lines." for name in mac)
    return {**files, **{name: files[name].replace("\r", "\n") for name in mac}}, tuple(notes)


# ---- Bytes --------------------------------------------------------------------------------------


def _open(path: Path) -> IO[bytes]:
    """Opens a regular file and nothing else: no link, and no pipe that would never end."""
    fd = os.open(path, reading() | os.O_CLOEXEC)
    return os.fdopen(fd, "rb")


def _bytes_of(path: Path, name: str) -> bytes:
    mode = os.lstat(path).st_mode
    if not stat.S_ISREG(mode):
        raise _Refused(f"{shown(name)} is {_kind(mode)}; hand in the file itself.")
    with _open(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > FILE_BYTES:
            raise _Refused(_too_large(shown(name)))
        data = file.read(FILE_BYTES + 1)
    if len(data) > FILE_BYTES:
        raise _Refused(_too_large(shown(name)))
    return data


# ---- Words --------------------------------------------------------------------------------------


def shown(name: str) -> str:
    """A name from a submission, fit to be printed: no control characters, not too long."""
    text = "".join(char if char.isprintable() else "?" for char in name)
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"


def _kind(mode: int) -> str:
    kinds = (
        (stat.S_ISLNK, "a symbolic link"),
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISBLK, "a device"),
        (stat.S_ISCHR, "a device"),
    )
    return next((name for test, name in kinds if test(mode)), "not a regular file")


def _too_many() -> str:
    return f"The submission has more than {MEMBERS} files; hand in only those of the lab."


def _too_large(name: str) -> str:
    return f"{name} is larger than {FILE_BYTES >> 20} MiB, the most that is graded."
