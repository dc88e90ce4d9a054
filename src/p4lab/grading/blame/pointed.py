"""The search for the statement to blame, from two ways to a line of a story."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from p4lab import _engine
from p4lab.grading import difference
from p4lab.grading.blame.asked import asked, unasked
from p4lab.grading.blame.missing import lacking, lacks_another, silent, told_of
from p4lab.grading.blame.parted import Ways, writes
from p4lab.grading.blame.written import written
from p4lab.grading.course import Check, Course, Defines, Judged, inject_traced, public_seeds
from p4lab.grading.culprit import Culprit
from p4lab.grading.probes import ProbedProgram
from p4lab.grading.record import Story
from p4lab.grading.story import source_of
from p4lab.grading.ways import Parting, Stretch, ignored, partings, stretches, unscoped
from p4lab.grading.work import Work

MOST_STRETCHES = 20_000
KEPT_STRETCHES = 500
_INTRINSIC = ("standard_metadata", "ig_", "eg_")


def pointed(course: Course, check: Check, judged: Judged, work: Work, story: Story) -> Story:
    """The story of a case with the line to look at. While nothing of the check's part is written,
    that is no given line, and no TODO of another part."""
    told = _pointed(course, check, judged, work, story)
    source = source_of(course, work.runnable(judged.case.defines), work)
    if source.is_new(told.place) or source.part_of(told.place) == check.part:
        return told
    todo = source.unwritten(check.part)
    return told if todo is None else replace(told, place=todo, why="nothing is written here yet")


def _pointed(course: Course, check: Check, judged: Judged, work: Work, story: Story) -> Story:
    """The story of a case with the line that its packets' ways lead to, if they lead to one. A line
    of the file that a check's part is about stays, unless there is a better one in that."""
    found = searched(course, judged, work, story)
    # A later packet may show the line where this one does not.
    found = found or searched(course, judged, work, replace(story, packet=0))
    if found is None:
        return story
    (place, why), _ = found
    files = [part.file for part in course.parts if part.id == check.part and part.file]
    if files and place and story.place and place.file not in files and story.place.file in files:
        return story
    return replace(story, place=place, why=why)


def searched(
    course: Course, judged: Judged, work: Work, story: Story
) -> tuple[Culprit, Parting] | None:
    """The statement to blame in a case for what a story tells, and where the ways part that lead to
    it."""
    case = judged.case
    if case.network is not None or work.compiled(case.defines).program is None:
        return None
    right, own = course.probed(case.defines), work.probed(case.defines)
    if right.program is None or own.program is None:
        return None
    try:
        usual = _usual(course, judged, right)
        both = _Both(
            lambda: _ways(course, judged, right) if usual.ways is None else usual.ways,
            # What comes after the story's packet explains nothing of it.
            lambda: _ways(course, judged, own, story.packet),
            usual.names,
        )
        return _found(course, work, case.defines, case.ignore, both, story)
    except ValueError:  # entries that do not fit
        return None


def pointed_by_script(
    course: Course, work: Work, defines: Defines, script: Path, line: int, story: Story
) -> Story:
    """The story of a script that fails at a line of its own, with the line of the program that the
    ways of the packets before it lead to, if they lead to one."""
    right, own = course.probed(defines), work.probed(defines)
    if right.program is None or own.program is None:
        return story
    sent = sum(
        words.split()[:1] == ["packet"]
        for words in script.read_text(encoding="utf-8").splitlines()[:line]
    )

    def ways(side: ProbedProgram) -> Callable[[], list[Stretch]]:
        assert side.program is not None
        traces = _engine.stf(side.program, str(script), traced=True)["traces"][:sent]
        found = [one for each in traces for one in _stretches(each, side, frozenset())]
        return lambda: found

    mine = ways(right)
    names = frozenset(name for stretch in mine() for name in stretch.changes)
    both = _Both(mine, ways(own), names)
    found = _found(course, work, defines, frozenset(), both, story)
    if found is None:
        return story
    (place, why), _ = found
    return replace(story, place=place, why=why)


@dataclass(frozen=True)
class _Both:
    """The reference's ways through the same packets and a submission's, and the variables that are
    changed on the reference's."""

    mine: Callable[[], Iterable[Stretch]]
    theirs: Callable[[], Iterable[Stretch]]
    names: frozenset[str]


def _found(
    course: Course,
    work: Work,
    defines: Defines,
    ignore: frozenset[str],
    both: _Both,
    story: Story,
) -> tuple[Culprit, Parting] | None:
    source = source_of(course, work.runnable(defines), work)
    statements = work.probed(defines).statements, course.probed(defines).statements
    tries = [mattering(both.names, course.headers(defines), ignore)]
    if story.signature == difference.LOOP:
        # A field that asks for another pass may be one that the reference never changes here.
        tries.append(_in_structures(ignore))
    about = f"{story.header}.$valid" if story.header else story.field
    for matters in tries:
        lacks: tuple[Culprit, Parting] | None = None
        for parting in partings(both.mine(), both.theirs(), matters):
            names = parting.names
            ways = Ways(parting, *statements, source, names, names, _changed, about)
            found = told_of(ways) if lacks else blamed(ways)
            # Nobody can mend a line of a file that is given; further on there may be one of their
            # own.
            if found is None or not (found[0] is None or found[0].file in course.student.edit):
                continue
            if lacks or not (about and lacks_another(ways, found)):
                return found, parting
            lacks = found, parting  # further on, what the story is about may be missing, too
        if lacks:
            return lacks
    return None


def _in_structures(ignore: frozenset[str]) -> Callable[[str], bool]:
    """Whether a variable is a field of what the lab gives, and not one of a control's own."""

    def matters(name: str) -> bool:
        return ":" not in name and "." in name and not ignored(name, ignore)

    return matters


def mattering(
    usual: Container[str], headers: Container[str], ignore: frozenset[str]
) -> Callable[[str], bool]:
    """Whether it matters what a variable holds: headers do, and the `usual` ones, which the
    reference writes."""

    def matters(name: str) -> bool:
        parts = unscoped(name).split(".")
        if len(parts) < 2:
            return name in usual
        if ignored(name, ignore):
            return False
        return name in usual or parts[-2] in headers or parts[0].startswith(_INTRINSIC)

    return matters


@dataclass(frozen=True)
class _Usual:
    """The reference's ways through a case: the variables that are changed on them, and the
    stretches if they are few."""

    names: frozenset[str]
    ways: Sequence[Stretch] | None


def _usual(course: Course, judged: Judged, side: ProbedProgram) -> _Usual:
    """The reference's ways, which are kept, since most submissions fail the same cases. Raises
    ValueError."""
    key = judged.seed, judged.case.undefined
    case, known = course.ways.get(key, (None, None))
    if case is not judged or known is None:
        found = list(_ways(course, judged, side))
        names = frozenset(name for stretch in found for name in stretch.changes)
        known = _Usual(names, found if len(found) <= KEPT_STRETCHES else None)
        course.ways[key] = judged, known
    return known


def prepare(course: Course) -> None:
    """Finds the reference's ways through the first case of each check, which is the one that most
    wrong programs fail. Raises LabError."""
    for check in course.checks:
        if check.scenario is None:
            continue
        judged = course.case(check, public_seeds(check)[0]).plain
        side = course.probed(judged.case.defines)
        if judged.case.network is None and side.program is not None:
            _usual(course, judged, side)


def _ways(course: Course, judged: Judged, side: ProbedProgram, upto: int = 0) -> Iterator[Stretch]:
    """The stretches of all packets of a case, or of the first `upto`, one after the other. Raises
    ValueError."""
    assert side.program is not None
    switch = course.set_up(side.program, judged.case)
    count = 0
    for sending in judged.case.sendings[: upto or None]:
        for stretch in _stretches(inject_traced(switch, sending), side, judged.case.ignore):
            count += 1
            yield stretch
        if count > MOST_STRETCHES:  # of a packet that runs in circles
            break


def _stretches(
    trace: Mapping[str, Any], side: ProbedProgram, ignore: frozenset[str]
) -> Iterable[Stretch]:
    return stretches(trace["packets"], side.statements, ignore)


def blamed(ways: Ways) -> Culprit | None:
    """The line to look at, and what happened there; None if no line of the student's is it."""
    own, right = ways.parting.theirs, ways.parting.mine
    if own.sync[:2] == right.sync[:2]:
        return _changed(ways) or asked(ways)
    # What one of the two has done behind the place where they part says nothing.
    ran = [item.statement for item in own.ran]
    held = tuple(n for n in ways.wrong if n in own.changes or any(writes(n, one) for one in ran))
    names = ways.parting.names
    both = tuple(name for name in names if name in own.last.keys() & right.last)
    rest = tuple(name for name in names if name in right.last)
    tries = (both, written), (rest, silent), ((), asked), (rest, lacking), ((), unasked)
    for some, find in (*tries, (names, written)):
        found = find(replace(ways, parting=replace(ways.parting, names=some), wrong=held))
        if found is not None:
            return found
    return None


def _changed(ways: Ways) -> Culprit | None:
    """The line that changed something, or did not."""
    return written(ways) or silent(ways) or lacking(ways)
