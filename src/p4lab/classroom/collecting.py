"""What students have handed in: their files as they are now, where `p4lab grade` finds them.

Each student's folder is read by a process of that student, so that no link in it leads to what
they may not read, and within the limits of every submission. An attempt is the folder
LOGIN@TIME; one that says what the last one says is not made again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from p4lab.classroom.accounts import Account
from p4lab.classroom.dropping import DroppedError, as_user
from p4lab.classroom.place import ClassError, Place
from p4lab.grading.apart import read_apart
from p4lab.grading.sandbox import Limits
from p4lab.grading.submission import Submission, Wanted

WORK = "p4lab"
"""Where students work, below their home (`course.home.work_folder`)"""

READING = Limits(wall_seconds=20)


@dataclass(frozen=True)
class Collected:
    """Whose files have come, whose were as before, and why nothing came of others, by login."""

    new: tuple[str, ...]
    same: tuple[str, ...]
    missing: dict[str, str]


def read(account: Account, lab: str, wanted: Wanted) -> Submission:
    """A student's files of a lab as they are now. Never raises for what a student may have made."""
    try:
        user = account.entry
        folder = Path(user.pw_dir) / WORK / lab

        def work() -> bytes:
            return json.dumps(read_apart(folder, wanted, READING).to_json()).encode()

        return Submission.from_json(json.loads(as_user(user, work)))
    except (ClassError, DroppedError) as error:
        return Submission(trouble=str(error).strip().splitlines()[-1])


def collect(
    place: Place, people: Sequence[Account], lab: str, wanted: Wanted, when: datetime
) -> Collected:
    """Takes in what has changed since the last time. Raises OSError."""
    into = place.handins(lab)
    into.mkdir(mode=0o700, parents=True, exist_ok=True)
    new, same, missing = [], [], {}
    for account in people:
        found = read(account, lab, wanted)
        if found.trouble:
            missing[account.login] = found.trouble
        elif found.files == _last(into, account.login):
            same.append(account.login)
        else:
            _lay(into, account.login, found, when)
            new.append(account.login)
    return Collected(tuple(new), tuple(same), missing)


def now() -> datetime:
    """The time, in seconds of UTC."""
    return datetime.now(timezone.utc).replace(microsecond=0)


def _attempts(into: Path, login: str) -> list[Path]:
    return sorted(into.glob(f"{login}@*"))


def _last(into: Path, login: str) -> dict[str, str] | None:
    """The files of the last attempt by their paths; None if there is none."""
    attempts = _attempts(into, login)
    if not attempts:
        return None
    last = attempts[-1]
    files = [path for path in sorted(last.rglob("*")) if path.is_file()]
    return {path.relative_to(last).as_posix(): path.read_bytes().decode("utf-8") for path in files}


def _lay(into: Path, login: str, found: Submission, when: datetime) -> None:
    """Writes an attempt at once or not at all. Names of files are those that the lab asks for."""
    making = into / f".{login}"
    for name, text in found.files.items():
        path = making / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    os.replace(making, into / f"{login}@{when:%Y-%m-%dT%H-%M-%SZ}")
