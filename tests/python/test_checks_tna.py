"""Checks of TNA programs: several passes, looped ports, registers, and numbers that were computed.

Lab 05 is graded by what these tests hold to be so: a student whose third recirculation port is idle
must read so, one whose numbers are right must have the points, and no answers file may stop a
grader.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from p4lab.grading import numbers
from p4lab.grading.course import Course, load
from p4lab.grading.judge import judge
from p4lab.grading.record import CheckResult, Story, Verdict
from p4lab.grading.scenario import Scenario, ScenarioError, make_case
from p4lab.grading.work import Work

pytestmark = pytest.mark.beside(seconds=10)

LAB = "05-recirculation"


@pytest.fixture(scope="module")
def course() -> Course:
    return load(LAB)


def answered(course: Course, **changes: str) -> dict[str, str]:
    """The solution with a changed program (`old -> new`) or answers file."""
    files = {name: course.sources[name] for name in course.student.edit}
    if "answers" in changes:
        files["bier/ports.toml"] = changes["answers"]
    if "find" in changes:
        assert files["bier/tna.p4"].count(changes["find"]) == 1
        files["bier/tna.p4"] = files["bier/tna.p4"].replace(changes["find"], changes["replace"])
    return files


def check(verdict: Verdict, name: str) -> CheckResult:
    return next(one for one in verdict.checks if one.id == name)


def test_an_idle_port_is_named_with_what_the_others_carried(course: Course) -> None:
    files = answered(course, find="cell >= md.last_loop", replace="cell + 1 >= md.last_loop")
    found = check(judge(course, files), "turns-fair")
    assert found.status == "failed" and found.story is not None
    assert found.story.signature == "looped port unused"
    assert "carried no packet at all" in found.story.summary
    assert found.story.place is not None
    assert "cell + 1 >= md.last_loop" in found.story.place.text


def test_headers_of_egress_are_what_a_packet_leaves_with(course: Course) -> None:
    """A trace has two deparsers; the header between them is none of the packet on the cable."""
    removed = "            hdr.internal.setInvalid();\n            // END SOLUTION\n"
    files = answered(course, find=removed, replace="// END SOLUTION\n")
    found = check(judge(course, files), "copy-one")
    assert found.story is not None
    assert found.story.signature == "header not removed"
    assert found.story.differences[0].expected_headers == ("ethernet", "bier", "ipv4")
    assert found.story.differences[0].got_headers == ("internal", "ethernet", "bier", "ipv4")


def test_a_parser_that_reads_too_early_gets_the_labs_hint(course: Course) -> None:
    unread = "        md.port = port_metadata_unpack<port_metadata_t>(packet);\n"
    found = check(judge(course, answered(course, find=unread, replace="")), "arrival-front")
    assert found.story is not None
    assert "belong to the port, not to the packet" in found.story.hint


def test_a_pass_in_vain_costs_points_though_every_copy_is_right(course: Course) -> None:
    remaining = "md.carried.remaining = hdr.bier.bit_string & ~md.fbm;"
    files = answered(course, find=remaining, replace="md.carried.remaining = hdr.bier.bit_string;")
    verdict = judge(course, files)
    assert check(verdict, "again-two").status == "passed"
    found = check(verdict, "again-many")
    assert found.story is not None
    assert found.story.signature == "too many passes"
    assert found.story.summary == "8 packets came back by looped ports; 5 have to."


def test_warnings_of_the_chips_compiler_are_told_and_cost_nothing(course: Course) -> None:
    swapped = "md.carried.remaining = hdr.bier.bit_string & ~md.fbm;"
    later = (
        "bit<BSL> before = hdr.bier.bit_string; hdr.bier.bit_string = before & md.fbm; "
        "md.carried.remaining = before & ~md.fbm; hdr.bier.bit_string = hdr.bier.bit_string;"
    )
    assert judge(course, answered(course)).warnings == ()
    verdict = judge(course, answered(course, find=swapped, replace=later))
    assert verdict.points == 100
    assert verdict.warnings and verdict.warnings[0].code.startswith("W07")
    assert Verdict.from_json(verdict.to_json()) == verdict


def story_of(course: Course, name: str, answers: str) -> Story | None:
    """What is said of the numbers in an answers file by one check."""
    work = Work(course.student.program, {"bier/ports.toml": answers})
    return numbers.story(course, next(one for one in course.checks if one.id == name), work)


def test_the_papers_rounded_number_is_put_into_its_own_formula(course: Course) -> None:
    """Table 2 has 15.74 because p was rounded to 0.46 first."""
    told = story_of(course, "ports-loss", "[loss]\np = 0.46\nlast = 15.74\n")
    assert told.signature == "wrong number"
    assert "0.54 + 0.2916 + 0.1575 = 0.9891" in told.summary
    assert (told.place.line, told.place.text) == (2, "p = 0.46")
    told = story_of(course, "ports-loss", "[loss]\nlast = 15.74\np = 0.4563\n")
    assert "16.07" in told.summary and told.place.line == 2


def test_a_number_may_be_rounded(course: Course) -> None:
    assert story_of(course, "ports-loss", "[loss]\np = 0.456\nlast = 16.1\n") is None
    assert story_of(course, "ports-loss", "[loss]\np = 0.45631\nlast = 16\n") is not None


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ((28, 4, 3), "28 · 0.7 / 4 = 4.9 recirculation ports: 4 are too few"),
        ((29, 6, 5), "29 + 6 = 35 ports"),
        ((26, 6, 5), "more than it takes"),
        ((27, 5, 4), "One port more could carry traffic: 28 need 4.9"),
        ((28, 5, 5), "one is internal"),
        ((-1, 0, 0), "no negative ports"),
        ((28.5, 5, 4), "not a whole number"),
    ],
)
def test_a_wrong_provision_is_shown_in_the_rule(course: Course, rule, said) -> None:
    traffic, loops, physical = rule
    lines = f"[rule]\ntraffic = {traffic}\nloops = {loops}\nphysical = {physical}\n"
    told = story_of(course, "ports-rule", lines)
    assert said in told.summary and told.hint


def test_an_author_who_edits_a_check_is_heard_at_once(course: Course, tmp_path: Path) -> None:
    folder = shutil.copytree(course.folder, tmp_path / course.name)
    edited = replace(course, folder=folder)
    wrong = "[loss]\np = 0.46\nlast = 15.74\n"
    assert story_of(edited, "ports-loss", wrong).steps[0] != "Other words"
    file = folder / next(one.numbers for one in course.checks if one.id == "ports-loss")
    text = file.read_text()
    say = next(line for line in text.splitlines() if line.startswith("say = "))
    file.write_text(text.replace(say, 'say = "Other words"'))
    assert story_of(edited, "ports-loss", wrong).steps[0] == "Other words"


def test_a_number_in_a_table_within_a_line_has_a_place(course: Course) -> None:
    told = story_of(course, "ports-loss", "\nloss = { p = 0.46, last = 15.74 }\n")
    assert told.place.line == 2


HOSTILE = [
    "[loss]\np = 1e999\nlast = inf",
    "[loss]\np = nan\nlast = nan",
    "[loss]\np = true\nlast = false",
    "[loss]\np = [0.4563]\nlast = 16.07",
    '[loss]\np = "0.4563"\nlast = "16.07"',
    "[loss]\np = 1979-05-27\nlast = 1",
    "loss = 3",
    "[[loss]]\np = 0.4563",
    "[loss]\np = " + "9" * 5000 + "\nlast = 1",
    "[loss]\np = -999999999\nlast = 999999999",
    "p = " + "[" * 10_000,
    "[" + "a." * 20_000 + "b]",
    "x" * 100_000,
    "[loss\np = 0.4563",
    "\x00",
]


@pytest.mark.parametrize("answers", HOSTILE, ids=range(len(HOSTILE)))
def test_no_answers_file_stops_the_grader(course: Course, answers: str) -> None:
    told = story_of(course, "ports-loss", answers)
    assert told is not None and told.summary and told.hint


def test_the_program_is_judged_whatever_the_answers_are(course: Course) -> None:
    verdict = judge(course, answered(course, answers=HOSTILE[0]))
    assert verdict.points == 86
    assert check(verdict, "turns-fair").status == "passed"


def test_the_line_of_a_number_is_that_of_its_table(course: Course) -> None:
    answers = "[rule]\nloops = 5\n[exact]\ntraffic = 31\nloops = 2\nphysical = 1\n"
    told = story_of(course, "ports-exact", answers)
    assert (told.place.line, told.place.text) == (5, "loops = 2")


def scenario(**tables) -> Scenario:
    return Scenario.model_validate({"say": "x", **tables})


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"default": [{"table": "loop_count", "action": "drop"}]}, "no single action drop"),
        (
            {"default": [{"table": "loop_count", "action": "use_loops", "at": 3}]},
            "0 packets are sent",
        ),
        ({"carried": [{"ports": [68]}]}, "packets 1 to 0"),
    ],
)
def test_a_scenario_that_makes_no_sense_is_named(course: Course, tables, said) -> None:
    with pytest.raises(ScenarioError, match=said):
        make_case(scenario(**tables), course.kit, course, "1")


def test_what_is_written_between_packets_is_told_in_its_place(course: Course) -> None:
    check = next(one for one in course.checks if one.id == "turns-change")
    case = course.case(check, "turns-change/1").case
    told = case.told(9)
    changes = [place for place, step in enumerate(told) if "use_loops(last=" in step]
    packets = [place for place, step in enumerate(told) if "a packet comes in" in step]
    assert [told[place][-7:-1] for place in changes] == ["last=3", "last=0", "last=2"]
    assert packets[2] < changes[1] < packets[3] and packets[6] < changes[2] < packets[7]


def test_the_solutions_numbers_are_those_of_the_equations(course: Course) -> None:
    equations = pytest.importorskip("p4lab.systems.bier_tna.recirculation.equations")
    answers = numbers.tomllib.loads(course.sources["bier/ports.toml"])
    p = equations.drop_probability(4, 1)
    assert answers["loss"]["p"] == pytest.approx(p, abs=5e-5)
    assert answers["loss"]["last"] == pytest.approx(equations.throughput(4, 4, 1), abs=5e-3)
    for table, factor in (("rule", 0.7), ("exact", 0.125)):
        wanted = equations.provision(factor, 4)
        found = answers[table]
        assert (found["traffic"], found["loops"], found["physical"]) == (
            wanted.traffic,
            wanted.loops,
            wanted.physical,
        )
