"""The parts of the restoration experiment: figure 11, and what changes with the surroundings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from p4lab.spread.sweep import Sweep, Task
from p4lab.systems.frr.experiments import restoration, restoration_linux
from p4lab.systems.frr.experiments.plan import MS
from p4lab.systems.frr.experiments.restoration import (
    MODES,
    Outcome,
    delays_for,
    network_of,
    settings,
    testbed,
)
from p4lab.systems.frr.heartbeat import Heartbeat
from p4lab.systems.frr.plane import Delays
from p4lab.topology import Topology

DISTANCES_MS = (0.1, 5, 10, 20, 50)
SIZES = (3, 5, 7, 10, 15, 20, 30)
HEARTBEATS_MS = (0.2, 0.5, 1, 2, 5, 10)
SWEEP_RUNS = 5
SWEEP_PPS = 10_000
LINUX_PPS = 5_000
RUN = {"virtual": restoration.run, "linux": restoration_linux.run}
"""How a setting is carried out, by network"""


@dataclass(frozen=True)
class Scope:
    """How much is measured, and of what: `runs` of each mode, `pps` probes a second, unicast and
    BIER restored after `ip_ms` and `bier_ms`."""

    runs: int
    seed: int
    pps: int
    ip_ms: float
    bier_ms: float
    sweeps: bool
    network: str
    heartbeat: Heartbeat | None


@dataclass(frozen=True)
class Row:
    """One run in one part of the experiment: `x` is what that part varies."""

    part: str  # "figure 11", "distance" (x in ms), "size" (in routers) or "heartbeat" (in ms)
    x: float
    outcome: Outcome


@dataclass(frozen=True)
class _Part:
    name: str
    x: float
    topology: Callable[[int], Topology]
    delays: Delays
    runs: int
    pps: int
    heartbeat: Heartbeat | None


def measure(scope: Scope, sweep: Sweep) -> list[Row]:
    """All runs. Raises ExperimentError, NetworkError, SweepError."""
    parts, tasks = [], []
    for part in _parts(scope):
        planned = settings(
            MODES,
            part.topology,
            part.delays,
            runs=part.runs,
            seed=scope.seed,
            interval=1_000 * MS // part.pps,
            network=scope.network,
            heartbeat=part.heartbeat,
        )
        for setting in planned:
            parts.append(part)
            what = f"{part.name} {part.x:g}: {setting.mode}, seed {setting.seed}"
            tasks.append(Task(what, RUN[scope.network], (setting,)))
    found = sweep.all(tasks)
    return [Row(part.name, part.x, one) for part, one in zip(parts, found, strict=True)]


def _parts(scope: Scope) -> Iterator[_Part]:
    """Figure 11, then the sweeps, which Linux hosts are too slow for."""
    restored = {
        "ip_restored": round(scope.ip_ms * MS),
        "bier_restored": round(scope.bier_ms * MS),
    }
    linux = scope.network == "linux"
    pps = min(scope.pps, LINUX_PPS) if linux else scope.pps
    delays, beats = delays_for(3, **restored), scope.heartbeat
    yield _Part("figure 11", 3, lambda _: testbed(), delays, scope.runs, pps, beats)
    if linux or not scope.sweeps:
        return
    few, slow = min(scope.runs, SWEEP_RUNS), min(pps, SWEEP_PPS)
    if beats is not None:
        for interval in HEARTBEATS_MS:
            other = replace(beats, interval=round(interval * MS))
            yield _Part("heartbeat", interval, lambda _: testbed(), delays, few, slow, other)
        return
    for distance in DISTANCES_MS:
        far = delays_for(3, **restored, distance=round(distance * MS))
        yield _Part("distance", distance, lambda _: testbed(), far, few, slow, None)
    for size in SIZES:
        large = delays_for(size, **restored)
        yield _Part("size", size, partial(network_of, size), large, few, slow, None)
