"""The target tofino-model on our own switch, and with an SDE's programs that are ours.

Everything else is as with the real ones: namespaces, cables, the CPU port with IGMP, rows over
BFRT, hosts, streams, the verdict. Without this, a lab admin with an SDE would be the first to run
it, and nobody without one could.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cli_runner import p4lab
from p4lab.doctor import tools as doctor
from p4lab.targets.tofino.simulators import NO_SDE
from p4lab.topology import Topology
from sde_folder import install

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="Mininet needs root")


@pytest.fixture(autouse=True)
def no_sde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SDE_INSTALL", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def sde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "sde"
    install(home)
    monkeypatch.setenv("SDE_INSTALL", str(home))
    return home


def test_the_folder_looks_like_an_sde(sde: Path) -> None:
    assert doctor.tofino_sde().detail.endswith("with tofino-model")


def rack(topology: Topology) -> str:
    """Sockets from the last to the first, and loops: the chip's own, and two at the front."""
    told = 'name = "test"\n'
    for router in topology.routers:
        told += f'[[switch]]\nrouter = "{router.name}"\nserver = "{router.name}:50052"\n'
        told += "recirculation = [196]\n"
        for front in (1, 17):
            told += f'[[loop]]\nswitch = "{router.name}"\nfront = {front}\n'
        for number, to in topology.ports(router.name).items():
            told += f'[[cable]]\nswitch = "{router.name}"\nfront = {33 - number}\nto = "{to}"\n'
    return told


def as_on_the_engine(topology: str, report: dict[str, Any]) -> None:
    assert (report["target"], report["ok"], report["problems"]) == ("tofino-model", True, [])
    same = p4lab("run", "01-bier", "--topology", topology, "--packets", "50", "--json")
    virtual = json.loads(same.stdout)
    assert report["hosts"] == virtual["hosts"]
    assert report["links"] == virtual["links"]


@needs_root
@pytest.mark.parametrize(("topology", "wired"), [("paper", True), ("rfc8279", False)])
def test_lab_01_runs_without_an_sde_and_says_what_it_uses(
    topology: str, wired: bool, tmp_path: Path
) -> None:
    (tmp_path / "rack.toml").write_text(rack(Topology.load(topology)))
    done = p4lab(
        *("run", "01-bier", "--target", "tofino-model", "--topology", topology),
        *(("--rack", tmp_path / "rack.toml") if wired else ()),
        *("--packets", "50", "--json"),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    as_on_the_engine(topology, report)
    assert NO_SDE in report["notes"]


@needs_root
@pytest.mark.parametrize("lab", ["03-protect", "04-msr6", "06-bng"])
def test_other_labs_run_their_programs_for_tna(lab: str) -> None:
    done = p4lab("run", lab, "--target", "tofino-model", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert (report["target"], report["ok"], report["problems"]) == ("tofino-model", True, [])


@needs_root
def test_lab_01_runs_with_the_programs_of_an_sde(sde: Path) -> None:
    """Their command lines and files are read from the SDE's scripts; what reads them here is ours,
    and takes no other options."""
    arguments = ("--topology", "paper", "--packets", "50", "--json")
    done = p4lab("run", "01-bier", "--target", "tofino-model", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    as_on_the_engine("paper", report)
    assert NO_SDE not in report["notes"]


@needs_root
def test_a_chip_tells_that_a_port_has_no_link_and_backups_take_over() -> None:
    """A cable is pulled before lab 05's streams. Nobody but the chips at its ends can know."""
    arguments = ("05-recirculation", "--topology", "testbed", "--packets", "20", "--json")
    done = p4lab("run", *arguments, "--down", "r1-r2", "--target", "tofino-model")
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    virtual = json.loads(p4lab("run", *arguments, "--down", "r1-r2").stdout)
    assert report["hosts"] == virtual["hosts"]
    carried = {(row["source"], row["target"]): row["copies"] for row in report["links"]}
    assert carried["r1", "r3"] == carried["r3", "r2"] == 20  # around
    assert carried["r1", "r2"] == 0


@needs_root
def test_a_driver_that_ends_is_quoted_and_nothing_is_left(sde: Path) -> None:
    (sde / "bin/bf_switchd").write_text("#!/bin/sh\necho no such chip\nexit 3\n")
    before = held()
    done = p4lab("run", "01-bier", "--target", "tofino-model", "--topology", "paper")
    assert done.returncode == 2
    assert "switchd: no such chip" in done.stderr
    assert held() <= before


def held() -> set[str]:
    """The network namespaces whose first process is a router's placeholder, whoever else makes
    namespaces on this machine."""
    told = subprocess.run(
        ["lsns", "--noheadings", "--type", "net", "--output", "NS,COMMAND"],
        capture_output=True,
        text=True,
        check=True,
    )
    return {line.split()[0] for line in told.stdout.splitlines() if "sleep infinity" in line}


def test_a_program_that_the_compiler_refuses_is_quoted(sde: Path) -> None:
    (sde / "bin/bf-p4c").write_text("#!/bin/sh\necho 'tna.p4(3): error: too hard' >&2\nexit 1\n")
    done = p4lab("run", "01-bier", "--target", "tofino-model", "--topology", "paper")
    assert done.returncode == 2
    assert "bf-p4c does not accept" in done.stderr and "error: too hard" in done.stderr
