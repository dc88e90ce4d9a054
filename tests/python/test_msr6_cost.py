"""What MSR6 costs a chip. If these fail, `p4lab experiment msr6-cost` and docs/msr6.md say of the
slides, of our programs or of the chip what is not so."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from functools import cache
from ipaddress import IPv6Address
from itertools import pairwise

import pytest

from cli_runner import p4lab
from p4lab import _engine
from p4lab.engine import load_program
from p4lab.experiment import tidy
from p4lab.fit import Truth
from p4lab.fit.truth import PipeTruth
from p4lab.packets.ip import ETHERTYPE_IPV6, IPV6_BYTES, ethernet, ipv6
from p4lab.paths import ROOT
from p4lab.systems.msr6.experiments import clones, cost, cost_report, router
from p4lab.systems.msr6.experiments.cost import COPYING, ENCAPSULATES, LENGTHS
from p4lab.systems.msr6.experiments.router import Task
from p4lab.systems.msr6.experiments.slides import (
    CLONES,
    ENCAPSULATION,
    IPV6,
    RLB,
    TABLE_1,
    TE,
    WAYS,
    above_ipv6,
    cycles,
    gap,
)

PAGE = ROOT / "docs" / "msr6.md"
REPORT = ROOT / "tests" / "python" / "msr6_cost.txt"
PACKETS, SEED = 200, 1


@cache
def programs() -> dict[str, cost.Program]:
    return cost.programs()


@cache
def found() -> list[clones.Copy]:
    return cost.simulated(programs(), PACKETS, SEED, lambda _: None)


# ---- The slides


def test_percentages_are_those_of_whole_numbers() -> None:
    """What a stage has is right, or the percentages would be none of whole numbers."""
    for row in TABLE_1:
        for percent, blocks in zip(row.stages, row.blocks, strict=True):
            assert abs(100 * blocks / row.there_are - percent) <= 0.05 + 1e-9, row.name


def test_all_averages_agree_but_that_of_the_search_bus() -> None:
    # As printed: the sum of four rounded numbers, over twelve, is off by at most 0.2 / 12.
    sums = {row.name: sum(row.stages) / 12 for row in TABLE_1}
    wrong = [row.name for row in TABLE_1 if abs(sums[row.name] - row.average) > 0.05 + 0.2 / 12]
    assert wrong == ["Exact Match Search Bus"]
    assert [row.name for row in TABLE_1 if not row.agrees] == wrong
    (bus,) = (row for row in TABLE_1 if not row.agrees)
    assert (bus.average, round(bus.recomputed, 1)) == (2.1, 2.6)
    assert all(abs(row.recomputed - sums[row.name]) <= 0.2 / 12 for row in TABLE_1)


def test_what_the_slides_say_of_encapsulation_is_rounded_down() -> None:
    assert round(above_ipv6(TE), 1) == 4.2 and round(above_ipv6(RLB), 1) == 15.8
    assert above_ipv6(IPV6) == 0
    for delay in ENCAPSULATION.values():
        assert delay.least is not None and delay.most is not None
        assert delay.least < delay.average < delay.most


def test_gaps_between_clones() -> None:
    assert {way: round(gap(way), 2) for way in WAYS} == {IPV6: 14.44, TE: 82.05, RLB: 74.79}
    assert round(cycles(gap(TE))) == 100


# ---- Stages


def test_an_average_is_what_all_stages_take_over_what_there_is() -> None:
    """By hand from the blocks that `p4lab fit` places: 80 SRAM and 24 TCAM in each of 12 stages."""
    by_name = {row.name: row for row in TABLE_1}
    for program in programs().values():
        for name, there_are in (("SRAM", 80), ("TCAM", 24), ("Logical Table ID", 16)):
            blocks = program.blocks(by_name[name])
            assert blocks is not None and len(blocks) == 12
            assert program.percent(by_name[name]) == pytest.approx(
                100 * sum(blocks) / there_are / 12
            )
        unknown = [row.name for row in TABLE_1 if program.percent(row) is None]
        assert len(unknown) == 7 and "Hash Bit" in unknown


def test_more_behaviours_take_no_less() -> None:
    known = programs()
    for row in TABLE_1:
        if row.fit is not None:
            less, more, most = (known[name].percent(row) for name in (TE, RLB, cost.ALL))
            assert less is not None and more is not None and most is not None
            assert less <= more <= most
    assert known[IPV6].pass_time < known[TE].pass_time < known[RLB].pass_time


def test_memory_of_a_compilers_log_stands_beside() -> None:
    pipe = PipeTruth("pipe", (), srams=96, tcams=24, map_rams=0)
    program = replace(programs()[TE], truth=Truth("te.tofino", "9.13.4", (pipe,), ()))
    shown = {row.name: program.compiled(row) for row in TABLE_1}
    assert shown.pop("SRAM") == pytest.approx(10) and shown.pop("TCAM") == pytest.approx(100 / 12)
    assert set(shown.values()) == {None}
    known = {**programs(), TE: program}
    assert "No log" not in " ".join(cost_report.said_aloud(known, found()))


def test_nothing_is_faster_than_the_chips_own_least() -> None:
    """An empty ingress is two halves of 20 cycles and five single ones, and 4 in between."""
    waits = {wait.name.partition(":")[0]: wait for wait in cost.WAITS}
    assert waits["resubmission"].cycles == 2 * (20 + 5) + 4
    assert waits["mirror in egress"].least == pytest.approx(160 / 1.22)
    assert waits["recirculation"].least == pytest.approx((54 + 160) / 1.22 + 84 * 0.08)
    for program in programs().values():
        assert program.cycles("ingress") > 54 and program.cycles("egress") >= 160
    # A pass in vain takes longer than the slides' second clone waits, but not our own.
    assert not waits["mirror in egress"].possible(TE)
    assert waits["resubmission"].possible(RLB) and not waits["resubmission"].possible(IPV6)
    for task in COPYING:
        if task.way != IPV6:
            assert cost.between(found(), task) > waits["recirculation"].least


# ---- Copies


def test_a_copy_comes_after_the_one_before_and_later_than_in_plain_ipv6() -> None:
    assert cost.disorder(found()) == []
    for length in LENGTHS:
        gaps = {task: cost.between(found(), task, length) for task in COPYING}
        own, one, te, rlb = (gaps[task] for task in COPYING)
        assert own == 0 < one < te < rlb
        for task in COPYING:
            delays = [copy.delay for copy in cost.delays(found(), task, length)]
            assert len(delays) == 3
            if gaps[task]:
                assert all(later > before for before, later in pairwise(delays))


def test_disorder_is_found() -> None:
    late = [
        replace(copy, delay=2000 - copy.delay) if copy.task.way == TE else copy for copy in found()
    ]
    assert len(cost.disorder(late)) == 2 * len(LENGTHS)


@pytest.mark.parametrize("length", LENGTHS)
def test_a_packet_alone_takes_the_formulas_time(length: int) -> None:
    """By hand: bytes at 12.5 a nanosecond, and a pass of 100 ns for each time through the chip."""
    wire = (length + 20) / 12.5
    loop = (length + 20 + 40 + 8 + 3 * 16 + 5) / 12.5
    with_tree = wire + (40 + 8 + 3 * 16) / 12.5
    expected = {
        Task(IPV6): [wire + 100] * 3,
        Task(IPV6, one_port=True): [n * wire + 100 for n in (1, 2, 3)],
        Task(IPV6, encapsulates=True): [wire + 100],
        **{Task(way): [with_tree + 100 + n * (loop + 100) for n in range(3)] for way in (TE, RLB)},
        **{
            Task(way, encapsulates=True): [with_tree + 100 + n * (loop + 100) for n in (1, 2, 3)]
            for way in (TE, RLB)
        },
    }
    for task, times in expected.items():
        got = clones.copies(task, length, 100.0, 1, 1)
        assert [copy.delay for copy in got] == pytest.approx(times, abs=0.01), task
        assert {copy.variance for copy in got} == {0}


def test_formulas_hold_where_little_is_on_the_way() -> None:
    for length in LENGTHS:
        for task in COPYING:
            formula = cost.gap_by_formula(task, length, programs())
            assert formula <= cost.between(found(), task, length) + 0.01 <= 1.02 * formula + 0.02


def test_all_copies_reach_their_next_hop_with_the_right_address() -> None:
    """A copy is not a copy if it is not what the next hop needs."""
    for way in (TE, RLB):
        switch = _engine.Switch(router.program(way))
        switch.write(router.updates(Task(way)))
        sent = router.frame(Task(way), 256, 7)
        out = switch.process(router.SOURCE_PORT, sent)
        assert [port for port, _ in out] == [1, 2, 3]
        for port, frame in out:
            # TE: a leaf, with Segments Left 0. RLB: the bit of the next hop itself, entry 3 - port.
            asks = 0x0600 << 32 if way == TE else 0x0200 << 32 | 1 << 16
            sid = 0x5F00 << 112 | (10 + port) << 48 | asks
            assert int.from_bytes(frame[38:54], "big") == sid
            left = 0 if way == TE else 3 - port
            assert (frame[57], router.number_of(frame), len(frame)) == (left, 7, len(sent))


# ---- The plain router


def test_the_plain_router_checks_and_copies() -> None:
    switch = _engine.Switch(load_program(router.PLAIN))
    switch.write(router.updates(Task(IPV6)))
    group = router.frame(Task(IPV6), 128, 1)
    out = switch.process(router.SOURCE_PORT, group)
    assert [port for port, _ in out] == [1, 2, 3]
    assert all(frame[:6] == bytes.fromhex("333300040001") for _, frame in out)
    assert all((frame[21], frame[22:]) == (63, group[22:]) for _, frame in out)
    # Who sends does not get it back.
    assert [port for port, _ in switch.process(2, group)] == [1, 3]
    ((port, frame),) = switch.process(1, router.frame(Task(IPV6, encapsulates=True), 128, 1))
    assert (port, frame[:12].hex(), frame[21]) == (1, "020000000101020000000001", 63)

    def packet(source: str = "fd00::1", target: str = str(router.GROUP), hops: int = 64) -> bytes:
        body = ipv6(IPv6Address(source), IPv6Address(target), 17, bytes(40), hops=hops)
        return ethernet(1, 2, ETHERTYPE_IPV6, body)

    refused = {
        4: packet(hops=1),
        3: packet(source="fe80::1"),
        5: packet(target="ff3e::4:2"),
        34: packet(target="fd00:0:0:c::1"),
        2: packet()[: 14 + IPV6_BYTES - 5],  # the chip reads into the checksum, too
        1: ethernet(1, 2, 0x0800, bytes(40)),
    }
    for reason, frame in refused.items():
        assert switch.process(4, frame) == []
        assert switch.read_counter("dropped", reason)[0] == 1, reason
    assert switch.process(4, packet(target="ff02::1")) == []
    assert switch.read_counter("dropped", 3)[0] == 2


# ---- What is said


def test_the_report_is_as_it_was() -> None:
    """Golden text. After a change on purpose: P4LAB_GOLDEN=1, and look at the difference. The page
    has the same numbers."""
    text = _printed()
    if os.environ.get("P4LAB_GOLDEN"):
        REPORT.write_text(text, encoding="utf-8")
    assert text == REPORT.read_text(encoding="utf-8")
    assert max(map(len, text.splitlines())) <= 80


def _printed() -> str:
    from rich.console import Console

    console = Console(width=80, color_system=None)
    with console.capture() as capture:
        for table in cost_report.tables(programs(), cost.encapsulations(programs()), found()):
            console.print(table)
        for line in cost_report.said_aloud(programs(), found()):
            console.print(line, highlight=False, markup=False)
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"


def test_the_page_says_what_is_found() -> None:
    section = PAGE.read_text(encoding="utf-8").split("## What the slides measured\n")[1]
    lines = section.split("\n## ")[0].replace("**2.6**", "2.6").splitlines()
    known, copied = programs(), found()
    encapsulated = cost.encapsulations(known)

    def said(value: float | None) -> str:
        return "-" if value is None else f"{value:.1f}"

    for row in TABLE_1:
        ours = " | ".join(said(known[name].percent(row)) for name in (TE, RLB, cost.ALL))
        line = f"| {row.name} | {row.average} | {row.recomputed:.1f} | {ours} |"
        assert line in lines
    for one, task in zip(encapsulated, ENCAPSULATES, strict=True):
        virtual = cost.delays(copied, task)[0].delay
        end = f"{one.ingress} + {one.egress} | {one.passes} | {one.nanoseconds:.1f} | {virtual:.1f}"
        assert any(line.startswith(f"| {one.way} |") and f"| {end} |" in line for line in lines)
    for task in COPYING:
        first, second = (clone.average for clone in CLONES[task.way])
        times = ", ".join(f"{copy.delay:.1f}" for copy in cost.delays(copied, task))
        paper = f"{first:.2f}, {second:.2f} | {gap(task.way):.2f}"
        own = f"{cost.between(copied, task):.1f}"
        assert f"| {cost_report.name_of(task)} | {paper} | {times} | {own} |" in lines
    for length in LENGTHS:
        gaps = " | ".join(f"{cost.between(copied, task, length):.1f}" for task in COPYING)
        assert f"| {length} | {clones.packet_time(length):.1f} | {gaps} |" in lines
    for wait in cost.WAITS:
        verdicts = " | ".join("yes" if wait.possible(way) else "no" for way in WAYS)
        assert f"| {wait.name} | {wait.least:.1f} | {verdicts} |" in lines
    text = " ".join(lines)
    times = [known[way].pass_time for way in WAYS]
    for number in (
        *(f"{time:.1f} ns" for time in times[1:]),
        *(f"{100 * (time / times[0] - 1):.1f} %" for time in times[1:]),
        " and ".join(f"{time - times[0]:.1f}" for time in times[1:]) + " ns longer",
        " and ".join(f"{CLONES[way][0].average - CLONES[IPV6][0].average:.1f}" for way in (TE, RLB))
        + " ns later",
    ):
        assert number in text, number
    for picture in re.findall(r"\]\((pictures/[^)]+)\)", section):
        assert (PAGE.parent / picture).exists(), picture


def test_the_command_writes_tables_and_figures(tmp_path) -> None:
    out = tmp_path / "new"
    done = p4lab("experiment", "msr6-cost", "--out", out, "--packets", 5, "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["wrong"] == [] and len(report["resources"]) == 13
    assert {one["way"] for one in report["encapsulation"]} == set(WAYS)
    rows = tidy.from_csv((out / "cost.csv").read_bytes().decode("utf-8"))
    assert {row["way"] for row in rows} == set(WAYS) and {row["seed"] for row in rows} == {1}
    firsts = [row for row in rows if row["copy"] == 1]
    assert all(row["slides_ns"] is not None and row["after_first_ns"] == 0 for row in firsts)
    assert len(rows) == len(LENGTHS) * (1 + 3 + 3 + 3 * len(COPYING))
    for figure in report["figures"]:
        assert os.path.getsize(figure) > 10_000
    refused = p4lab("experiment", "msr6-cost", "--out", out, "--compiled", tmp_path / "nowhere")
    assert refused.returncode == 2 and "no such folder" in refused.stderr
