"""Packets that told mutants from the solution become cases of checks.

A case goes to the check whose business the mutated lines are: the one that most mutants nearby
fail. It is kept if the mutant fails there now, all right answers still pass, and no known wrong
answer loses points where it should not.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from p4lab.course.labs import LabError
from p4lab.grading.course import FOUND, Check
from p4lab.grading.fixed import UnwritableError, case_of, text_of
from p4lab.grading.generated import Fate, Mutant, Trial, drawn_checks, is_network
from p4lab.grading.judge import first_failed, judge, story_of
from p4lab.grading.mutants import Answer, answers
from p4lab.grading.scenario import Case, Scenario
from p4lab.grading.work import Work
from p4lab.model.entries import TableEntry
from p4lab.plurals import noun_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

NEAR = 12
"""Mutants of lines as far as this say what a line's check is."""


@dataclass(frozen=True)
class Written:
    """A file that was written, for a mutant that is now killed by its check."""

    mutant: Mutant
    check: str
    file: str


@dataclass(frozen=True)
class Left:
    """A mutant that no case could be made for."""

    mutant: Mutant
    why: str


@dataclass
class Strengthening:
    """A lab whose checks get cases, and what became of its mutants."""

    trial: Trial
    fates: Mapping[Mutant, Fate]
    answers: Sequence[Answer] | None = None
    """Answers of which is known what they are; those of the lab unless told"""
    _written: list[Written] = field(default_factory=list)

    def run(self) -> Iterator[Written | Left | None]:
        """What became of each mutant that was told apart; None if a case that was written for
        another one kills it. Raises LabError."""
        for mutant, fate in self.fates.items():
            if fate.kind == "apart":
                yield self._one(mutant, fate)

    def _one(self, mutant: Mutant, fate: Fate) -> Written | Left | None:
        work = self.trial.work(self.trial.answer(mutant))
        course = self.trial.course
        checks = {check.id: check for check in course.checks}
        for written in self._written:
            if story_of(course, checks[written.check], written.file, work) is not None:
                return None
        why = "no check that fits takes its case"
        for check, is_strict in self._homes(mutant, fate):
            name = f"{FOUND}/{check.id}/{_slug(mutant)}.toml"
            case = self._case(fate, check, is_strict)
            try:
                fits = self._fits(check, name, case, mutant, work)
            except UnwritableError as error:
                why = str(error)
                continue
            if fits:
                path = course.folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(self._smallest(check, name, case, mutant, work), encoding="utf-8")
                if first_failed(course, work, self.trial.seed) is not None:
                    self._written.append(Written(mutant, check.id, name))
                    return self._written[-1]
                path.unlink()
        return Left(mutant, why)

    def _homes(self, mutant: Mutant, fate: Fate) -> Iterator[tuple[Check, bool]]:
        """Where a case may go, the best place first: at first judged as the other cases there, then
        (`True`) to the byte."""
        votes: Counter[str] = Counter()
        for other, known in self.fates.items():
            away = abs(other.line - mutant.line)
            if known.kind == "killed" and other.file == mutant.file and away <= NEAR:
                votes[known.check] += NEAR + 1 - away
        points = [check for check in drawn_checks(self.trial.course) if check.points]
        ranked = sorted(points, key=lambda check: -votes[check.id])
        if fate.check:
            ranked.sort(key=lambda check: check.id != fate.check)
        networks = [check for check in ranked if is_network(self.trial.course, check)]
        ranked = [check for check in ranked if check not in networks] + networks
        near = [check for check in ranked if votes[check.id] or check.id == fate.check]
        for some in (near, [check for check in ranked if check not in near]):
            yield from ((check, False) for check in some)
            yield from ((check, True) for check in some)

    def _case(self, fate: Fate, check: Check, is_strict: bool) -> Case:
        course = self.trial.course
        base = course.scenario(check.scenario or check.parses or "")
        if fate.example is not None:
            case = case_of(course, fate.example, base)
        else:
            drawn = next(check for check in course.checks if check.id == fate.check)
            case = course.case(drawn, fate.seed).case
        return replace(case, ignore=frozenset(), others=False) if is_strict else case

    def _text(self, case: Case, mutant: Mutant) -> str:
        why = f"Tells this from the solution, in {mutant.file}:\n{mutant.title}"
        return text_of(self.trial.course, case, _say(case), why)

    def _smallest(self, check: Check, name: str, case: Case, mutant: Mutant, work: Work) -> str:
        """The text of a case that fits, without what it does not need to be in the switch."""
        for update in case.updates:
            less = replace(case, updates=tuple(item for item in case.updates if item is not update))
            if self._fits(check, name, less, mutant, work):
                case = less
        return self._text(case, mutant)

    def _fits(self, check: Check, name: str, case: Case, mutant: Mutant, work: Work) -> bool:
        """Whether the mutant fails the case, and nobody who should not. Raises UnwritableError."""
        course = self.trial.course
        text = self._text(case, mutant)
        try:
            course.offer(name, Scenario.model_validate(tomllib.loads(text)))
            if story_of(course, check, name, work) is None:
                return False
            return not any(
                story_of(course, check, name, other) is not None
                for answer, passed, other in self._known
                if check.id not in answer.breaks
                and passed >= {check.id, *check.needs, *check.suffers}
            )
        except LabError:  # the solution itself has no one answer to it
            return False
        finally:
            course.forget(name)

    @cached_property
    def _known(self) -> list[tuple[Answer, set[str], Work]]:
        """Answers of which is known what they are, the checks that they pass, their programs."""
        known = []
        given = answers(self.trial.course) if self.answers is None else self.answers
        for answer in given:
            work = self.trial.work(answer.files)
            verdict = judge(self.trial.course, answer.files, seed=self.trial.seed)
            passed = {check.id for check in verdict.checks if check.status == "passed"}
            known.append((answer, passed, work))
        return known


def _slug(mutant: Mutant) -> str:
    """A file's name for a mutant's case."""
    words = re.sub(r"[^a-z0-9]+", "-", mutant.title.lower()).strip("-")
    return f"{words[:40].strip('-')}-{mutant.digest[:4]}"


def _say(case: Case) -> str:
    """The case in a sentence."""
    count = len(case.sendings)
    tables: Sequence[str] = sorted(
        {
            update.entity.table.rsplit(".", 1)[-1]
            for update in case.updates
            if isinstance(update.entity, TableEntry)
        }
    )
    ports = sorted({sending.port for sending in case.sendings})
    what = "A packet comes" if count == 1 else f"{count} packets come"
    where = f"{noun_of(len(ports), 'port')} {' and '.join(map(str, ports))}"
    if len(ports) > 2:
        where = f"{len(ports)} ports"
    rows = f"entries in {' and '.join(tables)}" if tables else "tables that are empty"
    return f"{what} in on {where} of a switch with {rows}."
