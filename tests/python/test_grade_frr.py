"""A class that hands in lab 02, whose answer is two files. Without this, an instructor could find
out on the day of the deadline that the grader was only ever run on the lab with one file."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import pytest

from answers_judged import judged
from cli_runner import p4lab
from p4lab.grading.course import Course, load
from p4lab.grading.judge import judge
from p4lab.grading.mutants import answers

pytestmark = pytest.mark.beside(seconds=220, group="answers")

LAB = "02-frr"
SEED = "20261121"
FRR, ENTRY = "bier-frr/frr.p4", "bier-frr/v1model.p4"
MUTANTS = ("status-inverted", "header-ttl", "mask-not-applied", "detour-unmarked")


def put(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def course() -> Course:
    return load(LAB)


@pytest.fixture(scope="module")
def graded(course, tmp_path_factory) -> Path:
    """Everybody handed in both files, if it does not say otherwise."""
    folder, out = tmp_path_factory.mktemp("class"), tmp_path_factory.mktemp("out") / "grades"
    right = {name: course.sources[name] for name in (FRR, ENTRY)}
    for answer in answers(course):
        if answer.kind in ("reference", "starter") or answer.name in MUTANTS:
            put(folder / answer.name, {**right, **answer.files})
    put(folder / "empty", {FRR: "", ENTRY: ""})
    put(folder / "half-empty", {**right, FRR: ""})
    put(folder / "forgotten", {FRR: right[FRR]})
    loop = "    state start {\n        transition start;\n    }\n"
    start = "    state start {\n        transition select(ingress_port) {"
    assert right[FRR].count(start) == 1
    put(
        folder / "endless",
        {**right, FRR: right[FRR].replace(start, loop + start.replace("start", "begin"))},
    )
    put(folder / "thief", {**right, FRR: f'#include "/etc/passwd"\n{right[FRR]}'})
    put(folder / "peeps", {**right, ENTRY: f'#include "../../../secret.p4"\n{right[ENTRY]}'})
    put(folder / "swapped", {FRR: right[ENTRY], ENTRY: right[FRR]})
    put(folder / "bomb", {**right, ENTRY: "#define A B B\n" + bomb() + right[ENTRY]})
    (folder / "bytes" / "bier-frr").mkdir(parents=True)
    (folder / "bytes" / FRR).write_bytes(b"\xff\xfe\x00P4")
    (folder / "bytes" / ENTRY).write_text(right[ENTRY])
    done = p4lab("grade", LAB, folder, "--out", out, "--seed", SEED, "--workers", "2")
    assert done.returncode == 0, done.stderr
    return out


def bomb() -> str:
    """Macros that double thirty times."""
    lines = [f"#define X{n} X{n + 1} X{n + 1}" for n in range(30)]
    return "\n".join([*lines, "#define X30 const bit<8> x = 1;", "X0", ""])


def rows(graded: Path) -> dict[str, dict[str, str]]:
    with (graded / "grades.csv").open() as file:
        return {row["student"]: row for row in csv.DictReader(file)}


def test_right_answers_and_starters(graded, course) -> None:
    found = rows(graded)
    assert float(found["solution"]["points"]) == 100 == float(found["solution"]["max_points"])
    assert float(found["starter"]["points"]) == course.starter_points


def test_a_mistake_costs_what_its_checks_are_worth(graded, course) -> None:
    found = rows(graded)
    for answer in answers(course):
        if answer.name in MUTANTS:
            assert 0 < float(found[answer.name]["points"]) < 100
            text = (graded / "students" / f"{answer.name}.md").read_text()
            titles = [check.title for check in course.checks if check.id in answer.breaks]
            assert titles and all(title in text for title in titles)


@pytest.mark.parametrize(
    "name",
    ["empty", "endless", "thief", "peeps", "swapped", "bomb"],
)
def test_what_is_no_answer_gets_nothing_and_a_sentence(graded, name) -> None:
    row = rows(graded)[name]
    assert float(row["points"]) == 0
    text = (graded / "students" / f"{name}.md").read_text()
    assert len(text) > 100
    assert "root:" not in text and "Traceback" not in text and "panicked" not in text


def test_an_empty_file_is_named(graded) -> None:
    assert f"{FRR} is empty" in (graded / "students" / "empty.md").read_text()


@pytest.mark.parametrize(
    ("name", "file", "why"),
    [
        ("half-empty", FRR, "is empty: the starter's is used."),
        ("forgotten", ENTRY, "was not handed in: the starter's is used."),
        ("bytes", FRR, "is UTF-16; save it as UTF-8. The starter's is used in its place."),
    ],
)
def test_a_missing_file_costs_what_is_in_it_and_no_more(course, graded, name, file, why) -> None:
    """As if its author had never touched it."""
    files = {one: course.sources[one] for one in (FRR, ENTRY)} | {file: course.starter[file]}
    wanted = judge(course, files, seed=int(SEED)).points
    assert float(rows(graded)[name]["points"]) == wanted > 0
    text = (graded / "students" / f"{name}.md").read_text()
    assert f"{file} {why}" in text


def test_the_class_is_whole(graded) -> None:
    """Nobody's trouble takes anybody else's grade."""
    record = json.loads((graded / "records.json").read_text())
    assert len(record["verdicts"]) == len(rows(graded)) == 2 + len(MUTANTS) + 9


def test_lines_that_are_pointed_at_are_the_students(course) -> None:
    """A line of a file that was given cannot be corrected: what led to it is told instead."""
    seen: Counter[str] = Counter()
    for row in judged(LAB):
        for check in row.verdict.checks if row.answer.kind == "mutant" else ():
            place = check.story.place if check.story else None
            if place is not None:
                assert place.file in course.student.edit, (row.answer.name, check.id, place)
                seen[place.file] += 1
    assert min(seen[name] for name in course.student.edit) > 5


def test_the_line_that_made_the_wrong_key_is_found() -> None:
    """Not the table that was asked with it, which stands in lab 01's router."""
    (row,) = [row for row in judged(LAB) if row.answer.name == "mask-others-forgotten"]
    (story,) = [check.story for check in row.verdict.checks if check.id == "mask-rest"]
    assert story is not None and story.place is not None
    assert story.place.file == FRR
    assert "carried.remaining =" in story.place.text
    assert "carried.remaining became" in story.why
