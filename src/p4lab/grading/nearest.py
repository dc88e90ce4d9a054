"""Which check a counterexample belongs to: the nearest one that would have noticed it.

A check notices a difference if what it does not ignore differs, in headers and fields that its own
packets leave with. Of those, the nearest is the one whose cases take the reference on the most
similar journey: the same lines of the solution, the same actions of the same tables, the same ends.
A check that this one needs is blamed instead if it is nearly as near. What is near to none belongs
to the first check of whole networks, if the lab has one; of equally near ones the first of the lab
is blamed. A lab that knows better says so ([[prove.blame]]).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from p4lab.grading import culprit, difference, frames
from p4lab.grading.course import Check, Course, Defines, public_seeds
from p4lab.grading.record import PacketDifference, Story
from p4lab.grading.story import traced

Journey = frozenset[tuple[Any, ...]]
NEAR = 0.25
"""A check whose cases share less of their journeys with a packet has nothing to do with it"""
NEARLY = 0.6
"""How much less near a check may be that is needed by the nearest one"""


class Rule(BaseModel):
    """The table [[prove.blame]]: a counterexample in which all of this holds belongs to `check`, if
    that notices it. `table` is where the programs part, `action` one that the reference has run."""

    model_config = ConfigDict(extra="forbid")
    check: str
    signature: str | None = None
    field: str | None = None
    table: Annotated[str | None, Field(min_length=1)] = None
    action: Annotated[str | None, Field(min_length=1)] = None

    def fits(self, story: Story, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> bool:
        """Whether it speaks of a difference, given the reference's trace and the student's."""
        fields = {item.field for packet in story.differences for item in packet.fields}
        return (
            self.signature in (None, story.signature)
            and (self.field is None or self.field in fields)
            and (self.table is None or _ends(_parted(ours, theirs), self.table))
            and (self.action is None or any(_ends(ran, self.action) for ran in _actions(ours)))
        )


def _ends(name: str, end: str) -> bool:
    return f".{name}".endswith(f".{end}")


def _actions(trace: Mapping[str, Any]) -> Iterator[str]:
    for packet in trace["packets"]:
        yield from (step["action"] for step in packet["steps"] if step["kind"] == "table")


def _parted(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    """The table at which two traces part; empty if it is none."""
    both = (culprit.decisions(trace["packets"]) for trace in (ours, theirs))
    for mine, other in zip(*both, strict=False):
        if mine[0] != other[0]:
            return str(other[0][1]) if other[0][0] == "table" else ""
    return ""


@dataclass(frozen=True)
class Habits:
    """What the cases of a check are like with the reference: their journeys, the headers of what
    comes out, and the fields that are compared."""

    journeys: tuple[Journey, ...]
    headers: frozenset[tuple[str, ...]]
    fields: frozenset[str]

    def are_about(self, story: Story) -> bool:
        """Whether a check with such habits looks at what differs: at one of the fields, at packets
        with a header that is lacking, at such without one that is too much, or at where packets go
        and how many there are."""
        return not story.differences or any(self._looks_at(one) for one in story.differences)

    def _looks_at(self, packet: PacketDifference) -> bool:
        fields = {item.field for item in packet.fields}
        expected, got = set(packet.expected_headers), set(packet.got_headers)
        both = bool(expected and got)
        if fields & {*self.fields, frames.PAYLOAD} or not (fields or (both and expected != got)):
            return True
        lacking, surplus = (expected - got, got - expected) if both else (set(), set())
        return any(lacking & set(headers) or surplus - set(headers) for headers in self.headers)

    def likeness(self, own: Journey) -> float:
        """Of the most similar journey: from 0, nothing in common, to 1."""
        return max((len(own & one) / len(own | one) for one in self.journeys), default=0.0)


def candidates(course: Course, defines: Defines) -> list[Check]:
    """The checks that a counterexample may belong to, which was found with these macros: those that
    send packets, to a program with the same macros but for what varies."""
    varied = set(course.kit.vary)
    wanted = {one for one in defines if one[0] not in varied}
    return [
        check
        for check in course.checks
        if check.scenario and check.points and wanted <= _macros(course, check)
    ]


def _macros(course: Course, check: Check) -> set[tuple[str, str]]:
    return set(course.case(check, public_seeds(check)[0]).case.defines)


def is_of_network(course: Course, check: Check) -> bool:
    """Whether a check sends its packets through a network."""
    return check.scenario is not None and course.scenario(check.scenario).network is not None


def journey(course: Course, trace: Mapping[str, Any]) -> Journey:
    """What the reference did with a packet: lines of the solution, actions of tables, ends."""
    steps: set[tuple[Any, ...]] = set()
    for packet in trace["packets"]:
        for step in packet["steps"]:
            where = culprit.place(step, course.sources)
            if step["kind"] == "table":
                steps.add(("table", step["table"], step["action"], step["hit"]))
            elif where is not None and where.file in course.student.edit:
                steps.add(("line", where.file, where.line))
        fate = packet["fate"] or {"kind": "lost"}
        steps.add(("end", packet["kind"], fate["kind"]))
    return frozenset(steps)


def habits(course: Course, check: Check) -> Habits:
    """Of the cases that everybody sees; of a network there are none. Raises LabError."""
    journeys: list[Journey] = []
    headers: set[tuple[str, ...]] = set()
    fields: set[str] = set()
    for seed in public_seeds(check) if not is_of_network(course, check) else ():
        judged = course.case(check, seed)
        reference = course.program(judged.case.defines)
        for number in range(1, len(judged.case.sendings) + 1):
            trace = traced(course, reference, judged, number)
            journeys.append(journey(course, trace))
            for out in difference.outs(reference, trace):
                wanted = difference.wanted(out, judged.case.ignore)
                headers.add(tuple(header.name for header in wanted.headers))
                fields |= {f"{h.name}.{field}" for h in wanted.headers for field in h.fields}
    return Habits(tuple(journeys), frozenset(headers), frozenset(fields))


def _needed(course: Course, check: Check) -> set[str]:
    """A check and all that it needs, by their ids."""
    found = {check.id}
    for one in reversed(course.checks):
        if one.id in found:
            found.update(one.needs)
    return found


def blamed(
    course: Course,
    noticed: Sequence[tuple[Check, Story]],
    rules: Sequence[Rule],
    ours: Mapping[str, Any],
    theirs: Mapping[str, Any],
) -> Check | None:
    """The check that a counterexample belongs to, None if no check looks at what differs. `noticed`
    are the checks for which something differs, with what each would tell; then the reference's
    trace of the packet, and the student's."""
    stories = {check.id: (check, story) for check, story in noticed}
    for rule in rules:
        if rule.check in stories and rule.fits(stories[rule.check][1], ours, theirs):
            return stories[rule.check][0]
    own = journey(course, ours)
    known = {check.id: habits(course, check) for check, _ in noticed}
    about = [check for check, story in noticed if known[check.id].are_about(story)]
    likeness = {check.id: known[check.id].likeness(own) for check in about}
    near = max(about, key=lambda check: likeness[check.id], default=None)
    if near is not None and likeness[near.id] >= NEAR:
        needed = _needed(course, near)
        enough = NEARLY * likeness[near.id]
        return next(one for one in about if one.id in needed and likeness[one.id] >= enough)
    whole = (check for check, _ in noticed if is_of_network(course, check))
    return next(whole, near)
