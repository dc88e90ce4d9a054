"""Where a mistake is looked for, and what a check leaves open: without these, students would be
sent to lines that they were given, and lose points for what a standard leaves to them.

Lab 03 is the example, whose rules are small functions that other files call, and lab 04, where what
students write stands between lines that were given.
"""

from __future__ import annotations

import pytest

from p4lab.course import marks
from p4lab.grading import difference, frames
from p4lab.grading.course import Course, load
from p4lab.grading.difference import Out
from p4lab.grading.frames import Header
from p4lab.grading.judge import judge
from p4lab.grading.record import CheckResult
from p4lab.packets.ip import checksum

pytestmark = pytest.mark.beside(seconds=8)

PROTECT, ACCEPT = "protect/protect.p4", "protect/accept.p4"


@pytest.fixture(scope="module")
def course() -> Course:
    return load("03-protect")


def judged(course: Course, file: str, old: str, new: str, check: str) -> CheckResult:
    """What the check says of the solution with one line changed."""
    right = {name: marks.solution(course.sources[name], name) for name in course.student.edit}
    assert right[file].count(old) == 1
    verdict = judge(course, {**right, file: right[file].replace(old, new)})
    return next(one for one in verdict.checks if one.id == check)


@pytest.mark.parametrize(
    ("old", "new", "check", "line"),
    [
        (  # accepted
            "if (steps >= 1 && steps <= WINDOW) {\n            verdict = verdict_t.ACCEPTED;\n"
            "            last = sn;",
            "if (steps >= 1) {\n            verdict = verdict_t.ACCEPTED;\n            last = sn;",
            "accept-order",
            "if (steps >= 1) {",
        ),
        (  # refused
            "if (steps >= 1 && steps <= WINDOW) {\n            verdict = verdict_t.ACCEPTED;\n"
            "            newest = sn;",
            "if (steps >= 1 && steps < WINDOW) {\n            verdict = verdict_t.ACCEPTED;\n"
            "            newest = sn;",
            "slots-duplicate",
            "if (steps >= 1 && steps < WINDOW) {",
        ),
        (  # in the wrong place
            "cell = (bit<32>)index * HISTORY + (sn & (HISTORY - 1));",
            "cell = (bit<32>)index + (sn & (HISTORY - 1));",
            "slots-own",
            "cell = (bit<32>)index + (sn & (HISTORY - 1));",
        ),
        (  # a field that other lines copy
            "next = next & SN_MASK;",
            "if (next == SN_MASK) { next = 0; }\n    next = next & SN_MASK;",
            "wrap-number",
            "if (next == SN_MASK) { next = 0; }",
        ),
    ],
)
def test_a_mistake_is_found_in_the_students_line_not_in_the_one_that_suffers(
    course: Course, old: str, new: str, check: str, line: str
) -> None:
    story = judged(course, ACCEPT, old, new, check).story
    assert story is not None and story.place is not None
    assert (story.place.file, story.place.text) == (ACCEPT, line)


@pytest.mark.parametrize(
    ("file", "old", "new", "check", "line"),
    [
        (  # refused, and sent to the control plane by a line that was given
            "msr6/msr6.p4",
            "hdr.routing.hdr_ext_len > LONGEST_EXT_LEN",
            "hdr.routing.hdr_ext_len >= LONGEST_EXT_LEN",
            "read-length",
            "} else if (hdr.routing.hdr_ext_len >= LONGEST_EXT_LEN) {",
        ),
        (  # a table that was given is asked for it
            "msr6/te.p4",
            "entry = pointer - carried.child;",
            "entry = hdr.routing.segments_left - 1 - carried.child;",
            "replicate-one",
            "entry = hdr.routing.segments_left - 1 - carried.child;",
        ),
        (  # left out
            "msr6/te.p4",
            "            hdr.routing.segments_left = entry;\n",
            "",
            "replicate-left",
            "hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;",
        ),
    ],
)
def test_a_mistake_is_found_among_lines_that_were_given(
    file: str, old: str, new: str, check: str, line: str
) -> None:
    story = judged(load("04-msr6"), file, old, new, check).story
    assert story is not None and story.place is not None
    assert (story.place.file, story.place.text) == (file, line)


@pytest.mark.parametrize(
    ("old", "field", "check"),
    [
        ("        hdr.tunnel.diffserv       = 0;\n", "tunnel.diffserv", "tag-outer"),
        ("        hdr.packet_in._pad = 0;\n", "packet_in._pad", "mtu-edge"),
    ],
)
def test_a_field_that_nobody_writes_is_no_0(
    course: Course, old: str, field: str, check: str
) -> None:
    found = judged(course, PROTECT, old, "", check)
    assert found.story is not None and field in found.story.summary


def test_what_is_free_to_choose_costs_no_points(course: Course) -> None:
    old, new = "hdr.tunnel.identification = 0;", "hdr.tunnel.identification = sn[15:0];"
    assert judged(course, PROTECT, old, new, "network").status == "passed"


ADDRESS = "        hdr.tunnel.dst_addr = dst_addr;\n"
CHANGED = "        decision.tunnel_changed   = true;\n"
ETHER_TYPE = "        hdr.ethernet.ether_type = ETHERTYPE_IPV4;\n"
IPV6 = """\
        if (hdr.protection.next_protocol == IP_PROTOCOL_IPV6) {
            hdr.ethernet.ether_type = ETHERTYPE_IPV6;
        }
"""


@pytest.mark.parametrize(
    ("missing", "check", "line", "why"),
    [
        (  # in different blocks
            (CHANGED, ADDRESS),
            "tag-path",
            "action set_path(bit<32> dst_addr) {",
            "in this action nothing changes tunnel.dst_addr",
        ),
        (  # in one action
            (ETHER_TYPE, CHANGED),
            "tag-there",
            "action tag() {",
            "in this action nothing changes ethernet.ether_type",
        ),
        (  # in a control that others call
            (IPV6,),
            "decapsulate-ipv6",
            "hdr.tunnel.setInvalid();",
            "before this nothing changes ethernet.ether_type",
        ),
    ],
)
def test_of_several_missing_lines_the_one_is_told_that_the_story_is_about(
    course: Course, missing: tuple[str, ...], check: str, line: str, why: str
) -> None:
    """Who reads that an address is wrong is not sent to where the checksum is left out."""
    text = marks.solution(course.sources[PROTECT], PROTECT)
    for one in missing:
        assert text.count(one) == 1
        text = text.replace(one, "")
    right = {name: marks.solution(course.sources[name], name) for name in course.student.edit}
    verdict = judge(course, {**right, PROTECT: text})
    story = next(one.story for one in verdict.checks if one.id == check)
    assert story is not None and story.place is not None
    assert (story.place.text, story.why) == (line, why)


LAYOUT = {"ip": {"length": 16, "identification": 16, "hdr_checksum": 16}}
FREE = frozenset({"ip.identification"})


def out(length: int, identification: int, wrong: int = 0) -> Out:
    """A packet whose checksum is off by so much."""
    fields = {"length": length, "identification": identification, "hdr_checksum": 0}
    sum_ = checksum(frames.packed(fields, LAYOUT["ip"]))
    return Out(1, b"", (Header("ip", {**fields, "hdr_checksum": sum_ ^ wrong}),))


@pytest.mark.parametrize(("wrong", "fits"), [(0, True), (1, False), (0x8000, False)])
def test_a_checksum_over_a_field_that_does_not_matter_still_has_to_fit(
    wrong: int, fits: bool
) -> None:
    mine, theirs = (
        difference.settled(one, FREE, LAYOUT) for one in (out(40, 0), out(40, 7, wrong))
    )
    assert difference.fits(difference.wanted(mine, FREE), theirs) == fits


def test_without_such_a_field_a_checksum_is_compared_as_it_is() -> None:
    assert difference.settled(out(40, 7), frozenset(), LAYOUT) == out(40, 7)
