"""A network as a check, with links that fail: what is wrong with it would be blamed on students."""

from __future__ import annotations

from dataclasses import replace

import pytest

from p4lab.course.labs import LabError, find_link, load_plan
from p4lab.grading import networks
from p4lab.grading.course import load
from p4lab.grading.judge import judge
from p4lab.grading.scenario import NetworkCase
from p4lab.model.run import Plan, Stream
from p4lab.session.run import MILLISECOND, run
from p4lab.topology import Topology


def everybody(plan: Plan) -> tuple[Stream, ...]:
    """A stream from every host to all others."""
    group = int(plan.streams[0].group)
    hosts = plan.topology.hosts
    return tuple(
        Stream(
            number + 1,
            type(plan.streams[0].group)(group + number),
            source,
            tuple(host for host in hosts if host is not source),
            2,
            MILLISECOND,
        )
        for number, source in enumerate(hosts)
    )


@pytest.mark.parametrize(
    ("topology", "link"),
    [("ring", number) for number in range(1, 7)] + [("testbed", number) for number in range(1, 4)],
)
def test_the_reference_saves_every_packet_whichever_link_fails(topology: str, link: int) -> None:
    """The check `network-link` of lab 02 draws one of these: a right answer must pass in all."""
    plan = load_plan("02-frr", topology=topology)
    report = run(replace(plan, streams=everybody(plan), down=(find_link(plan.topology, link),)))
    assert report.problems == ()


@pytest.mark.parametrize(("control", "saved"), [("frr", True), ("bier", False)])
def test_only_routers_that_see_the_failure_help(control, saved) -> None:
    plan = load_plan("02-frr", packets=2)
    assert [f"{link.a}-{link.b}" for link in plan.down] == ["r1-r2"]
    if control == "bier":
        plan = replace(load_plan("01-bier", topology="ring", packets=2), down=plan.down)
    report = run(plan)
    assert report.ok is saved
    assert report.down == ("r1-r2",)
    assert all(row.ideal is None for row in report.links)


def test_the_first_router_that_goes_wrong_is_named() -> None:
    """A student reads where in the network it went wrong, and which link had failed."""
    course = load("02-frr")
    files = dict(course.sources)
    name = "bier-frr/frr.p4"
    files[name] = files[name].replace("ttl            = TUNNEL_TTL", "ttl            = 3")
    assert files[name] != course.sources[name]
    check = next(check for check in course.checks if check.id == "network-link")
    alone = replace(course, checks=(check.model_copy(update={"needs": []}),))
    (result,) = judge(alone, files).checks
    assert result.status == "failed"
    assert result.story is not None and result.story.router
    assert "It goes wrong at" in result.story.summary
    assert any("fails" in step for step in result.story.steps)


def test_links_are_named_or_counted() -> None:
    ring = Topology.load("ring")
    assert find_link(ring, "r1-r2") == find_link(ring, "r2-r1") == ring.link("r1", "r2")
    assert find_link(ring, 1) == find_link(ring, 7) == ring.link("r1", "r2")
    with pytest.raises(LabError, match="'ring' has no link r1-r4 between routers"):
        networks.make_plan("02-frr", NetworkCase("ring", 64, 1, 1, ("r1-r4",)))
    with pytest.raises(LabError, match="no link h1-r1"):
        find_link(ring, "h1-r1")
