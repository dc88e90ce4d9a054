"""What a student reads of a failed check: the right packet, line and reason, in plain words."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest

from p4lab.course.home import names
from p4lab.course.marks import solution
from p4lab.grading import drawing
from p4lab.grading.course import Course, load
from p4lab.grading.film.shot import film
from p4lab.grading.judge import failing, judge, work_of
from p4lab.grading.measuring import drawn
from p4lab.grading.record import Story, Verdict, opened
from p4lab.grading.scenario import make_case, shortened
from p4lab.grading.steps import ask


@cache
def course(lab: str) -> Course:
    return load(lab)


def changed(lab: str, name: str, find: str, replace: str) -> dict[str, str]:
    """The files of the solution with a change in one of them."""
    files = {one: solution(course(lab).sources[one], one) for one in course(lab).student.edit}
    assert find in files[name]
    return {**files, name: files[name].replace(find, replace, 1)}


def story(lab: str, files: dict[str, str], check: str) -> Story:
    own = course(lab)
    wanted = next(one for one in own.checks if one.id == check)
    found = failing(own, wanted, work_of(own, files))
    assert found is not None
    return found[1]


def line(told: Story) -> str:
    return told.place.text if told.place else ""


def test_a_part_that_is_written_first_has_its_own_stories(tmp_path: Path) -> None:
    own = course("04-msr6")
    right = changed(
        "04-msr6", "msr6/leaf.p4", "            hdr.segments.pop_front(SEGMENTS);\n", ""
    )
    files = {**own.starter, "msr6/leaf.p4": right["msr6/leaf.p4"]}
    verdict = judge(own, files)
    before = {one.id: one for one in verdict.checks}
    assert before["leave-whole"].status == "skipped"
    after = {one.id: one for one in opened(verdict, "leave").checks}
    assert after["leave-whole"].status == "failed"
    assert after["leave-whole"].story is not None
    assert after["leave-whole"].points == before["leave-whole"].points == 0
    assert ask(own, verdict, None, tmp_path, None, "leave").check == "leave-whole"
    assert Verdict.from_json(json.loads(json.dumps(verdict.to_json()))) == verdict


def test_a_loop_has_the_line_that_asks_for_it() -> None:
    wrong = changed("04-msr6", "msr6/te.p4", "again = carried.child < n;", "again = true;")
    assert line(story("04-msr6", wrong, "replicate-one")) == "decision.again = true;"


def test_a_loop_for_want_of_a_look_up_is_told_what_looks_up() -> None:
    own = "            switch (adjacencies.apply().action_run) {\n                transit: {\n"
    wrong = changed("04-msr6", "msr6/rlb.p4", own, "            {\n                {\n")
    wrong["msr6/rlb.p4"] = wrong["msr6/rlb.p4"].replace(
        "                local: {", "                if (false) {"
    )
    assert "looks up one bit in `adjacencies`" in story("04-msr6", wrong, "bits-one").hint


def test_story_and_film_are_about_one_packet() -> None:
    own = course("04-msr6")
    told = story("04-msr6", dict(own.starter), "read-length")
    assert told.place is not None and told.place.file == "msr6/msr6.p4"
    assert "msr6/be.p4" in told.why
    shown = film(own, own.starter, "read-length")
    assert not any(frame.where.startswith("packet 2") for frame in shown.frames)


def test_headers_that_a_check_does_not_look_at_are_hinted_at() -> None:
    wrong = changed("06-bng", "bng/downstream.p4", "            hdr.inner_tag.setValid();\n", "")
    told = story("06-bng", wrong, "downstream-tags")
    assert told.differences[0].got_headers == ("ethernet", "outer_tag", "...")
    assert any("table tunnels:" in step for step in told.steps)


def test_a_meter_that_nobody_asks_is_missed_where_it_belongs() -> None:
    call = "            upstream_meter.execute_meter(session, colour);\n"
    wrong = changed("06-bng", "bng/police.p4", call, "")
    told = story("06-bng", wrong, "police-upstream")
    assert told.place is not None and told.place.file == "bng/police.p4"
    assert "upstream_meter.execute_meter should be called" in told.why


@pytest.mark.parametrize(
    ("find", "replace", "text"),
    [
        ("entry_8 = 2", "entry_8 = R2", "entry_8 = R2"),
        ("entry_7 = 3", "entry_7 = 4", "entry_7 = 4"),
    ],
)
def test_a_wrong_number_has_its_own_line(find: str, replace: str, text: str) -> None:
    own = course("04-msr6")
    files = changed("04-msr6", "msr6/tree.toml", find, replace)
    if replace == "entry_7 = 4":
        files["msr6/tree.toml"] = files["msr6/tree.toml"].replace("entry_6 = 4", "entry_6 = 3")
    verdict = judge(own, files)
    told = next(one.story for one in verdict.checks if one.id == "encode-order")
    assert told is not None and line(told).startswith(text)


def test_the_entries_that_matter_are_told() -> None:
    steps = tuple(str(number) for number in range(20))
    told = shortened(steps, lambda step: 0 if step == "19" else 1)
    assert told[-2:] == ("19", "... and 8 more entries")


def test_a_script_that_fails_has_a_line() -> None:
    """Where no case that students see finds a mistake, a script's story is all that they have."""
    wrong = "decision.again = carried.remaining[31:0] != 0;"
    files = changed("01-bier", "bier/bier.p4", "decision.again = carried.remaining != 0;", wrong)
    verdict = judge(course("01-bier"), files)
    found = next(one.story for one in verdict.checks if one.id == "remaining-scripts")
    assert found is not None and line(found) == wrong


ONE = re.compile(
    r"(?<![\w.,:/=-])1 (?:more )?"
    r"(?:bits|bytes|children|copies|entries|flows|hops|hosts|others|packets|routers|rows|times)\b"
)


@pytest.mark.parametrize("lab", names())
def test_one_is_no_plural(lab: str) -> None:
    """A number that is drawn may be 1."""
    own, said = course(lab), set()
    for check in own.checks:
        for seed in map(str, range(6)):
            if check.scenario:
                case = make_case(own.scenario(check.scenario), own.kit, own, seed, hidden=True)
                said |= {case.say, *(one.brief or str(one.told) for one in case.sendings)}
            if check.measure:
                file = own.measure(check.measure)
                given = drawn(file, f"1/{check.id}/{seed}", hidden=True)
                said.add(drawing.filled(file.say, given))
    assert [text for text in said if ONE.search(text)] == []


@pytest.mark.parametrize("lab", names())
def test_on_an_untouched_starter_the_place_is_a_todo_of_the_part(lab: str) -> None:
    """It is where a student has to write, and what they look for."""
    own = course(lab)
    checks = {one.id: one for one in own.checks}
    parts = {part.id for part in own.parts}
    for told in judge(own, own.starter).checks:
        if told.story is None or told.story.place is None:
            continue
        if not told.story.place.file.endswith(".p4"):
            continue
        todo = re.match(r"// TODO ([\w-]+): ", told.story.place.text)
        assert todo is not None, (told.id, told.story.place)
        assert todo[1] == checks[told.id].part or todo[1] not in parts, told.id


def test_a_todo_where_something_is_written_is_no_place() -> None:
    own = course("06-bng")
    text = own.starter["bng/upstream.p4"]
    todo = "// TODO anti-spoof: what if line, MAC address and session id do not belong together?"
    (indent,) = re.findall(rf"( *){re.escape(todo)}", text)
    files = {
        **own.starter,
        "bng/upstream.p4": text.replace(todo, f"{todo}\n{indent}decision.class = 1;"),
    }
    for wrong, is_there in ((own.starter, True), (files, False)):
        assert (line(story("06-bng", wrong, "anti-spoof-session")) == todo) is is_there


def test_what_is_never_reached_is_not_said_to_come_after_a_line() -> None:
    told = story("00-p4", course("00-p4").starter, "one-table")
    assert told.why == "here the packet should meet the table `both`, but does not"
    assert line(told).startswith("// TODO less:")


UNGUARDED = ("} else if (wanted != 0 && pointer >=", "} else if (pointer >=")


def test_a_packet_that_is_refused_has_not_kept_a_header() -> None:
    """It came without one; nor is a lone brace the line that refused it."""
    told = story("04-msr6", changed("04-msr6", "msr6/rlb.p4", *UNGUARDED), "bits-leaf")
    assert re.fullmatch(
        r"The packet was refused with reason POINTER \(42\); it should leave on port \d+\.",
        told.summary,
    )
    assert line(told) == "decision.drop = drop_reason_t.POINTER;"
    long = ("too_many = too_many |-| connection_mtu;", "too_many = 1;")
    up = story("03-protect", changed("03-protect", "protect/protect.p4", *long), "tag-outer")
    assert "was sent to the control plane, on port 510; it should leave" in up.summary
    assert "too_many" in line(up) and "too long" in up.hint


def test_a_number_with_a_leading_zero_is_told_once() -> None:
    own = course("04-msr6")
    good = own.sources["msr6/tree.toml"]
    files = {**changed("04-msr6", "msr6/rlb.p4", "carried", "carried"), "msr6/tree.toml": ""}
    files["msr6/tree.toml"] = re.sub(r"(?m)^p_1 *= *\d+", "p_1 = 08", good)
    assert files["msr6/tree.toml"] != good
    found = {one.id: one for one in judge(own, files).checks if one.id.startswith("encode-")}
    first = found.pop("encode-order")
    assert first.story is not None and first.status == "failed"
    assert first.story.summary == "A number in TOML has no leading zero: write p_1 = 8."
    assert "Draw" not in first.story.hint and "[loss]" in first.story.hint
    for other in found.values():
        assert (other.status, other.waits_for) == ("skipped", ("encode-order",))


def test_what_came_before_is_told_in_order_and_in_words() -> None:
    """A half-right start of lab 02, which reads the wrong port's bit."""
    wrong = ("meta.decision.egress_port);", "standard_metadata.ingress_port);")
    told = story("02-frr", changed("02-frr", "bier-frr/v1model.p4", *wrong), "status-down")
    packets = [at for at, one in enumerate(told.steps) if "comes in on port" in one]
    tables = [at for at, one in enumerate(told.steps) if one.startswith("table ")]
    assert max(tables) < min(packets)
    report = re.compile(r"the CPU reports, on port 510: port \d+ is down")
    assert any(report.fullmatch(one) for one in told.steps)
    assert told.steps[-1].endswith("5 bytes of payload")
    assert not any(one.endswith("0 bytes") for one in told.steps)
