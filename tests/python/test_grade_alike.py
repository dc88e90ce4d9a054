"""Who copied must be seen, also behind new names, and nobody suspected for a right answer."""

from __future__ import annotations

import random

import pytest

from p4lab.course import marks
from p4lab.course.home import HERE
from p4lab.grading.alike import Alike, groups
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


def shared(files: dict[str, dict[str, str]], **earlier: dict[str, str]) -> list[Alike]:
    """What students share with one another."""
    return [group for group in groups(COURSE, files, earlier) if not group.other]


def test_a_detour_that_two_share_is_seen_behind_new_names_and_spaces() -> None:
    renamed = DETOUR.replace("mine", "my_bits").replace("others", "rest").replace(" = ", "=")
    found = shared(handed_in(ann=COPY, bob=DETOUR, cat=COPY, dan=renamed))
    assert [group.students for group in found] == [("bob", "dan")]
    assert len(found[0].lines) == 3 and "whoever is not behind" in " ".join(found[0].lines)


def test_what_everybody_has_or_was_given_says_nothing() -> None:
    everybody = handed_in(**{f"s{number}": DETOUR for number in range(20)})
    assert shared(everybody) == []
    assert shared(handed_in(ann=COPY, bob=COPY)) == []


def test_eight_who_worked_together_are_one_group() -> None:
    """A limit on how many may have a line would let go whoever copied often enough."""
    much = DETOUR + "\n".join(
        f"        bit<{n}> spare_{n} = {n}w{n}; // why {n}" for n in range(20)
    )
    files = handed_in(**{f"s{number}": much for number in range(8)}, tom=COPY, una=DETOUR)
    (found,) = shared(files)
    assert found.students == tuple(f"s{number}" for number in range(8))
    assert len(found.lines) >= 20


def test_who_was_here_last_year_is_compared_but_not_accused() -> None:
    others = {"old/bob": handed_in(bob=DETOUR)["bob"], "old/eve": handed_in(eve=DETOUR)["eve"]}
    (found,) = shared(handed_in(ann=COPY, dan=DETOUR), **others)
    assert "dan" in found.students and "old/bob" in found.students
    assert shared(handed_in(ann=COPY), **others) == []


def test_twenty_copies_of_the_solution_without_its_marks_are_seen() -> None:
    copies = handed_in(**{f"s{number}": COPY for number in range(20)})
    variant = HERE.solutions / COURSE.name / "variants" / "at-egress" / FILE
    copies["ann"] = {FILE: variant.read_text() + "// mine\n"}
    found = groups(COURSE, copies)
    assert sorted(group.students[0] for group in found) == sorted(copies)
    assert {group.other for group in found} == {"the lab's solution", "the variant at-egress"}


def test_one_program_of_the_solution_is_seen_beside_a_starter_or_alone() -> None:
    """Two thirds of the points of lab 03 are in the first of its two files."""
    course = load("03-protect")
    first, second = course.student.edit
    copy = marks.solution(course.sources[first], first)
    files = {
        "ann": {first: copy, second: course.starter[second]},
        "bob": {first: copy},
        "cat": dict(course.starter),
        "dan": {first: copy, second: marks.solution(course.sources[second], second)},
    }
    found = {group.students: group.other for group in groups(course, files)}
    assert found == {
        ("ann",): f"{first} of the lab's solution",
        ("bob",): f"{first} of the lab's solution",
        ("dan",): "the lab's solution",
    }


def test_a_table_of_ports_is_no_sign_of_the_solution() -> None:
    """There is one right way to write it, so all who have solved it have the same lines."""
    course = load("04-msr6")
    tree = "msr6/tree.toml"
    right = {**course.starter, tree: marks.solution(course.sources[tree], tree)}
    assert groups(course, {"ann": right}) == []


def test_right_answers_written_by_different_people_are_not_alike() -> None:
    """Three lines of an `if` and a brace in common are within what chance does."""
    variants = sorted((HERE.solutions / COURSE.name / "variants").iterdir())
    files = {one.name: {FILE: (one / FILE).read_text()} for one in variants}
    assert shared(files) == []


def test_the_solution_itself_is_named_by_its_marks() -> None:
    (found,) = groups(COURSE, {"eve": {FILE: COURSE.sources[FILE]}})
    assert (found.students, found.other) == (("eve",), "the lab's solution")
    assert "BEGIN SOLUTION" in found.lines[0]


@pytest.mark.parametrize("seed", range(3))
def test_any_text_is_compared(seed: int) -> None:
    chance = random.Random(seed)
    letters = "ab/*{}\\\n\t \0é\u202e'|<`"
    files = {str(number): {FILE: "".join(chance.choices(letters, k=3000))} for number in range(20)}
    for group in groups(COURSE, files):
        assert group.lines and list(group.students) == sorted(group.students), f"seed {seed}"
