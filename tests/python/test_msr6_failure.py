"""`p4lab experiment msr6-failure`, small. If these fail, docs/encodings.md compares outages and
rows that do not belong to the same failure."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from cli_runner import p4lab
from p4lab.experiment import tidy
from p4lab.network.virtual import VirtualNetwork
from p4lab.paths import ROOT
from p4lab.session.run import Session
from p4lab.systems.frr.experiments import restoration
from p4lab.systems.frr.experiments.restoration import BIER_RESTORED, delays_for, network_of
from p4lab.systems.frr.plane import LinkAgents
from p4lab.systems.msr6 import Msr6
from p4lab.systems.msr6.experiments import failure, failure_report
from p4lab.systems.msr6.experiments.failure import BY_NAME, MS, WAYS, Changed, Outcome
from p4lab.systems.msr6.experiments.recomputing import Recomputing, tables
from p4lab.systems.msr6.settings import Msr6Settings
from p4lab.topology import Failures

US = 1_000
INTERVAL = 500 * US

ENTERING = frozenset((int(failure.FIRST_GROUP + number), "r1") for number in range(2))


def run(name: str, groups: int = 1, seed: int = 1) -> Outcome:
    return failure.run("ways", BY_NAME[name], restoration.testbed(), groups, INTERVAL, seed)


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    return {way.name: run(way.name) for way in WAYS}


def test_outages_are_what_their_steps_add_up_to(outcomes: dict[str, Outcome]) -> None:
    assert failure.wrong(list(outcomes.values())) == []
    lost = {name: one.lost for name, one in outcomes.items()}
    assert lost["BIER-FRR"] < lost["MSR6 TE"] == lost["MSR6 RLB"] < lost["BIER"] < lost["MSR6 BE"]
    for one in outcomes.values():
        assert one.duplicates == 0
        assert one.lost == pytest.approx(one.formula_ns / INTERVAL, abs=1.01)


def test_formulas_with_mean_delays_give_the_papers_sum() -> None:
    """76 ms for BIER. TE: 0.6 detection, twice 0.1 distance, 30.2 computation, 5 for each row."""
    delays = delays_for(3)
    assert failure.formula(BY_NAME["BIER"], 1, delays) == BIER_RESTORED
    assert failure.formula(BY_NAME["MSR6 TE"], 1, delays) == 36 * MS
    assert failure.formula(BY_NAME["MSR6 RLB"], 8, delays) == 71 * MS
    # BE: three rows of routes instead of one, and three of bits instead of two.
    assert failure.formula(BY_NAME["MSR6 BE"], 8, delays) == BIER_RESTORED + 3 * 5 * MS
    first = {"BIER": 8, "BIER-FRR": 0, "MSR6 BE": 11}  # 71 < 76, and 86 < 91
    assert failure.first_back() == {"MSR6 TE": first, "MSR6 RLB": first}


def test_rows_that_change(outcomes: dict[str, Outcome]) -> None:
    """A triangle. Of r1 and r2 each, the other is behind r3 now, and so is its host; r3's own paths
    stay. BIER has bits for routers only: the other one's and, as its F-BM grows, r3's. MSR6 BE has
    one for the host, too. Routes of MSR6: the router's locator and network, the host's locator."""
    changed = {name: one.changed for name, one in outcomes.items()}
    assert changed["BIER"] == Changed(routes=2, multicast=4, backups=0, most=2, routers=2)
    assert changed["MSR6 BE"] == Changed(routes=6, multicast=6, backups=0, most=3, routers=2)
    for name in ("MSR6 TE", "MSR6 RLB"):
        assert changed[name] == Changed(routes=6, multicast=1, backups=0, most=1, routers=1)
    assert changed["BIER-FRR"].multicast == 4
    assert changed["BIER-FRR"].backups > 0
    for name, (_, bits) in failure.ROWS.items():
        assert changed[name].most == bits


def test_headers_grow_with_the_way_around(outcomes: dict[str, Outcome]) -> None:
    """One SID, then two; bit strings stay as long as they are."""
    headers = {name: (one.header_before, one.header_after) for name, one in outcomes.items()}
    assert headers == {
        "BIER": (20, 20),
        "BIER-FRR": (20, 20),
        "MSR6 BE": (64, 64),
        "MSR6 TE": (64, 80),
        "MSR6 RLB": (64, 80),
    }


def test_each_group_takes_a_row_more_and_a_rows_time() -> None:
    one, three = run("MSR6 TE"), run("MSR6 TE", groups=3)
    assert three.changed.multicast == 3
    row = one.delays.row
    assert three.outage_ns - one.outage_ns == pytest.approx(2 * row, abs=INTERVAL)
    assert run("MSR6 BE", groups=3).changed == run("MSR6 BE").changed


@pytest.mark.parametrize("encoding", ["te", "rlb", "be"])
def test_in_the_end_all_tables_follow_from_the_failure(encoding: str) -> None:
    topology, settings = network_of(7, 2), Msr6Settings(encoding=encoding)
    delays = delays_for(7)
    with VirtualNetwork(topology, failure.program(), seed=1) as net:
        plane = Recomputing(topology, net.driver, settings, ENTERING, delays)
        streams = failure.streams(topology, 2, MS)
        plan = Msr6().plan("x", failure.PROGRAM, topology, settings, 1, streams)
        session = Session(plan, net, plane=plane, controller=lambda p: LinkAgents(p, net.driver))
        session.start()
        session.converge()
        down = Failures.of([("r1", "r2")])
        before = {router.name: net.driver(router.name).entries() for router in topology.routers}
        moment = restoration.cut(session, topology.link("r1", "r2"))
        now = {router.name: net.driver(router.name).entries() for router in topology.routers}
    assert plane.settled
    assert now != before
    assert now == tables(topology, plane.membership, settings, ENTERING, down)
    bits = [step for step in plane.timeline if (step.stage, step.family) == ("update", "bier")]
    assert max(step.end for step in bits) == moment + plane.until_trees(down)


def test_what_must_not_be_is_named(outcomes: dict[str, Outcome]) -> None:
    good = outcomes["MSR6 TE"]
    assert failure.wrong([good]) == []
    late = replace(good, outage_ns=good.outage_ns + 2 * INTERVAL)
    assert "ms by formula" in failure.wrong([late])[0]
    assert "2 packets came twice" in failure.wrong([replace(good, duplicates=2)])[0]
    # Where bit strings follow unicast, a larger network may be back before all rows are written.
    assert failure.wrong([replace(late, part="size", way=BY_NAME["MSR6 BE"])]) == []


def test_rows_are_tidy_and_cells_their_means(outcomes: dict[str, Outcome]) -> None:
    found = [*outcomes.values(), run("MSR6 TE", seed=2)]
    rows = failure_report.records(found)
    tidy.check(rows)
    cells = {cell["way"]: cell for cell in failure_report.summary(rows)}
    assert cells["MSR6 TE"]["runs"] == 2
    own = [row["lost"] for row in rows if row["way"] == "MSR6 TE"]
    assert cells["MSR6 TE"]["lost"] == sum(own) / 2
    assert cells["MSR6 TE"]["lost_half_width"] > 0


def test_the_verb_writes_figure_table_and_json(tmp_path: Path) -> None:
    options = ("--runs", 2, "--pps", 2000, "--no-sweeps", "--out", tmp_path, "--json")
    done = p4lab("experiment", "msr6-failure", *options)
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert set(record) == {"cells", "first_back", "seeds", "csv", "figures", "wrong"}
    assert [cell["way"] for cell in record["cells"]] == [way.name for way in WAYS]
    assert len(tidy.read_csv(tmp_path / "msr6-failure.csv")) == 2 * len(WAYS)
    for figure in record["figures"]:
        assert os.path.getsize(figure) > 5_000


def test_never_is_said_as_never(tmp_path: Path) -> None:
    done = p4lab("experiment", "msr6-failure", "--runs", "1", "--no-sweeps", "--out", tmp_path)
    assert "MSR6 TE is never back before BIER-FRR" in done.stdout
    assert "up to 0 groups" not in done.stdout
    assert "±" not in done.stdout


def test_notes_tell_only_of_what_is_drawn() -> None:
    assert "Dotted" in " ".join(failure_report.notes(1000, 3, "seeds 1 to 3", True))
    notes = " ".join(failure_report.notes(1000, 3, "seeds 1 to 3", False))
    assert "Dotted" not in notes
    assert "more groups" not in notes


def page_table() -> list[str]:
    """What docs/encodings.md says of the testbed, line by line: seeds 1 to 10."""
    found = [
        failure.run("ways", way, restoration.testbed(), 1, 100 * US, seed)
        for way in WAYS
        for seed in range(1, 11)
    ]
    assert failure.wrong(found) == []
    lines = []
    for cell in failure_report.summary(failure_report.records(found)):
        values = [
            cell["way"],
            f"{cell['outage_ms']:.1f} ± {cell['outage_ms_half_width']:.1f} ms",
            f"{cell['lost']:.0f} ± {cell['lost_half_width']:.0f}",
            f"{cell['multicast_rows']:.0f} at {cell['routers_touched']:.0f} of 3 routers",
            f"{cell['route_rows']:.0f}",
            f"{cell['backup_rows']:.0f}",
            f"{cell['header_before']:.0f}, {cell['header_after']:.0f}",
        ]
        lines.append(f"| {' | '.join(values)} |")
    return lines


def test_the_page_has_what_is_measured() -> None:
    text = (ROOT / "docs" / "encodings.md").read_text()
    for line in page_table():
        assert line in text
    groups = failure.first_back()["MSR6 TE"]
    assert f"up to {groups['BIER']}\n  groups" in text
    assert f"before BE with up to {groups['MSR6 BE']}" in text
