"""Makes a class out of a roster, or brings it up to date."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from p4lab.classroom import accounts as users
from p4lab.classroom import passwords
from p4lab.classroom.accounts import INSTRUCTOR, Account
from p4lab.classroom.place import SERVICE, ClassError, Place, Settings, written
from p4lab.course.home import homes
from p4lab.grading.roster import login_of
from p4lab.grading.roster import read as read_roster
from p4lab.plurals import count_of

Say = Callable[[str], None]

CLOSED = ("solutions", ".git")
"""What students cannot read of p4lab, or of a course beside it: a history has the solutions, too"""

LOGINS = "logins.json"
"""In the hub's folder: the ids of the roster that was last taken, by login"""


@dataclass(frozen=True)
class Made:
    """The passwords now, and the ids of students who are no longer on the roster."""

    accounts: tuple[Account, ...]
    new: tuple[Account, ...]
    gone: tuple[str, ...] = ()


def make(place: Place, roster: Path, settings: Settings, say: Say) -> Made:
    """Makes users and files; nothing if the roster is not sound. Raises ClassError, GradingError,
    OSError."""
    if os.geteuid() != 0:
        raise ClassError("students become users of this machine, which takes root: use sudo.")
    wanted = users.accounts(read_roster(roster))
    for home in homes():
        close(home.root)
    place.path.mkdir(parents=True, exist_ok=True)
    say(f"users of this machine for {count_of(len(wanted), 'student')}")
    new = users.make(wanted)
    _folders(place)
    if roster.resolve() != place.roster.resolve():
        shutil.copyfile(roster, place.roster)
    _private(place.roster)
    _write(place.settings_file, written(settings))
    gone = _dismiss(place, wanted)
    if settings.lti is None:
        say("passwords")
        _passwords(place, wanted)
    _secrets(place)
    _write(place.hub / LOGINS, json.dumps({one.login: one.person.id for one in wanted}))
    return Made(wanted, tuple(new), gone)


def close(root: Path) -> None:
    """Keeps students out of what is not for them. Raises OSError."""
    for name in CLOSED:
        if (root / name).is_dir():
            (root / name).chmod(0o700)


def _folders(place: Place) -> None:
    os.chmod(place.path, 0o711)
    for folder in (place.hub, place.handins("")):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    place.seen.mkdir(exist_ok=True)
    shutil.chown(place.seen, "root", SERVICE)
    os.chmod(place.seen, 0o770)


def _dismiss(place: Place, wanted: tuple[Account, ...]) -> tuple[str, ...]:
    """Ends what students run who have left the roster, and gives their ids. Their files stay, and
    so does their password, with which the hub lets in nobody who is not on the roster: the roster
    may have been the wrong one."""
    file = place.hub / LOGINS
    found = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    before = found if isinstance(found, dict) else {login: login for login in found}
    gone = {login: before[login] for login in sorted(before.keys() - {o.login for o in wanted})}
    for login in gone:
        subprocess.run(["pkill", "-KILL", "-u", login], check=False)
    return tuple(gone.values())


def _passwords(place: Place, wanted: tuple[Account, ...]) -> None:
    """A password for each who has none; those of others stay."""
    kept = passwords.load(place.passwords)
    rows = []
    people = {one.login: (one.person.id, one.person.name, one.person.email) for one in wanted}
    for login, who in {INSTRUCTOR: (INSTRUCTOR, "", ""), **people}.items():
        if login not in kept:
            password = passwords.new()
            kept[login] = passwords.hashed(password)
            rows.append((*who, password))
    passwords.save(place.passwords, kept)
    if rows:
        passwords.hand_out(place.letters, rows)


def renew_password(place: Place, label: str) -> str:
    """A new password for a student, by id, email or login, or for the instructor. Raises
    ClassError, GradingError, OSError."""
    person = read_roster(place.roster).person(label)
    if person is None and label != INSTRUCTOR:
        raise ClassError(f"{label!r} is nobody on the roster.")
    login = login_of(person.id) if person else INSTRUCTOR
    kept, password = passwords.load(place.passwords), passwords.new()
    passwords.save(place.passwords, {**kept, login: passwords.hashed(password)})
    return password


def _secrets(place: Place) -> None:
    """What proxy and hub know of each other."""
    file = place.hub / "proxy.env"
    if not file.exists():
        _write(file, f"CONFIGPROXY_AUTH_TOKEN={secrets.token_hex(32)}\n")


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    _private(path)


def _private(path: Path) -> None:
    os.chmod(path, 0o600)
