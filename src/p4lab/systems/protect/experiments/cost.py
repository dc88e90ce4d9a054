"""Table I of the paper: what a packet costs a switch with plain forwarding, unprotected, protected.

Twice. On a Tofino, every packet of a program takes the same cycles, estimated by `p4lab fit`. On
the engine it is processor time per packet, of one switch alone that gets the same frames again as
in a network. Both are compared with the plain router of p4/protect/plain, which has the same tables
and checks, and only the order of the values says something.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from p4lab.command import command
from p4lab.fit import estimate_file
from p4lab.network.virtual import PICOSECONDS, VirtualNetwork
from p4lab.session.run import Session
from p4lab.systems.protect.experiments.setup import (
    EGRESS,
    INGRESS,
    MODES,
    MS,
    PLAIN,
    PROGRAM,
    US,
    Cable,
    Mode,
    between,
    in_mode,
    opened,
    plan_of,
    two_paths,
)
from p4lab.systems.protect.settings import ACCEPT_NUMBERS, Accept, ProtectSettings
from p4lab.topology import Link

End = Literal["PTI", "PTE"]
ENDS: tuple[End, ...] = ("PTI", "PTE")
ENGINES = {"interpreter": "interpreter", "jit": "native code"}
PAPER: dict[tuple[End, Mode], int] = {
    ("PTI", "plain"): 100,
    ("PTI", "unprotected"): 127,
    ("PTI", "protected"): 166,
    ("PTE", "plain"): 100,
    ("PTE", "unprotected"): 127,
    ("PTE", "protected"): 127,
}
"""Percent of plain forwarding, from ingress to egress"""

TNA_POLICIES: tuple[Accept, ...] = ("none", "match", "highest", "slots")  # no vector on a chip
TNA_PROGRAM, TNA_PLAIN = (file.with_name("tna.p4") for file in (PROGRAM, PLAIN))
INTERVAL = 20 * US
WARM_UP = 4  # of so many parts of the frames, the first is not measured
SETTINGS = ProtectSettings(accept="highest")


# ---- Cycles


@dataclass(frozen=True)
class Cycles:
    """Of the ingress pipeline, by `p4lab fit`, with the plain router's beside it."""

    accept: Accept
    cycles: int
    plain: int

    @property
    def percent(self) -> float:
        """Of plain forwarding."""
        return 100 * self.cycles / self.plain


def cycles() -> list[Cycles]:
    """One for each policy that there is on a chip. Raises ValueError if a program does not fit."""
    plain = _ingress_cycles(TNA_PLAIN)
    return [
        Cycles(accept, _ingress_cycles(TNA_PROGRAM, ("ACCEPT", str(ACCEPT_NUMBERS[accept]))), plain)
        for accept in TNA_POLICIES
    ]


def _ingress_cycles(file: Path, *defines: tuple[str, str]) -> int:
    (pipe,) = estimate_file(file, defines=list(defines)).pipes
    found = next(gress.cycles for gress in pipe.gresses if gress.gress == "ingress")
    if found is None:
        raise ValueError(f"{file} has no place in a Tofino's stages: {command()} fit says why.")
    return found


# ---- Time


@dataclass(frozen=True)
class Timing:
    """Processor time of a packet at one end, in nanoseconds: in run number `run`, which measures
    all of them one after another."""

    engine: str
    end: End
    mode: Mode
    run: int
    nanoseconds: float


def timings(
    frames: int, runs: int, engines: Sequence[str], say: Callable[[str], object]
) -> Iterator[Timing]:
    """Every engine, end and mode so many times, in turn. Raises ValueError where there is no native
    code, NetworkError."""
    for engine in engines:
        for run in range(runs):
            say(f"{ENGINES[engine]}: run {run + 1} of {runs} ...")
            for end in ENDS:
                for mode in MODES:
                    spent = _time(engine, end, mode, frames)
                    yield Timing(engine, end, mode, run, spent)


def _time(engine: str, end: End, mode: Mode, frames: int) -> float:
    """One switch alone: all its other cables are cut, and its frames come again from a capture."""
    capture = _captures(mode, frames)[end]
    with _session(mode, frames, engine) as session:
        net = session.net
        router = INGRESS if end == "PTI" else EGRESS
        here, there = _arrives_on(session, end), net.node(router)
        for link in net.topology.links:
            net.set_link(link, False)
        begin = net.now + MS
        net.engine.replay(
            there,
            capture,
            port=net.topology.port(router, here),
            start=begin * PICOSECONDS,
        )
        last = frames * INTERVAL
        net.run_until(begin + last // WARM_UP - INTERVAL // 2, session.plane)
        before = time.process_time_ns()
        net.run_until(begin + last + MS, session.plane)
        spent = time.process_time_ns() - before
    return spent / (frames - frames // WARM_UP)


@cache
def _captures(mode: Mode, frames: int) -> dict[End, bytes]:
    """The frames that PTI and PTE get in a network, as captures: of the host, and on the faster
    path."""
    with _session(mode, frames, "interpreter") as session:
        net = session.net
        links = {end: _link(session, end) for end in ENDS}
        for link in links.values():
            net.record(link)
        session.send()
        return {end: net.capture(link) for end, link in links.items()}


def _session(
    mode: Mode, frames: int, engine: str
) -> AbstractContextManager[Session[VirtualNetwork]]:
    topology = two_paths(Cable(), Cable(MS))
    stream = between(topology, packets=frames, interval_ns=INTERVAL)[0]
    plan = in_mode(plan_of(topology, 1, (stream,), SETTINGS), mode)
    return opened(plan, protected=mode == "protected", engine=engine)


def _arrives_on(session: Session[VirtualNetwork], end: End) -> str:
    """From which neighbour the frames come."""
    return "h1" if end == "PTI" else "r2"


def _link(session: Session[VirtualNetwork], end: End) -> Link:
    router = INGRESS if end == "PTI" else EGRESS
    return session.plan.topology.link(router, _arrives_on(session, end))
