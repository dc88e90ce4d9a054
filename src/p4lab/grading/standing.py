"""From attempts to what each student gets: whose they are, which one counts, what is late."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from p4lab.grading.course import Course
from p4lab.grading.handins import Entry
from p4lab.grading.judge import nothing
from p4lab.grading.record import Adjustment, Verdict
from p4lab.grading.roster import Person, Roster
from p4lab.grading.rules import Rules
from p4lab.grading.workers import GradingError
from p4lab.grading.writers.layout import Graded
from p4lab.grading.writers.text import number

NOTHING = "Nothing was handed in."


@dataclass(frozen=True)
class Class:
    """What a class gets: a row for each student, and those who wrote each row, by student, where
    several did. `strangers` are entries of nobody on the roster, `doubtful` those that are late by
    nobody knows how much."""

    rows: tuple[Graded, ...]
    people: Mapping[str, Person]
    teams: Mapping[str, tuple[str, ...]]
    strangers: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()


def settle(
    course: Course,
    found: Sequence[Entry],
    graded: Sequence[Graded],
    rules: Rules,
    roster: Roster | None,
) -> Class:
    """The rows of a class; `graded` are the verdicts on the entries, in their order. Raises
    GradingError for a rule about a student whom nobody knows."""
    attempts: dict[str, list[tuple[Entry, Graded]]] = {}
    owners: dict[str, tuple[Person, ...]] = {}
    for entry, row in zip(found, graded, strict=True):
        people = _people(entry, roster)
        name = _together(people) if people else entry.student
        # A name that is nobody's must not become a person's.
        key = name if people else f"\0{name}"
        owners[key] = people
        attempts.setdefault(key, []).append((entry, row))
    rows: list[Graded] = []
    people_of: dict[str, Person] = {}
    teams: dict[str, tuple[str, ...]] = {}
    doubtful = []
    for key, tried in attempts.items():
        tried.sort(key=lambda one: one[0].turn)  # a team's members may be anywhere
        for person in owners[key] or (_stranger(tried[-1][0], key.removeprefix("\0"), roster),):
            row, unclear = _counted(course, tried, rules, person)
            rows.append(row)
            people_of[person.id] = person
            if len(owners[key]) > 1:
                teams[person.id] = tuple(one.id for one in owners[key])
            if unclear:
                doubtful.append(person.id)
    strangers = tuple(key.removeprefix("\0") for key in attempts if not owners[key])
    for person in roster.people if roster else ():
        if person.id not in people_of:
            people_of[person.id] = person
            verdict = _adjusted(nothing(course, person.id, NOTHING), rules)
            rows.append(Graded(verdict, told(verdict)))
    _all_known(rules, set(people_of))
    rows.sort(key=lambda row: row.verdict.student)
    return Class(tuple(rows), people_of, teams, strangers if roster else (), tuple(doubtful))


def _people(entry: Entry, roster: Roster | None) -> tuple[Person, ...]:
    """Whose an entry is, as far as that is known."""
    if not entry.members:
        return roster.owners(entry.student, entry.user) if roster else ()
    found: dict[str, Person] = {}
    for names in entry.members:
        ways = (roster.owners(name) for name in names) if roster else ()
        for person in next(filter(None, ways), ()):
            found[person.id] = person
    if not found and len(entry.members) == 1:
        return ()
    for names in entry.members:
        known = any(roster.owners(name) for name in names) if roster else False
        if not known:
            person = _stranger(entry, names[-1], roster)
            found[person.id] = person
    return tuple(found.values())


def _together(people: Sequence[Person]) -> str:
    return people[0].team or " and ".join(person.id for person in people)


def _stranger(entry: Entry, name: str, roster: Roster | None) -> Person:
    """Who is on no roster: named as the entry is, and never as somebody who is on it."""
    taken = {person.id for person in roster.people} if roster else set()
    return Person(f"{name} (not on the roster)" if name in taken else name, user=entry.user)


def _counted(
    course: Course, tried: Sequence[tuple[Entry, Graded]], rules: Rules, person: Person
) -> tuple[Graded, bool]:
    """The attempt that counts for a person, and whether it is late by nobody knows how much."""
    rows = [_with_lateness(course, entry, row, rules, person) for entry, row in tried]
    last = len(rows) - 1
    best = max(range(len(rows)), key=lambda place: (rows[place].verdict.points, place))
    chosen = best if rules.attempt == "best" else last
    entry, row = tried[chosen][0], rows[chosen]
    notes = row.notes
    if last:
        notes += (f"Attempt {chosen + 1} of {last + 1} counts, the {rules.attempt} one.",)
    unclear = entry.late and _when(entry, person) is None and rules.due is not None
    verdict = _adjusted(row.verdict, rules)
    return replace(row, verdict=verdict, notes=(*notes, *told(verdict))), unclear


def _when(entry: Entry, person: Person) -> datetime | None:
    return entry.when or person.when


def _with_lateness(
    course: Course, entry: Entry, row: Graded, rules: Rules, person: Person
) -> Graded:
    verdict = replace(row.verdict, student=person.id)
    days = rules.days_late(_when(entry, person))
    free = rules.days.get(person.id, rules.free_days if person.days is None else person.days)
    if not days:
        return replace(row, verdict=verdict)
    if rules.most_days is not None and days > rules.most_days:
        why = f"{_days(days)} late, and nothing counts after {_days(rules.most_days)}."
        lost = verdict.points
    else:
        why = f"{_days(days)} late, {free} of them free."
        lost = min(verdict.points, max(0, days - free) * rules.per_day / 100 * verdict.max_points)
    verdict = replace(verdict, adjustments=(Adjustment(-lost, why),))
    return replace(row, verdict=verdict)


def _days(count: int) -> str:
    return "1 day" if count == 1 else f"{count} days"


def _adjusted(verdict: Verdict, rules: Rules) -> Verdict:
    """The verdict with what was changed by hand."""
    for rule in rules.adjust:
        if rule.student == verdict.student:
            change = rule.to - verdict.points if rule.to is not None else rule.points
            assert change is not None
            change = max(change, -verdict.points)
            adjustment = Adjustment(change, f"By hand: {rule.reason}")
            verdict = replace(verdict, adjustments=(*verdict.adjustments, adjustment))
    return verdict


def _all_known(rules: Rules, known: set[str]) -> None:
    """Raises GradingError for a name that is nobody's: a typing mistake would cost points."""
    for name in [*rules.days, *(rule.student for rule in rules.adjust)]:
        if name not in known:
            near = ", ".join(sorted(known)[:3])
            raise GradingError(
                f"the rules speak of {name!r}, who is not in the class; students are named as in "
                f"grades.csv, such as {near}."
            )


def told(verdict: Verdict) -> tuple[str, ...]:
    """Each adjustment of a verdict in a sentence."""
    return tuple(f"{number(one.points)} points: {one.why}" for one in verdict.adjustments)
