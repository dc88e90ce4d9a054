"""The same program under the same control plane on the real bmv2, where it is installed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cli_runner import ROOT, p4lab
from p4lab.grading.benches.bmv2 import Bmv2Bench
from p4lab.grading.course import load
from p4lab.grading.judge import judge
from p4lab.targets import bmv2

MISSING = bmv2.missing()
needs_bmv2 = pytest.mark.skipif(
    bool(MISSING), reason=f"bmv2 is not installed: {', '.join(MISSING)}"
)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="Mininet needs root")


@needs_bmv2
@needs_root
@pytest.mark.parametrize("topology", ["rfc8279", "ring"])
def test_lab_01_runs_on_bmv2_as_on_the_engine(topology: str) -> None:
    reports = {}
    for target in ("engine", "bmv2"):
        arguments = ("--net", "linux", "--target", target, "--topology", topology)
        done = p4lab("run", "01-bier", *arguments, "--packets", "100", "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        reports[target] = json.loads(done.stdout)
    assert reports["engine"]["hosts"] == reports["bmv2"]["hosts"]
    assert reports["engine"]["links"] == reports["bmv2"]["links"]
    assert reports["bmv2"]["target"] == "bmv2"
    engine, real = (between_routers(reports[target]) for target in ("engine", "bmv2"))
    assert engine == real
    links = reports["bmv2"]["links"]
    carried = {(row["source"], row["target"]): row["copies"] for row in links}
    for (router, neighbour), (packets, _) in real.items():
        assert router == neighbour or packets == carried.get((router, neighbour), 0)
    assert any(
        router == neighbour and packets for (router, neighbour), (packets, _) in real.items()
    )


def between_routers(report: dict) -> dict[tuple[str, str], tuple[int, int]]:
    """What switches counted themselves, packets and bytes; hosts also get IGMP, at any time."""
    routers = {row["router"] for row in report["counters"]}
    return {
        (row["router"], row["neighbour"]): (row["packets"], row["bytes"])
        for row in report["counters"]
        if row["neighbour"] in routers
    }


@needs_bmv2
@needs_root
def test_the_checks_of_lab_01_hold_on_bmv2(tmp_path: Path) -> None:
    done = p4lab("check", "01-bier", ROOT / "p4", "--target", "bmv2")
    assert done.returncode == 0, done.stdout + done.stderr
    # And a mistake is found there, too, with its line.
    (tmp_path / "bier").mkdir()
    source = (ROOT / "p4/bier/bier.p4").read_text()
    right = "hdr.bier.bit_string = carried.remaining & fbm;"
    wrong = "hdr.bier.bit_string = carried.remaining | fbm;"
    (tmp_path / "bier/bier.p4").write_text(source.replace(right, wrong))
    done = p4lab("check", "01-bier", tmp_path, "--target", "bmv2")
    assert done.returncode == 1
    line = source[: source.index(right)].count("\n") + 1
    assert f"bier/bier.p4:{line}" in done.stdout


@needs_bmv2
@needs_root
@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--down", "r1-r2"),
        ("--accept", "vector", "--down", "r4-r5"),
        ("--accept", "slots", "--history", "16"),
        ("--accept", "none"),
    ],
    ids=lambda arguments: "_".join(arguments).replace("--", "") or "highest",
)
def test_lab_03_runs_on_bmv2_as_on_the_engine(arguments: tuple[str, ...]) -> None:
    reports = {}
    for target in ("engine", "bmv2"):
        how = ("--net", "linux", "--target", target, "--packets", "50", "--reset", "10 s")
        done = p4lab("run", "03-protect", *how, *arguments, "--json")
        twice = "none" in arguments
        assert done.returncode == twice, done.stdout + done.stderr
        reports[target] = json.loads(done.stdout)
    engine, real = reports["engine"], reports["bmv2"]
    assert real["target"] == "bmv2"
    assert engine["hosts"] == real["hosts"] and engine["links"] == real["links"]
    assert between_routers(engine) == between_routers(real)
    assert copies(engine) == copies(real)


def copies(report: dict) -> dict[tuple[str, int], tuple[int, int, int]]:
    """By connection and path (0: both), how many copies were sent, came in, and were accepted. By
    which path the first copy comes is up to the machine, so that is for both paths together."""
    found = {}
    for connection in report["protected"]:
        name, sent = connection["name"], connection["sent"]
        counted = {path["path"]: path["counted"] for path in connection["paths"]}
        for path, count in counted.items():
            kinds = count["accepted"] + count["discarded"] + count["rogue"]
            assert count["received"] == kinds, f"{name}, path {path}: copies without a verdict"
            found[name, path] = (sent, count["received"], 0)
        accepted = sum(count["accepted"] for count in counted.values())
        found[name, 0] = (sent, found[name, 1][1] + found[name, 2][1], accepted)
    return found


@needs_bmv2
@needs_root
def test_the_checks_of_lab_03_hold_on_bmv2() -> None:
    """All of them but the one whose packets come at certain moments, which bmv2 has no clock for:
    registers that are written, counters, packets to the control plane, networks."""
    done = p4lab("check", "03-protect", ROOT / "p4", "--target", "bmv2", "--json")
    found = json.loads(done.stdout)
    beyond = [check["id"] for check in found["checks"] if check["beyond"]]
    assert beyond == ["slots-forget"]
    failed = [check for check in found["checks"] if check["status"] == "failed"]
    assert done.returncode == 0 and not failed, failed


@needs_bmv2
@needs_root
def test_a_mistake_in_lab_03_is_found_on_bmv2() -> None:
    course = load("03-protect")
    chosen = ("tag-number", "decapsulate-garbage", "accept-order")
    course.checks = tuple(
        check.model_copy(update={"needs": [], "cases": 1})
        for check in course.checks
        if check.id in chosen
    )
    right = {name: (ROOT / "p4" / name).read_text() for name in course.student.edit}
    mistakes = {
        "tag-number": ("protect/accept.p4", "next = next & SN_MASK;", "next = next + 1;"),
        "decapsulate-garbage": (
            "protect/protect.p4",
            "decision.drop = drop_reason_t.TUNNEL_IN_TUNNEL;",
            "decision.drop = drop_reason_t.NEXT_PROTOCOL;",
        ),
        "accept-order": ("protect/accept.p4", "last = sn;", ""),
    }
    with Bmv2Bench(course) as bench:
        for check, (name, line, wrong) in mistakes.items():
            assert right[name].count(line) == 1, line
            files = {**right, name: right[name].replace(line, wrong)}
            verdict = judge(course, files, bench=bench)
            failed = {one.id for one in verdict.checks if one.status == "failed"}
            assert check in failed, failed


@needs_bmv2
@needs_root
@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--encoding", "rlb", "--tree", "steiner"),
        ("--encoding", "rlb", "--leaves", "hosts"),
        ("--encoding", "be", "--leaves", "hosts"),
        ("--encoding", "clone"),
        ("--entries", "6"),
    ],
    ids=lambda arguments: "_".join(arguments).replace("--", "") or "te",
)
def test_lab_04_runs_on_bmv2_as_on_the_engine(arguments: tuple[str, ...]) -> None:
    reports = {}
    for target in ("engine", "bmv2"):
        how = ("--net", "linux", "--target", target, "--packets", "20")
        done = p4lab("run", "04-msr6", *how, *arguments, "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        reports[target] = json.loads(done.stdout)
    engine, real = reports["engine"], reports["bmv2"]
    assert engine["hosts"] == real["hosts"] and engine["links"] == real["links"]
    assert between_routers(engine) == between_routers(real)


@needs_bmv2
@needs_root
def test_the_checks_of_lab_04_hold_on_bmv2() -> None:
    """What is refused goes to the controller with its reason, here by P4Runtime."""
    done = p4lab("check", "04-msr6", ROOT / "p4", "--target", "bmv2", "--json")
    found = json.loads(done.stdout)
    failed = [check for check in found["checks"] if check["status"] != "passed"]
    assert done.returncode == 0 and not failed, failed


@pytest.mark.skipif(not MISSING, reason="bmv2 is installed")
def test_without_bmv2_the_run_says_what_to_install() -> None:
    done = p4lab("run", "01-bier", "--net", "linux", "--target", "bmv2")
    assert done.returncode == 2
    assert "p4c-bm2-ss" in done.stderr
    assert "Install" in done.stderr
    done = p4lab("check", "01-bier", ROOT / "p4", "--target", "bmv2")
    assert done.returncode == 2
    assert "p4c-bm2-ss" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--target", "bmv2"), "add --net linux"),
        (("--target", "bmv2", "--net", "linux", "--undefined", "1"), "--undefined"),
        (("--target", "wedge99"), "engine, bmv2, tofino-model, wedge"),
    ],
)
def test_what_cannot_go_together_is_said(arguments: tuple[str, ...], said: str) -> None:
    done = p4lab("run", "01-bier", *arguments)
    assert done.returncode == 2
    assert said in done.stderr
