"""Checks judged by another switch than the engine: without these, the engine would quietly stand in
for a switch that cannot do what a case asks, and a student's work would count as tried there.

The other switch is a stand-in: the engine, with an answer of ours where a test wants one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from cli_runner import ROOT
from p4lab.grading import course as courses
from p4lab.grading.course import counted, inject
from p4lab.grading.elsewhere import Outcome
from p4lab.grading.judge import judge
from p4lab.grading.record import Verdict
from p4lab.grading.scenario import Case
from p4lab.grading.work import Work
from p4lab.model.run import Plan

LAB = "03-protect"


class Other:
    """Does as the engine does, but for cases with a `wait`, and counts `more` packets than it."""

    name = "other"

    def __init__(self, course: courses.Course, more: int = 0) -> None:
        self.course, self.more = course, more
        self.carried_out = 0

    def lacks(self, case: Case) -> str:
        return "a clock" if any(sending.now for sending in case.sendings) else ""

    def outcome(self, work: Work, case: Case, likely: Sequence[Sequence[int]]) -> Outcome:
        self.carried_out += 1
        switch = self.course.set_up(work.runnable(case.defines), case)
        outputs = [inject(switch, sending) for sending in case.sendings]
        return Outcome(outputs, tuple(number + self.more for number in counted(switch, case)))

    def network(self, work: Work, case: Case, plan: Plan) -> str:
        raise AssertionError("no check of these tests has a network")


def judged(more: int, *chosen: str) -> tuple[Verdict, Other]:
    """The verdict on the solution by some checks, the first of which the others need."""
    course = courses.load(LAB)
    by_name = {check.id: check for check in course.checks}
    first, *others = (by_name[name] for name in chosen)
    course.checks = (
        first.model_copy(update={"needs": []}),
        *(check.model_copy(update={"needs": [first.id]}) for check in others),
    )
    files = {name: (ROOT / "p4" / name).read_text() for name in course.student.edit}
    other = Other(course, more)
    return judge(course, files, bench=other), other


def test_what_a_switch_cannot_do_is_skipped_and_never_imitated() -> None:
    verdict, other = judged(0, "slots-forget")
    (forget,) = verdict.checks
    assert (forget.status, forget.beyond, forget.points) == ("skipped", "a clock", 0)
    assert other.carried_out == 0
    assert verdict.passed and verdict.points < verdict.max_points
    assert Verdict.from_json(verdict.to_json()) == verdict


def test_checks_that_need_such_a_one_run_all_the_same() -> None:
    verdict, other = judged(0, "slots-forget", "tag-number")
    judged_ones = {check.id: check for check in verdict.checks}
    assert judged_ones["slots-forget"].status == "skipped"
    assert judged_ones["tag-number"].status == "passed"
    assert other.carried_out == judged_ones["tag-number"].cases


def test_registers_are_written_there_and_counters_read_there() -> None:
    verdict, other = judged(0, "tag-number", "decapsulate-garbage")
    assert verdict.passed and other.carried_out == sum(check.cases for check in verdict.checks)
    verdict, _ = judged(1, "tag-number", "decapsulate-garbage")
    told = {check.id: check.story for check in verdict.checks}
    assert told["tag-number"] is None  # it counts nothing
    story = told["decapsulate-garbage"]
    assert story is not None and story.signature == "wrong count"
    found = re.search(r"the counter dropped\[\d+\] holds (\d+), not (\d+)", story.summary)
    assert found is not None and int(found[1]) == int(found[2]) + 1
