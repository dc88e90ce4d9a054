"""What is left out to be quick must change no verdict: points would depend on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from p4lab.grading import networks, wire
from p4lab.grading.course import Check, Course, Judged, inject, load
from p4lab.grading.judge import judge, work_of
from p4lab.grading.mutants import answers
from p4lab.grading.story import alike, compare
from p4lab.grading.work import Work

# An IPv4 header behind Ethernet and 20 + 8 bytes of BIER for 64 bits
BIER_TTL = 14 + 3
SHOWN = ("forward-one", "remaining-own-bit", "encapsulate-header")


@pytest.fixture(scope="module")
def course() -> Course:
    return load("01-bier")


def test_a_byte_that_matters_is_seen_and_one_that_does_not_is_not(course: Course) -> None:
    check = next(one for one in course.checks if one.id == "forward-one")
    judged = course.case(check, "forward-one/1")
    assert "bier.ttl" in judged.case.ignore
    ((port, data),) = judged.outputs[0]

    def fits(*got: tuple[int, bytes]) -> bool:
        return wire.all_fit(course, judged, 1, got)

    other_ttl = bytes([*data[:BIER_TTL], data[BIER_TTL] ^ 1, *data[BIER_TTL + 1 :]])
    assert fits((port, other_ttl))
    for place in range(len(data)):
        if place != BIER_TTL:
            changed = bytearray(data)
            changed[place] ^= 0x80
            ignored = place in _ipv4_bytes(data)
            assert fits((port, bytes(changed))) <= ignored, place
    assert not fits((port + 1, data)) and not fits((port, data[:-1])) and not fits()
    # Whoever sends more than the reference is told so only where nobody else is in the way.
    assert judged.case.others and fits((port, data), (port + 1, b"x"))
    alone = Judged(replace(judged.case, others=False), "alone", judged.outputs)
    assert not wire.all_fit(course, alone, 1, [(port, data), (port + 1, b"x")])


def _ipv4_bytes(data: bytes) -> set[int]:
    """Where the TTL and the checksum are of the IPv4 header inside, which the check ignores."""
    start = next(at for at in range(14, len(data)) if data[at] == 0x45 and at > BIER_TTL + 8)
    return {start + 8, start + 10, start + 11}


def test_what_fits_by_its_bytes_has_no_story(course: Course) -> None:
    """The quick way and the slow one agree on each packet of many wrong programs."""
    agreed = 0
    for answer in [one for one in answers(course) if one.kind == "mutant"][::2]:
        work = work_of(course, answer.files)
        for check, judged, number, got in _packets(course, work):
            if wire.all_fit(course, judged, number, got):
                program = work.runnable(judged.case.defines)
                assert compare(course, check, judged, work, program, number) is None, answer.name
                agreed += 1
    assert agreed >= 10


def _packets(
    course: Course, work: Work
) -> Iterator[tuple[Check, Judged, int, list[tuple[int, bytes]]]]:
    """The packets of the first public cases that do not come out to the byte."""
    for check in (one for one in course.checks if one.id in SHOWN):
        judged = course.case(check, f"{check.id}/1")
        program = work.compiled(judged.case.defines).program
        if program is None:
            continue
        switch = course.set_up(program, judged.case)
        for number, sending in enumerate(judged.case.sendings, 1):
            got = inject(switch, sending)
            if not alike(judged.case, number, got, judged.outputs[number - 1]):
                yield check, judged, number, got


def only(course: Course, check: str) -> Course:
    found = next(one for one in course.checks if one.id == check)
    return replace(course, checks=(found.model_copy(update={"needs": []}),))


def verdict(course: Course, old: str = "", new: str = "") -> tuple[str, str]:
    (name,) = course.student.edit
    text = course.sources[name]
    assert old in text
    (result,) = judge(course, {name: text.replace(old, new)}).checks
    return result.status, result.story.summary if result.story else ""


def test_a_network_is_run_only_for_who_sends_something_else(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = only(course, "network")
    runs = []
    run = networks._run
    monkeypatch.setattr(networks, "_run", lambda *given: runs.append(given) or run(*given))
    assert verdict(alone)[0] == "passed"
    of_reference = len(runs)
    assert of_reference == alone.checks[0].cases
    assert verdict(alone)[0] == "passed" and len(runs) == of_reference
    status, told = verdict(alone, "hdr.bier.ttl = hdr.bier.ttl - 1", "hdr.bier.ttl = 0")
    assert status == "failed" and "goes wrong at" in told
    assert len(runs) == of_reference + 1


def test_a_program_that_counts_otherwise_is_run_and_may_be_right(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is read of counters in the end is part of what has to be the same."""
    alone = only(course, "network")
    judged = alone.case(alone.checks[0], "network/1")
    usual = networks._usual(alone, judged)
    assert usual is not None and any(usual.readings.values())
    program = alone.program(judged.case.defines)
    assert usual.is_repeated_by(program)
    reading = next(iter(usual.readings.values()))[0]
    others = {router: [replace(reading, found=None)] for router in usual.readings}
    assert not replace(usual, readings=others).is_repeated_by(program)
