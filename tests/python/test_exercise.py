"""Folders in the form of p4lang/tutorials run as they are; what is wrong in one is named."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli_runner import ROOT, p4lab
from p4lab.engine import load_program
from p4lab.exercise.entries import entities
from p4lab.exercise.files import ExerciseError, is_exercise, read_exercise
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

PROGRAM = """
#include <core.p4>
#include <v1model.p4>

header ethernet_t { bit<48> dst; bit<48> src; bit<16> kind; }
header ipv4_t {
    bit<8> version_ihl; bit<8> tos; bit<16> length; bit<16> id; bit<16> fragment;
    bit<8> ttl; bit<8> protocol; bit<16> checksum; bit<32> src; bit<32> dst;
}
struct headers_t { ethernet_t ethernet; ipv4_t ipv4; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta,
         inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.kind) { 0x0800: ipv4; default: accept; }
    }
    state ipv4 { packet.extract(hdr.ipv4); transition accept; }
}

control Verify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action drop() { mark_to_drop(standard); }
    action forward(bit<48> next, bit<9> port) {
        hdr.ethernet.src = hdr.ethernet.dst;
        hdr.ethernet.dst = next;
        standard.egress_spec = port;
    }
    table routes {
        key = { hdr.ipv4.dst: lpm; }
        actions = { forward; drop; NoAction; }
        default_action = NoAction();
    }
    table kinds {
        key = { hdr.ipv4.tos: ternary; hdr.ipv4.length: range; hdr.ipv4.protocol: exact; }
        actions = { drop; NoAction; }
        default_action = NoAction();
    }
    apply {
        if (hdr.ipv4.isValid()) { routes.apply(); kinds.apply(); }
        else { mark_to_drop(standard); }
    }
}

control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply { }
}
control Compute(inout headers_t hdr, inout metadata_t meta) { apply { } }
control MyDeparser(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.ethernet); packet.emit(hdr.ipv4); }
}
V1Switch(P(), Verify(), MyIngress(), MyEgress(), Compute(), MyDeparser()) main;
"""


def route(address: str, mac: str, port: int) -> dict[str, Any]:
    return {
        "table": "MyIngress.routes",
        "match": {"hdr.ipv4.dst": [address, 32]},
        "action_name": "MyIngress.forward",
        "action_params": {"next": mac, "port": port},
    }


DROP = {
    "table": "MyIngress.routes",
    "default_action": True,
    "action_name": "MyIngress.drop",
    "action_params": {},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two switches in a row, a host at each; s2 does not know h2's way back to h3."""
    (tmp_path / "little.p4").write_text(PROGRAM)

    def host(number: int, gateway: str) -> dict[str, Any]:
        return {
            "ip": f"10.0.{number}.1/24",
            "mac": f"08:00:00:00:00:0{number}",
            "commands": [
                f"route add default gw 10.0.{number}.254 dev eth0",
                f"arp -i eth0 -s 10.0.{number}.254 {gateway}",
            ],
        }

    topology = {
        "hosts": {f"h{n}": host(n, "08:00:00:00:00:ff") for n in (1, 2, 3)},
        "switches": {
            "s1": {"runtime_json": "s1-runtime.json"},
            "s2": {"runtime_json": "s2-runtime.json", "program": "build/little.json"},
        },
        "links": [["h1", "s1-p1"], ["h3", "s1-p3"], ["s1-p2", "s2-p1", "0", 100], ["h2", "s2-p2"]],
    }
    (tmp_path / "topology.json").write_text(json.dumps(topology))
    tables = {
        "s1": [
            DROP,
            route("10.0.1.1", "08:00:00:00:00:01", 1),
            route("10.0.3.1", "08:00:00:00:00:03", 3),
            route("10.0.2.1", "08:00:00:00:00:ee", 2),
        ],
        "s2": [
            DROP,
            route("10.0.2.1", "08:00:00:00:00:02", 2),
            route("10.0.1.1", "08:00:00:00:00:ee", 1),
        ],
    }
    for name, entries in tables.items():
        runtime = {"target": "bmv2", "table_entries": entries}
        (tmp_path / f"{name}-runtime.json").write_text(json.dumps(runtime))
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
        (["--net", "mininet"], "--net is for labs"),
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
        ({"switches": {"s1": {"cli_input": "x"}}}, "cli_input"),
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
