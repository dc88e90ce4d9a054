"""The same experiment on the real bmv2, in packets per second instead of Gb/s.

bmv2 has no notion of a line rate, but its egress queues can be given one (`set_queue_rate`), and
the port that leads back has a queue. A cable carries `pps` packets per second, the queue of that
port k times as many: k recirculation ports that share their load evenly. It drops at its tail.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from p4lab import rights
from p4lab.network import namespace
from p4lab.paths import ROOT
from p4lab.systems.bier.entries import RECIRC_PORT, RECIRC_SESSION, bift_id, bit
from p4lab.systems.bier_tna.recirculation import bench
from p4lab.systems.bier_tna.recirculation.equations import LINE_RATE
from p4lab.targets import TargetError, bmv2

PROGRAM = ROOT / "p4" / "bier" / "v1model.p4"
SWITCH = "simple_switch"
CLI = "simple_switch_CLI"
THRIFT_PORT = 9590
QUEUE = 64  # packets, what bmv2 has unless told otherwise
START_SECONDS = 20
CLI_SECONDS = 60
FRAME = 200  # bytes
TRIES, DISTURBED = 3, 0.02
WARM = 0.25  # of the time of a run, in which queues fill

REMEDY = "They come with bmv2, built with Thrift; without them there are no measured values."


@dataclass(frozen=True)
class Measurement:
    """One run. Throughput is scaled: what a next hop gets of what is sent, times 100 Gb/s."""

    next_hops: int
    loops: int
    pps: int
    """Packets per second of a port"""
    seconds: float
    throughput: tuple[float, ...]
    """At next hop 1 to n, in Gb/s"""
    sent: int
    """Packets while it was measured"""

    @property
    def carried(self) -> float:
        """What the queue really let through, in ports: below `loops` if the machine was busy."""
        return sum(self.throughput[1:]) / LINE_RATE

    @property
    def disturbance(self) -> float:
        """How far that is from what it has to let through, whoever gets it, as a share of that."""
        wanted = min(self.loops, self.next_hops - 1)
        return abs(self.carried - wanted) / wanted if wanted else 0.0


def missing() -> str:
    """Why nothing can be measured here, in one sentence; empty if it can."""
    names = bmv2.missing() + [name for name in (SWITCH, CLI) if shutil.which(name) is None]
    if names:
        return f"not measured on bmv2: {', '.join(names)} is not installed. {REMEDY}"
    if rights.held() is None:
        return "not measured on bmv2: it needs network interfaces of its own; start with sudo."
    return ""


def measure(
    cells: list[tuple[int, int]],
    pps: int = 500,
    seconds: float = 20.0,
    say: Callable[[str], None] = lambda text: None,
) -> list[Measurement]:
    """Runs each (next hops, recirculation ports) for so long. A run in which the machine was too
    busy for the pace is made again, a few times; the least disturbed one counts. Raises
    TargetError.
    """
    if reason := missing():
        raise TargetError(reason)
    compiled = bmv2.compile_program(PROGRAM, [("BSL", str(bench.BSL))])
    found = []
    home = namespace.enter_own()
    try:
        namespace.quiet_ipv6()
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True, capture_output=True)
        cables = {port: _cable(port) for port in _ports(max((n for n, _ in cells), default=0))}
        with tempfile.TemporaryDirectory(prefix="p4lab-recirculation-") as folder:
            program = Path(folder) / "program.json"
            program.write_bytes(compiled.config)
            for next_hops, loops in cells:
                say(f"bmv2: {next_hops} next hops, {loops} recirculation ports ...")
                runs: list[Measurement] = []
                while len(runs) < TRIES and all(run.disturbance > DISTURBED for run in runs):
                    with _switch(program, list(cables), Path(folder)):
                        _set_up(next_hops, loops * pps)
                        runs.append(_run(next_hops, loops, pps, seconds))
                found.append(min(runs, key=lambda run: run.disturbance))
    finally:
        namespace.leave(home)
    return found


def _ports(next_hops: int) -> list[int]:
    return [*range(1, next_hops + 1), bench.SOURCE_PORT]


def _cable(port: int) -> str:
    """A cable at a port of the switch; gives the name of our end."""
    near, far = f"sw{port}", f"pc{port}"
    for command in (
        ["ip", "link", "add", near, "type", "veth", "peer", "name", far],
        ["ip", "link", "set", far, "up"],
        ["ip", "link", "set", near, "up"],
    ):
        subprocess.run(command, check=True, capture_output=True)
    return far


@contextmanager
def _switch(program: Path, ports: list[int], folder: Path) -> Iterator[None]:
    """simple_switch on our cables as long as the context lasts."""
    command = [SWITCH, str(program), "--thrift-port", str(THRIFT_PORT)]
    command += ["--notifications-addr", f"ipc://{folder}/notifications.ipc"]
    command += [f"-i{port}@sw{port}" for port in ports]
    log = folder / "switch.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        deadline = time.monotonic() + START_SECONDS
        while not _listens():
            if process.poll() is not None or time.monotonic() > deadline:
                words = log.read_text(errors="replace").strip().splitlines()[-3:]
                raise TargetError(f"{SWITCH} does not start: {' '.join(words)}")
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait()


def _listens() -> bool:
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex(("127.0.0.1", THRIFT_PORT)) == 0


def _set_up(next_hops: int, rate: int) -> None:
    """Entries, and the queue of the port that leads back."""
    lines = [f"mirroring_add {RECIRC_SESSION} {RECIRC_PORT}"]
    for i in range(1, next_hops + 1):
        own = f"0x{bit(i, bench.BSL):016x}"
        key = f"0x{bift_id(bench.BSL, 0):x} {own}&&&{own}"
        # A small number is a high priority here.
        lines.append(f"table_add bift forward {key} => {own} {i} {i}")
    lines += [f"set_queue_depth {QUEUE} {RECIRC_PORT}", f"set_queue_rate {rate} {RECIRC_PORT}"]
    done = subprocess.run(
        [CLI, "--thrift-port", str(THRIFT_PORT)],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        timeout=CLI_SECONDS,
        check=False,
    )
    said = done.stdout + done.stderr
    if done.returncode != 0 or "Error" in said or "Invalid" in said:
        raise TargetError(f"{CLI} refuses the experiment's entries: {said.strip()[-300:]}")


def _run(next_hops: int, loops: int, pps: int, seconds: float) -> Measurement:
    """Sends at an even pace, and counts at all next hops what arrives behind the warm-up."""
    packet = bench.frame(next_hops, FRAME, False)
    total, warm = round(pps * seconds), round(pps * seconds * WARM)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as source:
        source.bind((f"pc{bench.SOURCE_PORT}", 0))
        begin = time.perf_counter()
        before = [0] * next_hops
        for number in range(total):
            wait = begin + number / pps - time.perf_counter()
            if wait > 0:
                time.sleep(wait)
            if number == warm:
                before = _received(next_hops)
            source.send(packet)
    got = [now - then for now, then in zip(_received(next_hops), before, strict=True)]
    sent = total - warm
    throughput = tuple(LINE_RATE * count / sent for count in got)
    return Measurement(next_hops, loops, pps, seconds, throughput, sent)


def _received(next_hops: int) -> list[int]:
    """Packets that have arrived at each next hop, as the kernel counts them."""
    table = Path("/proc/thread-self/net/dev").read_text()  # of this thread's namespace
    lines = (line.partition(":") for line in table.splitlines())
    counts = {name.strip(): rest.split() for name, colon, rest in lines if colon}
    return [int(counts[f"pc{i}"][1]) for i in range(1, next_hops + 1)]
