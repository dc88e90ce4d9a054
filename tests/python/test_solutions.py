"""Without these a right answer could lose points, or a wrong one keep them.

The labs' answers are data below solutions/. That a variant is right is not the grader's own word:
it passes the STF tests of p4/, and so it does on bmv2.
"""

from __future__ import annotations

import re
import shutil
from functools import cache
from pathlib import Path

import pytest
from rich.console import Console

from answers_judged import SEED, judged
from cli_runner import p4lab
from p4lab import _engine
from p4lab.cli.mutants_verb import table
from p4lab.course.home import HERE, names
from p4lab.course.labs import LabError
from p4lab.grading.course import load
from p4lab.grading.mutants import answers, rows
from p4lab.paths import ROOT
from p4lab.scripts import defines_of

pytestmark = pytest.mark.beside(seconds=220, group="answers")

GRADED = [
    lab for lab in names() if "[[check]]" in (HERE.labs / lab / "lab.toml").read_text("utf-8")
]


@pytest.mark.parametrize("lab", GRADED)
def test_every_answer_is_judged_as_what_it_is(lab, capsys):
    """The kill matrix: printed whatever the outcome, since it is what an instructor can trust."""
    found = judged(lab)
    with capsys.disabled():
        print()
        Console(width=110).print(table(list(found)))
    assert [f"{row.answer.name}: {row.problem}" for row in found if row.problem] == []


@pytest.mark.parametrize("lab", GRADED)
def test_there_are_answers_enough_to_trust_the_grader(lab):
    """A mistake for every check that gives points, and somebody else's way to be right."""
    kinds = [row.answer.kind for row in judged(lab)]
    graded = [check for check in load(lab).checks if check.points]
    assert kinds.count("variant") >= 1
    assert kinds.count("mutant") >= len(graded)
    assert {"reference", "starter", "empty"} <= set(kinds)


@pytest.mark.parametrize("lab", GRADED)
def test_every_part_has_mistakes_that_lose_points_in_it(lab):
    """But a part that puts two others together: its failures are left to theirs."""
    course = load(lab)
    broken = {name for row in judged(lab) for name in row.answer.breaks}
    parts = {check.id: check.part for check in course.checks}
    own = {
        check.part
        for check in course.checks
        if check.part and len({parts[name] for name in check.needs} - {check.part, None}) < 2
    }
    assert {parts[name] for name in broken} >= own
    assert sum(check.points for check in course.checks) == 100


@pytest.mark.parametrize("lab", GRADED)
def test_a_mistake_in_one_part_leaves_points_in_others(lab):
    scores = [row.verdict.points for row in judged(lab) if row.answer.kind == "mutant"]
    assert min(scores) > 0
    assert sorted(scores)[len(scores) // 2] >= 50


@pytest.mark.parametrize("lab", GRADED)
def test_no_two_answers_are_the_same(lab):
    texts = [tuple(row.answer.files.items()) for row in judged(lab)]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("lab", GRADED)
def test_no_hint_holds_code_of_the_solution(lab):
    """A hint is said to everybody who makes the mistake: it must not be the answer."""
    course = load(lab)
    solution = "".join(course.sources[name] for name in course.student.edit)
    marks = r"(?://|#) BEGIN SOLUTION.*?\n(.*?)(?://|#) END SOLUTION"
    regions = re.findall(marks, solution, re.DOTALL)
    lines = [line.strip(" ;") for region in regions for line in region.splitlines() if line.strip()]
    assert lines
    for hint in course.hints:
        for line in lines:
            assert line not in hint.text
            if " = " in line and " " in (value := line.split(" = ", 1)[1].strip()):
                assert value not in hint.text


IN_P4 = [lab for lab in GRADED if load(lab).is_p4]
RIGHT = [
    (lab, answer)
    for lab in IN_P4
    for answer in answers(load(lab))
    if answer.kind in ("reference", "variant")
]


def stf_scripts(lab: str) -> list[Path]:
    """The tests of the program that a lab is cut from."""
    program = ROOT / "p4" / load(lab).student.program
    tests = "tests-tna" if program.stem == "tna" else "tests"
    return sorted((program.parent / tests).glob("*.stf"))


# In an Ethernet frame: bytes 12 and 13, the EtherType of IPv4; 18 and 19, the identification; 23,
# the protocol of a tunnel of 1+1 protection; 24 and 25, the checksum of the IPv4 header.
TUNNELLED = re.compile(r"([0-9a-f]{24}080045......)....(.{6}fd)....")


def without_identification(line: str) -> str:
    """An expected packet of lab 03, in which what the handout leaves to the student may be
    anything: the identification of the header that is put in front, and with it the checksum."""
    if not line.startswith("expect "):
        return line
    verb, port, packet = line.split(maxsplit=2)
    packet = TUNNELLED.sub(r"\1****\2****", packet.replace(" ", ""))
    return f"{verb} {port} {packet}"


@pytest.fixture
def passes(tmp_path):
    """Whether a program passes a script. What its registers hold is its own business."""

    def run(program: _engine.Program, script: Path, own: bool = False) -> dict:
        lines = script.read_text(encoding="utf-8").splitlines(keepends=True)
        kept = [line for line in lines if not line.startswith("check_register")]
        if own:
            kept = [without_identification(line) for line in kept]
        copy = tmp_path / script.name
        copy.write_text("".join(kept), encoding="utf-8")
        return _engine.stf(program, str(copy))

    return run


@pytest.mark.parametrize(
    ("lab", "answer"),
    RIGHT,
    ids=[f"{lab}-{answer.name}" for lab, answer in RIGHT],
)
def test_a_right_answer_passes_the_stf_tests(lab, answer, tmp_path, passes):
    student = load(lab).student
    for name in student.files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "p4" / name, tmp_path / name)
    for name, text in answer.files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    scripts = stf_scripts(lab)
    assert scripts
    for script in scripts:
        compiled = _engine.compile(str(tmp_path / student.program), [], defines_of(script))
        assert compiled.program is not None, compiled.render()
        report = passes(compiled.program, script, own=lab == "03-protect")
        assert report["passed"], report["text"]


def test_the_verb_says_which_answer_is_judged_wrong(tmp_path, monkeypatch):
    course = load("01-bier")
    folder = tmp_path / "01-bier"
    right = folder / "variants" / "only-comments" / "bier" / "bier.p4"
    right.parent.mkdir(parents=True)
    right.write_text("// nothing\n")
    (folder / "mutants.toml").write_text(
        '[[mutant]]\nname = "no mistake"\ntitle = ""\nfile = "bier/bier.p4"\n'
        'find = "#ifndef BIER_P4"\nreplace = "#ifndef BIER_P4  "\nbreaks = ["forward-one"]\n'
    )
    found = {row.answer.name: row.problem for row in rows(course, answers(course, tmp_path), SEED)}
    assert found["only-comments"] == "a right answer scores 0 of 100"
    assert found["no mistake"] == "survives forward-one"
    assert found["solution"] == found["starter"] == found["empty files"] == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('find = "not there"\nbreaks = ["forward-one"]', "occurs 0 times"),
        ('find = "hdr.bier"\nbreaks = ["forward-one"]', "occurs "),
        ('find = "#ifndef BIER_P4"\nbreaks = ["no-check"]', "no check no-check"),
        ('find = "x"\nbreaks = []', "breaks"),
        ("find = ", "mutants.toml"),
    ],
)
def test_a_mutant_that_cannot_be_made_is_named(text, said, tmp_path):
    folder = tmp_path / "01-bier"
    folder.mkdir()
    head = '[[mutant]]\nname = "m"\ntitle = ""\nfile = "bier/bier.p4"\nreplace = ""\n'
    (folder / "mutants.toml").write_text(head + text)
    with pytest.raises(LabError, match=re.escape(said)):
        answers(load("01-bier"), tmp_path)


def test_an_unknown_lab_is_an_error_of_the_caller():
    done = p4lab("mutants", "99")
    assert done.returncode == 2
    assert "01-bier" in done.stderr


def test_solutions_are_where_the_labs_are():
    assert {path.name for path in HERE.solutions.iterdir() if path.is_dir()} >= set(GRADED)


def compiler(main, files, name):
    """Compiles an answer once for each set of macros, when that is needed: few mistakes get as far
    as the last script."""

    @cache
    def program(defines):
        compiled = _engine.compile_text(main, files[main], files, list(defines))
        assert compiled.program is not None, name
        return compiled.program

    return program


@pytest.mark.parametrize("lab", IN_P4)
def test_mistakes_fail_the_stf_tests_too(lab, passes):
    """The mistakes are real ones: the program's own tests find them, but for those that scripts
    cannot show, of which the mutants say why."""
    course = load(lab)
    files = {**course.sources}
    scripts = [(script, tuple(defines_of(script))) for script in stf_scripts(lab)]
    survivors, excused = [], []
    for answer in answers(course):
        if answer.kind != "mutant":
            continue
        files.update(answer.files)
        program = compiler(course.student.program, files, answer.name)
        if all(passes(program(defines), script)["passed"] for script, defines in scripts):
            survivors.append(answer.name)
        if answer.unscripted:
            excused.append(answer.name)
    assert survivors == excused


@pytest.mark.parametrize("lab", GRADED)
def test_scenarios_are_all_used(lab):
    course = load(lab)
    kinds = ("scenario", "parses", "numbers", "breaks", "measure")
    used = {getattr(one, kind) for one in course.checks for kind in kinds} - {None}
    there = {f"checks/{path.name}" for path in (course.folder / "checks").glob("*.toml")}
    assert used == there
