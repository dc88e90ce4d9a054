"""Who copied must be seen, also behind new names, and nobody suspected for a right answer."""

from __future__ import annotations

import random

import pytest

from p4lab.course import marks
from p4lab.course.home import HERE
from p4lab.grading.alike import pairs
from p4lab.grading.course import load

COURSE = load("01-bier")
FILE = COURSE.student.edit[0]
SOLVED = marks.solution(COURSE.sources[FILE], FILE)
COPY = "hdr.bier.bit_string = carried.remaining & fbm;"
DETOUR = """bit<BSL> mine = carried.remaining;
        bit<BSL> others = mine & ~fbm;
        mine = mine ^ others; // whoever is not behind this next hop
        hdr.bier.bit_string = mine;"""


def handed_in(**changed: str) -> dict[str, dict[str, str]]:
    assert SOLVED.count(COPY) == 1
    return {name: {FILE: SOLVED.replace(COPY, text)} for name, text in changed.items()}


def test_a_detour_that_two_share_is_seen_behind_new_names_and_spaces() -> None:
    renamed = DETOUR.replace("mine", "my_bits").replace("others", "rest").replace(" = ", "=")
    found = pairs(COURSE, handed_in(ann=COPY, bob=DETOUR, cat=COPY, dan=renamed))
    assert [(pair.one, pair.other) for pair in found] == [("bob", "dan")]
    assert len(found[0].lines) == 4 and "whoever is not behind" in " ".join(found[0].lines)


def test_what_everybody_has_or_was_given_says_nothing() -> None:
    everybody = handed_in(**{f"s{number}": DETOUR for number in range(20)})
    assert pairs(COURSE, everybody) == []
    assert pairs(COURSE, handed_in(ann=COPY, bob=COPY)) == []


def test_right_answers_written_by_different_people_are_not_alike() -> None:
    """Three lines of an `if` and a brace in common are within what chance does."""
    variants = sorted((HERE.solutions / COURSE.name / "variants").iterdir())
    files = {one.name: {FILE: (one / FILE).read_text()} for one in variants}
    assert all(len(pair.lines) <= 4 for pair in pairs(COURSE, files))


def test_the_solution_itself_is_named_by_its_marks() -> None:
    (found,) = pairs(COURSE, {"eve": {FILE: COURSE.sources[FILE]}, "fay": {FILE: SOLVED}})
    assert (found.one, found.other) == ("eve", "")
    assert "BEGIN SOLUTION" in found.lines[0]


@pytest.mark.parametrize("seed", range(3))
def test_any_text_is_compared(seed: int) -> None:
    chance = random.Random(seed)
    letters = "ab/*{}\\\n\t \0é\u202e'|<`"
    files = {str(number): {FILE: "".join(chance.choices(letters, k=3000))} for number in range(20)}
    for pair in pairs(COURSE, files):
        assert pair.lines and pair.one < pair.other, f"seed {seed}"
