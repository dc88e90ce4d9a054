"""A user of the system for each student on a roster.

The names of users are made of the roster's ids (`grading.roster.login_of`) and begin with `p4-`, so
that no id, whatever it is, becomes a user of the system that is somebody else.
"""

from __future__ import annotations

import grp
import os
import pwd
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from p4lab.classroom.place import SERVICE, ClassError
from p4lab.command import command
from p4lab.grading.roster import Person, Roster, login_of

INSTRUCTOR = "instructor"
"""How the instructor logs in, who has no user of the system"""

GROUP = "p4lab-students"
"""Every student is in it; only who is in it is ever started, read or locked"""


@dataclass(frozen=True)
class Account:
    """A student and the name of their user."""

    login: str
    person: Person

    @property
    def entry(self) -> pwd.struct_passwd:
        """Of the system's list. Raises ClassError if it is not there, or is not a student's."""
        try:
            found = pwd.getpwnam(self.login)
        except KeyError:
            raise ClassError(
                f"there is no user {self.login}; start {command()} class make again."
            ) from None
        if self.login not in grp.getgrnam(GROUP).gr_mem:
            raise ClassError(
                f"the user {self.login} is not in the group {GROUP}, so it is not a student's."
            )
        return found

    @property
    def home(self) -> Path:
        return Path(self.entry.pw_dir)


def accounts(roster: Roster) -> tuple[Account, ...]:
    """An account for each student. Raises ClassError if two would get one."""
    found: dict[str, Account] = {}
    for person in roster.people:
        account = Account(login_of(person.id), person)
        if (other := found.get(account.login)) is not None:
            raise ClassError(
                f"{person.id!r} and {other.person.id!r} would both be {account.login}; change one."
            )
        found[account.login] = account
    return tuple(found.values())


def make(wanted: Sequence[Account]) -> list[Account]:
    """Makes the users that are missing and closes every home to others; gives the new ones. Raises
    ClassError."""
    _run("groupadd", "--force", GROUP)
    if not _exists(SERVICE):
        _run("useradd", "--system", "--user-group", "--shell", "/usr/sbin/nologin", SERVICE)
    new = [account for account in wanted if not _exists(account.login)]
    for account in new:
        _run(
            *("useradd", "--create-home", "--user-group", "--groups", GROUP),
            *("--shell", "/bin/bash", account.login),
        )
    for account in wanted:
        os.chmod(account.home, 0o700, follow_symlinks=False)
    return new


def _exists(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def _run(*command: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise ClassError(f"{command[0]} is missing; install the package passwd.") from error
    if done.returncode:
        raise ClassError(f"{' '.join(command)}: {done.stderr.strip()}")
