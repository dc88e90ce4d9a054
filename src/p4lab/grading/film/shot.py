"""Makes a film: from the packets of a case in both programs, and from the story of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from p4lab import _engine
from p4lab.grading import culprit
from p4lab.grading.blame.pointed import mattering, searched
from p4lab.grading.course import Check, Course, Judged, inject_traced
from p4lab.grading.film.events import Event, Packets, events, is_telling, said
from p4lab.grading.film.record import Film, Frame, Row
from p4lab.grading.film.watched import VALID, State, Watched
from p4lab.grading.frames import Layout
from p4lab.grading.judge import failing, judge, work_of
from p4lab.grading.networks import watched as network_watched
from p4lab.grading.probes import Statement
from p4lab.grading.record import (
    CheckResult,
    PacketDifference,
    Place,
    Story,
    Verdict,
    cause,
    opened,
    to_tell,
)
from p4lab.grading.story import source_of
from p4lab.grading.ways import Parting, Stretch, after, partings, stretches, unscoped
from p4lab.grading.work import Work
from p4lab.plurals import count_of
from p4lab.steps import Lines

MOST_FRAMES = 120
FIRST_FRAMES = 10  # of more than that, these and the last
DROPPED = "none: it is dropped"
MOST_PARTED = 6  # variables that are followed because the ways part at them

_NUMBER = re.compile(r"0x[0-9a-f]+|\d+")


@dataclass(frozen=True)
class Sides:
    """The packets of a case, by sending, in both programs; `statements` are those of probes."""

    mine: list[Packets]
    theirs: list[Packets]
    program: _engine.Program
    """The student's"""
    where: str = ""
    statements: tuple[dict[int, Statement], dict[int, Statement]] = ({}, {})


def film(
    course: Course, files: Mapping[str, str], wanted: str | None, part: str | None = None
) -> Film:
    """The film of a check of the student's files, or of the first that fails, of all or of a part.
    Raises LabError."""
    verdict = opened(judge(course, files), part, wanted)
    chosen = wanted or to_tell(verdict, part).id
    result = next(one for one in verdict.checks if one.id == chosen)
    check = next(one for one in course.checks if one.id == chosen)
    if verdict.trouble or result.story is None:
        return _without(result, verdict.trouble or _not_failed(verdict, result))
    work = work_of(course, files)
    found = failing(course, check, work)
    if found is None:
        return _without(result, _no_packet(course, check, result.story))
    judged, story = found
    sides = _sides(course, check, judged, work)
    if sides is None:
        return _without(result, f"There is no packet to follow: {story.summary}")
    return _shot(course, result, judged, work, sides, story)


def _without(result: CheckResult, reason: str) -> Film:
    hint = result.story.hint if result.story else ""
    return Film(result.id, result.title, hint=hint, missing=reason)


def _not_failed(verdict: Verdict, result: CheckResult) -> str:
    if result.status == "passed":
        return "This check passes: there is nothing to watch."
    return f"This check waits for another one, which fails: {cause(verdict, result).title}."


def _no_packet(course: Course, check: Check, story: Story) -> str:
    """Why there is no packet to be watched."""
    if not course.is_p4:
        return "This check follows no packet: it measures what your policies bring about."
    if story.listing or check.stage == "compiles":
        return "A program that does not compile carries no packet: look at the compiler's errors."
    if check.stage == "contract":
        return "This check sends no packet: it compares names and widths of tables and actions."
    if check.numbers:
        return "This check sends no packet: it puts your numbers into the lab's formulas."
    if check.breaks:
        return "This check sends packets that you have written yourself: its story has them."
    return f"This check runs whole scripts, which p4lab stf runs, too. {story.summary}"


def _sides(course: Course, check: Check, judged: Judged, work: Work) -> Sides | None:
    """The packets of a case in both programs; None where none gets that far."""
    case = judged.case
    program = work.compiled(case.defines).program
    if program is None:
        return None
    if case.network is not None:
        seen = network_watched(course, check, judged, work, program)
        if seen is None:
            return None
        return Sides([seen.mine], [seen.theirs], program, f"{seen.router}, ")
    right, own = course.probed(case.defines), work.probed(case.defines)
    statements = (dict(right.statements), dict(own.statements))
    reference = course.program(case.defines)
    if right.program is None or own.program is None:
        statements = ({}, {})
    else:
        reference, program = right.program, own.program
    try:
        mine, theirs = (_packets(course, one, judged) for one in (reference, program))
    except ValueError:  # entries that do not fit
        return None
    return Sides(mine, theirs, work.runnable(case.defines), statements=statements)


def _packets(course: Course, program: _engine.Program, judged: Judged) -> list[Packets]:
    switch = course.set_up(program, judged.case)
    return [inject_traced(switch, sending)["packets"] for sending in judged.case.sendings]


def _shot(
    course: Course, result: CheckResult, judged: Judged, work: Work, sides: Sides, story: Story
) -> Film:
    case = judged.case
    layout = course.headers(case.defines)
    parting = _parting(course, judged, work, sides, story)
    labels = dict(course.system.followed)
    for told in story.differences[:1]:
        labels.update((one.field, one.field) for one in told.shown)
    if parting is not None:
        labels.update(_parted(parting, layout))
    watched = Watched(labels, course.system.notation, layout)
    source = source_of(course, sides.program, work)
    lines = Lines(course.system.notation, sides.program.summary)
    reads = {name.partition(".")[0] for name in labels}
    reads |= {header for header, fields in layout.items() if labels.keys() & fields.keys()}

    shots = _Shots(watched, lambda event: culprit.place(event.step or {}, work.files))
    for event in events(sides.theirs, sides.statements[1], case.ignore):
        is_own = event.ran is None or source.is_new(_place_of(event.ran))
        is_shown = is_own and not (event.step and culprit.is_noise(event.step, source))
        shots.take(event, is_shown and is_telling(event, course.student.edit, reads))
        if parting is not None and event.at > parting.at:
            break
    end = shots.last_of(parting, story.place)
    frames = list(shots.frames(end, parting, lines, story.place, sides.where))
    frames = _fewer(_same_rows(frames))
    outcome = Frame(story.summary, "what came out", tuple(_outcome(watched, story)))
    why = " ".join(filter(None, [_line(story.place), story.why]))
    return Film(result.id, result.title, story.steps, (*frames, outcome), why, story.hint)


def _place_of(statement: Statement) -> Place:
    return Place(statement.file, statement.line, statement.text)


def _line(place: Place | None) -> str:
    return f"{place.file}:{place.line}:" if place else ""


def _parted(parting: Parting, layout: Layout) -> Iterator[tuple[str, str]]:
    """Name and label of the fields of headers at which the ways part. What else a program keeps is
    its own business: what it should hold is not shown."""
    for name in parting.names[:MOST_PARTED]:
        whole = ".".join(unscoped(name).split(".")[-2:])
        if whole.partition(".")[0] not in layout:
            continue
        yield whole, f"header {whole[: -len(VALID)]}" if whole.endswith(VALID) else whole


def _parting(
    course: Course, judged: Judged, work: Work, sides: Sides, story: Story
) -> Parting | None:
    """Where the ways part that lead to the story's line; else where they go apart for good."""
    ignore = judged.case.ignore
    if sides.statements[1] and (found := searched(course, judged, work, story)) is not None:
        return found[1]
    mine, theirs = (
        [one for packets in side for one in stretches(packets, statements, ignore)]
        for side, statements in zip((sides.mine, sides.theirs), sides.statements, strict=True)
    )
    usual = {name for stretch in mine for name in stretch.changes}
    matters = mattering(usual, course.headers(judged.case.defines), ignore)
    all_ = list(partings(mine, theirs, matters))
    named = (one for one in all_ if _is_in(one.theirs, story.place))
    return next(named, all_[-1] if all_ else None)


def _is_in(stretch: Stretch, place: Place | None) -> bool:
    """Whether a step of a stretch is at a line."""
    steps = [step for step, _ in stretch.steps] + ([stretch.step] if stretch.step else [])
    return place is not None and any(step.get("line") == place.line for step in steps)


class _Shots:
    """What is taken of the student's packets, in order."""

    def __init__(self, watched: Watched, place_of: Callable[[Event], Place | None]) -> None:
        self._watched = watched
        self._place_of = place_of
        self._taken: list[tuple[Event, State, State]] = []
        """Events worth a frame, each with what is known before and after it"""
        self._ends: dict[tuple[int, int], dict[str, str]] = {}
        self._starts: dict[int, dict[str, str]] = {}

    def take(self, event: Event, telling: bool) -> None:
        """Notes what is known after an event, and the event if it is telling."""
        key = (event.sending, event.packet["id"])
        parent = (event.sending, event.packet["parent"])
        before = self._ends.get(key) or dict(self._ends.get(parent, {}))
        self._starts.setdefault(event.at, before)
        is_step = event.step is not None and not event.is_fate
        now = self._watched.after(before, event.step) if is_step and event.step else before
        self._ends[key] = now
        if telling:
            self._taken.append((event, before, now))

    def place(self, event: Event) -> Place | None:
        """The line of an event."""
        return _place_of(event.ran) if event.ran is not None else self._place_of(event)

    def last_of(self, parting: Parting | None, place: Place | None) -> int:
        """How many of the shots there are up to the one where the ways part."""
        if parting is None:
            return len(self._taken)
        until = [i for i, (event, *_) in enumerate(self._taken) if event.at <= parting.at]
        there = [i for i in until if self._taken[i][0].at == parting.at]
        named = [i for i in there if place and _same(self.place(self._taken[i][0]), place)]
        return max(named or until, default=0 if self._taken else -1) + 1

    def frames(
        self, end: int, parting: Parting | None, lines: Lines, place: Place | None, where: str
    ) -> Iterator[Frame]:
        """The frames up to shot `end`, of its packet alone; there the ways part, and it is the
        line `place` that is to be looked at."""
        last = self._taken[end - 1][0].sending if end else 0
        names = list(self._watched.labels)
        for number, (event, before, got) in enumerate(self._taken[:end], 1):
            if event.sending != last:  # the story tells what was sent before
                continue
            expected, shown = got, got
            if number == end and parting is not None:
                expected, shown = self._apart(parting, got)
            rows = self._watched.rows(expected, shown, names)
            if number == end and parting is not None:
                rows = (*rows, *_fates(parting))
            changed = tuple(n for n in got if got[n] != before.get(n))
            at = f"{where}{_which(event, last)}"
            here = (place if number == end else None) or self.place(event)
            yield Frame(said(event, lines), at, rows, here, changed)

    def _apart(self, parting: Parting, got: State) -> tuple[State, State]:
        """What should be known where the ways part, and what is."""
        start = self._starts.get(parting.at, {})
        expected, shown = dict(got), dict(got)
        drops = _marks(parting.mine) and not _marks(parting.theirs)
        for name in parting.names:
            watched = self._watched.name_of(name)
            if watched and drops and name.endswith(".egress_spec"):
                expected[watched] = DROPPED
                shown[watched] = after(parting.theirs, name) or start.get(watched, "")
                continue
            if watched and ":" not in name:  # a parameter of a function is another one in each call
                for state, side in ((expected, parting.mine), (shown, parting.theirs)):
                    value = after(side, name) or start.get(watched) or _first(parting, name)
                    state[watched] = value
        mine, theirs = parting.mine.sync, parting.theirs.sync
        if mine[0] == "table" and mine[:2] == theirs[:2]:
            for state, sync in ((expected, mine), (shown, theirs)):
                found = {self._watched.name_of(name): str(value) for name, value in sync[2]}
                state.update({name: value for name, value in found.items() if name})
        return expected, shown


def _marks(stretch: Stretch) -> bool:
    """Whether a stretch ends where the packet is marked to be dropped."""
    return stretch.sync[:2] == ("extern", "mark_to_drop")


def _first(parting: Parting, name: str) -> str:
    """What a variable held before it was changed in the stretch; one of the two has changed it."""
    sides = (parting.mine, parting.theirs)
    step = next(side.changes[name][0] for side in sides if name in side.changes)
    return str(step["before"])


def _same(one: Place | None, other: Place) -> bool:
    return one is not None and (one.file, one.line) == (other.file, other.line)


def _fates(parting: Parting) -> Iterator[Row]:
    """What should become of the packet and what does, where that is what parts."""
    ends = []
    for side in (parting.mine.sync, parting.theirs.sync):
        if side[0] != "fate":
            return
        words = {"sent": f"leaves on port {side[3]}", "again": "goes round once more"}
        ends.append(words.get(str(side[2]), str(side[2])))
    if ends[0] != ends[1]:
        yield Row("fate", "the packet", ends[0], ends[1])


def _which(event: Event, last: int) -> str:
    """Which packet, if it is not the first of its case, and which pass of it."""
    packet = f"packet {last + 1}, " if last else ""
    copy = ", a copy" if "clone" in str(event.packet["kind"]) else ""
    return f"{packet}pass {event.packet['pass'] + 1}{copy}"


def _same_rows(frames: Sequence[Frame]) -> list[Frame]:
    """The frames with the rows that have a value in any of them, so that no row comes or goes."""
    used = {row.name for frame in frames for row in frame.rows if row.expected or row.got}
    return [
        replace(frame, rows=tuple(row for row in frame.rows if row.name in used))
        for frame in frames
    ]


def _fewer(frames: list[Frame]) -> list[Frame]:
    """The first and the last of many frames."""
    if len(frames) <= MOST_FRAMES:
        return frames
    left = len(frames) - MOST_FRAMES
    rest = frames[FIRST_FRAMES + left :]
    gap = replace(
        rest[0], text=f"({count_of(left, 'step is', 'steps are')} left out) {rest[0].text}"
    )
    return [*frames[:FIRST_FRAMES], gap, *rest[1:]]


def _outcome(watched: Watched, story: Story) -> Iterator[Row]:
    """What should have come out and what did, as the story has it."""
    told: PacketDifference | None = next(iter(story.differences), None)
    if told is None:
        return
    ports = (told.expected_port, told.got_port)
    if ports != (None, None):
        yield Row("port", "port", *("no packet" if one is None else str(one) for one in ports))
    yield Row("headers", "headers", " ".join(told.expected_headers), " ".join(told.got_headers))
    for one in told.shown:
        texts = (one.expected or "", one.got or "")
        bits = (_bits(text) if watched.is_set(one.field) else "" for text in texts)
        yield Row(one.field, one.field, *texts, *bits)


def _bits(text: str) -> str:
    """The number with which a set begins that is written for a story, in binary."""
    found = _NUMBER.match(text)
    return f"{int(found[0], 0):b}" if found else ""
