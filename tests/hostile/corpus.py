"""The corpus: everything of programs.py, and files and archives that are hostile themselves.

Run `python tests/hostile/corpus.py FOLDER SOLUTION.p4` (with tests/ in PYTHONPATH) to have it in a
folder, for `p4lab grade 01-bier FOLDER`.
"""

from __future__ import annotations

import io
import os
import random
import socket
import stat
import struct
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from hostile.programs import programs

NAME = "bier/bier.p4"


ENDS = (".p4", ".zip", ".txt", ".pdf", ".tar", ".gz")
"""Of names, which are not a part of a student's"""


@dataclass(frozen=True)
class Hostile:
    """One submission: the name of its file or folder (bytes, as a file system has it), how to make
    it there, and what must come of it, as in `programs.Program`."""

    name: str
    make: Callable[[Path], None]
    expect: str

    @property
    def student(self) -> str:
        name = self.name
        while (end := Path(name).suffix) in ENDS:
            name = name.removesuffix(end)
        return name


def corpus(solution: str) -> Iterator[Hostile]:
    """All submissions, made from the text of lab 01's solution."""
    for program in programs(solution):
        yield Hostile(f"{program.name}.p4", _writer(program.text.encode()), program.expect)
    yield from _bytes(solution)
    yield from _links(solution)
    yield from _folders(solution)
    yield from _zips(solution)
    yield from _names(solution)


def build(folder: Path, solution: str) -> list[Hostile]:
    """Makes the whole corpus in a folder; gives what is there."""
    made = []
    for hostile in corpus(solution):
        hostile.make(folder / hostile.name)
        made.append(hostile)
    return made


def _writer(data: bytes) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_bytes(data)

    return write


def _bytes(solution: str) -> Iterator[Hostile]:
    text = solution.encode()
    noise = random.Random(4).randbytes(100_000).replace(b"\0", b"\1")
    for name, data, expect in (
        ("nul-bytes", text + b"\0", "byte .* is zero"),
        ("binary-junk", noise, "not UTF-8"),
        ("elf", b"\x7fELF\x02\x01\x01" + b"\0" * 1000, "is zero"),
        ("utf-16", solution.encode("utf-16"), "UTF-16"),
        ("utf-16-without-mark", solution.encode("utf-16-le"), "is zero"),
        ("latin-1", b"// gr\xfc\xdfe\n" + text, "line 1, is not UTF-8"),
        ("byte-order-mark", b"\xef\xbb\xbf" + text, "right"),
        ("only-byte-order-mark", b"\xef\xbb\xbf", "is empty"),
        ("surrogates", b"\xed\xa0\x80" + text, "not UTF-8"),
        ("overlong", b"\xc0\xaf" + text, "not UTF-8"),
    ):
        yield Hostile(f"{name}.p4", _writer(data), expect)
    yield Hostile("sparse.p4", lambda path: _sparse(path, 1 << 34), "larger than 1 MiB")
    yield Hostile("no-suffix", _writer(text), "neither a folder, nor a zip, nor a .p4 file")
    yield Hostile("essay.pdf", _writer(b"%PDF-1.7"), "a .pdf document; hand in bier/bier.p4")
    yield Hostile("archive.tar.gz", _writer(b"\x1f\x8b\x08junk"), "make a zip of it")


def _sparse(path: Path, size: int) -> None:
    with path.open("wb") as file:
        file.truncate(size)


# ---- Links and other things that are not files ---------------------------------------------------


def _links(solution: str) -> Iterator[Hostile]:
    yield Hostile("link.p4", lambda path: path.symlink_to("/etc/passwd"), "symbolic link")
    yield Hostile("link-to-folder", lambda path: path.symlink_to("/etc"), "symbolic link")
    yield Hostile("link-to-itself.p4", lambda path: path.symlink_to(path.name), "symbolic link")
    yield Hostile("link-to-nothing.p4", lambda path: path.symlink_to("nowhere"), "symbolic link")
    yield Hostile("link-to-neighbour", lambda path: path.symlink_to("good-1"), "symbolic link")
    yield Hostile("pipe.p4", lambda path: os.mkfifo(path), "a pipe")
    yield Hostile("socket.p4", _socket, "a socket")
    if os.geteuid() == 0:  # nobody else may make one
        yield Hostile("device.p4", _device, "a device")
        yield Hostile("device-inside", _with(_device), "a device")
    for name, make, expect in (
        ("link-inside", lambda path: path.symlink_to("/etc/passwd"), "symbolic link"),
        ("link-up", lambda path: path.symlink_to("../../good-1/bier.p4"), "symbolic link"),
        ("pipe-inside", lambda path: os.mkfifo(path), "a pipe"),
        ("folder-inside", lambda path: path.mkdir(), "is empty"),
    ):
        yield Hostile(name, _with(make), expect)
    yield Hostile("loop-of-folders", lambda path: _loop(path, solution), "right")


def _device(path: Path) -> None:
    """As endless as /dev/zero: it is that."""
    os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))


def _socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # a socket's whole path has to be short
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path.name)
    finally:
        os.chdir(here)


def _with(make: Callable[[Path], None]) -> Callable[[Path], None]:
    """A folder whose bier/bier.p4 is made by `make`."""

    def build(path: Path) -> None:
        (path / "bier").mkdir(parents=True)
        make(path / NAME)

    return build


def _loop(path: Path, solution: str) -> None:
    (path / "bier").mkdir(parents=True)
    (path / NAME).write_text(solution)
    (path / "bier" / "again").symlink_to("..")
    (path / "root").symlink_to("/")


# ---- Folders ------------------------------------------------------------------------------------


def _folders(solution: str) -> Iterator[Hostile]:
    for name, files, expect in (
        ("empty-folder", {}, "is empty"),
        ("wrong-files", {"notes.txt": "hello", "other.txt": ""}, "has no bier/bier.p4"),
        ("two-of-them", {"a/bier.p4": solution, "b/bier.p4": solution}, "2 files may be"),
        ("older-copy", {NAME: solution, "old/bier.p4": "x y z"}, "right"),
        ("litter", {f"x/{NAME}": solution, f"__MACOSX/x/{NAME}": "", ".git/bier.p4": ""}, "right"),
        ("own-headers", {NAME: solution, "include/headers.p4": "x", "bier/v1model.p4": "y",
                         "include/core.p4": "z", "core.p4": "z", "v1model.p4": "z"}, "right"),
        ("own-checks", {NAME: solution, "lab.toml": "", "labs/01-bier/lab.toml": "",
                        "p4lab/__init__.py": "1/0", "json.py": "1/0"}, "right"),
        ("zip-in-folder", {"work.zip": "PK"}, "damaged"),
    ):  # fmt: skip
        yield Hostile(name, _tree(files), expect)
    yield Hostile("folder-of-nobody", lambda path: _forbidden(path, solution), "right")
    yield Hostile(
        "tebibyte-inside", _with(lambda path: _sparse(path, 1 << 40)), "larger than 1 MiB"
    )
    yield Hostile("deep-folders", _deep_folders, "more than 16 deep")
    yield Hostile("many-files", _tree({f"f{n}.txt": "" for n in range(5_100)}), "more than 5000")


def _tree(files: dict[str, str]) -> Callable[[Path], None]:
    def build(path: Path) -> None:
        path.mkdir()
        for name, text in files.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_text(text)

    return build


def _forbidden(path: Path, solution: str) -> None:
    """A folder that its own author may not read, beside the work."""
    _tree({NAME: solution, "private/bier.p4": "x"})(path)
    (path / "private").chmod(0)


def _deep_folders(path: Path) -> None:
    (path / "/".join("d" * 60)).mkdir(parents=True)


# ---- Zips ---------------------------------------------------------------------------------------


def _zips(solution: str) -> Iterator[Hostile]:
    text = solution.encode()
    good = _zip({NAME: text})
    for name, data, expect in (
        ("zip-good", _zip({f"Lab 1/{NAME}": text, f"__MACOSX/Lab 1/._{NAME}": b"x"}), "right"),
        ("zip-empty", _zip({}), "is empty"),
        ("zip-of-nothing", b"", "damaged"),
        ("zip-of-text", text, "damaged"),
        ("zip-cut", good[: len(good) // 2], "damaged"),
        ("zip-broken", _broken(good), "damaged"),
        ("zip-slip", _zip({f"../../../../tmp/{NAME}": text, f"/{NAME}": text}), "lead out of it"),
        ("zip-slip-windows", _zip({f"..\\..\\{NAME}": text, "C:\\x.txt": text}), "no bier/bier.p4"),
        ("zip-twice", _zip([(NAME, text), (NAME, b"x y z")]), "2 files may be"),
        ("zip-in-zip", _zip({"work.zip": good}), "a zip inside of a zip is not opened"),
        ("zip-bomb", _zip({NAME: b"\0" * (64 << 20)}), "larger than 1 MiB"),
        ("zip-bomb-beside", _zip({NAME: text, "bomb": b"\0" * (64 << 20)}), "right"),
        ("zip-that-lies", _lying(NAME, b"/" * (64 << 20)), "damaged|larger than 1 MiB"),
        ("zip-with-password", _flagged(good), "password"),
        ("zip-lzma", _zip({NAME: text}, zipfile.ZIP_LZMA), "unusual way"),
        ("zip-link", _zip_link(), "symbolic link"),
        ("zip-deep", _zip({"d/" * 400 + "bier.p4": text}), "more than 16 deep"),
        ("zip-long-name", _zip({"n" * 60_000 + ".p4": text}), "more than 1000 characters"),
        ("zip-many", _zip({f"f{n}": b"" for n in range(6_000)}), "more than 5000"),
        ("zip-noise", b"PK\x03\x04" + random.Random(5).randbytes(5_000), "damaged"),
        ("zip-count", _miscounted(good), "right"),
    ):
        yield Hostile(f"{name}.zip", _writer(data), expect)
    yield Hostile("zip-huge.zip", lambda path: _sparse(path, 1 << 33), "larger than 16 MiB")


Members = Iterable[tuple[str, bytes]]


def _zip(members: Mapping[str, bytes] | Members, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    data = io.BytesIO()
    items = members.items() if isinstance(members, Mapping) else members
    with warnings.catch_warnings(), zipfile.ZipFile(data, "w", method) as archive:
        warnings.simplefilter("ignore")  # of names that come twice
        for name, content in items:
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            archive.writestr(info, content)
    return data.getvalue()


def _broken(data: bytes) -> bytes:
    """With noise where the packed bytes are."""
    start = 30 + len(NAME)
    noise = bytes(byte ^ 0x5A for byte in data[start : start + 500])
    return data[:start] + noise + data[start + 500 :]


def _flagged(data: bytes) -> bytes:
    """Said to be encrypted, in the local header and in the list."""
    changed = bytearray(data)
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        changed[data.index(mark) + offset] |= 1
    return bytes(changed)


def _lying(name: str, content: bytes) -> bytes:
    """A member that says it has 100 bytes."""
    data = bytearray(_zip({name: content}))
    for mark, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        place = bytes(data).index(mark) + offset
        data[place : place + 4] = struct.pack("<I", 100)
    return bytes(data)


def _zip_link() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        info = zipfile.ZipInfo(NAME)
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    return data.getvalue()


def _miscounted(data: bytes) -> bytes:
    """The record at the end says that there are 65,535 members."""
    end = data.rindex(b"PK\x05\x06")
    return data[: end + 8] + b"\xff\xff\xff\xff" + data[end + 12 :]


# ---- Names --------------------------------------------------------------------------------------

NAMES = (
    "--help.p4",
    "-rf.p4",
    "$(touch owned).p4",
    "`id`.p4",
    "a;b&c|d.p4",
    "=cmd|'!A1'.p4",
    "+1+1.p4",
    "@SUM(1).p4",
    "<img src=x onerror=alert(1)>.p4",
    '"><script>alert(1)<.p4',
    "[x](javascript:alert(1)).p4",
    "**bold** | cell.p4",
    "new\nline.p4",
    "tab\tand\x1b[31mred.p4",
    "\u202egnp.exe.p4",
    "Zoë Müller.p4",
    "学生.p4",
    "👩🏽‍💻.p4",
    "%2e%2e%2fup.p4",
    "CON.p4",
    "Case.p4",
    "cASE.p4",
    "n" * 240 + ".p4",
    "n" * 241 + ".p4",
    os.fsdecode(b"not-utf-8-\xff\xfe.p4"),
    "x...p4.p4",
    " .p4",
)


def _names(solution: str) -> Iterator[Hostile]:
    for name in NAMES:
        right = name.startswith("--")
        text = solution if right else "x y z"
        yield Hostile(name, _writer(text.encode()), "right" if right else "compiles not")


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir()
    print(f"{len(build(target, Path(sys.argv[2]).read_text()))} submissions")
