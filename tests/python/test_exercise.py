"""Folders in the form of p4lang/tutorials run as they are; what is wrong in one is named."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cli_runner import ROOT, p4lab
from little_exercise import DROP, route, write
from p4lab.engine import load_program
from p4lab.exercise.entries import entities
from p4lab.exercise.files import ExerciseError
from p4lab.exercise.folders import is_exercise, read_exercise
from p4lab.model.entries import (
    CloneSession,
    DefaultAction,
    Exact,
    Lpm,
    MulticastGroup,
    Range,
    TableEntry,
    Ternary,
)
from p4lab.targets import bmv2


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two switches in a row, a host at each; s2 does not know h2's way back to h3."""
    write(tmp_path)
    return tmp_path


START = "Mininet's command line: nodes, net, h1 ping h2, pingall, iperf h1 h2, exit"
TARGETS = [
    "engine",
    pytest.param(
        "bmv2",
        marks=pytest.mark.skipif(
            bool(bmv2.missing()), reason=f"bmv2 is not installed: {', '.join(bmv2.missing())}"
        ),
    ),
]


@pytest.mark.skipif(os.geteuid() != 0, reason="Mininet needs root")
@pytest.mark.skipif(shutil.which("ping") is None, reason="not installed: ping")
@pytest.mark.skipif(shutil.which("mnexec") is None, reason="not installed: mnexec")
@pytest.mark.parametrize("target", TARGETS)
def test_the_folder_runs_as_it_is(folder: Path, target: str) -> None:
    done = p4lab("run", folder, "--target", target, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    answered = {(p["from"], p["to"]) for p in found["pings"] if p["answered"]}
    near = {("h1", "h3"), ("h3", "h1"), ("h1", "h2"), ("h2", "h1")}
    assert answered == near, "h2 and h3 have no way between them"
    assert {s["name"]: s["entries"] for s in found["switches"]} == {"s1": 4, "s2": 3}


@pytest.mark.skipif(os.geteuid() != 0, reason="Mininet needs root")
@pytest.mark.skipif(shutil.which("mnexec") is None, reason="not installed: mnexec")
def test_commands_come_from_a_pipe_and_controllers_find_the_switches(folder: Path) -> None:
    """If this fails, a lesson's script of commands does nothing, or the tutorials' controllers
    cannot connect."""
    grpc, proto = pytest.importorskip("grpc"), pytest.importorskip("finsy.proto")
    command = [sys.executable, "-m", "p4lab", "run", str(folder), "--cli"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment) as running:
        assert running.stdin is not None and running.stdout is not None
        told = list(iter(lambda: running.stdout.readline().strip(), START))
        assert "s2: P4Runtime on 127.0.0.1:50052, device 1" in told
        stub = proto.p4r_grpc.P4RuntimeStub(grpc.insecure_channel("127.0.0.1:50052"))
        request = proto.p4r.ReadRequest(device_id=1)
        request.entities.add().table_entry.table_id = 0
        read = [entity for answer in stub.Read(request, timeout=20) for entity in answer.entities]
        ports = {
            int.from_bytes(one.table_entry.action.action.params[1].value, "big") for one in read
        }
        assert ports == {1, 2}, "the entries of s2"
        running.stdin.write("nodes\nh1 ping -c 1 h2\nh1 python3 -c 'import scapy'\nh1 pwd\n")
        running.stdin.write("xterm h1\nexit\nnever\n")
        running.stdin.close()
        said = running.stdout.read()
    assert "h1 h2 h3 s1 s2" in said
    assert "1 received" in said, "the name of a host stands for its address"
    assert "Error" not in said, "hosts have scapy"
    assert str(folder) in said, "they begin in the folder"
    assert "mnexec -a" in said or os.environ.get("DISPLAY")
    assert "never" not in said
    assert running.returncode == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--packets", "3"], "--packets is for labs"),
        (["--net", "linux"], "--net is for labs"),
        (["--undefined", "1"], "--undefined is for labs"),
        (["--bmv2-compat", "--target", "bmv2"], "--bmv2-compat is for our own"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(
    folder: Path, words: list[str], said: str
) -> None:
    done = p4lab("run", folder, *words)
    assert done.returncode == 2
    assert said in done.stderr


def test_switches_are_numbered_as_mininet_does(folder: Path) -> None:
    topology = json.loads((folder / "topology.json").read_text())
    runtime = {"runtime_json": "s1-runtime.json"}
    topology["switches"] = {"s10": {**runtime, "cpu_port": "510"}, "s2": runtime, "s1": runtime}
    (folder / "topology.json").write_text(json.dumps(topology))
    found = read_exercise(folder).switches
    assert [(one.name, one.device, one.p4runtime_port) for one in found] == [
        ("s1", 0, 50051),
        ("s2", 1, 50052),
        ("s10", 2, 50053),
    ]
    assert [one.cpu_port for one in found] == [None, None, 510]
    topology["switches"]["s2"] = {**runtime, "cpu_port": 511}
    (folder / "topology.json").write_text(json.dumps(topology))
    with pytest.raises(ExerciseError, match="cpu_port is a number from 1 to 510"):
        read_exercise(folder)


def test_every_kind_of_entry_is_understood(folder: Path) -> None:
    summary = load_program(folder / "little.p4").summary
    runtime = {
        "table_entries": [
            DROP,
            {
                "table": "kinds",
                "match": {
                    "hdr.ipv4.tos": ["0x10", "0xf0"],
                    "hdr.ipv4.length": [20, 100],
                    "hdr.ipv4.protocol": [6],
                },
                "priority": 7,
                "action_name": "drop",
            },
            {"table": "routes", "action_name": "drop", "match": {}},
        ],
        "multicast_group_entries": [
            {"multicast_group_id": 3, "replicas": [{"egress_port": 1, "instance": 2}]}
        ],
        "clone_session_entries": [
            {"clone_session_id": 5, "replicas": [{"egress_port": 4}], "packet_length_bytes": 64}
        ],
    }
    file = folder / "all.json"
    file.write_text(json.dumps(runtime))
    kinds = (
        ("hdr.ipv4.tos", Ternary(0x10, 0xF0)),
        ("hdr.ipv4.length", Range(20, 100)),
        ("hdr.ipv4.protocol", Exact(6)),
    )
    assert entities(file, summary) == [
        DefaultAction("MyIngress.routes", "MyIngress.drop", ()),
        TableEntry("MyIngress.kinds", kinds, "MyIngress.drop", (), 7),
        TableEntry("MyIngress.routes", (("hdr.ipv4.dst", Lpm(0, 0)),), "MyIngress.drop", ()),
        MulticastGroup(3, ((1, 2),)),
        CloneSession(5, ((4, 0),), 64),
    ]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"table": "nowhere"}, "no table nowhere"),
        ({"action_name": "fly"}, "no action fly"),
        ({"match": {"x": 1}}, "no key x"),
        ({"action_params": {"next": 1}}, "needs the parameter port"),
        ({"action_params": {"next": 1, "port": 512}}, "512 does not fit into 9 bits"),
        ({"match": {"hdr.ipv4.dst": ["10.0.0.256", 32]}}, "table_entries[0]"),
        ({"table": None}, "table_entries[0]"),
    ],
)
def test_an_entry_that_does_not_fit_is_named(folder: Path, change: dict, said: str) -> None:
    file = folder / "bad.json"
    file.write_text(json.dumps({"table_entries": [{**route("10.0.0.1", "1", 1), **change}]}))
    with pytest.raises(ExerciseError) as caught:
        entities(file, load_program(folder / "little.p4").summary)
    assert said in str(caught.value)
    assert "bad.json" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"hosts": {}}, "there are no hosts"),
        ({"hosts": {"h1": {"ip": 1}}}, "hosts.h1 needs a text ip"),
        ({"switches": {"s1": {"cli_input": "none.txt"}}}, "there is no"),
        ({"switches": {"s1": {"runtime_json": "none.json"}}}, "there is no"),
        ({"links": 3}, "links must be a list"),
        ({"links": [["h1", "h3"]]}, "joins two hosts"),
        ({"links": [["h1", "s9-p1"]]}, "s9-p1 is neither"),
        ({"links": [["h1", "s1-p1", "1 day"]]}, "latency"),
        ({"links": [["h1", "s1-p1", 0, -5]]}, "bandwidth"),
    ],
)
def test_a_topology_that_is_not_sound_is_named(folder: Path, change: dict, said: str) -> None:
    file = folder / "topology.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    with pytest.raises(ExerciseError, match=r"topology\.json") as caught:
        read_exercise(folder)
    assert said in str(caught.value)


def test_a_makefile_chooses_topology_and_program(folder: Path) -> None:
    (folder / "other.p4").write_text("")
    (folder / "ring").mkdir()
    shutil.copy(folder / "topology.json", folder / "ring/topology.json")
    with pytest.raises(ExerciseError, match="2 topologies"):
        read_exercise(folder)
    (folder / "Makefile").write_text("DEFAULT_PROG = little.p4\nTOPO = ring/topology.json\n")
    found = read_exercise(folder)
    assert found.topology == folder / "ring/topology.json"
    assert {switch.program.name for switch in found.switches} == {"little.p4"}
    assert is_exercise(folder)
    assert not is_exercise(folder / "Makefile")


def test_broken_json_is_told_with_its_line(folder: Path) -> None:
    (folder / "topology.json").write_text('{\n "hosts": }')
    done = p4lab("run", folder)
    assert done.returncode == 2
    assert "topology.json:2" in done.stderr
