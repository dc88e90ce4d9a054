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
from p4lab.grading.roster import login_of
from p4lab.grading.roster import read as read_roster

Say = Callable[[str], None]


@dataclass(frozen=True)
class Made:
    """What there is now."""

    accounts: tuple[Account, ...]
    new: tuple[Account, ...]


def make(place: Place, roster: Path, settings: Settings, say: Say) -> Made:
    """Makes users and files; nothing if the roster is not sound. Raises ClassError, GradingError,
    OSError."""
    if os.geteuid() != 0:
        raise ClassError("students become users of this machine, which takes root: use sudo.")
    wanted = users.accounts(read_roster(roster))
    place.path.mkdir(parents=True, exist_ok=True)
    say(f"users of this machine for {len(wanted)} students")
    new = users.make(wanted)
    _folders(place)
    if roster.resolve() != place.roster.resolve():
        shutil.copyfile(roster, place.roster)
    _private(place.roster)
    _write(place.settings_file, written(settings))
    _dismiss(place, wanted)
    if settings.lti is None:
        say("passwords")
        _passwords(place, wanted)
    _secrets(place)
    _write(place.hub / "logins.json", json.dumps([one.login for one in wanted]))
    return Made(wanted, tuple(new))


def _folders(place: Place) -> None:
    os.chmod(place.path, 0o711)
    for folder in (place.hub, place.handins("")):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    place.seen.mkdir(exist_ok=True)
    shutil.chown(place.seen, "root", SERVICE)
    os.chmod(place.seen, 0o770)


def _dismiss(place: Place, wanted: tuple[Account, ...]) -> None:
    """Deletes the passwords of students who have left the roster, and ends what they run. Their
    files stay."""
    file = place.hub / "logins.json"
    before = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    gone = set(before) - {one.login for one in wanted}
    kept = passwords.load(place.passwords)
    passwords.save(place.passwords, {k: v for k, v in kept.items() if k not in gone})
    for login in sorted(gone):
        subprocess.run(["pkill", "-KILL", "-u", login], check=False)


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
