"""The statement to blame where the ways of a packet through two programs part.

The reference's way says what should have happened; nothing of its source is told. To blame is a
statement that wrote something wrong, or nothing new; a condition under which one ran that should
not, or did not run; and where there is nothing of the kind, the place behind which something is
missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from p4lab.grading.course import Course, Judged, inject_traced
from p4lab.grading.culprit import Culprit, Source, place, written_as
from p4lab.grading.probes import ProbedProgram, Statement
from p4lab.grading.record import Place, Story
from p4lab.grading.story import source_of
from p4lab.grading.ways import Parting, Ran, Stretch, ignored, partings, stretches, unscoped
from p4lab.grading.work import Work

MOST_STRETCHES = 20_000
MOST_LINES = 40  # of a table's declaration; of a parser's statements before it goes wrong

_INTRINSIC = ("standard_metadata", "ig_", "eg_")


@dataclass(frozen=True)
class Ways:
    """What is known of a parting: the student's statements by number, as a reader finds them."""

    parting: Parting
    statements: Mapping[int, Statement]
    reference: Mapping[int, Statement]
    source: Source
    names: tuple[str, ...]
    wrong: tuple[str, ...]

    @cached_property
    def usual(self) -> frozenset[str]:
        """What the reference does in the stretch, as texts of steps."""
        return frozenset(step["text"] for ran in self.parting.mine.ran for step in ran.steps)

    def misleading(self, guard: Statement) -> tuple[str, ...]:
        """The variables that a condition reads and that were wrong before it was asked."""
        own = self.parting.theirs
        asked = next((at for at, ran in enumerate(own.ran) if ran.statement is guard), None)
        if asked is None:
            return ()
        earlier = {id(ran) for ran in own.ran[:asked]}
        return tuple(
            name
            for name in self.wrong
            if _read(name, guard) and (name not in own.last or id(own.last[name][1]) in earlier)
        )

    def goes_well(self, number: int, branch: str) -> bool:
        """Whether something ran in the last run of a branch that the reference does as well, or
        the reference takes the same branch of the same condition."""
        before = self.parting.until[-MOST_LINES:]
        text = self.statements[number].text
        alike = [one for one in self.statements.values() if one.text == text]
        taken = {pair for ran in before for pair in ran.statement.branches}
        taken.update(pair for ran in self.parting.mine.ran for pair in ran.statement.branches)
        same = (side == branch and self.reference[other].text == text for other, side in taken)
        if len(alike) == 1 and any(same):
            return True
        usual = self.usual.union(step["text"] for ran in before for step in ran.steps)
        for ran in reversed((*self.parting.before, *self.parting.theirs.ran)):
            if ran.statement.number == number:
                return False
            inside = (number, branch) in ran.statement.branches
            if inside and any(step["text"] in usual for step in ran.steps):
                return True
        return False


def pointed(course: Course, judged: Judged, work: Work, story: Story) -> Story:
    """The story of a case with the line that its packets' ways lead to, if they lead to one."""
    found = _looked_for(course, judged, work)
    return story if found is None else replace(story, place=found[0], why=found[1])


def _looked_for(course: Course, judged: Judged, work: Work) -> Culprit | None:
    case = judged.case
    if case.network is not None or work.compiled(case.defines).program is None:
        return None
    sides = course.probed(case.defines), work.probed(case.defines)
    if any(side.program is None for side in sides):
        return None
    try:
        mine, theirs = (_ways(course, judged, side) for side in sides)
    except ValueError:  # entries that do not fit
        return None
    usual = {name for stretch in mine for name in stretch.changes}
    headers = course.headers(case.defines)

    def matters(name: str) -> bool:
        parts = unscoped(name).split(".")
        if len(parts) < 2:
            return name in usual
        if ignored(name, case.ignore):
            return False
        return name in usual or parts[-2] in headers or parts[0].startswith(_INTRINSIC)

    source = source_of(course, work.runnable(case.defines), work)
    for parting in partings(mine, theirs, matters):
        statements = sides[1].statements, sides[0].statements
        found = blamed(Ways(parting, *statements, source, parting.names, parting.names))
        if found is not None:
            return found
    return None


def _ways(course: Course, judged: Judged, side: ProbedProgram) -> list[Stretch]:
    assert side.program is not None
    switch = course.set_up(side.program, judged.case)
    found = []
    for sending in judged.case.sendings:
        packets = inject_traced(switch, sending)["packets"]
        found += stretches(packets, side.statements, judged.case.ignore)
        if len(found) > MOST_STRETCHES:  # of a packet that runs in circles
            break
    return found


def blamed(ways: Ways) -> Culprit | None:
    """The line to look at, and what happened there; None if no line of the student's is it."""
    own, right = ways.parting.theirs, ways.parting.mine
    if own.sync[:2] == right.sync[:2]:
        return _written(ways) or _silent(ways) or _lacking(ways) or _asked(ways)
    # What one of the two has done behind the place where they part says nothing.
    ran = [item.statement for item in own.ran]
    held = tuple(n for n in ways.wrong if n in own.changes or any(_writes(n, one) for one in ran))
    names = ways.parting.names
    both = tuple(name for name in names if name in own.last.keys() & right.last)
    rest = tuple(name for name in names if name in right.last)
    tries = (both, _written), (rest, _silent), ((), _asked), (rest, _lacking), ((), _unasked)
    for some, find in (*tries, (names, _written)):
        found = find(replace(ways, parting=replace(ways.parting, names=some), wrong=held))
        if found is not None:
            return found
    return None


# ---- What was written -------------------------------------------------------------------------


def _written(ways: Ways) -> Culprit | None:
    """A statement that wrote what the reference does not, and that does not pass on what another
    wrote; or the condition under which it ran."""
    own, right = ways.parting.theirs, ways.parting.mine
    for step, ran in own.steps:
        name = step["name"]
        if ran is None or name not in ways.parting.names or step["text"] in ways.usual:
            continue
        # What it is made anew from itself is wrong because of what it was.
        if own.last[name][1] is not ran and not _names(own.last[name][1], name):
            continue
        if _passes_on(ran, name, ways.names):
            continue
        last = right.last.get(name)
        if last and last[1] and (kept := _kept(ways, _writers(ways, last[0], last[1]))):
            return kept
        if _extra(ways, name) and (guard := _guard(ways, ran)) is not None:
            return guard
        if _theirs(ways, ran.statement):
            return _place(ways, ran), _became(ways, step)
    return None


def _names(ran: Ran | None, name: str) -> bool:
    """Whether a statement reads a variable."""
    return ran is not None and _read(name, ran.statement)


def _extra(ways: Ways, name: str) -> bool:
    """Whether the student's has done with a variable what the reference does, and then more."""
    last = ways.parting.mine.last.get(name)
    done = (step["text"] for ran in ways.parting.theirs.ran for step in ran.steps)
    return last is None or last[0]["text"] in done


def _became(ways: Ways, step: Mapping[str, Any]) -> str:
    name = _brief(step["name"])
    before, after = (written_as(name, step[side], ways.source) for side in ("before", "after"))
    if name.endswith(".$valid"):
        return f"here {name[: -len('.$valid')]} became {after}"
    return f"here {name} became {after}; it was {before}"


def _passes_on(ran: Ran, name: str, wrong: Iterable[str]) -> bool:
    """Whether a statement reads another variable that is wrong."""
    return any(other != name and _read(other, ran.statement) for other in wrong)


def _read(name: str, statement: Statement) -> bool:
    """Whether a statement may read the variable of a trace."""
    return _in_scope(name, statement) and any(_is(name, one) for one in statement.reads)


def _writes(name: str, statement: Statement) -> bool:
    """Whether a statement may write the variable of a trace."""
    return _in_scope(name, statement) and _is(name, statement.target)


def _in_scope(name: str, statement: Statement) -> bool:
    scope = name.rpartition(":")[0]
    return scope in ("", statement.unit)


def _is(name: str, written: str) -> bool:
    """A parameter has another name than the argument in its place: what follows it counts."""
    if not written:
        return False
    name = unscoped(name)
    rest = written.partition(".")[2] or written
    return name == written or name.endswith(f".{written}") or name.endswith(f".{rest}")


def _guard(ways: Ways, ran: Ran) -> Culprit | None:
    """The condition under which a statement ran that should not have, if it is the student's and
    nothing that ran under it is right."""
    if not ran.statement.branches:
        return None
    number, branch = ran.statement.branches[-1]
    guard = ways.statements.get(number)
    if guard is None or guard.kind != "if":
        return None
    if names := ways.misleading(guard):
        return _misled(ways, names)
    if not _theirs(ways, guard) or ways.goes_well(number, branch):
        return None
    return _decided(ways, guard, branch == "then")


def _decided(ways: Ways, guard: Statement, holds: bool) -> Culprit:
    word = "holds" if holds else "does not hold"
    line = Place(guard.file, guard.line, _line(ways, guard))
    return line, f"this condition {word} here, and the packet takes a way that it should not take"


# ---- What was not written ---------------------------------------------------------------------


def _silent(ways: Ways) -> Culprit | None:
    """Where something should have changed and did not: the statement that wrote what was there
    before, or the condition that kept another from running."""
    for name, step, ran in _missing(ways):
        found = None if name in ways.parting.theirs.last else _idle(ways, name, ran)
        found = found or _kept(ways, _writers(ways, step, ran)) or _not_entered(ways)
        if found is not None:
            return found
    return None


def _lacking(ways: Ways) -> Culprit | None:
    """The place behind which a statement is missing."""
    for name, _, ran in _missing(ways):
        return _behind(ways, ran, f"nothing changes {_about(name)}")
    return None


def _missing(ways: Ways) -> Iterator[tuple[str, Mapping[str, Any], Ran]]:
    """What the reference changes and the student's does not, as far as it goes: the variable, the
    step, and the reference's statement. What only passes on that another is wrong is left out."""
    for name, (step, ran) in ways.parting.mine.last.items():
        if name not in ways.parting.names or ran is None:
            continue
        done = ways.parting.theirs.last.get(name)
        if done is not None and done[0]["text"] not in ways.usual:
            continue
        valid = (
            f"{name.rpartition('.')[0]}.$valid"  # what is written into no header leaves no trace
        )
        if name != valid and valid in ways.parting.names:
            continue
        if not _passes_on(ran, name, ways.parting.names):
            yield name, step, ran


def _about(name: str) -> str:
    header, _, field = _brief(name).rpartition(".")
    return f"whether {header} is valid" if field == "$valid" else _brief(name)


def _idle(ways: Ways, name: str, missing: Ran) -> Culprit | None:
    """The last statement of the stretch that writes a variable, and leaves it as it is; or that
    calls what the reference calls, whose parameter the variable is."""
    called = missing.statement.called
    for ran in reversed(ways.parting.theirs.ran):
        statement = ran.statement
        if not _theirs(ways, statement):
            continue
        if _writes(name, statement) or _out(name, statement) or statement.called == called != "":
            about = _brief(name)
            return _place(ways, ran), f"here {about} stays as it was"
    return None


def _out(name: str, statement: Statement) -> bool:
    """Whether a variable is the first argument of an extern's method: such as a register's read."""
    found = re.match(r"^[\w.]+\.\w+\(\s*([\w.]+)\s*,", statement.text)
    return found is not None and _is(name, found.group(1))


def _writers(ways: Ways, step: Mapping[str, Any], ran: Ran) -> list[Statement]:
    """The student's statements that would change what the reference does: those that are written
    alike or name the value, or else the only one that writes the variable."""
    found = [one for one in ways.statements.values() if _writes(step["name"], one)]
    alike = [one for one in found if one.text == ran.statement.text]
    value = re.compile(rf"\b{re.escape(str(step['after']))}\b")
    alike = alike or [one for one in found if value.search(one.text)]
    return alike or (found if len(found) == 1 else [])


def _kept(ways: Ways, wanted: Iterable[Statement]) -> Culprit | None:
    """The condition of the student's that kept a wanted statement from running."""
    here = {ran.statement.number for ran in ways.parting.theirs.ran}
    for statement in wanted:
        if statement.number in here:
            continue
        for number, branch in statement.branches:
            guard = ways.statements[number]
            if number not in here or guard.kind != "if":
                continue
            taken = any(
                (number, branch) in ran.statement.branches for ran in ways.parting.theirs.ran
            )
            if taken:
                continue
            if names := ways.misleading(guard):
                return _misled(ways, names)
            if not _theirs(ways, guard) or ways.goes_well(*_other(number, branch)):
                continue
            return _decided(ways, guard, branch != "then")
    return None


def _misled(ways: Ways, names: tuple[str, ...]) -> Culprit | None:
    """Who wrote what a condition reads, if that is wrong."""
    rest = tuple(name for name in ways.wrong if name not in names)
    some = replace(ways, parting=replace(ways.parting, names=names), wrong=rest, names=names)
    return _written(some) or _silent(some) or _lacking(some)


def _other(number: int, branch: str) -> tuple[int, str]:
    return number, "else" if branch == "then" else "then"


def _behind(ways: Ways, missing: Ran | None, what: str) -> Culprit | None:
    """The student's statement that does what the reference does last before what is missing."""
    done: list[str] = []
    for ran in ways.parting.mine.ran:  # what the reference does up to there
        if ran is missing:
            break
        done += _texts(ran)
    own = ways.parting.theirs.ran
    like = [ran for ran in own if any(text in done for text in _texts(ran))]
    if missing is None:
        return (_place(ways, like[-1]), f"behind this {what}") if like else None
    where = missing.statement
    near = [ran for ran in like if _beside(ran.statement, where)]
    if not near and _runs(ways, where.around) and (line := _head(ways, where)) is not None:
        return line, f"in this action {what}"
    before = ways.parting.before
    near = near or [ran for ran in before[-MOST_LINES:] if _beside(ran.statement, where)]
    like = near or like or list(before[-1:])
    if not like:
        return None
    last = like[-1]
    following = own[own.index(last) + 1 :] if last in own else own
    if (instead := _instead(ways, following)) is not None:
        return instead
    depth = len(where.branches)
    if len(last.statement.branches) > depth:
        around = ways.statements[last.statement.branches[depth][0]]
        return _closing(ways, around), f"behind this {what}"
    if near and following and len(last.statement.branches) < depth:
        after = following[0].statement
        if _beside(after, where) and len(after.branches) == depth:
            return _place(ways, following[0]), f"before this {what}"
    if last.statement.kind == "if":
        return _closing(ways, last.statement), f"behind this {what}"
    return _place(ways, last), f"behind this {what}"


def _beside(one: Statement, other: Statement) -> bool:
    """Whether two statements are in the same action, state or apply block."""
    return (one.unit, one.around) == (other.unit, other.around)


def _runs(ways: Ways, action: str) -> bool:
    """Whether the student's packet has just come to an action: by a table, or by a call."""
    around = [ran.statement.around for ran in ways.parting.theirs.ran]
    steps = [step for ran in ways.parting.before[-1:] for step in ran.steps]
    tables = [str(step["action"]) for step in steps if step["kind"] == "table"]
    return action in around or any(name.endswith(f".{action}") for name in tables)


def _head(ways: Ways, where: Statement) -> Place | None:
    """Where the student's action begins that has the name of one, if it has."""
    name = f".{where.around}"
    declared = [one for one in ways.source.summary["actions"] if one["name"].endswith(name)]
    found = [place(one, ways.source.files) for one in declared]
    own = [line for line in found if line is not None and line.file in ways.source.own]
    return next((line for line in own if line.file == where.file), own[0] if own else None)


def _texts(ran: Ran) -> list[str]:
    """What a statement did; itself if there is nothing to be seen of it."""
    return [step["text"] for step in ran.steps] or [ran.statement.text]


def _instead(ways: Ways, following: Sequence[Ran]) -> Culprit | None:
    """The next statement, if it writes what the reference does not write."""
    right = ways.parting.mine.changes
    if not following or not _theirs(ways, following[0].statement):
        return None
    for step in following[0].steps:
        if step["kind"] == "change" and step["name"] in ways.wrong and step["name"] not in right:
            return _place(ways, following[0]), _became(ways, step)
    return None


def _closing(ways: Ways, statement: Statement) -> Place:
    lines = ways.source.files.get(statement.file, "").splitlines()
    return Place(statement.file, statement.closes, lines[statement.closes - 1].strip())


# ---- What was asked ---------------------------------------------------------------------------


def _asked(ways: Ways) -> Culprit | None:
    """Where a packet meets another table, extern or parser state than it should, or finds something
    else there."""
    own, right = ways.parting.theirs.sync, ways.parting.mine.sync
    if own == right:
        return None
    if {own[0], right[0]} & {"state", "extract", "reject"}:
        return _instead_read(ways) or _parsed(ways)
    if own[:2] == right[:2] and own[0] == "table":
        return _answered(ways)
    if own[:2] == right[:2] and own[0] == "extern":
        ran = ways.parting.theirs.owner
        if ran is None or not _theirs(ways, ran.statement):
            return None
        step = ways.parting.theirs.step or {}
        return _place(ways, ran), f"here {step.get('text', '')}"
    if right[0] in ("table", "extern"):
        found = _kept(ways, _naming(ways, _called(right))) or _not_entered(ways)
        if found is not None:
            return found
    ran = ways.parting.theirs.owner
    if own[0] in ("table", "extern") and ran is not None:
        if (found := _guard(ways, ran)) is not None:
            return found
        ran = _caller(ways, ran)
        if ran is not None:
            what = "meets the table" if own[0] == "table" else "should not come to"
            return _place(ways, ran), f"here the packet {what} {_called(own)}"
    return None


def _caller(ways: Ways, ran: Ran) -> Ran | None:
    """A statement, if it is the student's, or else the one by which the packet came to it."""
    if _theirs(ways, ran.statement):
        return ran
    usual = {item.statement.text for item in ways.parting.mine.ran}
    way = ways.parting.theirs.ran
    before = way[: way.index(ran)] if ran in way else []
    calls = (r for r in reversed(before) if r.statement.called and r.statement.text not in usual)
    return next((item for item in calls if _theirs(ways, item.statement)), None)


def _unasked(ways: Ways) -> Culprit | None:
    """The place behind which a table or an extern is missing."""
    right, missing = ways.parting.mine.sync, ways.parting.mine.owner
    if right[0] == "table":
        return _behind(ways, missing, f"the packet should meet the table {_called(right)}")
    if right[0] == "extern":
        return _behind(ways, missing, "something is not called that should be")
    return None


def _naming(ways: Ways, name: str) -> Iterator[Statement]:
    """The student's statements that name a table, an extern or a control."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    return (one for one in ways.statements.values() if word.search(one.text))


def _not_entered(ways: Ways) -> Culprit | None:
    """The condition that kept one of the controls from being applied that the reference applies
    here, the innermost first."""
    for ran in reversed(ways.parting.mine.ran):
        called = ran.statement.called
        if called.endswith(".apply") and (found := _kept(ways, _naming(ways, called))):
            return found
    return None


def _called(sync: tuple[Any, ...]) -> str:
    """The name of a table, or of an extern, as a source calls it."""
    parts = str(sync[1]).split(".")
    return ".".join(parts[-2:]) if sync[0] == "extern" else parts[-1]


def _answered(ways: Ways) -> Culprit | None:
    """A table that is asked otherwise, or answers otherwise, with nothing else wrong: the line of
    its declaration that is the student's."""
    name = ways.parting.theirs.sync[1]
    declared = next((t for t in ways.source.summary["tables"] if t["name"] == name), None)
    start = place(declared, ways.source.files) if declared else None
    if start is None:
        return None
    lines = ways.source.files.get(start.file, "").splitlines()
    for number in range(start.line, min(start.line + MOST_LINES, len(lines)) + 1):
        line = Place(start.file, number, lines[number - 1].strip())
        if ways.source.is_new(line):
            return line, f"here the table {_called(ways.parting.theirs.sync)} becomes another one"
        if line.text == "}":
            break
    return None


def _instead_read(ways: Ways) -> Culprit | None:
    """A parser's statement that leaves no trace, where one should that does: it skips something."""
    own, right = ways.parting.theirs, ways.parting.mine
    if right.sync[0] not in ("extract", "extern") or own.sync[0] == right.sync[0]:
        return None
    silent = (r for r in own.ran if r.statement.kind == "statement" and not r.steps)
    found = next((ran for ran in silent if _theirs(ways, ran.statement)), None)
    if found is None:
        return None
    return _place(ways, found), "here something else is read than there is"


def _parsed(ways: Ways) -> Culprit | None:
    """A parser that goes to another state, or finds other bytes: the student's statement before
    that."""
    own, right = ways.parting.theirs, ways.parting.mine
    ran = [*ways.parting.before[-MOST_LINES:], *own.ran]
    if own.sync[0] == "extract" and own.ran and right.sync[:2] == own.sync[:2]:
        ran = ran[:-1]  # what is read is the right thing at a wrong place
        silent = [item for item in ran if not item.steps and item.statement.kind == "statement"]
        ran = [item for item in silent if _theirs(ways, item.statement)] or ran
    mine = [item for item in ran if _theirs(ways, item.statement)]
    last = (mine or ran)[-1:] if own.sync[0] == "extract" else ran[-1:]
    if not last:
        return None
    return _place(ways, last[0]), "behind this the parser finds something else than there is"


# ---- Places -----------------------------------------------------------------------------------


def _theirs(ways: Ways, statement: Statement) -> bool:
    """Whether a statement is the student's own: others were there from the beginning."""
    return ways.source.is_new(Place(statement.file, statement.line, _line(ways, statement)))


def _line(ways: Ways, statement: Statement) -> str:
    lines = ways.source.files.get(statement.file, "").splitlines()
    return lines[statement.line - 1].strip() if statement.line <= len(lines) else ""


def _place(ways: Ways, ran: Ran) -> Place:
    return Place(ran.statement.file, ran.statement.line, _line(ways, ran.statement))


def _brief(name: str) -> str:
    return ".".join(unscoped(name).split(".")[-2:])
