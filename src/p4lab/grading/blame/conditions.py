"""Conditions of the student's: which let a statement run, which kept one from running."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from p4lab.grading.blame.parted import Ways, is_own, line_of, writes
from p4lab.grading.culprit import Culprit
from p4lab.grading.probes import Statement
from p4lab.grading.record import Place
from p4lab.grading.ways import Ran


def guard_of(ways: Ways, ran: Ran) -> Culprit | None:
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
    if not is_own(ways, guard) or ways.goes_well(number, branch):
        return None
    return _decided(ways, guard, branch == "then")


def kept(ways: Ways, wanted: Iterable[Statement]) -> Culprit | None:
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
            if not is_own(ways, guard) or ways.goes_well(*_other(number, branch)):
                continue
            return _decided(ways, guard, branch != "then")
    return None


def _decided(ways: Ways, guard: Statement, holds: bool) -> Culprit:
    word = "holds" if holds else "does not hold"
    line = Place(guard.file, guard.line, line_of(ways, guard))
    return line, f"this condition {word} here, and the packet takes a path that it should not"


def _misled(ways: Ways, names: tuple[str, ...]) -> Culprit | None:
    """Who wrote what a condition reads, if that is wrong."""
    rest = tuple(name for name in ways.wrong if name not in names)
    return ways.again(
        replace(ways, parting=replace(ways.parting, names=names), wrong=rest, names=names)
    )


def _other(number: int, branch: str) -> tuple[int, str]:
    return number, "else" if branch == "then" else "then"


def writers(ways: Ways, step: Mapping[str, Any], ran: Ran) -> list[Statement]:
    """The student's statements that would change what the reference does: those that are written
    alike or name the value, or else the only one that writes the variable."""
    found = [one for one in ways.statements.values() if writes(step["name"], one)]
    alike = [one for one in found if one.text == ran.statement.text]
    value = re.compile(rf"\b{re.escape(str(step['after']))}\b")
    alike = alike or [one for one in found if value.search(one.text)]
    return alike or (found if len(found) == 1 else [])


def naming(ways: Ways, name: str) -> Iterator[Statement]:
    """The student's statements that name a table, an extern or a control."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    return (one for one in ways.statements.values() if word.search(one.text))


def not_entered(ways: Ways) -> Culprit | None:
    """The condition that kept one of the controls from being applied that the reference applies
    here, the innermost first."""
    for ran in reversed(ways.parting.mine.ran):
        called = ran.statement.called
        if called.endswith(".apply") and (found := kept(ways, naming(ways, called))):
            return found
    return None
