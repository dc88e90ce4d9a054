"""Who handed in the same program but for comments and white space, beyond what was given to all.

Lines that many have tell little one by one (`alike`), and so two copies of a usual answer share
none that tell something. That they are the same as a whole is worth a look all the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from p4lab.grading import known
from p4lab.grading.course import Course
from p4lab.grading.proving import program_of
from p4lab.plurals import count_of

MOST_GROUPS = 20
MOST_NAMES = 12
"""Of a larger group the others are counted"""


def groups(
    course: Course,
    handed_in: Mapping[str, Mapping[str, str]],
    earlier: Mapping[str, Mapping[str, str]],
) -> list[tuple[str, ...]]:
    """The students of each program that several have, the largest group first. `handed_in` are the
    files (text by path) of every student, or of one for each team, `earlier` those of other years,
    who are not compared among themselves."""
    given = {
        _one(name, text)
        for files in (course.starter, *known.answers(course).values())
        for name, text in files.items()
    }
    holders: dict[str, list[str]] = defaultdict(list)
    for student, files in sorted({**earlier, **handed_in}.items()):
        if not given.issuperset(_one(name, text) for name, text in files.items()):
            holders[program_of(files)].append(student)
    found = [
        tuple(students)
        for students in holders.values()
        if len(students) > 1 and not handed_in.keys().isdisjoint(students)
    ]
    return sorted(found, key=lambda students: (-len(students), students))


def told(found: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The groups in a sentence; none if there are none."""
    if not found:
        return ()
    listed = [_named(students) for students in found[:MOST_GROUPS]]
    if len(found) > MOST_GROUPS:
        listed.append(f"and {count_of(len(found) - MOST_GROUPS, 'more group')}")
    return (f"The same program but for comments and blanks: {'; '.join(listed)}.",)


def _one(name: str, text: str) -> str:
    return program_of({name: text})


def _named(students: Sequence[str]) -> str:
    names = ", ".join(students[:MOST_NAMES])
    left = len(students) - MOST_NAMES
    return f"{names} and {count_of(left, 'other')}" if left > 0 else names
