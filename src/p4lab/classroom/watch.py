"""Where everyone is: judges the files that have changed, for the instructor's page.

The verdicts are the server's own, from the files, and not what a student's server says. A round
takes one core at most, at low priority, and files that are as they were cost nothing.
"""

from __future__ import annotations

import json
import os
import pwd
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from p4lab.classroom.accounts import Account, accounts
from p4lab.classroom.collecting import collect, now, read
from p4lab.classroom.dropping import DroppedError, as_user
from p4lab.classroom.place import PLACE, SERVICE, Place
from p4lab.grading.apart import judge_apart
from p4lab.grading.course import Course
from p4lab.grading.known import wanted
from p4lab.grading.record import Verdict
from p4lab.grading.roster import read as read_roster
from p4lab.grading.sandbox import Limits
from p4lab.grading.submission import Submission, Wanted
from p4lab.grading.workers import prepared

NICE = 15
WISH_SECONDS = 1.0
"""How long a wish to collect waits"""


@dataclass
class Watch:
    """What is known of a class: the files of each student that were judged, and the verdict."""

    place: Place
    people: Sequence[Account]
    course: Course
    wanted: Wanted
    seen: dict[str, tuple[Submission, dict[str, Any]]] = field(default_factory=dict)
    collected: str = ""
    """What became of the last collection, in words"""

    def look(self) -> None:
        """One round. Raises OSError."""
        for account in self.people:
            found = read(account, self.course.name, self.wanted)
            before = self.seen.get(account.login)
            if before is None or before[0].files != found.files or found.trouble:
                self.seen[account.login] = found, self._row(account, found)
        self.write()

    def _row(self, account: Account, found: Submission) -> dict[str, Any]:
        row = {
            "login": account.login,
            "id": account.person.id,
            "name": account.person.name,
            "changed": f"{now():%Y-%m-%dT%H:%M:%SZ}",
        }
        begun = (Path(account.entry.pw_dir) / "p4lab").is_dir()
        if found.trouble:
            return {**row, "trouble": found.trouble if begun else "", "points": 0, "checks": {}}
        if all(found.files.get(name) == text for name, text in self.course.starter.items()):
            return {**row, "trouble": "nothing written yet", "points": 0, "checks": {}}
        verdict = self._judged(found)
        checks = {check.id: check.status for check in verdict.checks}
        return {**row, "trouble": verdict.trouble, "points": verdict.points, "checks": checks}

    def _judged(self, found: Submission) -> Verdict:
        """The verdict, by the class's user in a sandbox. Raises DroppedError."""

        def work() -> bytes:
            judged = judge_apart(self.course, "", found.files, None, Limits())
            return json.dumps(judged.verdict.to_json()).encode()

        return Verdict.from_json(json.loads(as_user(pwd.getpwnam(SERVICE), work)))

    def collect(self) -> None:
        """Takes in what is handed in, as the instructor wishes. Raises OSError."""
        when = now()
        found = collect(self.place, self.people, self.course.name, self.wanted, when)
        self.collected = (
            f"{when:%Y-%m-%d %H:%M} UTC: {len(found.new)} new, {len(found.same)} unchanged, "
            f"{len(found.missing)} without files"
        )
        self.write()

    def write(self) -> None:
        """Leaves what is known for the dashboard. Raises OSError."""
        course = self.course
        state = {
            "lab": course.name,
            "looked": f"{now():%Y-%m-%dT%H:%M:%SZ}",
            "collected": self.collected,
            "handins": str(self.place.handins(course.name)),
            "roster": str(self.place.roster),
            "max_points": sum(check.points for check in course.checks),
            "checks": [{"id": check.id, "title": check.title} for check in course.checks],
            "students": [row for _, row in self.seen.values()],
        }
        beside = self.place.hub / "standing.json"
        beside.write_text(json.dumps(state), encoding="utf-8")
        os.chmod(beside, 0o644)  # its folder decides who reads it
        os.replace(beside, self.place.standing)


def main() -> None:
    """Looks again and again, until it is ended."""
    os.nice(NICE)
    place = Place(Path(os.environ[PLACE]))
    settings = place.settings()
    course = prepared(settings.lab, None)
    people = accounts(read_roster(place.roster))
    watch = Watch(place, people, course, wanted(course))
    while True:
        try:
            watch.look()
        except (OSError, DroppedError) as error:  # the next round may be luckier
            print(f"watch: {error}", file=sys.stderr, flush=True)
        _wait(watch, settings.look_seconds)


def _wait(watch: Watch, seconds: float) -> None:
    """Until the next round; a wish to collect is granted meanwhile."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(min(WISH_SECONDS, seconds))
        if watch.place.wish.exists():
            watch.place.wish.unlink()
            watch.collect()
