"""What the reference writes and the student's program does not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from p4lab.grading.blame.conditions import kept, not_entered, writers
from p4lab.grading.blame.parted import (
    MOST_LINES,
    Ways,
    brief,
    is_called,
    is_own,
    passes_on,
    place_of,
    reads,
    writes,
)
from p4lab.grading.blame.written import became
from p4lab.grading.culprit import Culprit, place, written_as
from p4lab.grading.probes import Statement
from p4lab.grading.record import Place
from p4lab.grading.ways import Ran, unscoped
from p4lab.steps import short


def silent(ways: Ways) -> Culprit | None:
    """Where something should have changed and did not: the statement that wrote what was there
    before, or the condition that kept another from running."""
    for name, step, ran in _missing(ways):
        found = None if name in ways.parting.theirs.last else _idle(ways, name, ran)
        found = found or kept(ways, writers(ways, step, ran)) or not_entered(ways)
        if found is not None:
            return found
    return None


def lacking(ways: Ways) -> Culprit | None:
    """The place behind which a statement is missing: if several are, that for what the story is
    about."""
    told = told_of(ways)
    return told or next((_lacks(ways, name, ran) for name, _, ran in _missing(ways)), None)


def told_of(ways: Ways) -> Culprit | None:
    """The place behind which a statement is missing that changes what the story is about."""
    for name, _, ran in _missing(ways):
        if brief(name) == ways.about and not _is_there(ways, name, ran):
            return _lacks(ways, name, ran)
    return None


def lacks_another(ways: Ways, found: Culprit) -> bool:
    """Whether a line was found because a statement is missing for something that the story is not
    about."""
    others = ((name, ran) for name, _, ran in _missing(ways) if brief(name) != ways.about)
    return any(found == _lacks(ways, name, ran) for name, ran in others)


def _is_there(ways: Ways, name: str, missing: Ran) -> bool:
    """Whether the student has a statement for it, which did not run."""
    wanted = missing.statement
    own = (one for one in ways.statements.values() if writes(name, one))
    return any(_beside(one, wanted) or one.text == wanted.text for one in own)


def _lacks(ways: Ways, name: str, missing: Ran) -> Culprit | None:
    step, by = ways.parting.theirs.last.get(name, (None, None))
    what = f"nothing changes {_about(name)}"
    if step is not None and by is not None and step["text"] not in ways.usual:
        after, where = written_as(brief(name), step["after"], ways.source), by.statement
        what = (
            f"no line of yours changes {_about(name)}, so it becomes {after} in "
            f"{where.file}:{where.line}"
        )
    return behind(ways, missing, what)


def _missing(ways: Ways) -> Iterator[tuple[str, Mapping[str, Any], Ran]]:
    """What the reference changes and the student's does not, as far as it goes: the variable, the
    step, and the reference's statement. What only passes on that another is wrong is left out."""
    for name, (step, ran) in ways.parting.mine.last.items():
        if name not in ways.parting.names or ran is None:
            continue
        done = ways.parting.theirs.last.get(name)
        by = done[1] if done is not None else None
        mine = by is None or ":" in name or _copies(ways, by) or is_own(ways, by.statement)
        if done is not None and done[0]["text"] not in ways.usual and mine:
            continue
        valid = (
            f"{name.rpartition('.')[0]}.$valid"  # what is written into no header leaves no trace
        )
        if name != valid and valid in ways.parting.names:
            continue
        if not passes_on(ran, name, ways.parting.names):
            yield name, step, ran


def _copies(ways: Ways, ran: Ran) -> bool:
    """Whether a statement reads a field of a header: what it writes is as wrong as that."""
    headers = {short(one["name"]) for one in ways.source.summary["headers"]}
    return any(
        one.split(".")[-2:-1] and one.split(".")[-2] in headers for one in ran.statement.reads
    )


def _about(name: str) -> str:
    header, _, field = brief(name).rpartition(".")
    if field == "$next":  # of a stack: how many of its headers are taken
        return f"the stack {header}"
    return f"whether {header} is valid" if field == "$valid" else brief(name)


def _idle(ways: Ways, name: str, missing: Ran) -> Culprit | None:
    """The last statement of the stretch that writes a variable, and leaves it as it is; or that
    calls what the reference calls, whose parameter the variable is."""
    called = missing.statement.called
    for ran in reversed(ways.parting.theirs.ran):
        statement = ran.statement
        if not is_own(ways, statement) or _writes_another(ran, name):
            continue
        if writes(name, statement) or _out(name, statement) or statement.called == called != "":
            about = brief(name)
            return place_of(ways, ran), f"here {about} stays as it was"
    return None


def _writes_another(ran: Ran, name: str) -> bool:
    """Whether a statement has changed what is only called like the end of a variable's name."""
    changed = {step["name"] for step in ran.steps if step["kind"] == "change"}
    return name not in changed and any(unscoped(one) == ran.statement.target for one in changed)


def _out(name: str, statement: Statement) -> bool:
    """Whether a variable is the first argument of an extern's method: such as a register's read."""
    found = re.match(r"^[\w.]+\.\w+\(\s*([\w.]+)\s*,", statement.text)
    return found is not None and is_called(name, found.group(1))


def behind(ways: Ways, missing: Ran | None, what: str) -> Culprit | None:
    """The TODO in whose place the reference has what is missing, or the student's statement that
    does what the reference does last before it."""
    if missing is not None:
        where = missing.statement
        if (todo := ways.source.todo(where.file, where.line)) is not None:
            return todo, f"here {what}"
    done: list[str] = []
    for ran in ways.parting.mine.ran:  # what the reference does up to there
        if ran is missing:
            break
        done += _texts(ran)
    own = ways.parting.theirs.ran
    like = [ran for ran in own if any(text in done for text in _texts(ran))]
    if missing is None:
        return (place_of(ways, like[-1]), f"after this {what}") if like else None
    where = missing.statement
    near = [ran for ran in like if _beside(ran.statement, where)]
    if not near and _runs(ways, where.around) and (line := _head(ways, where)) is not None:
        return line, f"in this action {what}"
    first = next((ran for ran in own if _beside(ran.statement, where)), None)
    if not near and first is not None and first.statement.branches == ():
        is_later = not {*_texts(first)}.isdisjoint(_after(ways, missing))
        if where.branches == () or is_later:
            return place_of(ways, first), f"before this {what}"
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
        return stopped(ways) or (_end_of(ways, around), f"after this {what}")
    if near and following and len(last.statement.branches) < depth:
        after = following[0].statement
        if _beside(after, where) and len(after.branches) == depth:
            return place_of(ways, following[0]), f"before this {what}"
    if last.statement.kind == "if":
        return stopped(ways) or (_end_of(ways, last.statement), f"after this {what}")
    return place_of(ways, last), f"after this {what}"


def _beside(one: Statement, other: Statement) -> bool:
    """Whether two statements are in the same action, state or apply block."""
    return (one.unit, one.around) == (other.unit, other.around)


def _runs(ways: Ways, action: str) -> bool:
    """Whether the student's packet has just come to an action, which may be empty: by a table, or
    by a call."""
    own = [ran.statement for ran in ways.parting.theirs.ran]
    around = [name for one in own for name in (one.around, one.called)]
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
    """What a statement did; itself, and where, if there is nothing to be seen of it."""
    return [step["text"] for step in ran.steps] or [f"{ran.statement.unit}: {ran.statement.text}"]


def _after(ways: Ways, missing: Ran) -> Iterator[str]:
    """What the reference does in this stretch from a statement on."""
    ran = ways.parting.mine.ran
    later = ran[ran.index(missing) :] if missing in ran else []
    return (text for one in later for text in _texts(one))


def _instead(ways: Ways, following: Sequence[Ran]) -> Culprit | None:
    """The next statement, if it writes what the reference does not write."""
    right = ways.parting.mine.changes
    if not following or not is_own(ways, following[0].statement):
        return None
    for step in following[0].steps:
        if step["kind"] == "change" and step["name"] in ways.wrong and step["name"] not in right:
            return place_of(ways, following[0]), became(ways, step)
    return None


def stopped(ways: Ways) -> Culprit | None:
    """The student's statement that gave what a condition asks a value that the reference never
    gives it, such as a reason to drop the packet: what is missing waits for another answer."""
    usual = {step["text"] for ran in ways.parting.until for step in ran.steps} | ways.usual
    ran = [*ways.parting.before, *ways.parting.theirs.ran]
    for guard in (one.statement for one in ways.parting.theirs.ran if one.statement.kind == "if"):
        for item in reversed(ran):
            if item.statement is guard or not is_own(ways, item.statement):
                continue
            for step in item.steps:
                is_new = step["kind"] == "change" and step["text"] not in usual
                if is_new and reads(step["name"], guard):
                    return place_of(ways, item), became(ways, step)
    return None


def _end_of(ways: Ways, around: Statement) -> Place:
    """The last line of a block that says something: a brace alone says nothing to its reader."""
    lines = ways.source.files.get(around.file, "").splitlines()
    number = around.closes
    while number > around.line and not re.search(r"\w", lines[number - 1].partition("//")[0]):
        number -= 1
    return Place(around.file, number, lines[number - 1].strip())
