"""Without these a student would read of a line that is right. Every mistake of the labs is known to
the letter, so it can be measured how often a story points to it."""

from __future__ import annotations

import re
from itertools import takewhile

import pytest

from answers_judged import course, judged
from p4lab.grading import probes
from p4lab.grading.course import compile_files
from p4lab.grading.judge import judge
from p4lab.grading.mutants import Answer, Row, answers
from p4lab.grading.record import Place, Story

pytestmark = pytest.mark.beside(seconds=220, group="answers")

LABS = ("01-bier", "02-frr", "03-protect", "04-msr6", "05-recirculation")
FLOORS = {
    "01-bier": 0.95,
    "02-frr": 0.9,
    "03-protect": 0.8,
    "04-msr6": 0.85,
    "05-recirculation": 0.9,
}
"""How many of a lab's mistakes have to be found, of all that are in a program: measured, less what
a few new ones may cost"""

_TOKEN = re.compile(r"\w+|[^\w\s]")


def gap(right: str, wrong: str) -> tuple[int, int, bool]:
    """The first and the last line of the wrong text that differ, by words; and whether something is
    missing: then those are the lines around it."""
    before, after = ([*_TOKEN.finditer(text)] for text in (right, wrong))
    words = [[found.group() for found in text] for text in (before, after)]
    head = len([*takewhile(lambda pair: pair[0] == pair[1], zip(*words, strict=False))])
    rest = [list(reversed(one[head:])) for one in words]
    tail = len([*takewhile(lambda pair: pair[0] == pair[1], zip(*rest, strict=False))])
    is_missing = tail == len(after) - head
    ends = (after[head - 1], after[head]) if is_missing else (after[head], after[-1 - tail])
    first, last = (wrong.count("\n", 0, end.start()) + 1 for end in ends)
    return first, last, is_missing


def statement_end(lines: list[str], at: int) -> int:
    """The last line of the statement that begins at a line, both counted from 1."""
    depth = 0
    selects = lines[at - 1].strip().startswith("transition select")
    for number, line in enumerate(lines[at - 1 :], at):
        code = line.partition("//")[0].rstrip()
        depth += sum(code.count(sign) for sign in "([") - sum(code.count(sign) for sign in ")]")
        if code.strip() == "}" if selects else depth <= 0 and code.endswith((";", "{", "}")):
            return number
    return at


def is_found(place: Place | None, right: Answer, wrong: Answer) -> bool:
    """Whether a place is the changed statement, or within two lines of code of a missing one."""
    (file,) = (name for name in wrong.files if wrong.files[name] != right.files[name])
    if place is None or place.file != file:
        return False
    text = wrong.files[file]
    lines = text.splitlines()
    first, last, is_missing = gap(right.files[file], text)
    if first <= place.line <= last and not is_missing:
        return True
    if place.line <= first and last <= statement_end(lines, place.line):
        return True
    code = [n for n, line in enumerate(lines, 1) if line.strip(" \t/{}")]  # no place to point to
    code = [n for n in code if not lines[n - 1].strip().startswith("//")]
    around = [n for n in code if n <= first][-2:] + [n for n in code if n >= last][:2]
    return is_missing and place.line in around


@pytest.mark.parametrize("lab", LABS)
def test_a_story_points_to_the_mistake(lab: str, capsys: pytest.CaptureFixture[str]) -> None:
    right = judged(lab)[0].answer
    told = [(row.answer, shown(row)) for row in judged(lab) if row.answer.kind == "mutant"]
    stories = [(one, story) for one, story in told if story and is_in_program(right, one)]
    missed = [
        f"{one.name}: {story.place}"
        for one, story in stories
        if not is_found(story.place, right, one)
    ]
    share = 1 - len(missed) / len(stories)
    with capsys.disabled():
        print(f"\n{lab}: {share:.0%} of {len(stories)} mistakes found")
    assert share >= FLOORS[lab], missed


def shown(row: Row) -> Story | None:
    """The first story that a student reads; None if only hidden cases find the mistake."""
    return next(
        (check.story for check in row.verdict.checks if check.story and not check.hidden), None
    )


def is_in_program(right: Answer, wrong: Answer) -> bool:
    """Whether no other file differs."""
    other = [name for name in wrong.files if not name.endswith(".p4")]
    return all(wrong.files[name] == right.files[name] for name in other)


@pytest.mark.parametrize("lab", LABS)
def test_probes_change_nothing_but_the_trace(lab: str) -> None:
    """All variants are understood, and what has probes compiles to the same tables and actions, at
    the same lines."""
    here = course(lab)
    for one in answers(here):
        if one.kind not in ("reference", "variant"):
            continue
        files = {**here.sources, **one.files}
        done = probes.probed(files)
        assert {s.file for s in done.statements.values()} >= {
            name for name in here.student.edit if name.endswith(".p4")
        }
        plain, with_probes = (
            compile_files(here.student.program, texts, here.defines).program
            for texts in (files, done.files)
        )
        assert plain is not None and with_probes is not None, one.name
        for kind in ("tables", "actions", "headers"):
            told = [
                [(item["name"], item.get("line")) for item in program.summary[kind]]
                for program in (plain, with_probes)
            ]
            assert told[0] == told[1]


@pytest.mark.parametrize(
    ("body", "texts"),
    [
        ("if (a == 1) b = 2; else c = 3;", ["if (a == 1)", "b = 2;", "c = 3;"]),
        ("if (x) { y(); } else if (z) w = 1;", ["if (x)", "y();", "if (z)", "w = 1;"]),
        ("switch (t.apply().action_run) { f: { a = 1; } default: { } }", None),
        ("a = { 1, 2 }; @name(\"x\") b = 3; // c = 4;\n /* d = 5; */ return;", None),
    ],
)  # fmt: skip
def test_each_statement_has_a_probe(body: str, texts: list[str] | None) -> None:
    text = f"control C(inout bit<8> a) {{ apply {{ {body} }} }}"
    done = probes.probed({"c.p4": text})
    found = [one.text for one in done.statements.values()]
    assert found == texts or texts is None
    assert done.files["c.p4"].count(f"{probes.PROBE} = ") == len(found) + 1
    assert done.files["c.p4"].count("\n") == text.count("\n")
    assert "c = 4" not in found and "d = 5" not in found


@pytest.mark.parametrize("text", ["", "control C( {", "{ } } {", "action", "control", "if (", "}"])
def test_what_is_no_program_stays_as_it_is(text: str) -> None:
    assert probes.probed({"c.p4": text}).files == {"c.p4": text}


def test_a_story_holds_no_text_of_the_solution() -> None:
    """Where something is missing, it is not said what."""
    here = course("01-bier")
    right = answers(here)[0].files["bier/bier.p4"]
    for line in ("hdr.bier.setValid();", "decision.egress_port = RECIRC_PORT;"):
        verdict = judge(here, {"bier/bier.p4": right.replace(line, "", 1)})
        told = [check.story for check in verdict.checks if check.story]
        assert told
        for story in told:
            assert line not in f"{story.why} {story.summary} {story.place}"
