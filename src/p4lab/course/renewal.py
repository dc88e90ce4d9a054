"""A lab that has changed under a student's work: what was theirs stays, what is new gets to them.

A folder remembers the lab and the starter it began with (`.p4lab/starter.json`). With it, a file in
which nothing was written can be told from work, work can be merged with a newer starter, and no lab
gets among the files of another.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from p4lab.paths import reading

State = Literal["new", "unchanged", "kept", "updated", "merged", "beside"]
"""What became of a file: it was not there; it is the lab's; it stays as the student has it; the
student had not touched it, and it is now the newer one; both hands are in it, and `before(path)`
is what the student had; or both changed the same lines, and the newer one is `beside(path)`."""

RENEWED = frozenset[State]({"updated", "merged", "beside"})
"""What a newer lab does to files that are there"""

MEMORY = Path(".p4lab") / "starter.json"
_LONGEST = 1 << 22  # bytes of a file that is read
_MERGE_TIME = 20  # seconds for git to merge one file


def beside(path: Path) -> Path:
    """Where a newer starter is laid that cannot be merged."""
    return path.with_name(f"{path.name}.new")


def before(path: Path) -> Path:
    """Where a student's file stays as it was before it was merged."""
    return path.with_name(f"{path.name}.before")


def told(path: Path, state: State) -> str:
    """What became of a file, for its student."""
    words = {
        "new": "new",
        "unchanged": "already there",
        "kept": "kept as you have it",
        "updated": "updated: the lab has a newer one, and you had not changed yours",
        "merged": f"merged with the lab's newer one; as you had it: {before(path).name}",
        "beside": f"kept as you have it; the lab has a newer one: {beside(path).name}",
    }
    return f"{path}  {words[state]}"


def begun_with(folder: Path) -> dict[str, str]:
    """The starter that a folder began with: the text of each file by its path; empty if it does not
    remember. What a student has made of that file is not trusted: anything else is empty, too."""
    return _memory(folder)[1]


def begun_for(folder: Path) -> str:
    """The lab that a folder was begun for; empty if it does not say so: older ones do not."""
    return _memory(folder)[0]


def _memory(folder: Path) -> tuple[str, dict[str, str]]:
    try:
        found = json.loads(_small(folder / MEMORY))
    except (OSError, ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        return "", {}
    lab, files = found.get("lab"), found.get("files")
    if not isinstance(files, dict):  # an older one: nothing but the files
        lab, files = "", found
    texts = {name: text for name, text in files.items() if isinstance(text, str)}
    return lab if isinstance(lab, str) else "", texts


def remember(folder: Path, files: Mapping[str, str], lab: str = "") -> None:
    """Keeps what `begun_with` and `begun_for` give; without a `lab` the one that is kept stays.
    Raises OSError."""
    before = _memory(folder)
    now = lab or before[0], dict(files)
    if before != now:
        path = folder / MEMORY
        path.parent.mkdir(exist_ok=True)
        text = json.dumps({"lab": now[0], "files": now[1]}, indent=1)
        _replace(path, f"{text}\n".encode())


def place(path: Path, text: str, base: str | None) -> State:
    """Puts a starter's file where a student works. `base` is the text that the student began with,
    None if nobody knows it. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode()
    try:
        _create(path, data)
    except FileExistsError:
        return _renew(path, data, base)
    return "new"


def _renew(path: Path, data: bytes, base: str | None) -> State:
    try:
        mine = _small(path)
    except OSError:
        return "kept"
    if mine == data:
        return "unchanged"
    if base is None or base.encode() == data:
        return "kept"
    if mine == base.encode():
        _replace(path, data)
        return "updated"
    merged = _merged(mine, base.encode(), data)
    if merged is None:
        return "beside" if _lay(beside(path), data) else "kept"
    if not _lay(before(path), mine):
        return "kept"
    _replace(path, merged)
    return "merged"


def _small(path: Path) -> bytes:
    """What is in a file. Raises OSError for links, pipes, devices, and what no starter is as long
    as."""
    handle = os.open(path, reading())
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "not a file", str(path))
        data = file.read(_LONGEST + 1)
    if len(data) > _LONGEST:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return data


def _merged(mine: bytes, base: bytes, newer: bytes) -> bytes | None:
    """Both changes in one text, None if they meet in the same lines, or if there is no git."""
    if (git := shutil.which("git")) is None:
        return None
    with tempfile.TemporaryDirectory(prefix="p4lab-") as made:
        names = ("mine", "base", "newer")
        for name, text in zip(names, (mine, base, newer), strict=True):
            (Path(made) / name).write_bytes(text)
        command = [git, "merge-file", "--stdout", "--quiet", *names]
        try:
            ran = subprocess.run(
                command, cwd=made, capture_output=True, timeout=_MERGE_TIME, check=False
            )
        except subprocess.TimeoutExpired:
            return None
    return ran.stdout if ran.returncode == 0 else None


def _lay(path: Path, data: bytes) -> bool:
    """Writes a file beside a student's; False if something of another text is there already, which
    may be the student's."""
    try:
        _create(path, data)
    except FileExistsError:
        try:
            return _small(path) == data
        except OSError:
            return False
    return True


def _create(path: Path, data: bytes) -> None:
    """Writes a file that is not there, the whole of it or nothing: what a full disk leaves of it
    would pass for the student's next time. Raises FileExistsError, and OSError with the file."""
    file = path.open("xb")
    try:
        with file:
            file.write(data)
    except BaseException as error:
        path.unlink()
        if isinstance(error, OSError):
            error.filename = str(path)
        raise


def _replace(path: Path, data: bytes) -> None:
    """Writes a file at once or not at all. Raises OSError."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        if path.exists():
            shutil.copymode(path, name)
        else:
            os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
