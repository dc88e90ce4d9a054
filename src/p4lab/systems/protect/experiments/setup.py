"""What the experiments on protection run: the program, a network of two paths, and plans that need
no lab.

             1: by r2, the faster
    h1 - r1 ---------------------- r4 - h2
             2: by r3, the slower
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

from p4lab import _engine
from p4lab.engine import load_program
from p4lab.experiment import tidy
from p4lab.model.run import Plan, Stream
from p4lab.network.virtual import VirtualNetwork
from p4lab.paths import ROOT
from p4lab.session.run import Session
from p4lab.systems.protect import Protect
from p4lab.systems.protect.plane import ProtectControlPlane
from p4lab.systems.protect.settings import ProtectSettings
from p4lab.topology import Link, Topology

US = 1_000
MS = 1_000_000
SOURCE = "Lindner, Merling, Häberle, Menth: P4-Protect: 1+1 Path Protection for P4, 2020"
PROGRAM = ROOT / "p4" / "protect" / "v1model.p4"
PLAIN = PROGRAM.parent / "plain" / "v1model.p4"
"""A router that knows nothing of protection"""
Mode = Literal["plain", "unprotected", "protected"]
"""How traffic is forwarded: by a router without protection, by one that leaves this traffic alone,
or by one that protects it"""
MODES: tuple[Mode, ...] = ("plain", "unprotected", "protected")
INGRESS, EGRESS = "r1", "r4"
BESIDE = {1: "r2", 2: "r3"}
"""The router in the middle of each path"""


@dataclass(frozen=True)
class Cable:
    """One of the two paths: all its delay, jitter and loss are on its first link, from the PTI to
    the router in the middle. Times in nanoseconds, one way."""

    delay_ns: int = 0
    jitter_ns: int = 0
    loss: float = 0.0


def two_paths(
    first: Cable, second: Cable, *, pairs: int = 1, rate: int | None = None, access_ns: int = 0
) -> Topology:
    """The network above with so many pairs of hosts, h1 to the left and h2 to the right, then h3
    and h4, ...; all links carry `rate` bits per second, those of hosts take `access_ns`."""
    links: list[dict[str, object]] = []
    hosts = []
    for number in range(1, 2 * pairs + 1):
        router = INGRESS if number % 2 else EGRESS
        hosts.append({"name": f"h{number}", "router": router})
        links.append({"a": router, "b": f"h{number}", "delay": f"{access_ns} ns"})
    for path, cable in ((1, first), (2, second)):
        beside = BESIDE[path]
        first_hop = {"a": INGRESS, "b": beside, "cost": path, "loss": cable.loss}
        first_hop |= {"delay": f"{cable.delay_ns} ns", "jitter": f"{cable.jitter_ns} ns"}
        links += [first_hop, {"a": beside, "b": EGRESS, "cost": path}]
    if rate is not None:
        links = [{**link, "rate": rate} for link in links]
    return Topology.from_data(
        {
            "name": "two paths",
            "description": "Two edge routers and two paths without a common router",
            "router": [{"number": number} for number in range(1, 5)],
            "host": hosts,
            "link": links,
        }
    )


def link_of(topology: Topology, path: int) -> Link:
    """The first link of path 1 or 2."""
    return topology.link(INGRESS, BESIDE[path])


def between(
    topology: Topology, pairs: int = 1, packets: int = 1, interval_ns: int = MS
) -> tuple[Stream, ...]:
    """Streams from each host to the left to that to the right of it, and back."""
    streams: list[Stream] = []
    for pair in range(pairs):
        left, right = (topology.host(f"h{2 * pair + side}") for side in (1, 2))
        for source, target in ((left, right), (right, left)):
            flow = len(streams) + 1
            streams.append(Stream(flow, target.ip, source, (target,), packets, interval_ns))
    return tuple(streams)


def plan_of(
    topology: Topology, seed: int, streams: tuple[Stream, ...], settings: ProtectSettings
) -> Plan:
    """These streams, each of which is protected."""
    return Protect().plan("experiment", PROGRAM, topology, settings, seed, streams)


@cache
def program(settings: ProtectSettings, file: Path = PROGRAM) -> _engine.Program:
    """The program in a file with the macros of these settings, for the engine."""
    return load_program(file, settings.macros())


@cache
def _origin(settings: ProtectSettings, file: Path) -> tidy.Origin:
    return tidy.origin(0, file, settings.macros())


def origin(seed: int, settings: ProtectSettings, file: Path = PROGRAM) -> tidy.Row:
    """The columns that each row of a table begins with."""
    return replace(_origin(settings, file), seed=seed).columns


def in_mode(plan: Plan, mode: Mode) -> Plan:
    """The plan with the program of a mode."""
    return replace(plan, program=PLAIN) if mode == "plain" else plan


@contextmanager
def opened(
    plan: Plan,
    *,
    protected: bool = True,
    engine: str | None = "interpreter",
    overhead: int | None = None,
) -> Iterator[Session[VirtualNetwork]]:
    """A started session of a plan in virtual time; without connections if it is not protected.
    `engine` and `overhead` are as for VirtualNetwork."""
    compiled = program(plan.settings, plan.program)
    with VirtualNetwork(
        plan.topology, compiled, seed=plan.seed, engine=engine, overhead=overhead
    ) as net:
        plane = None
        if not protected:
            plane = ProtectControlPlane(plan.topology, net.driver, (), plan.settings)
        session = Session(plan, net, plane=plane)
        session.start()
        yield session
