"""Without these, two who handed in one file would not be seen where its lines are usual ones."""

from __future__ import annotations

from p4lab.course import marks
from p4lab.grading import identical
from p4lab.grading.course import load

COURSE = load("01-bier")
FILE = COURSE.student.edit[0]
SOLVED = marks.solution(COURSE.sources[FILE], FILE)
COPY = "hdr.bier.bit_string = carried.remaining & fbm;"


def one(text: str) -> dict[str, str]:
    return {FILE: text}


WRONG = one(SOLVED.replace(COPY, "hdr.bier.bit_string = carried.remaining;"))
COMMENTED = one(WRONG[FILE].replace(" = ", "  =  ") + "\n// mine\n")
OTHER = one(SOLVED.replace(COPY, "hdr.bier.bit_string = fbm;"))


def test_the_same_program_is_seen_behind_comments_and_blanks() -> None:
    """An instructor would learn it only by reading all of a class."""
    files = {"ann": WRONG, "bob": COMMENTED, "cat": OTHER, "dan": WRONG}
    found = identical.groups(COURSE, files, {})
    assert found == [("ann", "bob", "dan")]
    assert identical.told(found) == (
        "The same program but for comments and blanks: ann, bob, dan.",
    )


def test_what_was_given_or_is_published_names_nobody() -> None:
    """Who has not begun, or has the one right answer, would be suspected."""
    starter = dict(COURSE.starter)
    files = {"ann": starter, "bob": starter, "cat": one(SOLVED), "dan": one(SOLVED), "eve": WRONG}
    assert identical.groups(COURSE, files, {}) == []
    assert identical.told([]) == ()


def test_earlier_classes_are_compared_with_this_one_only() -> None:
    """A summary would name students who are long gone."""
    earlier = {"old/bob": WRONG, "old/eve": OTHER, "old/fay": OTHER}
    assert identical.groups(COURSE, {"ann": WRONG}, earlier) == [("ann", "old/bob")]


def test_a_large_group_is_not_a_page_of_names() -> None:
    """Other sentences of the summary would not be found."""
    (told,) = identical.told([tuple(f"s{number:02}" for number in range(14))])
    assert told.endswith("s10, s11 and 2 others.")
