"""Checks on the target tofino-model, without an SDE: on our own switch, driven over BFRT.

What is proven: ports, loops, entries, registers and packets of a case get to a switch and back by
BFRT and cables alone, and no case leaves anything to the next. Without this, a student's right
program would fail on the chip for a reason that is ours.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cli_runner import ROOT, p4lab
from p4lab.control.loops import loop_entries
from p4lab.grading import course as courses
from p4lab.grading.benches import tofino
from p4lab.grading.benches.tofino import TofinoBench
from p4lab.grading.judge import judge
from p4lab.grading.scenario import Case, Sending
from p4lab.grading.work import Work
from p4lab.model.entries import Entity, Exact, TableEntry, Ternary, Update
from p4lab.network import NetworkError
from p4lab.network.counting import ProbeCounter
from p4lab.systems.bier_tna.entries import port_status, served
from p4lab.targets import cables
from p4lab.targets.tofino.simulators import NO_SDE

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="cables to a switch need root")
LAB = "05-recirculation"


@pytest.fixture(autouse=True)
def no_sde(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SDE_INSTALL", raising=False)


@pytest.fixture
def bench() -> Iterator[TofinoBench]:
    with TofinoBench(courses.load(LAB), quiet=0.15) as bench:
        yield bench


def row(bit: int, fbm: int, port: int) -> list[Entity]:
    own = 1 << bit - 1
    match = (("bift_id", Exact(0x10000)), ("remaining", Ternary(own, own)))
    params = (("entry", bit), ("fbm", fbm), ("port", port))
    return [TableEntry("bift", match, "forward", params, 65 - bit), served(bit, fbm)]


def backup(bit: int, fbm: int, port: int, instead: int) -> list[Entity]:
    own = 1 << bit - 1
    key = ("bift_id", Exact(0x10000)), ("remaining", Ternary(own, own)), ("port", Exact(port))
    params = (("entry", 0x8000 | bit), ("fbm", fbm), ("port", instead))
    return [
        TableEntry("backup", key, "reroute", params, 65 - bit),
        served(0x8000 | bit, fbm),
    ]


def bier(bits: int) -> bytes:
    """RFC 8296, section 2.1.1, with TTL 64, a BitString of 64 bits, and IPv4 behind it."""
    words = [0x10000 << 12 | 1 << 8 | 64, 1 << 20, 4 << 16 | 1]
    head = b"".join(word.to_bytes(4, "big") for word in words) + bits.to_bytes(8, "big")
    return bytes(12) + b"\xab\x37" + head + bytes([0x45]) + bytes(40)


def case(entities: list[Entity], packets: list[tuple[int, bytes]], **how: Any) -> Case:
    updates = tuple(Update("insert", entity) for entity in entities)
    sendings = tuple(Sending(port, data) for port, data in packets)
    return Case("", (("BSL", "64"),), tuple(updates), (), sendings, None, frozenset(), False, **how)


def strings(frames: list[tuple[int, bytes]]) -> list[tuple[int, int, int]]:
    """Port, BitString and TTL of what came out."""
    return sorted((port, int.from_bytes(f[26:34], "big"), f[17]) for port, f in frames)


@needs_root
def test_the_example_of_the_handout_goes_in_and_comes_out(bench: TofinoBench) -> None:
    """Receivers 1 and 2 are behind port 1, receiver 3 behind port 3, as the lab's page has it; 0111
    comes in on port 9. Then with port 1 down, and with a front port in loopback."""
    course = courses.load(LAB)
    work = Work(course.student.program, course.sources)
    rows = [*row(1, 0b011, 1), *row(2, 0b011, 1), *row(3, 0b100, 3)]
    packets = [(9, bier(0b0111)), (9, bier(0b0100)), (9, bier(0b1000))]
    plain = [*rows, *loop_entries([68])]
    out = [
        strings(frames)
        for frames in bench.outcome(work, case(plain, packets), [[1, 3], [3], []]).outputs
    ]
    assert out == [[(1, 0b011, 63), (3, 0b100, 63)], [(3, 0b100, 63)], []]
    detour = [*plain, *backup(1, 0b001, 1, 3), *backup(2, 0b010, 1, 2), port_status(1)]
    (out,) = (
        strings(f) for f in bench.outcome(work, case(detour, packets[:1]), [[2, 3, 3]]).outputs
    )
    assert out == [(2, 0b010, 63), (3, 0b001, 63), (3, 0b100, 63)]
    # Nothing of that is left: the same as at first, by another loop.
    front = [*rows, *loop_entries([20])]
    looped = case(front, packets[:1], loops=((20, 1 << 63),))
    (out,) = (strings(frames) for frames in bench.outcome(work, looped, [[1, 3]]).outputs)
    assert out == [(1, 0b011, 63), (3, 0b100, 63)]


CHECKS = ("again-frr", "again-drop", "turns-change", "own-others")


def few(lab: str) -> courses.Course:
    """The lab with a few of its checks, a case each."""
    course = courses.load(lab)
    chosen = [check for check in course.checks if check.id in CHECKS]
    course.checks = tuple(c.model_copy(update={"needs": [], "cases": 1}) for c in chosen)
    return course


@needs_root
def test_checks_of_lab_05_pass_and_find_a_mistake(bench: TofinoBench) -> None:
    course = few(LAB)
    right = {name: (ROOT / "p4" / name).read_text() for name in course.student.edit}
    verdict = judge(course, right, bench=bench)
    assert verdict.passed, [check.story for check in verdict.checks if check.story]
    wrong = right["bier/tna.p4"].replace("bit_string & ~fbm;", "bit_string & fbm;")
    assert wrong != right["bier/tna.p4"]
    course.checks = course.checks[:1]
    verdict = judge(course, {**right, "bier/tna.p4": wrong}, bench=bench)
    (check,) = verdict.checks
    assert check.status == "failed" and check.story and check.story.place


@needs_root
def test_a_network_of_lab_05_is_judged_on_models(bench: TofinoBench) -> None:
    course = courses.load(LAB)
    course.checks = tuple(
        check.model_copy(update={"needs": [], "cases": 1})
        for check in course.checks
        if check.id == "own-network"
    )
    right = {name: (ROOT / "p4" / name).read_text() for name in course.student.edit}
    verdict = judge(course, right, bench=bench)
    assert verdict.passed, verdict.checks[0].story


def _sleeps() -> str:
    time.sleep(60)
    return ""


def _dies() -> str:
    os._exit(3)


@pytest.mark.parametrize(
    ("found", "seconds", "said"),
    [(_sleeps, 0.1, "took more than 0.1 seconds"), (_dies, 60, "ended with status 3")],
)
def test_a_network_without_an_end_is_one_sentence(
    found: Callable[[], str], seconds: float, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without this a check on models could wait for ever, and all checks behind it."""
    monkeypatch.setattr(tofino, "END_SECONDS", 0.1)
    with pytest.raises(NetworkError, match=said):
        tofino.in_another_process(found, seconds=seconds)


class Endless:
    """A socket on which there is always one more frame, as where frames run in a loop."""

    def recvmsg(self, *_: int) -> tuple[bytes, list[Any], int, tuple[str, int, int]]:
        return bytes(60), [], 0, ("", 0, 0)

    def recvfrom(self, _: int) -> tuple[bytes, tuple[str, int, int]]:
        return bytes(60), ("", 0, 0)


def test_frames_in_a_loop_are_not_read_for_ever() -> None:
    endless: Any = Endless()
    assert len(cables._drained(endless)) == cables.AT_ONCE
    ProbeCounter._drain(endless, [0, 0])


REFUSED = [
    (("01-bier", "--target", "tofino-model"), "01-bier is for v1model, and a Tofino runs TNA only"),
    ((LAB, "--target", "bmv2"), "is for TNA, and bmv2 runs v1model only"),
    ((LAB, "--target", "wedge"), "a rack has nobody there: try tofino-model"),
    ((LAB, "--target", "tofino"), "checks run on engine, bmv2 and tofino-model, not on 'tofino'"),
]


@pytest.mark.parametrize(("arguments", "said"), REFUSED)
def test_what_cannot_be_is_one_sentence(arguments: tuple[str, ...], said: str) -> None:
    done = p4lab("check", arguments[0], ROOT / "p4", *arguments[1:])
    assert done.returncode == 2 and said in done.stderr


@needs_root
def test_check_says_what_it_judges_with(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "p4" / "bier", tmp_path / "bier")
    program = tmp_path / "bier" / "tna.p4"
    program.write_text(program.read_text() + "}")
    done = p4lab("check", LAB, tmp_path, "--target", "tofino-model", "--json")
    assert done.returncode == 1, done.stdout + done.stderr
    assert NO_SDE in done.stderr


def test_an_sde_that_lacks_something_is_not_replaced(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whoever has set SDE_INSTALL wants the SDE's model."""
    monkeypatch.setenv("SDE_INSTALL", str(tmp_path))
    done = p4lab("check", LAB, ROOT / "p4", "--target", "tofino-model")
    assert done.returncode == 2
    assert "needs bf-p4c, tofino-model, bf_switchd" in done.stderr
