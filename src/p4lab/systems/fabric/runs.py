"""One run of the fabric: what is asked of it, and what is seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from p4lab import _engine
from p4lab.spread.sweep import threads_of_task
from p4lab.systems.fabric.parameters import Settings, fabric
from p4lab.systems.fabric.trees import Tree

MICROSECOND = 1_000_000
"""In picoseconds"""
INTERVAL = 50
"""Of series, in microseconds"""
EVENTS = 500_000
"""After so many Ctrl-C is heard"""


@dataclass(frozen=True)
class Flow:
    """Frames of one size from a terminal over a tree; times in microseconds."""

    tree: Tree
    gbps: float
    bytes: int = 1522
    lossless: bool = False
    start: float = 0
    stop: float | None = None


@dataclass(frozen=True)
class Scenario:
    """A fabric and its flows. Throughput and delays count after `warm` microseconds."""

    leaves: int
    flows: tuple[Flow, ...]
    micros: float
    warm: float
    settings: Settings = field(default_factory=dict)
    extra: str = ""
    """TOML of the user, which comes last"""
    tables: Mapping[str, Any] = field(default_factory=dict)
    """Policies in the place of parameters, as `decide_by` takes them"""


@dataclass(frozen=True)
class Seen:
    """What is left of a run."""

    sinks: list[dict[str, Any]]
    totals: Mapping[str, int]
    delays: list[tuple[int, int | None, int | None]]
    cache: list[int]
    fingerprint: int
    micros: float

    def gbps(self, flow: int) -> list[float]:
        """Of each receiver of a flow, after the warm-up."""
        return [sink["gbps"] for sink in self.sinks if sink["flow"] == flow]

    def series(self, sink: int) -> list[float]:
        """Gb/s in each interval of a run."""
        bins = round(self.micros / INTERVAL)
        seen = [octets * 8 / (INTERVAL * 1000) for octets in self.sinks[sink]["series"]]
        return [*seen, *([0.0] * (bins - len(seen)))][:bins]

    def delay_micros(self) -> float:
        """Mean delay of all frames that were delivered after the warm-up; 0 if there are none."""
        frames = sum(count for count, _, _ in self.delays)
        total = sum(count * (mean or 0) for count, mean, _ in self.delays)
        return total / max(frames, 1) / MICROSECOND

    def between(self, sink: int, start: float, stop: float) -> float:
        """Mean Gb/s of a receiver from one moment to another, in microseconds."""
        part = self.series(sink)[round(start / INTERVAL) : round(stop / INTERVAL)]
        return sum(part) / len(part)


class FabricError(ValueError):
    """A run that cannot be believed: it is stuck, or its books are wrong."""


def prepared(scenario: Scenario, seed: int) -> _engine.Fabric:
    """A fabric with the flows of a scenario, before anything has happened. Raises ValueError for
    what the engine refuses."""
    made = fabric(
        scenario.leaves,
        scenario.settings,
        scenario.extra,
        seed=seed,
        warm=round(scenario.warm * MICROSECOND),
        interval=INTERVAL * MICROSECOND,
    )
    made.decide_by(**scenario.tables)
    for flow in scenario.flows:
        mbps, start = round(flow.gbps * 1000), round(flow.start * MICROSECOND)
        add = partial(made.add, flow.tree, flow.bytes, mbps, lossless=flow.lossless, start=start)
        if flow.stop is None:
            add()
        else:
            add(stop=round(flow.stop * MICROSECOND))
    return made


def run(scenario: Scenario, seed: int) -> Seen:
    """Carries a scenario out, with the threads that a sweep has for it. Raises ValueError for what
    the engine refuses, and FabricError."""
    fabric = prepared(scenario, seed)
    end = round(scenario.micros * MICROSECOND)
    threads = threads_of_task()
    while (outcome := fabric.run(end, EVENTS, threads=threads)) == "paused":
        pass
    if outcome == "deadlock":
        places = ", ".join(f"{leaf}.{place}" for leaf, place in fabric.stuck())
        now = fabric.now / MICROSECOND
        raise FabricError(f"deadlock after {now:.0f} us: nothing moves at ports {places}.")
    try:
        fabric.audit()
    except RuntimeError as error:
        raise FabricError(f"the books of this run are wrong, please report it: {error}") from None
    return Seen(
        fabric.sinks(),
        fabric.totals(),
        fabric.delays(),
        fabric.cache(),
        fabric.fingerprint,
        scenario.micros,
    )
