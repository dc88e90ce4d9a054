"""Where a packet meets another table, extern or parser state than it should."""

from __future__ import annotations

import re
from typing import Any

from p4lab.grading.blame.conditions import guard_of, kept, naming, not_entered
from p4lab.grading.blame.missing import behind
from p4lab.grading.blame.parted import MOST_LINES, Ways, is_own, place_of
from p4lab.grading.culprit import Culprit, place
from p4lab.grading.record import Place
from p4lab.grading.ways import Ran


def asked(ways: Ways) -> Culprit | None:
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
        if ran is None or not is_own(ways, ran.statement):
            return None
        step = ways.parting.theirs.step or {}
        return place_of(ways, ran), f"here {step.get('text', '')}"
    if right[0] in ("table", "extern"):
        wanted = [*naming(ways, _called(right))]
        found = kept(ways, wanted) or not_entered(ways)
        if not wanted and _is_declared(ways, right):  # nobody calls it
            found = found or unasked(ways)
        if found is not None:
            return found
    ran = ways.parting.theirs.owner
    if own[0] in ("table", "extern") and ran is not None:
        if (found := guard_of(ways, ran)) is not None:
            return found
        ran = _caller(ways, ran)
        if ran is not None:
            called = _called(own)
            what = (
                f"meets the table `{called}`"
                if own[0] == "table"
                else f"should not come to {called}"
            )
            return place_of(ways, ran), f"here the packet {what}"
    return None


def unasked(ways: Ways) -> Culprit | None:
    """The place behind which a table or an extern is missing."""
    right, missing = ways.parting.mine.sync, ways.parting.mine.owner
    if right[0] == "table":
        return behind(
            ways, missing, f"the packet should meet the table `{_called(right)}`, but does not"
        )
    if right[0] == "extern":
        name = _called(right) if _is_declared(ways, right) else "something"
        return behind(ways, missing, f"{name} should be called, but is not")
    return None


def _is_declared(ways: Ways, sync: tuple[Any, ...]) -> bool:
    """Whether the student's files have a table, or an extern, of that name."""
    name = re.compile(rf"\b{re.escape(str(_called(sync)).split('.')[0])}\b")
    return any(name.search(text) for text in ways.source.files.values())


def _caller(ways: Ways, ran: Ran) -> Ran | None:
    """A statement, if it is the student's, or else the one by which the packet came to it."""
    if is_own(ways, ran.statement):
        return ran
    usual = {item.statement.text for item in ways.parting.mine.ran}
    way = ways.parting.theirs.ran
    before = way[: way.index(ran)] if ran in way else []
    calls = (r for r in reversed(before) if r.statement.called and r.statement.text not in usual)
    return next((item for item in calls if is_own(ways, item.statement)), None)


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
            return line, f"here the table `{_called(ways.parting.theirs.sync)}` becomes another one"
        if line.text == "}":
            break
    return None


def _instead_read(ways: Ways) -> Culprit | None:
    """A parser's statement that leaves no trace, where one should that does: it skips something."""
    own, right = ways.parting.theirs, ways.parting.mine
    if right.sync[0] not in ("extract", "extern") or own.sync[0] == right.sync[0]:
        return None
    silent = (r for r in own.ran if r.statement.kind == "statement" and not r.steps)
    found = next((ran for ran in silent if is_own(ways, ran.statement)), None)
    if found is None:
        return None
    return place_of(ways, found), "this reads something other than what is there"


def _parsed(ways: Ways) -> Culprit | None:
    """A parser that goes to another state, or finds other bytes: the student's statement before
    that."""
    own, right = ways.parting.theirs, ways.parting.mine
    ran = [*ways.parting.before[-MOST_LINES:], *own.ran]
    if own.sync[0] == "extract" and own.ran and right.sync[:2] == own.sync[:2]:
        ran = ran[:-1]  # what is read is the right thing at a wrong place
        silent = [item for item in ran if not item.steps and item.statement.kind == "statement"]
        ran = [item for item in silent if is_own(ways, item.statement)] or ran
    mine = [item for item in ran if is_own(ways, item.statement)]
    last = (mine or ran)[-1:] if own.sync[0] == "extract" else ran[-1:]
    if not last:
        return None
    return place_of(ways, last[0]), "after this the parser finds something other than what is there"
