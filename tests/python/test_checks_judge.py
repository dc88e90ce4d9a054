"""A student's mistake is told with its line, its kind and the packet; a right answer passes."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from p4lab.grading import difference
from p4lab.grading.course import load
from p4lab.grading.judge import judge
from p4lab.grading.record import Verdict
from p4lab.grading.text import render

pytestmark = pytest.mark.beside(seconds=15)

ROOT = Path(__file__).parents[2]
SOURCE = (ROOT / "p4/bier/bier.p4").read_text(encoding="utf-8")
COURSE = load("01-bier")


def verdict(old: str = "", new: str = "") -> Verdict:
    assert not old or old in SOURCE
    return judge(COURSE, {"bier/bier.p4": SOURCE.replace(old, new) if old else SOURCE})


def line_of(text: str) -> int:
    """The first line of the solution that holds a text."""
    lines = SOURCE.splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_the_solution_passes_everything() -> None:
    found = verdict()
    assert found.passed
    assert found.points == found.max_points == 100
    assert {check.status for check in found.checks} == {"passed"}


def test_a_verdict_is_the_same_every_time() -> None:
    old, new = "carried.remaining & fbm;", "carried.remaining;"
    assert verdict(old, new) == verdict(old, new)


@pytest.mark.parametrize(
    ("old", "new", "signature", "line", "field"),
    [
        (
            "hdr.bier.bit_string = carried.remaining & fbm;",
            "hdr.bier.bit_string = carried.remaining | fbm;",
            difference.BITS_NOT_CLEARED,
            "hdr.bier.bit_string = carried.remaining & fbm;",
            "bier.bit_string",
        ),
        (
            "hdr.bier.ttl = hdr.bier.ttl - 1;",
            "",
            difference.TTL,
            "hdr.bier.bit_string = carried.remaining & fbm;",  # what is missing is behind it
            "bier.ttl",
        ),
        (
            "hdr.bier.proto      = BIER_PROTO_IPV4;",
            "hdr.bier.proto      = 5;",
            difference.WRONG_FIELD,
            "hdr.bier.proto      = BIER_PROTO_IPV4;",
            "bier.proto",
        ),
        (
            "        decision.egress_port = port;",
            "        decision.egress_port = port + 1;",
            difference.WRONG_PORT,
            "",
            "",
        ),
    ],
)
def test_a_mistake_is_told_with_kind_line_and_field(
    old: str, new: str, signature: str, line: str, field: str
) -> None:
    failed = [check for check in verdict(old, new).checks if check.status == "failed"]
    assert failed
    story = failed[0].story
    assert story is not None
    assert story.signature == signature
    assert story.hint
    if line:
        assert story.place is not None
        assert (story.place.file, story.place.line) == ("bier/bier.p4", line_of(line))
    if field:
        assert field in [item.field for item in story.differences[0].fields]


@pytest.mark.parametrize(
    ("old", "new", "signature"),
    [
        ("hdr.bier.setValid();", "", difference.HEADER_MISSING),
        ("= ETHERTYPE_BIER;", "= ETHERTYPE_IPV4;", difference.WRONG_FIELD),
    ],
)
def test_what_goes_wrong_in_the_next_pass_is_told_where_it_began(
    old: str, new: str, signature: str
) -> None:
    """The table of the next pass would only say that it was asked with nonsense."""
    story = next(check.story for check in verdict(old, new).checks if check.story)
    assert story.signature == signature
    assert "comes back to the switch" in story.summary
    assert story.hint and story.place is not None
    assert story.place.line == line_of("hdr.ethernet.ether_type = ETHERTYPE_BIER;")


def test_the_first_step_says_what_is_tried_and_rows_that_differ_in_a_bit_are_one_step() -> None:
    found = verdict("carried.remaining & fbm;", "carried.remaining;")
    story = next(check.story for check in found.checks if check.id == "forward-one")
    assert story is not None
    assert story.steps[0] == "A BIER packet comes in; one next hop leads to some of its receivers."
    (rows,) = [step for step in story.steps if step.startswith("table bift")]
    assert re.search(r"remaining=bit \d+(, \d+)* or \d+ set -> forward\(", rows), rows


def test_numbers_of_a_story_are_those_of_its_packets() -> None:
    """Bits have their names, addresses their dots, in what happened as in what was expected."""
    found = verdict("hdr.bier.bit_string = carried.remaining & fbm;", "hdr.bier.bit_string = fbm;")
    story = next(check.story for check in found.checks if check.id == "forward-one")
    assert story is not None
    assert re.search(r"bit_string became 0x[0-9a-f]+ \(bits? [0-9, ]+\); it was", story.why)
    story = next(check.story for check in verdict("hdr.bier.s          = 1;").checks if check.story)
    assert story is not None
    assert any(re.search(r"group=239\.\d+\.\d+\.\d+, ", step) for step in story.steps)


def test_a_program_that_does_not_compile_is_told_where_and_the_rest_waits() -> None:
    found = verdict("decision.egress_port = port;", "decision.egress_port = prt;")
    first = found.checks[0]
    assert first.status == "failed"
    assert first.story is not None
    assert first.story.place is not None
    assert first.story.place.line == line_of("decision.egress_port = port;")
    assert "port" in first.story.hint
    assert {check.status for check in found.checks[1:]} == {"skipped"}
    assert all(check.waits_for for check in found.checks[1:])
    assert found.points == 0


def test_a_renamed_table_breaks_the_contract() -> None:
    found = verdict("table bift {", "table bifft {")
    failed = next(check for check in found.checks if check.status == "failed")
    assert failed.id in ("compiles", "contract")


def test_a_changed_parameter_breaks_the_contract() -> None:
    found = verdict(
        "action forward(bit<BSL> fbm, bit<9> port)", "action forward(bit<BSL> fbm, bit<9> out_port)"
    )
    assert found.checks[0].status == "failed"
    changed = SOURCE.replace(
        "action forward(bit<BSL> fbm, bit<9> port) {",
        "action forward(bit<BSL> mask, bit<9> port) { bit<BSL> fbm = mask;",
    )
    found = judge(COURSE, {"bier/bier.p4": changed})
    contract = next(check for check in found.checks if check.id == "contract")
    assert contract.status == "failed"
    assert contract.story is not None
    assert "parameters bit<64> mask, bit<9> port, not bit<64> fbm" in contract.story.summary


def test_what_is_not_there_or_empty_has_no_points_and_one_sentence() -> None:
    for files, said in (
        ({}, "There is no bier/bier.p4 in the submission."),
        ({"bier/bier.p4": " \n"}, "bier/bier.p4 is empty."),
    ):
        found = judge(COURSE, files)
        assert (found.points, found.trouble) == (0, said)
        assert not found.passed


def test_files_that_students_do_not_edit_come_from_the_lab() -> None:
    broken = {"bier/bier.p4": SOURCE, "include/headers.p4": "nonsense", "bier/v1model.p4": ""}
    assert judge(COURSE, broken).passed


def test_hidden_cases_are_others_and_change_with_the_seed() -> None:
    from p4lab.grading.course import hidden_seeds, public_seeds

    check = next(check for check in COURSE.checks if check.scenario and check.hidden)
    shown = {COURSE.case(check, seed).case.sendings for seed in public_seeds(check)}
    one = {COURSE.case(check, seed).case.sendings for seed in hidden_seeds(check, 1)}
    two = {COURSE.case(check, seed).case.sendings for seed in hidden_seeds(check, 2)}
    assert not shown & one
    assert not one & two
    assert not hidden_seeds(check, None)


def test_a_mistake_in_a_network_is_told_with_its_router() -> None:
    # Right for one switch by itself: it shows at the third router on a way.
    found = verdict(
        "} else if (hdr.bier.ttl == 0) {", "} else if (hdr.bier.ttl == 0 || hdr.bier.ttl == 62) {"
    )
    failed = [check for check in found.checks if check.status == "failed"]
    assert [check.id for check in failed] == ["network"]
    assert failed[0].story is not None
    assert failed[0].story.router


def test_a_loop_that_sends_nothing_is_found() -> None:
    found = verdict("decision.again = carried.remaining != 0;", "decision.again = true;")
    story = next(check.story for check in found.checks if check.id == "remaining-copies")
    assert story is not None
    assert story.signature == difference.LOOP
    assert story.hint


def test_records_survive_the_way_through_json() -> None:
    import json

    found = verdict("carried.remaining & fbm;", "carried.remaining;")
    assert Verdict.from_json(json.loads(json.dumps(found.to_json()))) == found


def test_the_story_reads_from_top_to_bottom() -> None:
    """What a student sees; look at it when it changes."""
    found = verdict(
        "hdr.bier.bit_string = carried.remaining & fbm;",
        "hdr.bier.bit_string = carried.remaining | fbm;",
    )
    console = Console(width=100, no_color=True, record=True, file=io.StringIO())
    console.print(render(COURSE, found))
    text = console.export_text()
    order = [
        "FAILED",
        "total",
        "one next hop leads to some of its receivers.",
        "a packet comes in on port",
        "table bift",
        "bier.bit_string has bits that it should not have.",
        "expected",
        f"bier/bier.p4:{line_of('hdr.bier.bit_string = carried')}",
        "Hint:",
    ]
    places = [text.find(part) for part in order]
    assert -1 not in places, (order, places, text)
    assert places == sorted(places)


def test_stf_scripts_are_checks_and_their_packets_are_told_by_fields() -> None:
    from dataclasses import replace

    from p4lab.grading.course import Check

    check = Check(id="script", title="A script", stf=["bier/tests/table1.stf"])
    course = replace(COURSE, checks=(check,))
    assert judge(course, {"bier/bier.p4": SOURCE}).passed
    broken = SOURCE.replace("hdr.bier.ttl = hdr.bier.ttl - 1;", "")
    story = judge(course, {"bier/bier.p4": broken}).checks[0].story
    assert story is not None
    assert story.signature == difference.TTL
    assert [item.field for item in story.differences[0].fields] == ["bier.ttl"]
    assert "table1.stf" in story.steps[0]
    # Nothing comes out at all.
    silent = SOURCE.replace("decision.egress_port = port;", "decision.drop = NO_BIFT_ENTRY;")
    silent = silent.replace("= NO_BIFT_ENTRY", "= drop_reason_t.NO_BIFT_ENTRY")
    story = judge(course, {"bier/bier.p4": silent}).checks[0].story
    assert story is not None
    assert story.summary


def test_a_program_that_does_not_compile_is_told_in_one_screen() -> None:
    """Seventeen rows of what waits would push the mistake out of sight."""
    found = verdict("decision.egress_port = port;", "decision.egress_port = prt;")
    console = Console(width=80, no_color=True, record=True, file=io.StringIO())
    console.print(render(COURSE, found))
    lines = console.export_text().splitlines()
    assert len(lines) <= 24
    assert any("SKIPPED" in line and f"all {len(found.checks) - 1}" in line for line in lines)
