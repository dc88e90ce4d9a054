"""Mininet: real hosts get what they should, and nothing stays behind however a run ends."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from cli_runner import ROOT, p4lab
from host_program import NoSwitches
from p4lab.course.labs import load_plan
from p4lab.engine import load_program
from p4lab.model.report import deliveries
from p4lab.network import open_network
from p4lab.network.agents import ForkServer
from p4lab.network.base import NetworkError
from p4lab.network.mininet import MininetNetwork
from p4lab.session.run import Session, carry_out
from p4lab.topology import Topology

TOOLS = ("mnexec", "ifconfig", "ip", "ethtool")
missing = [tool for tool in TOOLS if shutil.which(tool) is None]
needs_mininet = [
    pytest.mark.skipif(os.geteuid() != 0, reason="Mininet needs root"),
    pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}"),
]


# What this process starts has it in its environment; other tests make networks beside it.
os.environ["P4LAB_MARK"] = f"mininet-{os.getpid()}"
MARK = f"P4LAB_MARK={os.environ['P4LAB_MARK']}".encode()


def left_behind() -> set[str]:
    """Interfaces, named namespaces, and processes that belong to a network of ours."""
    found = {f"interface {path.name}" for path in Path("/sys/class/net").iterdir()}
    found |= {f"namespace {path}" for path in Path("/run").glob("netns/*")}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if MARK not in (process / "environ").read_bytes().split(b"\0"):
                continue
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue  # it has just ended
        if any(word in command for word in ("mininet:", "p4lab.hosts", "dumpcap")):
            found.add(f"process {process.name} {command}")
    return found


def start(*arguments: str) -> subprocess.Popen[bytes]:
    """A run that would take a minute, once its hosts are there."""
    before = left_behind()
    run = [sys.executable, "-m", "p4lab", "run", "01-bier", "--net", "linux"]
    process = subprocess.Popen(
        [*run, "--topology", "paper", "--packets", "60000", *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        # As from a terminal; a shell's background jobs, and so tests run by one, ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 60
    while sum("p4lab.hosts" in item for item in left_behind() - before) < 1 + 4:
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()
        time.sleep(0.1)
    return process


def network_of(process: int | str) -> str:
    """The network namespace in which a process is."""
    return os.readlink(f"/proc/{process}/ns/net")


def comes_back_to(before: set[str]) -> set[str]:
    """What is left when everything had time to end."""
    for _ in range(100):
        if not left_behind() - before:
            break
        time.sleep(0.1)
    return left_behind() - before


class TestWithRoot:
    pytestmark = needs_mininet

    @pytest.mark.parametrize("topology", ["paper", "ring"])
    def test_real_hosts_get_every_packet_once(self, topology: str, tmp_path: Path) -> None:
        before = left_behind()
        done = p4lab(
            *("run", "01-bier", "--net", "linux", "--topology", topology),
            *("--packets", 50, "--json"),
        )
        assert done.returncode == 0, done.stdout + done.stderr
        report = json.loads(done.stdout)
        assert (report["ok"], report["network"]) == (True, "linux")
        assert comes_back_to(before) == set()

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
    def test_an_end_in_the_middle_leaves_nothing(self, number: signal.Signals) -> None:
        before = left_behind()
        process = start()
        process.send_signal(number)
        _, error = process.communicate(timeout=30)
        assert process.returncode != 0 and b"Traceback" not in error
        assert comes_back_to(before) == set()

    @pytest.mark.skipif(shutil.which("dumpcap") is None, reason="dumpcap is not installed")
    def test_captures_end_with_their_process(self, tmp_path: Path) -> None:
        before = left_behind()
        process = start("--pcap", str(tmp_path / "captures"))
        process.kill()
        process.wait()
        assert comes_back_to(before) == set()


def test_a_subscriber_who_is_not_online_is_noted() -> None:
    net = SimpleNamespace(_meet_attached=lambda: None, _agents={}, _notes=[])
    stream = SimpleNamespace(vlan=None, source=SimpleNamespace(name="alice"))
    MininetNetwork.start(net, stream, 0)  # type: ignore[arg-type]
    assert net._notes == ["alice is not online and sends nothing."]


@needs_mininet[0]
@needs_mininet[1]
def test_one_host_sends_two_streams_side_by_side() -> None:
    """Both commands may reach the host's agent at once; neither stream may wait for the other."""
    plan = load_plan("01-bier", topology="rfc8279", packets=20)
    first, second = plan.streams
    streams = (first, replace(second, source=first.source, receivers=first.receivers))
    plan = replace(plan, streams=streams)
    program = load_program(plan.program, plan.defines)
    with open_network("linux", plan.topology, program, seed=1) as network:
        session = Session(plan, network)
        carry_out(session)
        report = deliveries(plan, "linux", network.observed())
    assert report.ok, report.problems


@needs_mininet[0]
@needs_mininet[1]
class TestAgents:
    """The processes inside hosts, on a network without switches."""

    def test_each_is_in_the_network_of_its_host(self) -> None:
        """Otherwise a host sends as another, and counts what another gets."""
        with MininetNetwork(Topology.load("rfc8279"), NoSwitches()) as network:
            hosts = network.topology.hosts
            shells = {host.interface: network._inside[host.name].pid for host in hosts}
            numbers = [line.split()[1] for line in left_behind() if "p4lab.hosts" in line]
            agents = {Path(f"/proc/{n}/comm").read_text().strip(): n for n in numbers}
            for interface, shell in shells.items():
                assert network_of(agents[interface]) == network_of(shell)
            assert len({network_of(shell) for shell in shells.values()}) == len(hosts)

    def test_one_that_does_not_listen_ends_with_its_network(self) -> None:
        """It would send for ever, on a processor that nobody knows to be taken."""
        before = left_behind()
        topology = Topology.load("rfc8279")
        with MininetNetwork(topology, NoSwitches()) as network:
            endless = {"packets": 1 << 40, "interval": 0, "length": 100, "ttl": 1}
            agent = network._agents[topology.hosts[0].name]
            agent.tell({"do": "send", "to": "239.1.1.1", "flow": 1, **endless})
        assert left_behind() - before == set()

    def test_one_that_fails_says_why(self) -> None:
        host = Topology.load("rfc8279").hosts[0]
        server = ForkServer()
        try:
            agent = server.start(host, os.getpid(), "none-eth0", False)
            with pytest.raises(NetworkError, match=f"{host.name} has ended: .*no interface with"):
                agent.answers()
            agent.close()
        finally:
            server.stop()
