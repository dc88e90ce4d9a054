"""How long it takes to grade a class: made-up submissions, judged as `p4lab grade` judges them."""

from __future__ import annotations

import random
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from p4lab.bench import measure
from p4lab.bench.measure import Measure, Say
from p4lab.grading import classes
from p4lab.grading.classes import How, Inbox
from p4lab.grading.course import load
from p4lab.grading.writers import layout

GROUP = "grading lab 01"
LAB = "01-bier"
SUBMISSIONS = 300
WORKERS = 2
GOAL = 30  # seconds, on two cores
SEED = 1

# What a student may call otherwise: parameters, which only this file knows.
_OWN_NAMES = ("carried", "arrival", "decision")
_SOLVED = re.compile(r"// BEGIN SOLUTION.*?\n(?P<lines>.*?)\s*// END SOLUTION", re.DOTALL)
_SLIPS = ((" & ", " | "), ("~fbm", "fbm"), (" - 1", " - 2"), (" = 1;", " = 0;"), (" != ", " == "))


def variant(solution: str, chance: random.Random) -> str:
    """What one of a class may hand in: the solution in other words, one time in three right, else
    with one or two lines forgotten or wrong."""
    text = solution
    for name in _OWN_NAMES:
        text = re.sub(rf"\b{name}\b", f"{name}_{chance.randrange(1000)}", text)
    if chance.random() < 1 / 3:
        return text
    for _ in range(chance.choice((1, 1, 2))):
        block = chance.choice(list(_SOLVED.finditer(text)))
        lines = block["lines"].splitlines()
        place = chance.randrange(len(lines)) if lines else 0
        if lines:
            lines[place] = _slip(lines[place], chance)
        text = text[: block.start("lines")] + "\n".join(lines) + text[block.end("lines") :]
    return text


def _slip(line: str, chance: random.Random) -> str:
    fitting = [(right, wrong) for right, wrong in _SLIPS if right in line]
    if not fitting or chance.random() < 0.5:
        return "        // forgotten"
    right, wrong = chance.choice(fitting)
    return line.replace(right, wrong, 1)


def grading(seconds: float, say: Say, submissions: int = SUBMISSIONS) -> Iterator[Measure]:
    """From a folder of submissions to a folder of results, in a run of its own; `seconds` is not
    asked, since a class has a size."""
    course = load(LAB)
    (name,) = course.student.edit
    chance = random.Random(SEED)
    with tempfile.TemporaryDirectory() as scratch:
        inbox, out = Path(scratch) / "class", Path(scratch) / "grades"
        inbox.mkdir()
        for number in range(submissions):
            text = variant(course.sources[name], chance)
            (inbox / f"student-{number:03}.p4").write_text(text, encoding="utf-8")
        done: list[object] = []

        def tell(entry: object) -> None:
            done.append(entry)
            say(f"grading: {len(done)} of {submissions}")

        start = time.perf_counter()
        how = How(SEED, workers=WORKERS, formats=layout.FORMATS)
        graded = classes.grade(course, Inbox([inbox]), out, how, done=tell).rows
        took = time.perf_counter() - start
    right = sum(row.verdict.passed for row in graded)
    what = f"{submissions} submissions, {right} of them right, {WORKERS} workers"
    yield measure.of(GROUP, what, "s", [took], GOAL, at_most=True)
    yield measure.of(GROUP, "submissions per second", "", [submissions / took])
