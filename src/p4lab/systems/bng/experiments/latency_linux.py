"""Figure 7 on Linux hosts: this gateway on the engine beside the kernel's forwarding, in one run.

    core 1 -- gateway (engine) -- access 1        core 2 -- Linux -- access 2

As in the paper, Linux only forwards, and the gateway does all of its work. Both are measured by the
same programs at the scale of this machine, whose processors everything shares, so what
counts is one beside the other.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from p4lab.experiment import tidy
from p4lab.experiment.panels import BLUE, GREY
from p4lab.network.base import NetworkError
from p4lab.network.mininet import MininetNetwork
from p4lab.network.switches import EngineSwitches
from p4lab.packets.ip import ETHERTYPE_IPV4, PROTOCOL_UDP, ethernet, ipv4
from p4lab.systems.bng.api import Api
from p4lab.systems.bng.experiments.bench import (
    address,
    line,
    origin,
    ports,
    program,
    sessions,
    to_subscriber,
)
from p4lab.systems.bng.experiments.figures import save
from p4lab.systems.bng.experiments.latency import LENGTH
from p4lab.topology import Host, Topology

if TYPE_CHECKING:
    from rich.table import Table

Forwarder = Literal["engine", "linux"]
LOADS = (1.0, 10.0, 50.0, 100.0)
"""Mb/s of frames"""
MEGABIT = 10**6
SLACK = 10.0
"""Seconds that a receiver waits longer at most than is sent"""
PATIENCE = 30.0
GATEWAY, LINUX = "r1", "r2"
COLOURS: dict[Forwarder, str] = {"engine": BLUE, "linux": GREY}


@dataclass(frozen=True)
class Outcome:
    """One measurement; `load` in Mb/s as it was wanted, `offered` as it was sent, times in
    seconds, None if nothing came."""

    forwarder: Forwarder
    load: float
    offered: float
    sent: int
    received: int
    mean: float | None
    median: float | None
    deviation: float | None

    @property
    def loss(self) -> float:
        """A fraction."""
        return 1 - self.received / self.sent


class Side(EngineSwitches):
    """The engine's switches, and the kernel in place of the second."""

    topology: Topology

    def start(self, router: str, number: int, ports: Mapping[int, str]) -> None:
        if router != LINUX:
            super().start(router, number, ports)
            return
        for scope in ("all", "default", *ports.values()):
            knobs = Path("/proc/sys/net/ipv4/conf", scope)
            (knobs / "forwarding").write_text("1")
            (knobs / "rp_filter").write_text("0")
        for host in self.topology.hosts_of(LINUX):
            near, mac = ports[host.port], host.mac.to_bytes(6, "big").hex(":")
            for words in (
                ("route", "replace", f"{host.ip}/32", "dev", near),
                ("neigh", "replace", str(host.ip), "lladdr", mac, "dev", near),
            ):
                subprocess.run(("ip", *words), check=True, capture_output=True)


def topology() -> Topology:
    """Access first: it is port 1 of the gateway, as on the bench."""
    names = ("access1", "core1", "access2", "core2")
    routers = (GATEWAY, GATEWAY, LINUX, LINUX)
    links = [{"a": router, "b": name} for router, name in zip(routers, names, strict=True)]
    return Topology.from_data(
        {
            "name": "two forwarders",
            "description": "A gateway and a Linux router, each between two hosts",
            "router": [{"number": 1}, {"number": 2}],
            "host": [
                {"name": name, "router": router}
                for router, name in zip(routers, names, strict=True)
            ],
            "link": [*links, {"a": GATEWAY, "b": LINUX}],
        }
    )


def measure(
    seed: int, seconds: float, say: Callable[[str], object], loads: Sequence[float] = LOADS
) -> list[Outcome]:
    """Each load for so long, first by the one, then by the other. Raises NetworkError,
    ProgramError."""
    shape = topology()
    switches = Side(program(), seed=seed, engine=None)
    switches.topology = shape
    with MininetNetwork(shape, switches) as net:
        api = Api()
        ports(api)
        api.add_line(line(1))
        for session in sessions("", (1,)):
            api.add_session(session)
        net.driver(GATEWAY).write(api.take())
        found = []
        for load in loads:
            for forwarder in COLOURS:
                say(f"{forwarder}: {load:g} Mb/s ...")
                found.append(_one(net, forwarder, load, seconds))
    return found


def _one(net: MininetNetwork, forwarder: Forwarder, load: float, seconds: float) -> Outcome:
    which = 1 if forwarder == "engine" else 2
    core, access = (net.topology.host(f"{name}{which}") for name in ("core", "access"))
    frame = to_subscriber(address(1), 1, LENGTH) if which == 1 else _plain(core, access)
    rate = load * MEGABIT / (8 * LENGTH)
    hearing = _start(net, access, "hear", seconds + SLACK)
    assert hearing.stdout is not None
    hearing.stdout.readline()
    sending = _start(net, core, "send", seconds, rate, frame.hex())
    sent, heard = _answer(sending), _answer(hearing)
    return Outcome(
        forwarder,
        load,
        sent["sent"] * 8 * LENGTH / sent["seconds"] / MEGABIT,
        int(sent["sent"]),
        int(heard["received"]),
        heard.get("mean"),
        heard.get("median"),
        heard.get("deviation"),
    )


def _plain(core: Host, access: Host) -> bytes:
    """The same length without labels, for a router."""
    packet = ipv4(
        IPv4Address(core.ip), IPv4Address(access.ip), PROTOCOL_UDP, bytes(LENGTH - 14 - 20)
    )
    return ethernet(core.gateway_mac, core.mac, ETHERTYPE_IPV4, packet)


def _start(net: MininetNetwork, host: Host, *words: object) -> subprocess.Popen[bytes]:
    what, *rest = map(str, words)
    command = (sys.executable, "-m", "p4lab.systems.bng.experiments.pulse", what, host.interface)
    return net.popen(host, (*command, *rest), stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def _answer(process: subprocess.Popen[bytes]) -> dict[str, float]:
    """What a program says at its end. Raises NetworkError."""
    try:
        said, error = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        raise NetworkError("a host does not come to an end: is this machine too busy?") from None
    if process.returncode:
        raise NetworkError(f"a host failed: {error.decode().splitlines()[-1]}")
    found: dict[str, float] = json.loads(said)
    return found


# ---- What is told of it


def records(found: Sequence[Outcome], seed: int) -> list[tidy.Row]:
    """One row per measurement."""
    return [
        {
            **origin(seed),
            "forwarder": one.forwarder,
            "load_mbps": one.load,
            "offered_mbps": one.offered,
            "sent": one.sent,
            "received": one.received,
            "loss": one.loss,
            "latency_us": _micro(one.mean),
            "median_us": _micro(one.median),
            "deviation_us": _micro(one.deviation),
        }
        for one in found
    ]


def _micro(value: float | None) -> float | None:
    return None if value is None else value * 1e6


def ratio(found: Sequence[Outcome]) -> float | None:
    """The engine's median latency by Linux', over all loads; None if nothing came."""
    sums = [
        sum(one.median or 0.0 for one in found if one.forwarder == forwarder)
        for forwarder in COLOURS
    ]
    return sums[0] / sums[1] if all(sums) else None


def table(rows: Sequence[tidy.Row]) -> Table:
    """The gateway beside Linux."""
    from rich.table import Table  # heavy: rich

    table = Table(box=None, title="latency on Linux hosts, µs")
    for column in ("Mb/s", "forwarder", "offered", "mean", "median", "deviation", "loss, %"):
        table.add_column(column, justify="right")
    for row in rows:
        latencies = (row["latency_us"], row["median_us"], row["deviation_us"])
        table.add_row(
            f"{row['load_mbps']:g}",
            str(row["forwarder"]),
            f"{row['offered_mbps']:.1f}",
            *("" if value is None else f"{value:.0f}" for value in latencies),
            f"{100 * float(row['loss'] or 0):.2f}",
        )
    return table


def draw(found: Sequence[Outcome], path: Path, note: str) -> None:
    """Median latency by load. Raises OSError, ValueError."""
    save(path, [partial(_draw, found=found)], note=note)


def _draw(axis: Any, *, found: Sequence[Outcome]) -> None:
    for forwarder, colour in COLOURS.items():
        own = [one for one in found if one.forwarder == forwarder and one.median is not None]
        loads = [one.offered for one in own]
        medians = [1e6 * (one.median or 0.0) for one in own]
        axis.plot(loads, medians, "o-", color=colour, label=forwarder)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("offered load [Mb/s]")
    axis.set_ylabel("median latency [µs]")
    axis.legend(fontsize=7)
