"""The experiments on protection, small. If these fail, figures and tables say what is not so."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
from dataclasses import replace
from ipaddress import IPv4Address
from itertools import pairwise
from math import sqrt
from statistics import fmean

import pytest

from cli_runner import p4lab
from p4lab import _engine
from p4lab.engine import load_program
from p4lab.experiment import tidy
from p4lab.model.entries import Exact, Lpm, TableEntry, Update
from p4lab.network.base import NetworkError
from p4lab.packets.ip import ETHERTYPE_IPV4, checksum, ethernet, ipv4
from p4lab.paths import ROOT
from p4lab.spread.sweep import Sweep
from p4lab.systems.protect.experiments import (
    cost,
    cost_report,
    events,
    failure,
    failure_report,
    goodput,
    goodput_linux,
    goodput_report,
    jitter,
    policies,
    skew,
)
from p4lab.systems.protect.experiments.events import EVENTS, Delivered, expected_lost, run
from p4lab.systems.protect.experiments.pings import ping
from p4lab.systems.protect.experiments.setup import (
    MS,
    US,
    Cable,
    between,
    link_of,
    opened,
    plan_of,
    two_paths,
)

PAGE = ROOT / "docs" / "protection.md"
BY_NAME = {event.name: event for event in EVENTS}
GIGABIT = 10**9

# ---- Policies by events


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.name)
def test_the_program_does_what_the_policies_are_defined_to_do(event: events.Event) -> None:
    outcomes = [run(event, accept, 120, seed) for accept in events.POLICIES for seed in (1, 2)]
    assert policies.wrong(outcomes) == []


# What is known of a stream of 300 packets with a skew of five: lost, out of order.
KNOWN = {
    ("return of the fast path", "highest"): (5, 0),
    ("return of the fast path", "vector"): (0, 5),
    ("return of the fast path", "slots"): (0, 5),
    ("cut of the fast path", "highest"): (0, 0),
    ("cut of the slow path", "highest"): (0, 0),
    ("return of the slow path", "highest"): (0, 0),
    ("wrap-around", "highest"): (0, 0),
    ("wrap-around", "slots"): (0, 0),
    ("wrap-around", "vector"): (0, 0),
}


@pytest.mark.parametrize(("name", "accept"), KNOWN)
def test_what_was_known_before(name: str, accept: str) -> None:
    got = run(BY_NAME[name], accept, 300, 5).delivered
    assert (got.lost, got.reordered) == KNOWN[name, accept]
    assert got.duplicates == 0


def test_the_papers_rule_loses_what_its_faster_path_loses_and_the_others_do_not() -> None:
    heavy = replace(BY_NAME["loss, fast path"], loss=(0.2, 0.0))
    highest, slots, vector = (
        run(heavy, accept, 300, 3).delivered for accept in ("highest", "slots", "vector")
    )
    assert highest.lost > 30
    assert highest.lost == pytest.approx(expected_lost(heavy, "highest", 300), abs=25)
    assert (slots.lost, vector.lost) == (0, 0)
    # What the slower path delivers of it comes late, so it is out of order.
    assert slots.reordered == vector.reordered == highest.lost


def test_match_is_for_packets_far_apart() -> None:
    assert run(BY_NAME["skew below one packet"], "match", 120, 1).delivered.duplicates == 0
    assert run(BY_NAME["nothing"], "match", 120, 1).delivered.duplicates == 120


def test_after_a_restart_the_reset_ends_the_silence() -> None:
    for accept in ("highest", "slots", "vector"):
        lost = {
            name: run(BY_NAME[name], accept, 600, 1).delivered.lost
            for name in ("restart of the PTI", "restart, no reset")
        }
        # 10 ms of 100 us each, less the late copies that are taken first; 200 had been sent before.
        assert 80 <= lost["restart of the PTI"] <= 100, accept
        assert lost["restart, no reset"] == 201, accept


def test_what_must_not_be_is_named() -> None:
    good = run(BY_NAME["nothing"], "highest", 60, 1)
    assert policies.wrong([good]) == []
    worse = replace(good, delivered=Delivered(1, 2, 0))
    other, twice = policies.wrong([worse])
    assert "nothing, highest, seed 1" in other
    assert "2 packets came twice" in twice


def test_tables_of_policies_are_tidy_and_say_whose_mean_they_are() -> None:
    seen = [run(BY_NAME["loss, fast path"], "highest", 100, seed) for seed in (1, 2, 3)]
    rows = policies.records(seen)
    tidy.check(rows)
    assert [row["seed"] for row in rows] == [1, 2, 3]
    (cell,) = policies.summary(seen)
    assert cell["lost"] == fmean(outcome.delivered.lost for outcome in seen)
    assert (cell["runs"], cell["as_defined"], cell["lost_by_formula"]) == (3, 3, 1.0)


def test_a_table_of_policies_tells_little_from_nothing() -> None:
    """Both copies of a packet are lost in 2 of 10,000 cases at 1 %: not 0.0."""
    row = {"runs": 1, "sent": 200, "lost": 0, "duplicates": 0, "reordered": 0}
    rows = [
        {**row, "event": one.name, "policy": accept, "lost_by_formula": 0.02}
        for one in events.EVENTS
        for accept in policies.POLICIES
    ]
    assert set(policies.table(rows).columns[-1].cells) == {"0.02"}


# ---- Figure 4


@pytest.mark.parametrize("paths", [1, 2, 3, 5])
def test_the_deviation_of_the_least_of_uniform_draws(paths: int) -> None:
    """Order statistics: the least of n draws from U[0, 1] has mean 1/(n+1) and variance
    n / ((n+1)^2 (n+2)); a round trip is the sum of two."""
    found = jitter.by_formula(paths)
    assert found.excess == pytest.approx(2 / (paths + 1), abs=1e-4)
    variance = 2 * paths / ((paths + 1) ** 2 * (paths + 2))
    assert found.deviation == pytest.approx(sqrt(variance), abs=1e-4)


def test_the_ratios_of_figure_4() -> None:
    one, two = jitter.by_formula(1), jitter.by_formula(2)
    assert two.deviation / one.deviation == pytest.approx(sqrt(2 / 3), abs=1e-4)
    assert two.excess / one.excess == pytest.approx(2 / 3, abs=1e-4)
    # The integral of the distribution of the sum, up to its mean 2/3, by hand.
    absolute = 8 * (8 / 162 - 16 / 972 + 32 / 29160)
    assert two.absolute == pytest.approx(absolute, abs=1e-4)
    assert one.absolute == pytest.approx(1 / 3, abs=1e-4)
    draw = random.Random(1)
    trips = [sum(min(draw.random(), draw.random()) for _ in "ab") for _ in range(40_000)]
    middle = fmean(trips)
    assert two.absolute == pytest.approx(fmean(abs(trip - middle) for trip in trips), rel=0.02)
    assert two.variation == pytest.approx(fmean(abs(a - b) for a, b in pairwise(trips)), rel=0.02)
    assert jitter.paths_for_half() == 5


def test_pings_take_the_time_of_the_way_there_and_back() -> None:
    topology = two_paths(Cable(100 * US), Cable(300 * US))
    for protected in (False, True):
        plan = plan_of(topology, 1, between(topology), jitter.ACCEPT)
        with opened(plan, protected=protected) as session:
            ends = topology.host("h1"), topology.host("h2")
            assert ping(session.net, *ends, 3, MS) == [200 * US] * 3
            session.net.set_link(link_of(topology, 1), False)
            if protected:
                assert ping(session.net, *ends, 3, MS) == [600 * US] * 3
            else:
                with pytest.raises(NetworkError, match="lost"):
                    ping(session.net, *ends, 3, MS)


def test_jitter_is_drawn_for_each_path_direction_and_packet() -> None:
    alone, both = (jitter.run(mode, 500, 150, 1).measured for mode in jitter.PATHS)
    assert alone.excess / US == pytest.approx(500, rel=0.15)
    assert both.excess / alone.excess == pytest.approx(2 / 3, rel=0.15)
    assert both.deviation < alone.deviation
    assert alone.variation > 0


def test_ratios_compare_runs_of_the_same_seed() -> None:
    found = [jitter.run(mode, 400, 30, seed) for mode in jitter.PATHS for seed in (1, 2)]
    tidy.check(jitter.records(found))
    first = jitter.ratios(found)[0]
    shares = [found[2 + k].measured.deviation / found[k].measured.deviation for k in range(2)]
    assert first["ratio"] == pytest.approx(fmean(shares))
    assert (first["statistic"], first["paper"]) == ("deviation", 0.5)


# ---- Skew


def test_the_longest_skew_is_not_what_the_paper_says() -> None:
    assert skew.allowed_seconds(32, 1 << 31, 40, 1e12) == pytest.approx(0.687, abs=5e-4)
    assert skew.allowed_seconds(32, 1 << 31, 94, 1e12) == pytest.approx(1.615, abs=5e-4)
    assert skew.bytes_for(1.6, 32, 1 << 31, 1e12) == pytest.approx(93.1, abs=0.1)


def test_the_edge_is_where_the_formula_has_it() -> None:
    found = skew.measure(1, Sweep())
    assert skew.wrong(found) == []
    tidy.check(skew.records(found))
    good = {
        (outcome.event.window, skew.lag(outcome))
        for outcome in found
        if outcome.delivered == Delivered(0, 0, 0)
    }
    for window, last in ((64, 191), (128, 127), (192, 63)):
        assert (window, last) in good
        assert (window, last + 1) not in good
    moved = [replace(outcome, delivered=Delivered(0, 0, 0)) for outcome in found]
    assert len(skew.wrong(moved)) == sum(more >= 0 for more in skew.BESIDE_EDGE) * 3


# ---- Table I


def test_cycles_have_the_papers_order_at_the_egress() -> None:
    found = cost.cycles()
    assert [one.accept for one in found] == list(cost.TNA_POLICIES)
    assert all(one.cycles > one.plain for one in found)
    assert cost_report.disorder(cost_report.estimated(found)) == []


def test_a_switch_alone_gets_what_it_got_in_the_network() -> None:
    plain, bare, protected = (cost._captures(mode, 100) for mode in cost.MODES)
    assert plain["PTI"] == bare["PTI"] == protected["PTI"]
    # A plain router forwards as one that could protect.
    assert plain["PTE"] == bare["PTE"] != protected["PTE"]
    assert len(protected["PTE"]) - len(bare["PTE"]) == 100 * 28


def test_times_are_compared_with_those_of_plain_forwarding() -> None:
    found = list(cost.timings(100, 2, ["interpreter"], lambda _: None))
    assert len(found) == 2 * 2 * 3
    assert all(timing.nanoseconds > 0 for timing in found)
    rows = cost_report.summary(found)
    plain = [row["percent"] for row in rows if row["mode"] == "plain"]
    assert plain == pytest.approx([100, 100])
    tidy.check(cost_report.records(found, cost.cycles()))
    upside_down = [replace(t, nanoseconds=1 + cost.MODES[::-1].index(t.mode)) for t in found]
    assert len(cost_report.disorder(cost_report.summary(upside_down))) == 2


@pytest.mark.parametrize("program", [cost.PLAIN, cost.TNA_PLAIN], ids=["v1model", "tna"])
def test_the_plain_router_checks_what_the_others_check(program) -> None:
    switch = _engine.Switch(load_program(program))
    routes = (("destination", Lpm(0x0A000200, 24)),)
    macs = (("src", 0x0200000000AA), ("dst", 0x0200000000BB))
    switch.write(
        [
            Update("insert", TableEntry("ipv4_routes", routes, "route", (("port", 2),))),
            Update("insert", TableEntry("port_mac", (("port", Exact(2)),), "rewrite", macs)),
        ]
    )

    def frame(ttl: int = 64, target: str = "10.0.2.1", damage: int = 0) -> bytes:
        addresses = IPv4Address("10.0.1.1"), IPv4Address(target)
        packet = bytearray(ipv4(*addresses, 17, bytes(40), ttl=ttl))
        packet[10] ^= damage  # in the checksum
        return ethernet(1, 2, ETHERTYPE_IPV4, bytes(packet))

    ((port, out),) = switch.process(1, frame())
    assert (port, out[:12]) == (2, bytes.fromhex("0200000000bb0200000000aa"))
    assert (out[22], checksum(out[14:34])) == (63, 0)
    for given_up in (frame(ttl=1), frame(damage=1), frame(target="10.0.3.1"), frame()[:30]):
        assert switch.process(1, given_up) == []
    assert sum(switch.read_counter("dropped", reason)[0] for reason in range(32)) == 4


# ---- Figure 3


def test_what_lengths_alone_say_of_goodput() -> None:
    """Of each frame of 1500 bytes, 1460 are data, and 38 more are on the wire; in a tunnel, 28
    fewer are data."""
    line = 100 * GIGABIT
    assert goodput.by_formula("plain", 4) == pytest.approx(line * 1460 / 1538)
    assert goodput.by_formula("protected", 4) == pytest.approx(line * 1432 / 1538)
    assert goodput.by_formula("unprotected", 1, 10 * GIGABIT) == 10 * GIGABIT * 1460 / 1514


@pytest.mark.parametrize("mode", goodput.MODES)
def test_three_pairs_do_not_fill_the_line_and_four_do(mode: str) -> None:
    seen = [goodput.run(mode, pairs, 1) for pairs in (3, 4)]
    assert seen[0].goodput < 0.9 * seen[1].goodput
    rows = goodput_report.records(seen, goodput.HOST_RATE)
    tidy.check(rows)
    for row in rows:
        assert row["goodput_bps"] == pytest.approx(row["formula_bps"], rel=goodput_report.OFF)


def test_a_goodput_that_is_off_its_formula_is_named() -> None:
    row = {"mode": "plain", "pairs": 1, "gbps": 27.0, "formula_gbps": 27.1}
    assert goodput_report.wrong([row]) == []
    assert len(goodput_report.wrong([{**row, "gbps": 26.0}])) == 1
    assert goodput_report.wrong([{**row, "formula_gbps": None}]) == []  # on Linux hosts


TOOLS = ("mnexec", "ifconfig", "ip", "ethtool", "iperf3")


@pytest.mark.skipif(
    os.geteuid() != 0 or any(shutil.which(tool) is None for tool in TOOLS),
    reason=f"needs root and {', '.join(TOOLS)}",
)
def test_iperf3_downloads_through_a_tunnel() -> None:
    """Hosts learn by ICMP that the tunnel's MTU is less than theirs."""
    found = goodput_linux.run("protected", 1, 1, 1)
    assert (found.network, found.pairs) == ("linux", 1)
    assert found.goodput > 0


# ---- Protection against restoration


@pytest.fixture(scope="module")
def failures() -> list[failure.Outcome]:
    return [failure.run(way, 5_000, 1) for way in failure.WAYS]


def test_one_plus_one_loses_nothing_where_restoration_loses_an_outage(
    failures: list[failure.Outcome],
) -> None:
    assert failure_report.wrong(failures) == []
    lost = {outcome.way.name: outcome.lost for outcome in failures}
    assert lost["1+1, highest number"] == lost["1+1, slots"] == 0
    assert lost["IP-FRR"] == pytest.approx(3, abs=2)  # 0.6 ms of 0.2 ms each
    assert lost["BIER-FRR"] == pytest.approx(3, abs=2)
    assert lost["IP, nothing prepared"] > 50
    assert lost["BIER, nothing prepared"] > lost["IP, nothing prepared"]


def test_protection_costs_bandwidth_all_the_time(failures: list[failure.Outcome]) -> None:
    """Two paths of one and two links; 28 bytes of tunnel. BIER has 12 + 8 bytes in front."""
    for outcome in failures:
        links, more = (1, 20 if outcome.way.to_group else 0) if outcome.way.mode else (3, 28)
        assert outcome.frames_per_packet == links, outcome.way.name
        assert outcome.bytes_per_packet == links * (100 + more), outcome.way.name


def test_state_is_what_being_ready_adds(failures: list[failure.Outcome]) -> None:
    held = {way.name: failure.state(way) for way in failure.WAYS}
    assert held["IP, nothing prepared"] == held["BIER, nothing prepared"]
    assert held["IP, nothing prepared"] == failure.State(0, 0, 0)
    # A flow and two paths at the PTI; two addresses and the CID at the PTE; two routes of copies at
    # the PTI are groups instead, and the router between has one.
    assert held["1+1, highest number"] == failure.State(7, 1, 3)
    assert held["1+1, slots"] == failure.State(7, 1, 1 + 2 * failure.HISTORY)
    assert held["BIER-FRR"].entries > held["IP-FRR"].entries > 0
    rows = failure_report.records(failures, 5_000)
    tidy.check(rows)
    ways = failure_report.summary(rows)
    assert [way["lost_by_formula"] for way in ways] == [180, 3, 380, 3, 0, 0]


def test_a_lost_packet_of_protected_traffic_is_named(failures: list[failure.Outcome]) -> None:
    protected, frr = failures[-1], failures[1]
    assert len(failure_report.wrong([replace(protected, lost=1)])) == 1
    assert len(failure_report.wrong([replace(frr, duplicates=1)])) == 1
    assert failure_report.wrong([replace(frr, lost=9)]) == []


# ---- The command line, the page


def test_a_verb_writes_figure_table_and_json(tmp_path) -> None:
    done = p4lab("experiment", "protection-skew", "--out", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert set(record) == {"formula", "lags", "csv", "figures", "wrong"}
    assert len(tidy.read_csv(tmp_path / "skew.csv")) == len(record["lags"]) == 27
    for figure in record["figures"]:
        assert os.path.getsize(figure) > 5_000


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("protection-goodput", "--net", "nowhere"), "choose from virtual and linux"),
        (("protection-failure", "--out", "/dev/null/x"), "give another folder"),
        (("protection-cost", "--runs", "0"), "--runs"),
    ],
)
def test_bad_input_gets_a_sentence(arguments, sentence) -> None:
    done = p4lab("experiment", *arguments)
    assert done.returncode == 2
    assert sentence in done.stderr


def test_without_iperf3_it_says_how_to_get_it(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "apt-get install iperf3" in goodput_linux.missing()


def test_the_page_has_the_values_that_formulas_give() -> None:
    text = PAGE.read_text()
    one, two = jitter.by_formula(1), jitter.by_formula(2)
    values = [
        f"{two.deviation / one.deviation:.3f}",
        f"{two.excess / one.excess:.3f}",
        f"{skew.allowed_seconds(32, 1 << 31, 40, 1e12):.3f} s",
        f"{skew.allowed_seconds(32, 1 << 31, 94, 1e12):.3f}",
        f"{goodput.by_formula('plain', 4) / GIGABIT:.2f}",
        f"{goodput.by_formula('protected', 4) / GIGABIT:.2f}",
    ]
    for value in values:
        assert value in text, value
    for picture in re.findall(r"\]\((pictures/[^)]+)\)", text):
        assert (PAGE.parent / picture).exists(), picture
    verbs = set(re.findall(r"lab experiment (protection[a-z-]*)", text))
    assert len(verbs) == 6
