"""Figure 3 on Linux hosts: iperf3 at the scale of this machine, through switches of our engine.

Links have no rate, so what is measured is how fast the machine forwards. All switches share its
processors, and a protected packet passes more of them: protected goodput is lower here, and
not on switches with lines of their own.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import IO, Any

from p4lab.experiment.goodput import PARALLEL
from p4lab.network.base import NetworkError
from p4lab.network.mininet import MininetNetwork
from p4lab.network.switches import EngineSwitches
from p4lab.session.run import Session
from p4lab.systems.protect.experiments.goodput import SETTINGS, Outcome
from p4lab.systems.protect.experiments.setup import (
    MS,
    Cable,
    Mode,
    between,
    in_mode,
    plan_of,
    program,
    two_paths,
)
from p4lab.systems.protect.plane import ProtectControlPlane
from p4lab.topology import Host

TOOL = "iperf3"
LEFT_OUT = 1  # seconds at the beginning of each measurement
SLACK = 20  # seconds that a measurement may take longer than it should
STEP = 50 * MS  # how often the control plane is asked
SERVERS_NEED = 300 * MS


def missing() -> str:
    """Why nothing can be measured; empty if it can."""
    if shutil.which(TOOL) is None:
        return f"not measured on Linux hosts: {TOOL} is not installed (apt-get install {TOOL})."
    return ""


def run(mode: Mode, pairs: int, seed: int, seconds: int) -> Outcome:
    """Every pair at once, for so many seconds. Raises NetworkError, ProgramError."""
    topology = two_paths(Cable(), Cable(), pairs=pairs)
    plan = in_mode(plan_of(topology, seed, between(topology, pairs), SETTINGS), mode)
    switches = EngineSwitches(program(plan.settings, plan.program), seed=seed)
    with MininetNetwork(topology, switches) as net:
        plane = None
        if mode != "protected":
            plane = ProtectControlPlane(topology, net.driver, (), plan.settings)
        session = Session(plan, net, plane=plane)
        session.start()
        hosts = [
            (topology.host(f"h{2 * pair - 1}"), topology.host(f"h{2 * pair}"))
            for pair in range(1, pairs + 1)
        ]
        with _started(net, [(server, (TOOL, "-s", "-4")) for server, _ in hosts]):
            net.run_until(net.now + SERVERS_NEED, session.plane)
            clients = [(client, _download(server, seconds)) for server, client in hosts]
            with _started(net, clients) as running:
                answers = _wait(session, running, seconds)
    return Outcome("linux", mode, pairs, seed, sum(map(_received, answers)))


def _download(server: Host, seconds: int) -> tuple[str, ...]:
    options = ("-R", "-P", str(PARALLEL), "-t", str(seconds), "-O", str(LEFT_OUT), "-J")
    return (TOOL, "-c", str(server.ip), "-4", *options)


@dataclass(frozen=True)
class _Program:
    """A program in a host, and what it has printed."""

    process: subprocess.Popen[bytes]
    output: IO[bytes]

    def end(self) -> None:
        self.process.kill()
        self.process.wait()

    def answer(self) -> dict[str, Any]:
        self.output.seek(0)
        found: dict[str, Any] = json.load(self.output)
        return found


@contextmanager
def _started(
    net: MininetNetwork, commands: list[tuple[Host, tuple[str, ...]]]
) -> Iterator[list[_Program]]:
    """Programs in hosts, ended in any case."""
    with ExitStack() as stack:
        running = []
        for host, words in commands:
            output = stack.enter_context(tempfile.TemporaryFile())
            process = net.popen(host, words, stdout=output, stderr=subprocess.DEVNULL)
            running.append(_Program(process, output))
            stack.callback(running[-1].end)
        yield running


def _wait(
    session: Session[MininetNetwork], running: list[_Program], seconds: int
) -> list[dict[str, Any]]:
    """Lets the clients come to their end, and the control plane do its work; what they say."""
    deadline = time.monotonic() + seconds + LEFT_OUT + SLACK
    while any(one.process.poll() is None for one in running):
        if time.monotonic() > deadline:
            raise NetworkError(f"{TOOL} does not come to an end: is this machine too busy?")
        session.net.run_until(session.net.now + STEP, session.plane)
    return [one.answer() for one in running]


def _received(answer: dict[str, Any]) -> float:
    """Goodput of one client in bits per second. Raises NetworkError."""
    if "error" in answer:
        raise NetworkError(f"{TOOL}: {answer['error']}")
    return float(answer["end"]["sum_received"]["bits_per_second"])
