"""What the experiments run: the program of fast reroute, and plans that need no lab."""

from __future__ import annotations

from functools import cache
from ipaddress import IPv4Address
from typing import Final

from p4lab import _engine
from p4lab.engine import load_program
from p4lab.model.run import Plan, Stream
from p4lab.paths import ROOT
from p4lab.systems.frr import Frr
from p4lab.topology import Topology

US = 1_000
MS = 1_000_000
BSL: Final = 64
GROUP = IPv4Address("239.1.1.1")
PROGRAM = ROOT / "p4" / "bier-frr" / "v1model.p4"


def plan_of(topology: Topology, seed: int, streams: tuple[Stream, ...]) -> Plan:
    """These streams through routers with fast reroute."""
    system = Frr()
    return system.plan("experiment", PROGRAM, topology, system.settings(bsl=BSL), seed, streams)


@cache
def program() -> _engine.Program:
    """p4/bier-frr for the engine."""
    return load_program(PROGRAM, [("BSL", str(BSL))])
