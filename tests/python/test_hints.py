"""Hints: where, what, almost the code. Every check has all of them, the story says some, and how
many of the others a student has asked for is kept, and told to an instructor who counts them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from p4lab.course.labs import names
from p4lab.course.material import start
from p4lab.grading import asked, difference
from p4lab.grading.course import load
from p4lab.grading.folder import Entry, Hands, grade
from p4lab.grading.hints import GENERAL, Hint, choose
from p4lab.grading.judge import judge
from p4lab.grading.known import wanted
from p4lab.grading.record import CheckResult, Place, Story, Verdict
from p4lab.grading.steps import ask, steps
from p4lab.grading.submission import read
from p4lab.grading.workers import Task
from p4lab.grading.writers import layout
from p4lab.grading.writers.report import Heading
from p4lab.paths import ROOT

BLANK = "___"


@pytest.mark.parametrize("lab", names())
def test_every_check_has_all_three_steps(lab: str) -> None:
    """Whatever goes wrong in it, and though no line is known: a student who asks gets an answer."""
    course = load(lab)
    kinds = [*GENERAL, *course.system.hints, "something new"]
    for check in course.checks:
        for kind in kinds:
            three = steps(course, check, Story((), "", kind, ""))
            assert all(one.text for one in three), (check.id, kind)
            assert not any(one.in_story for one in three), (check.id, kind)


@pytest.mark.parametrize("lab", names())
def test_the_last_step_leaves_something_to_find(lab: str) -> None:
    """Almost the code, and not the code."""
    for hint in load(lab).hints:
        code = [line for line in hint.almost.split("\n") if line.rstrip().endswith((";", "{"))]
        assert BLANK in hint.almost or not code


def test_the_last_step_is_about_the_line_that_the_story_points_to() -> None:
    """Who has one of two things to write is not told of the other one only."""
    course = load("03-protect")
    check = next(one for one in course.checks if one.id == "mtu-control")
    for kind in (difference.HEADER_NOT_REMOVED, difference.DROPPED, difference.COPY_MISSING):
        almost = course.almost(check, kind)
        assert "too_many = " in almost and "hdr.packet_in." in almost


def test_a_hint_does_not_ask_for_what_the_story_has_said() -> None:
    """Where nothing of lab 03 is written, the story names the field of `decision` itself."""
    course = load("03-protect")
    story = next(one.story for one in judge(course, course.starter).checks if one.story)
    assert story.why == "here nothing changes decision.mcast_grp"
    assert "Which field" not in story.hint and "`protect`" in story.hint


def test_a_packet_that_never_leaves_is_told_as_such() -> None:
    """A hint about groups is no help to somebody whose packet goes round for ever."""
    groups = Hint(text="Which group?", check="copies")
    passes = Hint(text="Count the passes.", check="copies", signature=difference.LOOP)
    assert choose([groups], {}, "copies", difference.LOOP, "") == GENERAL[difference.LOOP]
    assert choose([groups, passes], {}, "copies", difference.LOOP, "") == "Count the passes."
    assert choose([groups], {}, "copies", difference.DROPPED, "") == "Which group?"


def test_a_hint_is_written_once_for_several_checks() -> None:
    hint = Hint(check=["a", "b"], almost="x = ___;")
    assert hint.fits("a", "loop", "") and hint.fits("b", "", "x") and not hint.fits("c", "", "")
    with pytest.raises(ValueError, match="or almost the code"):
        Hint(check="a")


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """The starter of lab 01, on which everything of its parts fails."""
    list(start("01-bier", tmp_path / "mine"))
    return tmp_path / "mine"


def hint(folder: Path, *arguments: str) -> dict[str, object]:
    command = [sys.executable, "-m", "p4lab", "check", "01-bier", str(folder), "--json"]
    done = subprocess.run(
        [*command, "--hint", *arguments], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_ladder_begins_with_what_the_story_says(mine: Path) -> None:
    """The story has said the line and the question, which cost nothing: what is left is nearly the
    code."""
    first = hint(mine)
    assert (first["check"], first["of"]) == ("forward-one", 1)
    assert [one["title"] for one in first["story"]] == ["Where", "What"]
    assert [one["title"] for one in first["steps"]] == ["Almost the code"]
    assert BLANK in first["steps"][0]["text"]
    assert hint(mine, "forward-one") == first  # there is no more
    assert asked.kept(mine) == {"forward-one": 1}


def test_the_story_of_another_check_costs_no_hint(mine: Path) -> None:
    """It is told for whichever check is asked about."""
    other = hint(mine, "decapsulate-deliver")
    assert [one["title"] for one in other["story"]] == ["Where", "What"]
    assert asked.kept(mine) == {"decapsulate-deliver": 1}


LINE = Story((), "It is wrong.", "", "Think.", place=Place("a.p4", 1))


@pytest.mark.parametrize(
    ("story", "titles"),
    [
        (LINE, ["Almost the code"]),
        (replace(LINE, hint=""), ["What", "Almost the code"]),
        (replace(LINE, place=None), ["Where", "Almost the code"]),
        (replace(LINE, place=None, hint=""), ["Where", "What", "Almost the code"]),
    ],
)
def test_each_call_says_one_thing_more(story: Story, titles: list[str], tmp_path: Path) -> None:
    course = load("01-bier")
    check = next(one for one in course.checks if one.id == "forward-one")
    failed = CheckResult(check.id, check.title, check.part or "", "failed", 0, 1, story)
    for count in range(1, len(titles) + 2):
        verdict = Verdict("01-bier", "", (failed,))
        given = ask(course, verdict, None, tmp_path, asked.kept(tmp_path))
        assert [one.title for one in given.steps] == titles[:count]
        assert asked.kept(tmp_path) == {check.id: min(count, len(titles))}
    asked.write(tmp_path, {check.id: 3})
    ask(course, verdict, None, tmp_path, asked.kept(tmp_path))
    assert asked.kept(tmp_path) == {check.id: 3}  # what was asked for stays


def test_what_passes_or_waits_costs_no_hint(mine: Path) -> None:
    assert "passes" in hint(mine, "compiles")["why"]
    assert "waits" in hint(mine, "network")["why"]
    assert not (mine / asked.FILE).exists()


NONE_SUCH = [
    "",
    "[steps",
    "steps = 3",
    "[steps]\na = 4",
    "[steps]\na = -1",
    "[steps]\na = true",
    '[steps]\na = "1"',
    '[steps]\n"=cmd()" = 1',
    "[steps]\n" + "\n".join(f"c{number} = 1" for number in range(300)),
    "x" * 70_000,
]


@pytest.mark.parametrize("text", NONE_SUCH)
def test_a_file_that_is_none_says_nothing(text: str) -> None:
    """A student can write anything there: it is never more than small numbers by names."""
    assert asked.read(text) in (None, {})


def test_a_folder_may_hold_anything_under_that_name(tmp_path: Path) -> None:
    """A notebook reads it: a pipe must not stop the kernel, a link must lead nowhere."""
    assert asked.kept(tmp_path) == {}
    os.mkfifo(tmp_path / asked.FILE)
    assert asked.kept(tmp_path) == {}
    asked.write(tmp_path, {"forward-one": 2})
    assert asked.kept(tmp_path) == {"forward-one": 2}
    (tmp_path / asked.FILE).unlink()
    (tmp_path / asked.FILE).symlink_to("/etc/passwd")
    with pytest.raises(OSError):
        asked.kept(tmp_path)


def test_a_grader_counts_them_where_the_lab_asks(mine: Path, tmp_path: Path) -> None:
    """A hand-in without the file counts as unknown, not as none."""
    hint(mine, "forward-one")
    hint(mine, "decapsulate-deliver")
    list(start("01-bier", tmp_path / "other"))
    course = load("01-bier")
    entries = [Entry(name, ((name, tmp_path / name),)) for name in ("mine", "other")]
    task = Task("01-bier", wanted(course), None)

    def records(counted: bool) -> list[dict[str, object]]:
        with Hands(1) as hands:
            rows = grade(replace(course, counts_hints=counted), entries, task, hands)
        files = layout.files("01-bier", Heading("", {}, ""), rows, formats=(), reveal="never",
                             beside=layout.Beside())  # fmt: skip
        if counted:
            assert (
                "Hints asked for: 2 (decapsulate-deliver 1, forward-one 1)."
                in files["students/mine.md"]
            )
            assert "not known" in files["students/other.md"]
        return json.loads(files["records.json"])["verdicts"]

    assert [one["hints"] for one in records(True)] == [
        {"steps": {"forward-one": 1, "decapsulate-deliver": 1}, "total": 2},
        {"steps": None, "total": None},
    ]
    assert not any("hints" in one for one in records(False))


def test_the_file_is_no_file_that_was_left_out(mine: Path) -> None:
    course = load("01-bier")
    before = read(mine, wanted(course))
    asked.write(mine, {"forward-one": 1})
    after = read(mine, wanted(course))
    assert (after.left, after.files) == (before.left, before.files)
    assert (before.asked, after.asked) == (None, {"forward-one": 1})
    assert not re.search("hints", " ".join(after.told()))
