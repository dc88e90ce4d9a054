"""The check that is blamed is the one whose part is wrong: without these a student would look for a
mistake where there is none, and an author's list of mistakes would hide that."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from cli_runner import p4lab
from p4lab.course.labs import LabError
from p4lab.grading.course import load
from p4lab.grading.judge import blamed, judge
from p4lab.grading.mutants import answers, rows
from p4lab.grading.record import CheckResult

ROOT = Path(__file__).parents[2]
COURSE = load("01-bier")
SOLUTION = (ROOT / "p4/bier/bier.p4").read_text(encoding="utf-8")
ENDLESS = SOLUTION.replace("decision.again = carried.remaining != 0;", "decision.again = true;")
SEED = 20
BLAMES = 'suffers = ["forward-one"]\n'


def results(text: str, seed: int | None = None) -> dict[str, CheckResult]:
    found = judge(COURSE, {"bier/bier.p4": text}, seed=seed).checks
    return {check.id: check for check in found}


def test_a_failure_that_comes_of_another_is_left_to_it() -> None:
    """Whoever never stops to recirculate has a right BFIR and delivers rightly."""
    found = results(ENDLESS)
    assert found["remaining-copies"].status == "failed"
    for name in ("encapsulate-way", "decapsulate-edges", "sets-end"):
        assert found[name].status == "skipped"
        assert "remaining-copies" in found[name].waits_for
        assert found[name].story is None
        assert found[name].points == 0


def test_a_check_that_suffers_from_nothing_wrong_is_blamed_itself() -> None:
    text = SOLUTION.replace("decision.again = (bool)more_sets;", "decision.again = true;")
    found = results(text)
    assert found["sets-end"].status == "failed"
    assert found["remaining-copies"].status == "passed"


def test_what_fails_in_hidden_cases_only_is_left_to_what_it_needs() -> None:
    """A student sees both pass, and would otherwise pay twice for one mistake."""
    known = {check.id: check for check in COURSE.checks}
    checks = [known["sets-all"], known["sets-end"]]
    found = [CheckResult(one.id, "", "", "failed", 0, 5, hidden=True) for one in checks]
    first, second = blamed(checks, found)
    assert first.status == "failed"
    assert (second.status, second.waits_for) == ("skipped", ("sets-all",))
    shown = [found[0], replace(found[1], hidden=False)]
    assert [one.status for one in blamed(checks, shown)] == ["failed", "failed"]


@pytest.mark.parametrize(
    ("check", "suffers", "said"),
    [
        ("forward-one", "no-such", "there is no check no-such"),
        ("forward-one", "forward-one", "would blame each other"),
        ("parses", "network", "would blame each other"),
        ("forward-one", "encapsulate-header", "would blame each other"),
    ],
)
def test_blame_that_leads_nowhere_is_refused(check, suffers, said, tmp_path) -> None:
    folder = shutil.copytree(ROOT / "labs" / "01-bier", tmp_path / "labs" / "91-blame")
    text = (folder / "lab.toml").read_text(encoding="utf-8").replace("01-bier", "91-blame")
    text = re.sub(r"^suffers = .*\n", "", text, flags=re.MULTILINE)
    text = text.replace('id = "encapsulate-header"\n', 'id = "encapsulate-header"\n' + BLAMES)
    text = text.replace(f'id = "{check}"\n', f'id = "{check}"\nsuffers = ["{suffers}"]\n')
    (folder / "lab.toml").write_text(text, encoding="utf-8")
    done = p4lab("--course", tmp_path, "check", "91-blame", ROOT / "p4")
    assert done.returncode == 2
    assert said in done.stderr


def mutants(folder: Path, extra: str) -> Path:
    file = folder / "01-bier" / "mutants.toml"
    file.parent.mkdir()
    file.write_text(
        '[[mutant]]\nname = "m"\ntitle = ""\nfile = "bier/bier.p4"\n'
        'find = "hdr.bier.setInvalid();"\nreplace = ""\n' + extra
    )
    return folder


def test_a_mutant_that_fails_more_than_it_names_is_told(tmp_path: Path) -> None:
    text = '''
[[mutant]]
name = "two"
title = ""
file = "bier/bier.p4"
find = """
        hdr.bier.ttl        = BIER_TTL;
        hdr.bier.nibble     = 0;
"""
replace = "hdr.bier.ttl = hdr.ipv4.ttl; hdr.bier.nibble = 5;"
breaks = ["encapsulate-fields"]
'''
    folder = mutants(tmp_path, 'breaks = ["decapsulate-deliver"]\n' + text)
    found = [one for one in answers(COURSE, folder) if one.kind == "mutant"]
    problems = [row.problem for row in rows(COURSE, found, SEED)]
    assert problems == ["", "fails first-link, too"]


@pytest.mark.parametrize(
    "extra",
    [
        'breaks = ["decapsulate-deliver", "forward-one"]\n',
        'breaks = ["decapsulate-deliver"]\nacross = "It is one part."\n',
    ],
)
def test_a_mutant_of_two_parts_says_why(extra: str, tmp_path: Path) -> None:
    with pytest.raises(LabError, match="`across` says why"):
        answers(COURSE, mutants(tmp_path, extra))


BEGUN = """\
            too_many = TUNNEL_BYTES |+| bytes;
            too_many = too_many |-| connection_mtu;
"""


def test_a_part_is_told_though_a_later_one_is_not_begun() -> None:
    """Lab 03 says that part 2 needs part 1 alone. What is wrong in it is not left to part 3."""
    course = load("03-protect")
    name = "protect/protect.p4"
    text = course.sources[name]
    files = {one: course.sources[one] for one in course.student.edit}
    for lost in (
        BEGUN,
        "        hdr.ethernet.ether_type = ETHERTYPE_IPV4;\n        hdr.tunnel.setV",
    ):
        assert text.count(lost) == 1
        text = text.replace(lost, "hdr.tunnel.setV" if "setV" in lost else "")
    found = {one.id: one for one in judge(course, {**files, name: text}).checks}
    assert found["mtu-control"].status == "failed"
    assert found["tag-there"].status == "failed" and found["tag-there"].story is not None
    assert "ethernet.ether_type" in found["tag-there"].story.summary


def test_an_empty_action_is_where_its_line_is_missing() -> None:
    """Who has begun nothing in lab 03 is sent to the task of part 1, not to a field of part 2
    behind a lone brace."""
    course = load("03-protect")
    check = next(one for one in judge(course, course.starter).checks if one.story)
    assert check.id == "replicate-two" and check.story is not None
    assert check.story.place is not None
    task = "// TODO replicate: one copy for each path, by the group of the connection"
    assert check.story.place.text == task
    assert check.story.why == "here nothing changes decision.mcast_grp"
