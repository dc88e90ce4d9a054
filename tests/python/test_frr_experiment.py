"""The experiments on fast reroute, small. If these fail, figures and storms say what is not so."""

from __future__ import annotations

import csv
import json
from itertools import pairwise

import pytest

from cli_runner import p4lab
from p4lab.experiment.confidence import mean
from p4lab.model.entries import key
from p4lab.model.tables import Tables
from p4lab.systems.frr.entries import frr_entries
from p4lab.systems.frr.experiments import restoration
from p4lab.systems.frr.experiments.plan import MS, US
from p4lab.systems.frr.experiments.restoration import (
    MODES,
    ExperimentError,
    Setting,
    delays_for,
    network_of,
    run,
)
from p4lab.systems.frr.experiments.storm import Storm
from p4lab.systems.frr.plane import AT_ONCE, Delays, FrrControlPlane, LinkAgents
from p4lab.topology import Failures, Topology


class Switch:
    """A driver with tables and nothing else."""

    def __init__(self) -> None:
        self.tables = Tables()
        self.batches: list = []
        self.sent: list[tuple[int, bytes]] = []

    def write(self, updates) -> None:
        self.tables.apply(updates)
        self.batches.append(list(updates))

    def entries(self):
        return self.tables.entries

    def packet_out(self, port, frame) -> None:
        self.sent.append((port, frame))


class Lab:
    def __init__(self, name: str, delays: Delays = AT_ONCE) -> None:
        self.topology = Topology.load(name)
        self.switches = {router.name: Switch() for router in self.topology.routers}
        self.plane = FrrControlPlane(self.topology, 64, self.switches.__getitem__, delays=delays)
        self.plane.start(0)
        self.agents = LinkAgents(self.plane, self.switches.__getitem__)

    def tables(self):
        return {name: switch.entries() for name, switch in self.switches.items()}

    def wanted(self, *down):
        failures = Failures.of(down)
        members = self.plane.membership
        return frr_entries(self.topology, members, 64, failures, self.plane.protection)

    def run(self, until: int) -> None:
        while (due := self.agents.next_timer()) is not None and due <= until:
            self.agents.timer(due)


def outage(mode: str, delays: Delays, topology=None) -> float:
    done = run(Setting(mode, 1, topology or restoration.testbed(), delays, 100 * US))
    assert done.duplicates == 0
    assert done.lost * 100 * US == pytest.approx(done.outage, abs=150 * US)
    return done.outage / MS


def test_the_three_bars_of_figure_11() -> None:
    """With the delays that the paper's sums imply, each mode ends where the paper says it does."""
    delays = delays_for(3)
    assert outage("no FRR", delays) == pytest.approx(76, abs=0.2)
    assert outage("IP-FRR only", delays) == pytest.approx(76, abs=0.2)
    assert outage("BIER-FRR only", delays) == pytest.approx(36, abs=0.2)
    assert outage("BIER-FRR and IP-FRR", delays) == pytest.approx(0.6, abs=0.2)


def test_what_the_paper_says_of_its_set_up() -> None:
    """A far controller and a large network slow down whoever waits for it, and nobody else."""
    near, far = delays_for(3), delays_for(3, distance=20 * MS)
    for mode in MODES:
        slower = outage(mode, far) - outage(mode, near)
        larger = outage(mode, delays_for(12), network_of(12, 5)) - outage(mode, near)
        if mode == "BIER-FRR and IP-FRR":
            assert slower == pytest.approx(0, abs=0.1)
            assert larger == pytest.approx(0, abs=0.1)
        else:
            assert slower > 35
            assert larger > 10


def test_delays_that_cannot_be() -> None:
    with pytest.raises(ExperimentError, match=r"before 5\.8 ms"):
        delays_for(3, ip_restored=5 * MS)
    with pytest.raises(ExperimentError, match=r"--bier-ms at least 80\.2 instead of 76"):
        delays_for(3, ip_restored=70 * MS)


def test_confidence_intervals() -> None:
    """Ten runs, t = 2.262: checked by hand."""
    found = mean([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    assert found.value == 5.5
    assert found.half_width == pytest.approx(2.262 * 3.02765 / 10**0.5, rel=1e-4)
    assert mean([4.0]).half_width == 0
    with pytest.raises(ValueError, match="at least one"):
        mean([])


def test_a_reaction_step_by_step() -> None:
    """Port states after the detection, unicast, BIER, backups, modified in place."""
    lab = Lab("ring", Delays(600 * US, 400 * US, 10 * MS, 20 * MS, MS))
    link = lab.topology.link("r2", "r3")
    for switch in lab.switches.values():
        switch.batches.clear()
        switch.sent.clear()
    lab.agents.link_changed(0, link, False)
    lab.run(600 * US - 1)
    assert not any(switch.sent for switch in lab.switches.values())
    lab.run(600 * US)
    port = lab.topology.port("r2", "r3")
    assert lab.switches["r2"].sent == [(510, (port << 7 | 1).to_bytes(2, "big"))]
    assert [name for name, switch in lab.switches.items() if switch.sent] == ["r2", "r3"]
    lab.run(11 * MS - 1)
    assert not any(switch.batches for switch in lab.switches.values())
    lab.run(10_000 * MS)
    assert lab.agents.settled
    assert lab.tables() == lab.wanted(link)
    tables = {}
    for step in lab.plane.timeline:
        if step.stage == "update":
            tables.setdefault(step.family, []).append((step.begin, step.end))
    assert list(tables) == ["ip", "bier", "backup"]
    for first, second in pairwise(tables.values()):
        assert max(end for _, end in first) < min(begin for begin, _ in second)
    kinds = {(u.kind, u.entity.table) for b in lab.switches["r2"].batches for u in b}
    assert ("modify", "routes") in kinds
    assert ("modify", "bift") in kinds
    assert not {table for kind, table in kinds if kind == "delete"} & {"routes", "bift"}
    lab.agents.link_changed(10_000 * MS, link, True)
    lab.run(20_000 * MS)
    assert lab.tables() == lab.wanted()
    assert lab.switches["r2"].sent[-1] == (510, (port << 7).to_bytes(2, "big"))


def test_a_link_that_flickers_is_not_seen() -> None:
    lab = Lab("ring", Delays(detection=MS))
    link = lab.topology.link("r2", "r3")
    lab.agents.link_changed(0, link, False)
    lab.agents.link_changed(MS // 2, link, True)
    lab.run(10 * MS)
    assert not any(step.stage == "update" for step in lab.plane.timeline)
    assert lab.tables() == lab.wanted()


def test_a_second_failure_during_the_reaction() -> None:
    lab = Lab("ring", Delays(MS, MS, 10 * MS, 10 * MS, MS))
    first, second = lab.topology.link("r2", "r3"), lab.topology.link("r5", "r6")
    lab.agents.link_changed(0, first, False)
    lab.run(15 * MS)
    lab.agents.link_changed(15 * MS, second, False)
    lab.run(1000 * MS)
    assert lab.tables() == lab.wanted(first, second)


def test_a_switch_that_was_started_anew_gets_everything_back() -> None:
    lab = Lab("ring")
    link = lab.topology.link("r2", "r3")
    lab.agents.link_changed(0, link, False)
    lab.run(MS)
    lab.switches["r2"].tables = Tables()
    lab.switches["r2"].sent.clear()
    lab.plane.reconcile(["r2"])
    lab.agents.reconcile("r2")
    assert lab.tables() == lab.wanted(link)
    port = lab.topology.port("r2", "r3")
    assert lab.switches["r2"].sent == [(510, (port << 7 | 1).to_bytes(2, "big"))]


def test_a_control_plane_that_was_started_anew_touches_only_what_is_wrong() -> None:
    lab = Lab("ring")
    lab.agents.link_changed(0, lab.topology.link("r2", "r3"), False)
    lab.run(MS)
    for switch in lab.switches.values():
        switch.batches.clear()
    plane = FrrControlPlane(lab.topology, 64, lab.switches.__getitem__)
    plane.reconcile(lab.switches)
    plane.start(0)
    assert lab.tables() == lab.wanted()
    updates = [u for switch in lab.switches.values() for batch in switch.batches for u in batch]
    touched = [key(u.entity) for u in updates]
    assert 0 < len(touched) < sum(len(table) for table in lab.tables().values())


@pytest.mark.parametrize("seed", [1, 2])
def test_a_storm(seed: int, capsys) -> None:
    """`p4lab experiment storm` makes a thousand events; these are enough to meet each kind."""
    storm = Storm(Topology.load("ring"), seed)
    with capsys.disabled():
        print(f"storm: seed {seed}", end=" ")
    events = list(storm.events(40))
    assert [event for event in events if not event.ok] == []
    assert max(event.broken for event in events) > 2
    assert events[-1].broken == 0
    assert storm.tables() == storm.fresh_tables()


@pytest.mark.parametrize("name", ["ceni", "bng"])
def test_a_storm_over_long_cables(name: str) -> None:
    """Packets under way are waited for: over the longest way of ceni they take 7.6 ms."""
    with Storm(Topology.load(name), 1) as storm:
        assert [event for event in storm.events(8) if not event.ok] == []


def test_the_verb_counts_repairs_at_the_end_apart() -> None:
    done = p4lab("experiment", "storm", "--events", "1", "--json")
    record = json.loads(done.stdout)
    assert (record["events"], record["repairs"]) == (1, 1)
    done = p4lab("experiment", "storm", "--events", "1")
    assert "1 event and 1 repair at the end, 0 not survived" in done.stdout


def test_one_run_has_no_interval(tmp_path) -> None:
    arguments = ("--runs", "1", "--no-sweeps", "--pps", "1000", "--out", tmp_path)
    done = p4lab("experiment", "restoration", *arguments)
    assert done.returncode == 0, done.stderr
    assert "±" not in done.stdout
    assert "seed 1;" in done.stdout
    done = p4lab("experiment", "restoration", *arguments, "--json")
    assert {row["half_width_ms"] for row in json.loads(done.stdout)["modes"]} == {None}


def test_the_verb_writes_what_it_measured(tmp_path) -> None:
    folder = tmp_path / "out"
    done = p4lab(
        "experiment", "restoration", "--runs", "2", "--no-sweeps", "--json", "--out", folder
    )
    assert done.returncode == 0, done.stderr
    modes = {row["mode"]: row for row in json.loads(done.stdout)["modes"]}
    assert set(modes) == set(MODES)
    assert all(row["duplicates"] == 0 and row["runs"] == 2 for row in modes.values())
    rows = list(csv.DictReader((folder / "restoration.csv").open()))
    assert {(row["mode"], row["seed"]) for row in rows} == {(m, s) for m in MODES for s in "12"}
    assert (folder / "restoration.svg").read_text().startswith("<?xml")


def test_the_verb_refuses_what_cannot_be(tmp_path) -> None:
    done = p4lab("experiment", "restoration", "--ip-ms", "1", "--out", tmp_path)
    assert done.returncode == 2
    assert "unicast cannot be restored before" in done.stderr
    for name in ("nowhere", "nowhere.toml"):
        done = p4lab("experiment", "storm", "--topology", name)
        assert done.returncode == 2
        assert name in done.stderr
        assert ":1:" not in done.stderr  # a file that is not there has no lines
    done = p4lab("experiment", "storm", "--events", "5", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["tables_equal"] is True
