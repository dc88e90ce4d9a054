"""Without these a program that waits for a rare value, or counts packets, gets full marks where
whole programs cannot be compared in time.

What a trick waits for is written here, so it is known without the prover what has to be found.
"""

from __future__ import annotations

import pytest

from p4lab.grading import proofs
from p4lab.grading.attempts import attempt, charged
from p4lab.grading.course import Course, load
from p4lab.grading.judge import judge, work_of
from p4lab.grading.mutants import answers
from p4lab.prove.cover import Cover, cover

SECONDS = 6.0
SHORT = 2.0
"""Of right answers, most branches are taken by then"""
COUNTER = "register<bit<32>>(1) seen; bit<32> count = 0;"
COUNT = "seen.read(count, 0); seen.write(0, count + 1);"

BFR = "            switch (bift.apply().action_run) {"
PTI = "        if (has_connection) {"
LEAF = "            hdr.ipv6 = hdr.inner;"

TRICKS = {
    # name: lab, file, what is replaced, by what
    "two fields": (
        "01-bier", "bier/bier.p4", BFR,
        "if (hdr.bier.dscp == 51 && hdr.bier.bfir_id == 51966) { carried.remaining = 0; }" + BFR,
    ),
    "a hundred packets": (
        "01-bier", "bier/bier.p4", BFR,
        f"{COUNT} if (count >= 100) {{ carried.remaining = 0; }} {BFR}",
    ),
    "a parameter": (
        "01-bier", "bier/bier.p4", "        carried.set = carried.set + 1;",
        "carried.set = carried.set + 1; if (bfir_id == 47802) { hdr.bier.tc = 1; }",
    ),
    "two addresses": (
        "03-protect", "protect/protect.p4", PTI,
        "if (hdr.ipv4.src_addr == 0x0A000201 && hdr.ipv4.dst_addr == 0x0A000302) "
        f"{{ connection_group = 0; }} {PTI}",
    ),
    "an armed register": (
        "03-protect", "protect/protect.p4", PTI,
        f"seen.read(count, 0); if (hops == 77) {{ seen.write(0, 1); }} "
        f"if (count == 1 && hops == 78) {{ has_connection = false; }} {PTI}",
    ),
    "a flow": (
        "04-msr6", "msr6/leaf.p4", LEAF,
        f"{LEAF} if (hdr.ipv6.flow_label == 0x5EED && hdr.ipv6.traffic_class == 9) "
        "{ hdr.ipv6.hop_limit = 9; }",
    ),
    "sixty packets": (
        "04-msr6", "msr6/leaf.p4", LEAF,
        f"{LEAF} {COUNT} if (count == 60) {{ hdr.ipv6.hop_limit = 9; }}",
    ),
}  # fmt: skip
CONTROLS = {
    "01-bier": "control Bfr(inout headers_t hdr, inout carried_t carried, in arrival_t arrival,\n"
    "            inout decision_t decision) {",
    "03-protect": "control Pti(inout protect_headers_t hdr, in arrival_t arrival, "
    "inout decision_t decision) {",
    "04-msr6": "control Leaf(inout msr6_headers_t hdr, inout decision_t decision) {",
}
KNOWN: dict[str, Course] = {}


def course_of(lab: str) -> Course:
    return KNOWN.setdefault(lab, load(lab))


def solution(course: Course) -> dict[str, str]:
    return next(one for one in answers(course) if one.kind == "reference").files


def planted(name: str) -> tuple[Course, dict[str, str]]:
    lab, file, find, replacement = TRICKS[name]
    course = course_of(lab)
    files = solution(course)
    text = files[file]
    assert text.count(find) == 1
    text = text.replace(find, replacement)
    if "seen" in replacement:
        control = CONTROLS[lab]
        assert text.count(control) == 1
        text = text.replace(control, f"{control} {COUNTER}")
    return course, {**files, file: text}


def covered(course: Course, files: dict[str, str], seconds: float = SECONDS) -> Cover:
    program = work_of(course, files).runnable(course.defines)
    bounds = proofs.bounds_of(course.name)
    return cover(course.program(course.defines), program, bounds, seconds)


@pytest.mark.parametrize("name", TRICKS)
def test_a_trick_is_met_by_its_own_branches(name):
    course, files = planted(name)
    assert covered(course, files).example is not None


@pytest.mark.parametrize("lab", sorted({trick[0] for trick in TRICKS.values()}))
def test_right_answers_are_met_by_nothing(lab):
    """Of the variants the first: test_grade_proofs.py and the labs' own tests take all."""
    course = course_of(lab)
    variant = next(one for one in answers(course) if one.kind == "variant")
    found = covered(course, variant.files, SHORT)
    assert found.example is None, found.example
    taken = [branch for branch in found.branches if branch.fate == "taken"]
    assert len(taken) > len(found.branches) / 2, found.branches


def test_a_hundred_packets_are_a_case_like_any_other():
    """The story is short, the check loses its points, and who is right keeps them."""
    course, files = planted("a hundred packets")
    found_out = attempt(course, files, SECONDS)
    assert found_out.proof.status == "refuted" and found_out.found is not None, found_out.proof
    # The packet that was found may pass once, or come back and be counted twice.
    many, last = found_out.found.scenario["send"]
    times = {"n in range(100)": 101, "n in range(50)": 51}[many["each"]]
    assert "each" not in last
    right = solution(course)
    before = judge(course, right)
    assert before.passed
    after = charged(course, files, before, [found_out.found])
    (lost,) = (check for check in after.checks if check.status != "passed")
    assert lost.id == found_out.proof.told and lost.story is not None
    assert any(f"({times} times)" in step for step in lost.story.steps), lost.story.steps
    assert charged(course, right, before, [found_out.found]) == before
