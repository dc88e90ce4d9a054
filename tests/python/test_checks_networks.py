"""A network as a check, with links that fail: what is wrong with it would be blamed on students."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from p4lab.course.labs import LabError, find_link, load_plan
from p4lab.engine import load_program
from p4lab.grading.course import load
from p4lab.grading.judge import judge
from p4lab.grading.plans import make_plan
from p4lab.grading.scenario import NetworkCase, Scenario, ScenarioError, make_case
from p4lab.model.run import Plan, Stream
from p4lab.network.cpu import CpuPort
from p4lab.paths import ROOT
from p4lab.session.opening import run
from p4lab.session.run import MILLISECOND
from p4lab.topology import Topology


def everybody(plan: Plan) -> tuple[Stream, ...]:
    """A stream from every host to all others."""
    group = plan.streams[0].destination
    hosts = plan.topology.hosts
    return tuple(
        Stream(
            number + 1,
            group + number,
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
        make_plan("02-frr", NetworkCase("ring", 1, 1, down=("r1-r4",)))
    with pytest.raises(LabError, match="no link h1-r1"):
        find_link(ring, "h1-r1")


def network(**keys: object) -> Scenario:
    return Scenario.model_validate({"say": "x", "network": {"topology": "ring", **keys}})


def test_a_network_takes_the_settings_of_the_labs_system() -> None:
    course = load("01-bier")
    case = make_case(network(bsl="=64 * 2"), course.kit, course, "1").network
    assert case is not None and case.settings == (("bsl", 128),)
    plan = make_plan("01-bier", case)
    assert plan.settings.bsl == 128
    assert plan.defines == (("BSL", "128"),)
    assert make_plan("01-bier", NetworkCase("ring", 1, 1)).settings.bsl == 64


def test_a_program_in_a_network_is_compiled_as_the_settings_say(tmp_path: Path) -> None:
    """The macros of the checks may say something else, and the control plane would not know."""
    course = load("01-bier")
    shutil.copytree(course.folder, tmp_path, dirs_exist_ok=True)
    file = tmp_path / "checks" / "network.toml"
    text = file.read_text(encoding="utf-8")
    assert text.count('bsl = "=BSL"') == 1
    file.write_text(text.replace('bsl = "=BSL"', "bsl = 256"), encoding="utf-8")
    chosen = [check for check in course.checks if check.id == "network"]
    check = chosen[0].model_copy(update={"needs": [], "cases": 1})
    wide = replace(course, folder=tmp_path, checks=(check,))
    assert wide.case(check, "1").case.defines == (("BSL", "256"),)
    (found,) = judge(wide, wide.sources).checks
    assert found.status == "passed"


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"bls": 64}, "network: unknown key bls; choose from topology, streams, down, bsl"),
        ({"seed": 3}, "network: unknown key seed"),
    ],
)
def test_a_setting_that_no_system_has_is_named(keys: dict[str, object], said: str) -> None:
    course = load("01-bier")
    with pytest.raises(ScenarioError, match=said):
        make_case(network(**keys), course.kit, course, "1")


def test_a_setting_that_cannot_be_is_named_with_what_can() -> None:
    with pytest.raises(LabError, match="can be 64, 128 or 256, not 65"):
        make_plan("01-bier", NetworkCase("ring", 1, 1, (("bsl", 65),)))
    with pytest.raises(LabError, match=r"a network of 01-bier: .*nowhere"):
        make_plan("01-bier", NetworkCase("nowhere", 1, 1))


# What 70dce19 drew, in which grading made these plans by itself.
DRAWN = [
    ("h6", ["h2", "h3", "h4", "h5"]),
    ("h1", ["h4"]),
    ("h4", ["h1", "h2", "h3", "h5", "h6"]),
]


def test_a_seed_draws_what_it_always_drew() -> None:
    """An appeal is judged with the cases of the first time."""
    streams = make_plan("01-bier", NetworkCase("ring", 3, 7919)).streams
    assert [(s.source.name, [host.name for host in s.receivers]) for s in streams] == DRAWN
    assert [str(stream.destination)[-1] for stream in streams] == ["1", "2", "3"]


HEADERS = [
    "bit<4> pad; bit<3> port;",  # no whole bytes
    "bit<8> nothing;",  # no port
    "varbit<64> port;",  # no width
]


@pytest.mark.parametrize("fields", HEADERS)
def test_no_controller_header_of_a_student_stops_the_grader(tmp_path: Path, fields: str) -> None:
    annotated = f'@controller_header("packet_out") header own_t {{ {fields} }}'
    file = tmp_path / "own.p4"
    text = (ROOT / "crates/p4-arch/benches/route.p4").read_text(encoding="utf-8")
    place = text.index("header ")
    file.write_text(f"{text[:place]}{annotated}\n{text[place:]}", encoding="utf-8")
    port = CpuPort.of(load_program(file, []), 510)
    assert port.packet_out_of(port.packet_out(300, b"frame"))[1] == b"frame"
