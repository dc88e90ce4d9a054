"""Folders in the form of p4-utils run as they are; lost otherwise: courses of nsg-ethz/p4-learning.

Addresses and ports below are those of p4-utils' documentation and of the exercises' texts.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli_runner import ROOT
from little_exercise import PROGRAM
from p4lab.exercise.files import End, ExerciseError
from p4lab.exercise.folders import is_exercise, read_exercise
from p4lab.exercise.taught import P4_LEARNING, read_taught

LINES = """
// routes
# and what else happens
table_add routes forward 10.1.1.2/32 => 00:00:0a:01:01:02 1
table_add routes forward 10.1.2.0/24 => 00:00:0a:01:02:02 2
table_add rutes forward 10.1.2.0/24 => 00:00:0a:01:02:02 2
"""


def app(folder: Path, strategy: str = "mixed", **topology: Any) -> None:
    """Two switches in a row, a host at each."""
    written = {
        "assignment_strategy": strategy,
        "links": [["s2", "s1", {"weight": 7}], ["h2", "s2"], ["h1", "s1"]],
        "hosts": {"h1": {}, "h2": {}},
        "switches": {"s1": {}, "s2": {}},
        **topology,
    }
    (folder / "little.p4").write_text(PROGRAM)
    data = {"p4_src": "little.p4", "topology": written}
    (folder / "p4app.json").write_text(json.dumps(data))


@pytest.mark.parametrize(
    ("strategy", "hosts", "gateway"),
    [
        ("l2", ["10.0.0.1/16", "10.0.0.2/16"], None),
        ("mixed", ["10.0.1.1/24", "10.0.2.2/24"], "10.0.1.254"),
        ("l3", ["10.1.1.2/24", "10.2.2.2/24"], "10.1.1.1"),
    ],
)
def test_addresses_follow_from_the_strategy(
    tmp_path: Path, strategy: str, hosts: list[str], gateway: str | None
) -> None:
    app(tmp_path, strategy)
    exercise = read_exercise(tmp_path)
    assert [host.ip for host in exercise.hosts] == hosts
    first = [int(part) for part in hosts[0].split("/")[0].split(".")]
    assert exercise.hosts[0].mac == "00:00:" + ":".join(f"{part:02x}" for part in first)
    commands = " ".join(exercise.hosts[0].commands)
    assert (f"default via {gateway}" in commands) == (gateway is not None)
    neighbour = hosts[1].split("/")[0]
    assert (f"replace {neighbour} " in commands) == (strategy == "l2"), "one network, one ARP table"
    graph = json.loads(exercise.graph or "")
    edge = next(one for one in graph["links"] if one["node1"] == "s2" and one["node2"] == "s1")
    assert (edge["weight"], edge["intfName1"], edge["intfName2"]) == (7, "s2-eth2", "s1-eth2")
    if strategy == "l3":
        assert (edge["ip1"], edge["ip2"]) == ("20.2.1.1/24", "20.2.1.2/24")


def test_ports_count_in_natural_order_and_so_does_the_cpus(tmp_path: Path) -> None:
    """A link counts where its first node stands, so that a host named second comes late."""
    links = [["s1", "s10"], ["s2", "s1"], ["h1", "s1"], ["s1", "h2", {"port1": 1}]]
    switches = {"s1": {"cpu_port": True}, "s2": {}, "s10": {}}
    app(tmp_path, "l2", links=links, switches=switches)
    exercise = read_exercise(tmp_path)
    ends = {one.a.node: one.b for one in exercise.cables if one.a.node in ("h1", "h2")}
    assert ends == {"h1": End("s1", 2), "h2": End("s1", 1)}
    assert [cable.a for cable in exercise.cables if cable.b.node == "s10"] == [End("s1", 3)]
    assert [cable.b for cable in exercise.cables if cable.a.node == "s2"] == [End("s1", 5)]
    first, second, tenth = exercise.switches
    assert (first.cpu_interface, second.cpu_interface) == (4, None)
    assert [one.thrift_port for one in exercise.switches] == [9090, 9091, 9092]
    assert (tenth.name, tenth.device, tenth.p4runtime_port) == ("s10", 3, 9561)


@pytest.mark.parametrize(
    ("topology", "said"),
    [
        ({"assignment_strategy": "l4"}, "l2, mixed, l3"),
        ({"links": [["h1", "s9"]]}, "no node s9"),
        ({"links": [["h1", "h2"]]}, "does not join"),
        ({"links": [["h1", "s1"], ["h1", "s2"], ["h2", "s2"]]}, "h1 has two links"),
        ({"links": [["h1", "s1"]]}, "h2 has no link"),
        ({"links": [["h1", "s1"], ["s1", "h1"]]}, "joined twice"),
        ({"links": [["h1", "s1", {"bw": "much"}], ["h2", "s1"]]}, "much"),
        ({"hosts": {"a": {}}, "links": [["a", "s1"]]}, "hosts are called h1"),
        ({"switches": {"s1": {"cli_input": "none.txt"}, "s2": {}}}, "there is no"),
        ({"switches": 3}, "switches must be"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path: Path, topology: Any, said: str) -> None:
    app(tmp_path, **{"strategy": "l2", **topology})
    if "assignment_strategy" in topology:
        app(tmp_path, topology["assignment_strategy"])
    with pytest.raises(ExerciseError, match=r"p4app\.json") as caught:
        read_exercise(tmp_path)
    assert said in str(caught.value)


def test_of_several_files_one_is_asked_for(tmp_path: Path) -> None:
    app(tmp_path)
    (tmp_path / "p4app.json").rename(tmp_path / "p4app-a.json")
    app(tmp_path, "l3")
    (tmp_path / "topology.json").write_text("p4-utils leaves this")
    assert is_exercise(tmp_path)
    with pytest.raises(ExerciseError, match="add --topology"):
        read_exercise(tmp_path)
    assert read_exercise(tmp_path, "p4app-a.json").hosts[0].ip == "10.0.1.1/24"
    assert read_exercise(tmp_path, "p4app.json").hosts[0].ip == "10.1.1.2/24"


@pytest.mark.skipif(os.geteuid() != 0, reason="Mininet needs root")
@pytest.mark.skipif(shutil.which("mnexec") is None, reason="not installed: mnexec")
@pytest.mark.skipif(shutil.which("ping") is None, reason="not installed: ping")
def test_lines_for_the_command_line_program_the_switches(tmp_path: Path) -> None:
    """The line that is wrong is told, the others hold; controllers listen at the CPU port."""
    pytest.importorskip("thrift")
    (tmp_path / "lines.txt").write_text(LINES)
    switches = {"s1": {"cli_input": "lines.txt", "cpu_port": True}}
    app(tmp_path, "l3", switches=switches, links=[["h1", "s1"], ["h2", "s1"]])
    command = [sys.executable, "-m", "p4lab", "run", str(tmp_path), "--cli"]
    done = subprocess.run(
        command,
        input="sh ip -br link show s1-cpu-eth1\nsh ls\n",
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "2 of 2 pings were answered" in done.stdout
    assert done.stdout.count("lines.txt:") == 1
    assert "lines.txt:6: Error" in done.stdout
    assert "s1-cpu-eth1@s1-cpu-eth0" in done.stdout
    assert "s1: Thrift on 127.0.0.1:9090" in done.stdout
    assert not (tmp_path / "topology.json").exists(), "what controllers load is left behind"


def test_the_checks_of_p4_learning_can_be_read() -> None:
    """Each exercise has one that its starter does not pass."""
    taught = read_taught(P4_LEARNING)
    assert len(taught) == 25
    for one in taught.values():
        assert any(not check.starter for check in one.checks), one.name
