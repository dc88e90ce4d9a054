"""A script that passes is not enough: without these, a program whose packets run in circles, and
that sends what it should, would have full marks."""

from __future__ import annotations

from pathlib import Path

import pytest

from p4lab.grading import difference
from p4lab.grading.course import Check, Course, load
from p4lab.grading.endless import passes
from p4lab.grading.mutants import answers
from p4lab.grading.scripts import run
from p4lab.grading.work import Work

ROOT = Path(__file__).parents[2]


def work(lab: str, name: str) -> Work:
    course = load(lab)
    found = next(one for one in answers(course) if one.name == name)
    return Work(course.student.program, {**course.sources, **found.files})


def check(*files: str) -> Check:
    return Check(id="scripts", title="The scripts pass", stf=list(files))


@pytest.mark.parametrize("name", ["encap", "bier_receive", "many_next_hops"])
def test_a_packet_that_runs_in_circles_fails_a_script(name: str) -> None:
    course, file = load("01-bier"), f"bier/tests/{name}.stf"
    assert run(course, check(file), work("01-bier", "solution")) == (None, 1, False)
    story, count, hidden = run(course, check(file), work("01-bier", "again-always"))
    assert story is not None and (count, hidden) == (1, False)
    assert story.signature == difference.LOOP
    assert "never leaves" in story.summary and file in story.steps[0]
    assert story.hint


def test_a_counter_that_differs_is_not_called_a_missing_copy() -> None:
    """The hint would send a student to look for a packet that has left."""
    course, file = load("01-bier"), "bier/tests/no_pass_in_vain.stf"
    assert run(course, check(file), work("01-bier", "solution")) == (None, 1, False)
    story, *_ = run(course, check(file), work("01-bier", "again-too-early"))
    assert story is not None and story.signature == difference.UNMET
    assert story.summary == "sent is 1, expected == 0" and "p4lab stf" in story.hint


def passes_of(right: Work, course: Course, script: Path) -> int:
    program = right.runnable(course.defines)
    return passes(program, right.program, right.files, course.defines, script)


def test_passes_are_counted_as_they_are() -> None:
    """Of encap.stf as its comments say; on TNA a pass is one through ingress, too."""
    course, right = load("01-bier"), work("01-bier", "solution")
    script = ROOT / "p4" / "bier" / "tests" / "encap.stf"
    assert passes_of(right, course, script) == 9
    course, right = load("05-recirculation"), work("05-recirculation", "solution")
    script = ROOT / "p4" / "bier" / "tests-tna" / "deliver.stf"
    assert passes_of(right, course, script) > 0
