"""Links that fail in a run. If these fail, a right program is blamed for hosts that nobody could
reach, or a wrong one excused for those that it should have."""

from __future__ import annotations

import json
from dataclasses import replace

import networkx
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bier_oracle import networks
from cli_runner import p4lab
from p4lab import registry
from p4lab.course.labs import LabError, load_plan
from p4lab.model.report import deliveries
from p4lab.model.run import Observed, Plan, Received
from p4lab.session.opening import run
from p4lab.session.run import reference_run

MS = 1_000_000


def excused(plan: Plan) -> dict[tuple[str, int], str]:
    """Why receivers, by host and flow, need not get anything."""
    return dict(registry.find(plan.system).excused(plan, reference_run))


def hosts(found: dict[tuple[str, int], str], reason: str) -> set[str]:
    return {name for (name, _), why in found.items() if why == reason}


def test_two_failures_by_hand() -> None:
    """The ring without r1-r2 and r3-r4: h2 and h3 are an island. Without r1-r2 and r2-r3 h2 is
    alone, and h3, whose way led over r2, is served the other way round."""
    plan = load_plan("02-frr", packets=3, down=["1", "r3-r4"])
    assert [(link.a, link.b) for link in plan.down] == [("r1", "r2"), ("r3", "r4")]
    found = excused(plan)
    first = {name for (name, flow), why in found.items() if (flow, why) == (1, "cut off")}
    assert first == {"h2", "h3"}
    report = run(plan)
    assert report.ok, report.problems
    rows = {(row.host, row.destination): row for row in report.hosts}
    assert rows["h2", "239.1.1.1"].unserved == "cut off"
    assert rows["h6", "239.1.1.1"].received == 3
    plan = load_plan("02-frr", packets=3, down=["1", "2"])
    assert {name for name, flow in excused(plan) if flow == 1} == {"h2"}
    assert run(plan).ok


def test_who_is_excused_in_which_stream() -> None:
    plan = load_plan("02-frr", packets=3, down=["1", "3"])
    found, report = excused(plan), run(plan)
    rows = [row for row in report.hosts if row.destination == "239.1.1.1"]
    assert {row.host for row in rows if row.unserved} == {name for name, flow in found if flow == 1}


def test_nobody_else_is_excused() -> None:
    plan = load_plan("02-frr", packets=3, down=["1", "3"])
    excuse = excused(plan)
    sent = {stream.flow: 3 for stream in plan.streams}
    served = {
        (host.name, stream.flow): Received(3, 0)
        for stream in plan.streams
        for host in stream.receivers
        if (host.name, stream.flow) not in excuse
    }
    assert deliveries(plan, "virtual", Observed(sent, served, {}), excused=excuse).ok
    for lost in served:
        some = {who: got for who, got in served.items() if who != lost}
        report = deliveries(plan, "virtual", Observed(sent, some, {}), excused=excuse)
        assert len(report.problems) == 1
        assert report.problems[0].startswith(f"{lost[0]} misses 3 of 3")
        twice = {**served, lost: Received(3, 1)}
        assert not deliveries(plan, "virtual", Observed(sent, twice, {}), excused=excuse).ok


@settings(max_examples=15, deadline=None)
@given(topology=networks(6), data=st.data())
def test_any_failures(topology, data) -> None:
    """In random networks: who is excused was cut off, or has a way that was not prepared.
    Whoever is cut off is excused, and nobody else for that reason."""
    core = [link for link in topology.links if not link.is_access]
    assume(len(topology.hosts) > 1 and core)
    down = data.draw(st.lists(st.sampled_from(core), min_size=1, max_size=3, unique=True))
    sample = load_plan("02-frr", packets=2)
    source, *others = topology.hosts
    stream = replace(sample.streams[0], source=source, receivers=tuple(others), interval_ns=MS)
    plan = replace(sample, topology=topology, streams=(stream,), down=tuple(down))
    found = excused(plan)
    graph = topology.graph.copy()
    graph.remove_edges_from((link.a, link.b) for link in down)
    near = networkx.node_connected_component(graph, source.name)
    assert hosts(found, "cut off") == {host.name for host in others} - near
    assert hosts(found, "unprepared") <= near
    assert set(found.values()) <= {"cut off", "unprepared"}
    assert run(plan).ok


def test_routers_that_do_not_help_themselves_are_no_excuse() -> None:
    """Plain BIER loses what its control plane does not know of, and the run says so."""
    plan = load_plan("01-bier", topology="ring", packets=2, down=["1"])
    assert excused(plan) == {}
    report = run(plan)
    assert not report.ok
    assert all("misses 2 of 2" in problem for problem in report.problems)


def test_without_failures_nobody_is_excused() -> None:
    plan = load_plan("02-frr", down=[])
    assert plan.down == ()
    assert excused(plan) == {}


@pytest.mark.parametrize("down", ["r1-r5", "h1-r1", "x", "", "-1"])
def test_links_that_are_not_there(down) -> None:
    with pytest.raises(LabError, match="has no link"):
        load_plan("02-frr", down=[down])


def test_the_same_link_twice_is_one_failure() -> None:
    assert len(load_plan("02-frr", down=["1", "r2-r1", "7"]).down) == 1


def test_on_the_command_line() -> None:
    done = p4lab("run", "02-frr", "--packets", "5", "--down", "1", "--down", "3")
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "r1-r2, r3-r4 failed before the streams" in text
    assert "no way is left to h2 (239.1.1.1)" in text
    done = p4lab("run", "02-frr", "--packets", "5", "--down", "r2-r3", "--json")
    record = json.loads(done.stdout)
    assert record["down"] == ["r2-r3"]
    assert {row["unserved"] for row in record["hosts"]} == {""}
    done = p4lab("run", "02-frr", "--down", "r1-r9")
    assert done.returncode == 2
    assert "no link r1-r9" in done.stderr
