"""From attempts to what each student gets: whose they are, which one counts, what is late."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from p4lab.grading.course import Course
from p4lab.grading.handins import Entry
from p4lab.grading.judge import nothing
from p4lab.grading.record import Adjustment, Verdict
from p4lab.grading.roster import Person, Roster, meant, nearest
from p4lab.grading.rules import Rules, sentence
from p4lab.grading.workers import GradingError
from p4lab.grading.writers.layout import Graded
from p4lab.grading.writers.text import number, one_line
from p4lab.plurals import count_of

NOTHING = "Nothing was handed in."
LATE = "It was late, but by an unknown time: nothing was taken off."
SHOWN = 3
"""Most students that a sentence names"""


@dataclass(frozen=True)
class Class:
    """What a class gets: a row for each student, and those who wrote each row, by student, where
    several did. `strangers` are entries of nobody on the roster, `hints` say who some may be;
    `doubtful` are those that are late by nobody knows how much, `absent` those on the roster who
    handed in nothing. `unordered` are hand-ins of which nothing tells the last, by whose they are;
    `ignored` the columns of the roster that nobody reads."""

    rows: tuple[Graded, ...]
    people: Mapping[str, Person]
    teams: Mapping[str, tuple[str, ...]]
    strangers: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()
    absent: frozenset[str] = frozenset()
    hints: Mapping[str, str] = field(default_factory=dict)
    unordered: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()

    def remarks(self) -> tuple[str, ...]:
        """What an instructor should know of it, in sentences."""
        told = []
        if self.absent:
            told.append(f"{len(self.absent)} on the roster handed in nothing.")
        strangers = [f"{name}{self.hints.get(name, '')}" for name in self.strangers]
        for what, names in (
            ("Not on the roster", strangers),
            ("Late, but by an unknown time", self.doubtful),
            ("Columns of the roster that are not read", self.ignored),
        ):
            if names:
                told.append(f"{what}: {', '.join(names)}.")
        if self.unordered:
            first, second, *_ = next(iter(self.unordered.values()))
            told.append(
                "Nothing tells which hand-in is the last, so the best counts: "
                f"{', '.join(self.unordered)}; name hand-ins in their order, such as {first}@1 "
                f"and {second}@2."
            )
        return tuple(told)


def settle(
    course: Course,
    found: Sequence[Entry],
    graded: Sequence[Graded],
    rules: Rules,
    roster: Roster | None,
) -> Class:
    """The rows of a class; `graded` are the verdicts on the entries, in their order. Raises
    GradingError for a rule about a student whom nobody knows."""
    rules = named(rules, found, roster)
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
    unordered: dict[str, tuple[str, ...]] = {}
    for key, tried in attempts.items():
        tried.sort(key=lambda one: _order(one[0]))  # a team's members may be anywhere
        if rules.attempt == "last" and (names := _unordered(tried)):
            unordered[key.removeprefix("\0")] = names
        for person in owners[key] or (_stranger(tried[-1][0], key.removeprefix("\0"), roster),):
            row, unclear = _counted(course, tried, rules, person)
            rows.append(row)
            people_of[person.id] = _numbered(person, owners[key], tried[-1][0])
            if len(owners[key]) > 1:
                teams[person.id] = tuple(one.id for one in owners[key])
            if unclear:
                doubtful.append(person.id)
    strangers = tuple(key.removeprefix("\0") for key in attempts if not owners[key])
    absent = set()
    for person in roster.people if roster else ():
        if person.id not in people_of:
            absent.add(person.id)
            people_of[person.id] = person
            verdict = _adjusted(nothing(course, person.id, NOTHING), rules)
            rows.append(Graded(verdict, told(verdict)))
    rows.sort(key=lambda row: row.verdict.student)
    hints = {}
    if roster is not None:
        missing = [person for person in roster.people if person.id in absent]
        hints = {name: _hint(attempts[f"\0{name}"][0][0], roster, missing) for name in strangers}
    return Class(
        tuple(rows),
        people_of,
        teams,
        strangers if roster else (),
        tuple(sorted(doubtful)),
        frozenset(absent),
        hints,
        unordered,
        roster.ignored if roster else (),
    )


def agree(course: Course, rules: Rules, roster: Roster | None) -> None:
    """Raises GradingError for what the lab or the roster does not allow the rules to say."""
    if rules.due is not None and roster is not None and roster.unread:
        raise GradingError(roster.unread[0])
    most = nothing(course, "", NOTHING).max_points
    for rule in rules.adjust:
        if rule.to is not None and rule.to > most:
            raise GradingError(
                f"the rules set {rule.student!r} to {number(rule.to)} points, but the lab has "
                f"{number(most)}; points beyond these are added with `points`."
            )


def _hint(entry: Entry, roster: Roster, missing: Iterable[Person]) -> str:
    """Who a stranger may be: several whom the name fits, or the one of those without a hand-in who
    is called nearly so; empty if there is nobody."""
    if fits := roster.candidates(entry.student, entry.user):
        return f" (fits {' and '.join(one.id for one in fits[:SHOWN])})"
    near = nearest(entry.student, missing, 1)
    return f" (did you mean {near[0].id}?)" if near else ""


def _numbered(person: Person, owners: Sequence[Person], entry: Entry) -> Person:
    """The person with the platform's number, where only the platform gives one."""
    if person.user or len(owners) != 1:
        return person
    return replace(person, user=entry.user)


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


def _order(entry: Entry) -> tuple[int, float, float]:
    """What the hand-ins of one owner are sorted by. Equal for two of which nothing tells which came
    first: their names do not."""
    return (*entry.turn, entry.when.timestamp() if entry.when else 0.0)


def _latest(tried: Sequence[tuple[Entry, Graded]]) -> list[int]:
    """The places of those that may be the last one."""
    last = _order(tried[-1][0])
    return [place for place, (entry, _) in enumerate(tried) if _order(entry) == last]


def _unordered(tried: Sequence[tuple[Entry, Graded]]) -> tuple[str, ...]:
    """What the hand-ins are called of which nothing tells the last; none if they are the same."""
    latest = [tried[place] for place in _latest(tried)]
    if all(row.files == latest[0][1].files for _, row in latest):
        return ()
    return tuple(entry.student for entry, _ in latest)


def _counted(
    course: Course, tried: Sequence[tuple[Entry, Graded]], rules: Rules, person: Person
) -> tuple[Graded, bool]:
    """The attempt that counts for a person, and whether it is late by nobody knows how much."""
    rows = [_with_lateness(course, entry, row, rules, person) for entry, row in tried]
    # Nobody is to lose points by the alphabet, so the best of several last ones counts.
    places = range(len(rows)) if rules.attempt == "best" else _latest(tried)
    chosen = max(places, key=lambda place: (rows[place].verdict.points, place))
    entry, row = tried[chosen][0], rows[chosen]
    notes = row.notes
    if len(rows) > 1:
        notes += (_chosen(tried, chosen, rules),)
    unclear = entry.late and _when(entry, person) is None
    if unclear:
        notes += (LATE,)
    verdict = _adjusted(row.verdict, rules)
    return replace(row, verdict=verdict, notes=(*notes, *told(verdict))), unclear


def _chosen(tried: Sequence[tuple[Entry, Graded]], chosen: int, rules: Rules) -> str:
    """Which of several hand-ins counts, and why."""
    latest = _latest(tried)
    if rules.attempt == "last" and len(latest) > 1:
        entry = tried[chosen][0]
        timed = entry.turn[1] or entry.when
        which = "of the same time or number" if timed else "without a time or a number"
        return f"{len(latest)} hand-ins {which}: the best counts."
    if len({_order(entry) for entry, _ in tried}) < len(tried) and rules.attempt == "best":
        return f"The best of {len(tried)} hand-ins counts."
    return f"Attempt {chosen + 1} of {len(tried)} counts, the {rules.attempt} one."


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
    late = f"{count_of(days, 'day')} late"
    if rules.most_days is not None and days > rules.most_days:
        why = f"{late}, and nothing counts after {count_of(rules.most_days, 'day')}"
        lost = verdict.points
    else:
        why = f"{late}, {min(free, days)} of them free" if free else late
        lost = min(verdict.points, max(0, days - free) * rules.per_day / 100 * verdict.max_points)
    verdict = replace(verdict, adjustments=(Adjustment(0 - lost, why),))  # and never -0
    return replace(row, verdict=verdict)


def _adjusted(verdict: Verdict, rules: Rules) -> Verdict:
    """The verdict with what was changed by hand."""
    for rule in rules.adjust:
        if rule.student == verdict.student:
            change = rule.to - verdict.points if rule.to is not None else rule.points
            assert change is not None
            change = max(change, -verdict.points)
            adjustment = Adjustment(change, f"By hand: {rule.reason}")
            # In tables the reasons stand in one sentence.
            before = (replace(one, why=one.why.rstrip(".")) for one in verdict.adjustments)
            verdict = replace(verdict, adjustments=(*before, adjustment))
    return verdict


def named(rules: Rules, found: Sequence[Entry], roster: Roster | None) -> Rules:
    """The rules, with each student named by the id. Raises GradingError for one that is nobody's,
    or could be several people's: a typing mistake would cost points."""
    people = {one.id: one for one in roster.people} if roster else {}
    for entry in found:
        for person in _people(entry, roster) or (_stranger(entry, entry.student, roster),):
            people.setdefault(person.id, person)
    days: dict[str, int] = {}
    for name, free in rules.days.items():
        who = _meant(name, people.values())
        if who in days:
            raise GradingError(
                f"the rules speak of the free days of {who!r} twice; once is enough."
            )
        days[who] = free
    adjust = [
        rule.model_copy(update={"student": _meant(rule.student, people.values())})
        for rule in rules.adjust
    ]
    return rules.model_copy(update={"days": days, "adjust": adjust})


def _meant(name: str, people: Iterable[Person]) -> str:
    """The id of the one who is called so. Raises GradingError."""
    people = tuple(people)
    found = meant(name, people)
    if len(found) == 1:
        return found[0].id
    if found:
        several = ", ".join(one_line(one.id) for one in found[:SHOWN])
        raise GradingError(f"the rules speak of {name!r}, who may be {several}; name one by that.")
    if near := nearest(name, people):
        advice = f"did you mean {' or '.join(map(_called, near))}?"
    else:
        such = ", ".join(_called(one) for one in people[:SHOWN])
        advice = f"students are named by their id, address, number or name, such as {such}."
    raise GradingError(f"the rules speak of {name!r}, who is not in the class; {advice}")


def _called(person: Person) -> str:
    return one_line(f"{person.id} ({person.name})" if person.name else person.id)


def told(verdict: Verdict) -> tuple[str, ...]:
    """Each adjustment of a verdict in a sentence."""
    return tuple(
        f"{count_of(number(one.points), 'point')}: {sentence(one.why)}"
        for one in verdict.adjustments
    )
