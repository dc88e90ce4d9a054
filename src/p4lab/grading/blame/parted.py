"""What is known of the place where two ways part, and how a statement is read there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from p4lab.grading.culprit import Culprit, Source
from p4lab.grading.probes import Statement
from p4lab.grading.record import Place
from p4lab.grading.ways import Parting, Ran, unscoped

MOST_LINES = 40  # of a table's declaration; of a parser's statements before it goes wrong


@dataclass(frozen=True)
class Ways:
    """What is known of a parting: the student's statements by number, as a reader finds them."""

    parting: Parting
    statements: Mapping[int, Statement]
    reference: Mapping[int, Statement]
    source: Source
    names: tuple[str, ...]
    wrong: tuple[str, ...]
    again: Callable[[Ways], Culprit | None]
    """Looks for who wrote, or did not write, what a condition read"""
    about: str = ""
    """What the story says is wrong: a field, or whether a header is valid, as `brief` names it"""

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
            if reads(name, guard) and (name not in own.last or id(own.last[name][1]) in earlier)
        )

    def goes_well(self, number: int, branch: str) -> bool:
        """Whether something ran in the last run of a branch that the reference does as well, or
        the reference takes the same branch of the same condition."""
        before = self.parting.until[-MOST_LINES:]
        guard = self.statements[number]
        alike = [one for one in self.statements.values() if _reads_as(one, guard)]
        taken = {pair for ran in before for pair in ran.statement.branches}
        taken.update(pair for ran in self.parting.mine.ran for pair in ran.statement.branches)
        same = (side == branch and _reads_as(self.reference[other], guard) for other, side in taken)
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


def _reads_as(one: Statement, other: Statement) -> bool:
    """Whether two statements are the same words in the same control."""
    return (one.unit, one.text) == (other.unit, other.text)


def reads(name: str, statement: Statement) -> bool:
    """Whether a statement may read the variable of a trace."""
    return _in_scope(name, statement) and any(is_called(name, one) for one in statement.reads)


def writes(name: str, statement: Statement) -> bool:
    """Whether a statement may write the variable of a trace."""
    return _in_scope(name, statement) and is_called(name, statement.target)


def _in_scope(name: str, statement: Statement) -> bool:
    scope = name.rpartition(":")[0]
    return scope in ("", statement.unit)


def is_called(name: str, written: str) -> bool:
    """A parameter has another name than the argument in its place: what follows it counts."""
    if not written:
        return False
    name = unscoped(name)
    rest = written.partition(".")[2] or written
    return name == written or name.endswith(f".{written}") or name.endswith(f".{rest}")


def passes_on(ran: Ran, name: str, wrong: Iterable[str]) -> bool:
    """Whether a statement reads another variable that is wrong."""
    return any(other != name and reads(other, ran.statement) for other in wrong)


def is_own(ways: Ways, statement: Statement) -> bool:
    """Whether a statement is the student's own: others were there from the beginning."""
    return ways.source.is_new(Place(statement.file, statement.line, line_of(ways, statement)))


def line_of(ways: Ways, statement: Statement) -> str:
    lines = ways.source.files.get(statement.file, "").splitlines()
    return lines[statement.line - 1].strip() if statement.line <= len(lines) else ""


def place_of(ways: Ways, ran: Ran) -> Place:
    return Place(ran.statement.file, ran.statement.line, line_of(ways, ran.statement))


def brief(name: str) -> str:
    return ".".join(unscoped(name).split(".")[-2:])
