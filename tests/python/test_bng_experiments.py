"""The experiments on the gateway, small. If these fail, figures and tables say what is not so."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import pstdev

import pytest

from p4lab.paths import ROOT
from p4lab.spread.sweep import Sweep
from p4lab.systems.bng import Bng
from p4lab.systems.bng.experiments import (
    dialling,
    dialling_report,
    latency,
    latency_report,
    policing,
    tables,
    verbs,
)
from p4lab.systems.bng.experiments.bench import (
    ACCESS_PORT,
    OWN_MAC,
    Bench,
    address,
    cable,
    mac,
    misplaced,
    to_subscriber,
)
from p4lab.systems.bng.experiments.dialling import Aaa, Outcome
from p4lab.systems.bng.experiments.latency import Pattern
from p4lab.systems.bng.radius.freeradius import MISSING
from p4lab.systems.bng.radius.freeradius import program as freeradius
from p4lab.systems.bng.subscriber.crowd import Schedule
from unprivileged import needs_user_namespace, run_as_user

PAGE = ROOT / "docs" / "bng.md"
SCHEDULE = Schedule(start_rate=1000, max_outstanding=100)


def silent(_: str) -> None:
    """Nobody reads what a test does."""


# ---- Latency


def test_the_bound_is_that_of_thirty_bytes_more() -> None:
    assert pytest.approx(9.488, abs=0.0005) == latency.BOUND
    assert latency.by_formula("constant", 9.4).loss == 0
    assert latency.by_formula("constant", 10.0).loss == pytest.approx(1 - 0.9488, abs=1e-4)


def test_a_queue_without_load_and_a_full_one_by_hand() -> None:
    """M/D/1 at half its load waits half a service on average."""
    half = latency.BOUND / 2
    found = latency.by_formula("poisson", half)
    assert found.mean == pytest.approx(1.5 * 586 * 8 / 10e9)


@pytest.mark.parametrize(
    ("pattern", "load"), [("constant", 1.0), ("constant", 10.0), ("poisson", 5.0)]
)
def test_latency_and_loss_are_those_of_the_formula(pattern: Pattern, load: float) -> None:
    found = latency.run(pattern, load, 32, 20_000, 1)
    formula = latency.by_formula(pattern, load)
    assert found.mean == pytest.approx(formula.mean, rel=0.03)
    assert found.loss == pytest.approx(formula.loss, abs=0.002)
    assert found.checked > 20 and found.wrong_session == 0


def test_latency_does_not_depend_on_the_number_of_subscribers() -> None:
    points: list[tuple[Pattern, float, int]] = [("constant", 9.4, count) for count in (8, 64, 512)]
    rows = latency_report.summary(latency.measure(1, 2000, 1, Sweep(), points))
    flat, _ = latency_report.flatness(rows)
    assert flat == pytest.approx(1, abs=1e-6)
    assert latency_report.wrong(rows) == []


def test_few_packets_are_measured_in_a_queue_that_has_settled() -> None:
    """Or the smallest run says that a full queue is wrong."""
    loads: list[tuple[Pattern, float]] = [("constant", 10.0), ("poisson", 9.0), ("constant", 9.4)]
    points = [(pattern, load, 8) for pattern, load in loads]
    rows = latency_report.summary(latency.measure(1, 1000, 1, Sweep(), points))
    assert latency_report.wrong(rows) == []
    assert rows[0]["latency_us"] == pytest.approx(rows[0]["formula_us"], rel=0.01)


@pytest.mark.parametrize("load", [5.0, 8.0])
def test_chance_is_what_means_of_few_packets_differ_by(load: float) -> None:
    """By what is measured again and again: the formula is one for heavy traffic."""
    means = [latency.run("poisson", load, 8, 1000, seed).mean for seed in range(1, 31)]
    assert pstdev(means) == pytest.approx(latency.chance("poisson", load, 1000), rel=0.6)


def test_a_packet_in_a_wrong_session_is_seen() -> None:
    """The oracle of all these: two frames as the gateway would send them, one with the address of
    somebody else."""
    bench = Bench(1)
    bench.engine.capture(bench.cables[ACCESS_PORT])
    for number, owner in ((1, 1), (1, 2)):
        packet = to_subscriber(address(owner), 1, 100)[22:]
        body = b"\x11\x00" + number.to_bytes(2, "big") + (len(packet) + 2).to_bytes(2, "big")
        frame = cable(number).frame(
            mac(number), OWN_MAC.to_bytes(6, "big"), 0x8864, body + b"\x00\x21" + packet
        )
        frame = (0x02_00_00_00_00_02).to_bytes(6, "big") + frame[6:]
        bench.driver.packet_out(ACCESS_PORT, frame)
    bench.engine.run_until(10**9)
    assert misplaced(bench.engine.drain_capture(bench.cables[ACCESS_PORT])) == (2, 1)


AS_USER = """
import json
from p4lab import rights
from p4lab.systems.bng.experiments import latency_linux
rights.enter()
found = latency_linux.measure(1, 0.2, lambda _: None, (1.0,))
print(json.dumps([latency_linux.records(found, 1), latency_linux.ratio(found)]))
"""


@needs_user_namespace
@pytest.mark.beside(seconds=8, group="latency of hosts")
@pytest.mark.skipif(shutil.which("mnexec") is None, reason="not installed: mininet")
def test_gateway_and_kernel_both_forward_on_linux_hosts() -> None:
    """Without root. Otherwise one is compared with nothing."""
    done = run_as_user(sys.executable, "-c", AS_USER)
    assert done.returncode == 0, done.stderr
    rows, ratio = json.loads(done.stdout)
    assert [row["forwarder"] for row in rows] == ["engine", "linux"]
    for row in rows:
        assert row["received"] > 0.5 * row["sent"] and row["median_us"] > 0
    assert ratio > 0


# ---- Policing


def test_who_is_offered_twice_the_rate_gets_the_rate() -> None:
    rows = policing.records(policing.measure(1, 0.1))
    assert policing.wrong(rows) == []
    by_name = {row["case"]: row for row in rows}
    assert by_name["two of 16M in 20M"]["formula_bps"] == 20_000_000
    assert by_name["four classes, 30M"]["formula_bps"] == 30_000_000
    assert by_name["within its rate"]["formula_bps"] == 18_000_000


def test_a_meter_that_polices_nothing_is_found() -> None:
    """As in the published programs, which never read the colour."""
    rows = policing.records(policing.measure(1, 0.02))
    loose = [{**row, "delivered_bps": row["offered_bps"]} for row in rows]
    said = policing.wrong(loose)
    assert len(said) == len(rows) - 1  # all but who keeps to its rate


# ---- Dialling in


def dial(aaa: Aaa, sessions: int, say: Callable[[str], object] = silent) -> Outcome:
    return dialling.run(aaa, sessions, 1, SCHEDULE, say)


def test_all_come_in_at_the_rate_of_the_schedule() -> None:
    found = dial("local", 60)
    assert dialling_report.wrong([found]) == []
    assert found.cps == pytest.approx(1000, rel=0.3)  # the last one's way in counts, too
    assert (found.down.sent, found.up.sent, found.failures) == (60, 60, 0)
    # Each: its line and the rate of that, its session, its place, its headers, three addresses,
    # two rates.
    assert found.rows == 60 * 10 + 5


def test_slow_users_are_as_many_as_may_wait() -> None:
    """100 at once that take 2 to 5 s are 29 in a second."""
    found = dial("slow", 150)
    assert dialling_report.wrong([found]) == []
    formula = dialling_report.by_formula(found)
    assert formula is not None
    assert found.cps == pytest.approx(formula, rel=0.35)


def test_who_stops_a_run_keeps_what_it_has() -> None:
    def stop(said: str) -> None:
        if "20 of 60" in said or "21 of 60" in said:
            raise KeyboardInterrupt

    found = dial("local", 60, stop)
    assert found.stopped and 15 <= found.established < 60
    assert found.points and dialling_report.wrong([found]) == []
    assert len(dialling_report.records([found])) == len(found.points)


@pytest.mark.skipif(freeradius() is None, reason=MISSING)
def test_freeradius_lets_them_in() -> None:
    found = dial("freeradius", 40)
    assert dialling_report.wrong([found]) == []
    assert found.seconds["radius"] > 0


def test_what_is_wrong_with_a_run_is_said() -> None:
    found = dial("local", 4)
    broken = Outcome(
        **{
            **vars(found),
            "established": 3,
            "disturbed": 2,
            "memory": 2 * 10**9,
            "down": dialling.Traffic(4, 2, 1),
        }
    )
    said = " ".join(dialling_report.wrong([broken]))
    for word in ("3 of 4", "wrong session", "did not arrive", "disturbed 2", "2000 MB"):
        assert word in said


# ---- Memory of a Tofino


def test_tables_grow_with_sessions_and_the_chip_is_full_somewhere() -> None:
    found = tables.measure(silent, (1024, 4096, 8192, 65_536))
    small, low, high, large = found
    assert (small.sram or 0) < (low.sram or 0) < (high.sram or 0)
    assert low.tcam == high.tcam  # as in the paper: sessions take exact tables
    assert large.stages is None and large.sram is None
    assert large.why_not and not high.why_not
    assert tables.extrapolated(4096) == pytest.approx(12.81)
    assert tables.extrapolated(35_000) == pytest.approx(36.4, abs=0.1)


# ---- The verbs


VERBS: dict[str, Callable[[Path], None]] = {
    "policing": lambda out: verbs.bng_policing(out, seconds=0.05, as_json=True),
    "setup": lambda out: verbs.bng_setup(
        out, sessions=10, users=[verbs.Users("local")], as_json=True
    ),
    "tables": lambda out: verbs.bng_tables(out, as_json=True),
}


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_writes_what_it_says(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    VERBS[name](tmp_path / "found")
    record = json.loads(capsys.readouterr().out)
    assert record[name]
    for path in (record["csv"], *record["figures"]):
        assert Path(path).stat().st_size > 0


def test_figure_7_is_drawn(tmp_path: Path) -> None:
    points: list[tuple[Pattern, float, int]] = [
        (pattern, load, 512) for pattern in ("constant", "poisson") for load in (1.0, 9.4)
    ]
    rows = latency_report.summary(latency.measure(1, 1000, 1, Sweep(), points))
    latency_report.draw(rows, tmp_path / "latency.svg", "a note")
    assert (tmp_path / "latency.svg").read_text().count("<path") > 20
    assert len(latency_report.tables(rows)) == 2


# ---- The page


def test_the_page_has_every_experiment_and_its_pictures() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in Bng.experiments:
        assert f"experiment {name}" in text
    pictures = re.findall(r"\]\((pictures/[^)]+)\)", text)
    assert len(pictures) == 4
    for picture in pictures:
        assert (PAGE.parent / picture).is_file()


def test_the_page_says_what_the_formula_says() -> None:
    """Formula beside measured: the first of both can be held to the code."""
    text = PAGE.read_text(encoding="utf-8")
    assert f"**{latency.BOUND:.3f} Gb/s**" in text
    for load in (5.0, 8.0, 9.0):
        found = latency.by_formula("poisson", load)
        assert f"| {load:g} | Poisson | | {found.mean * 1e6:.3f} |" in text
    for size in (1024, 4096, 8192, 16_384, 36_864):
        assert f"| {tables.extrapolated(size):.1f} |" in text
