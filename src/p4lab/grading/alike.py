"""Who may have worked from the same file: lines that few submissions have and nobody was given.

Right answers of a lab are alike, since there are few ways to write its lines. What tells more is
what two students need not have in common: a comment, a detour, a mistake. So only lines count that
are in no known text (the starter, the solution, its variants), and a line counts for less the more
of all submissions have it; names that students chose and white space do not matter. Of the answers
themselves, which anybody may find, it is told who handed them in.

Submissions of earlier classes are compared with those of this one, and not among themselves.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from p4lab.grading import known
from p4lab.grading.course import Course

USUAL = 5
"""A line that so many have counts in full; of more holders, in proportion less"""
LEAST = 3.0
"""So much two students must share to be named: three lines that only they have, say"""
MOST_HOLDERS = 100
"""A line that more have would need five dozen others beside it, and costs a pair for each two"""
MOST_GROUPS = 20
SHORTEST = 8  # characters; shorter lines are alike by chance
SOLUTION_MARK = "BEGIN SOLUTION"
FEWEST = 12
"""An answer with fewer lines of its own can hardly be written in another way"""
COPIED = 0.9
"""Who has so many of an answer's lines, letter by letter, has probably got it from there"""

_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Alike:
    """Students and the telling lines that they share, as the first one wrote them, the rarest
    first. One student alone shares them with `other`, an answer that is kept with the lab."""

    students: tuple[str, ...]
    lines: tuple[str, ...]
    other: str = ""


def groups(
    course: Course,
    handed_in: Mapping[str, Mapping[str, str]],
    earlier: Mapping[str, Mapping[str, str]] | None = None,
) -> list[Alike]:
    """The most alike first. `handed_in` are the files (text by path) of every student, or of one
    for each team, `earlier` those of students of other years."""
    answers = known.answers(course)
    given = _lines([course.sources, course.starter, *answers.values()])
    words = {word for line in given for word in _WORD.findall(line)}
    usual = {text for line in given for text in _texts(line, words)}
    everybody = {**(earlier or {}), **handed_in}
    own = {
        student: {
            text: line.strip()
            for line in _lines([files])
            for text in _texts(line, words)
            if text not in usual
        }
        for student, files in sorted(everybody.items())
    }
    found = list(_shared(own, set(handed_in)))
    return [*_copied(course, handed_in, answers), *found[:MOST_GROUPS]]


def _shared(own: Mapping[str, Mapping[str, str]], present: set[str]) -> Iterator[Alike]:
    holders: dict[str, list[str]] = defaultdict(list)
    for student, lines in own.items():
        for text in lines:
            holders[text].append(student)
    weights = {
        text: min(1.0, USUAL / len(students))
        for text, students in holders.items()
        if 2 <= len(students) <= MOST_HOLDERS
    }
    scores: dict[tuple[str, str], float] = defaultdict(float)
    for text, weight in weights.items():
        for pair in combinations(holders[text], 2):
            scores[pair] += weight
    close = {
        pair: score
        for pair, score in scores.items()
        if score >= LEAST - 1e-9 and not present.isdisjoint(pair)
    }
    told = [(_strength(close, members), members) for members in _joined(close)]
    for _, members in sorted(told, key=lambda one: (-one[0], one[1])):
        yield Alike(members, _common(own, members, weights))


def _joined(close: Mapping[tuple[str, str], float]) -> list[tuple[str, ...]]:
    """Pairs that have a student in common, as one group: who copied from whom is not told."""
    group: dict[str, set[str]] = {}
    for one, other in close:
        joined = group.get(one, {one}) | group.get(other, {other})
        for student in joined:
            group[student] = joined
    return sorted({tuple(sorted(members)) for members in group.values()})


def _strength(close: Mapping[tuple[str, str], float], members: Sequence[str]) -> float:
    """Of the two that share most."""
    inside = set(members)
    return max(score for pair, score in close.items() if inside.issuperset(pair))


def _common(
    own: Mapping[str, Mapping[str, str]], members: Sequence[str], weights: Mapping[str, float]
) -> tuple[str, ...]:
    """Lines that at least half of a group have, and two at least."""
    least = max(2, (len(members) + 1) // 2)
    first: dict[str, str] = {}
    for student in members:
        for text, line in own[student].items():
            if text in weights and sum(text in own[one] for one in members) >= least:
                first.setdefault(text, line)
    rarest = sorted(first, key=lambda text: -weights[text])
    return tuple(dict.fromkeys(first[text] for text in rarest))


def _copied(
    course: Course,
    handed_in: Mapping[str, Mapping[str, str]],
    answers: Mapping[str, Mapping[str, str]],
) -> Iterator[Alike]:
    """Who handed in an answer that is kept with the lab, or a program of it beside other files:
    with the marks that only that has, or with nearly all of its lines as they are there, with its
    names and spaces."""
    starter = set(_exact(course.starter))
    whole = {name: _telling(files, starter) for name, files in answers.items()}
    parts = {
        name: {file: _telling({file: files[file]}, starter) for file in _programs(files)}
        for name, files in answers.items()
    }
    for student, files in sorted(handed_in.items()):
        marks = [line.strip() for line in _lines([files]) if SOLUTION_MARK in line]
        if marks:
            yield Alike((student,), tuple(marks), known.SOLUTION)
            continue
        held = _exact(files)
        copied = _most_copied(held, whole)
        if copied:
            yield Alike((student,), copied[1], copied[0])
            continue
        shares = [(name, _all_copied(held, telling)) for name, telling in parts.items()]
        answer, found = max(
            shares, key=lambda one: sum(map(len, one[1].values())), default=("", {})
        )
        if found:
            lines = tuple(dict.fromkeys(line for share in found.values() for line in share))
            yield Alike((student,), lines, f"{' and '.join(found)} of {answer}")


def _programs(files: Mapping[str, str]) -> list[str]:
    """What else there is, such as a table of ports, is written in one way."""
    return [name for name in files if name.endswith(".p4")]


def _telling(files: Mapping[str, str], starter: set[str]) -> set[str]:
    return set(_exact(files)) - starter


def _most_copied(
    held: Sequence[str], telling: Mapping[str, set[str]]
) -> tuple[str, tuple[str, ...]] | None:
    """Of some answers' lines, by name, those that were copied the most completely, if any were."""
    found = _all_copied(held, telling)
    best = max(found, key=lambda name: len(found[name]) / len(telling[name]), default=None)
    return None if best is None else (best, found[best])


def _all_copied(held: Sequence[str], telling: Mapping[str, set[str]]) -> dict[str, tuple[str, ...]]:
    """All answers whose lines were copied, by name, and the lines."""
    shares = {
        name: tuple(line for line in held if line in lines)
        for name, lines in telling.items()
        if len(lines) >= FEWEST
    }
    return {
        name: share for name, share in shares.items() if len(share) >= COPIED * len(telling[name])
    }


def _exact(files: Mapping[str, str]) -> tuple[str, ...]:
    """Each line once, without what is around it, if it is long enough to tell something."""
    lines = (line.strip() for line in _lines([files]))
    return tuple(dict.fromkeys(line for line in lines if len(line) >= SHORTEST))


def _lines(texts: Iterable[Mapping[str, str]]) -> list[str]:
    return [line for files in texts for text in files.values() for line in text.splitlines()]


def _texts(line: str, words: set[str]) -> Iterator[str]:
    """What a line is compared by, its code and its comment: without white space, and in code all
    names that are not among `words` as one."""
    code, sign, comment = line.partition("//")
    code = _WORD.sub(lambda found: found[0] if found[0] in words else "_", code)
    for text in (code, sign + comment.lower()):
        if len(bare := "".join(text.split())) >= SHORTEST:
            yield bare
