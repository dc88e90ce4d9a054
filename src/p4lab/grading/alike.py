"""Who may have worked from the same file: lines that few submissions have and nobody was given.

Right answers of a lab are alike, since there are few ways to write its lines. What tells more is
what two students need not have in common: a comment, a detour, a mistake. So only lines count that
are neither in the starter nor in the solution, and that a handful of a class share; names that
students chose and white space do not matter.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from p4lab.course.labs import home
from p4lab.grading.course import Course

HOLDERS = 5
"""A line that more students have says nothing about two of them."""
LEAST = 3
"""So many such lines two students must share to be named."""
MOST_PAIRS = 20
SHORTEST = 8  # characters; shorter lines are alike by chance
SOLUTION_MARK = "BEGIN SOLUTION"

_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Alike:
    """Two students and the telling lines that they share, as the first one wrote them. Without a
    second one it is the solution of the lab, with its marks."""

    one: str
    other: str
    lines: tuple[str, ...]


def pairs(course: Course, handed_in: Mapping[str, Mapping[str, str]]) -> list[Alike]:
    """The most alike first; `handed_in` are the files (text by path) of every student."""
    given = _given(course)
    words = {word for line in given for word in _WORD.findall(line)}
    known = {text for line in given for text in _texts(line, words)}
    own = {
        student: {
            text: line.strip()
            for file in files.values()
            for line in file.splitlines()
            for text in _texts(line, words)
            if text not in known
        }
        for student, files in sorted(handed_in.items())
    }
    found = [Alike(*names, told) for names, told in _shared(own).items() if len(told) >= LEAST]
    found.sort(key=lambda pair: (-len(pair.lines), pair.one, pair.other))
    return [*_copied(handed_in), *found[:MOST_PAIRS]]


def _shared(own: Mapping[str, Mapping[str, str]]) -> dict[tuple[str, str], tuple[str, ...]]:
    """For each two students the rare lines that both have."""
    holders: dict[str, list[str]] = defaultdict(list)
    for student, lines in own.items():
        for text in lines:
            holders[text].append(student)
    counted = Counter(
        pair
        for students in holders.values()
        if 2 <= len(students) <= HOLDERS
        for pair in combinations(students, 2)
    )
    return {
        (one, other): tuple(
            dict.fromkeys(
                line
                for text, line in own[one].items()
                if text in own[other] and len(holders[text]) <= HOLDERS
            )
        )
        for (one, other), count in counted.items()
        if count >= LEAST
    }


def _copied(handed_in: Mapping[str, Mapping[str, str]]) -> Iterable[Alike]:
    """Who handed in the solution with the marks that only it has."""
    for student, files in sorted(handed_in.items()):
        marks = [
            line for text in files.values() for line in text.splitlines() if SOLUTION_MARK in line
        ]
        if marks:
            yield Alike(student, "", tuple(line.strip() for line in marks))


def _given(course: Course) -> list[str]:
    """Every line of the starter and of the solution."""
    texts = [*course.sources.values()]
    starter = home(course.name).labs / course.name / "starter"
    for name in course.student.edit:
        texts.append((starter / name).read_text(encoding="utf-8"))
    return [line for text in texts for line in text.splitlines()]


def _texts(line: str, words: set[str]) -> Iterator[str]:
    """What a line is compared by, its code and its comment: without white space, and in code all
    names that are not among `words` as one."""
    code, sign, comment = line.partition("//")
    code = _WORD.sub(lambda found: found[0] if found[0] in words else "_", code)
    for text in (code, sign + comment.lower()):
        if len(bare := "".join(text.split())) >= SHORTEST:
            yield bare
