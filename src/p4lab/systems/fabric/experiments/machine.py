"""Figures 13, 15 and 16, and the zero-load delays: many leaves, surrogates, the whole machine."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from p4lab.spread.sweep import Task
from p4lab.systems.fabric.experiments.copies import PLAIN
from p4lab.systems.fabric.experiments.figure import Claim, Figure, Point, Points
from p4lab.systems.fabric.paper import (
    BROADCAST_JUMBO,
    UNIFORM,
    UNIFORM_DELAY,
    ZERO_LOAD,
)
from p4lab.systems.fabric.parameters import Settings
from p4lab.systems.fabric.ports import LEAVES, TERMINALS, terminal, terminals
from p4lab.systems.fabric.runs import MICROSECOND, Flow, Scenario, run
from p4lab.systems.fabric.trees import broadcast, direct, drawn

# ---- Zero-load delays


def run_idle(size: int, where: str, extra: str, seed: int) -> list[Point]:
    """Microseconds from server to server of single frames."""
    to = terminal(0, 1) if where == "local" else terminal(1)
    flow = Flow(direct(0, [to]), 0.1, size)
    mean = run(Scenario(2, (flow,), 4000, 0, {}, extra), seed).delays[0][1] or 0
    return [Point("", where, size, mean / MICROSECOND, None, ZERO_LOAD[size, where])]


def runs_idle(extra: str, seed: int) -> Iterator[Task[list[Point]]]:
    """By the bytes of a frame, within a leaf and between leaves."""
    for size, where in ZERO_LOAD:
        yield Task(
            f"idle, {size} bytes, {where}, seed {seed}", run_idle, (size, where, extra, seed)
        )


def claims_idle(points: Points) -> Iterator[Claim]:
    """Calibration: only the delays of 512 bytes were used."""
    for size, most in ((512, 0.02), (1522, 0.13), (9022, 0.13)):
        off = [
            points.at("", where, size) / ZERO_LOAD[size, where] - 1 for where in ("local", "remote")
        ]
        text = f"{size} bytes: within {most:.0%} of the paper"
        seen = f"local {off[0]:+.1%}, remote {off[1]:+.1%}"
        yield Claim(text, max(map(abs, off)) <= most, seen)


IDLE = Figure(
    "idle",
    "delay of unicast frames without load (section 5.3)",
    "bytes of a frame",
    "delay [us]",
    runs_idle,
    claims_idle,
    log=True,
)


# ---- Figure 13

SENDERS = [terminal(leaf, place) for leaf in range(3) for place in range(2)]
TARGETS = list(range(3, 43))
FLOWS, LEAVES_OF_FLOW = 10, 20
LOADS_13 = (5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 33.0)


VARIANTS_13: dict[str, Settings] = {
    "synchronised": PLAIN,
    "not synchronised": {**PLAIN, "sync.on": False},
    "synchronised, drop from head": {"voq.drop": "head"},
}
"""The paper does not say which policy drops here; it says that synchronisation changes nothing"""
THROUGHPUT, WAIT = "a: throughput [Gb/s]", "b: delay [us]"


def scenario_13(
    load: float, seed: int, settings: Settings | None = None, extra: str = ""
) -> tuple[Scenario, float]:
    """60 flows, each to all servers of 20 leaves out of 40; and what the receivers of such a draw
    can get on average: none more than its line."""
    chance = random.Random(seed)
    trees = [
        drawn(sender, TARGETS, LEAVES_OF_FLOW, chance) for sender in SENDERS for _ in range(FLOWS)
    ]
    flows = tuple(Flow(tree, load / FLOWS) for tree in trees)
    demand = Counter(port for tree in trees for port, _ in tree[1:])
    offered = [count * load / FLOWS for count in demand.values()]
    limit = sum(min(100.0, one) for one in offered) / len(TARGETS)
    return Scenario(43, flows, 600, 200, settings or {}, extra), limit


def run_13(curve: str, load: float, extra: str, seed: int) -> list[Point]:
    """Gb/s and delay at the 200 receivers."""
    scenario, limit = scenario_13(load, seed, VARIANTS_13[curve], extra)
    seen = run(scenario, seed)
    got = sum(sink["gbps"] for sink in seen.sinks) / (len(TARGETS) * TERMINALS)
    return [
        Point(THROUGHPUT, curve, load, got, limit, UNIFORM.get(load)),
        Point(WAIT, curve, load, seen.delay_micros(), None, UNIFORM_DELAY.get(load)),
    ]


def runs_13(extra: str, seed: int) -> Iterator[Task[list[Point]]]:
    """By the policy and the load of a source."""
    for curve in VARIANTS_13:
        for load in LOADS_13:
            what = f"13, {curve}, {load:g} Gb/s, seed {seed}"
            yield Task(what, run_13, (curve, load, extra, seed))


def claims_13(points: Points) -> Iterator[Claim]:
    """Linear, then below the line; delays rise."""
    with_sync, without, _ = VARIANTS_13
    got, plain = points.curve(THROUGHPUT, with_sync), points.curve(THROUGHPUT, without)
    off = max(abs(got[load] / (3 * load) - 1) for load in LOADS_13 if load <= 25)
    yield Claim("linear up to 25 Gb/s: three times the load", off < 0.04, f"off by {off:.1%}")
    text = "at 30 Gb/s less than the 90 on average, 74 and more"
    yield Claim(text, 74 < got[30.0] < 89, f"{got[30.0]:.1f}")
    apart = max(abs(got[load] / plain[load] - 1) for load in LOADS_13 if load <= 25)
    text = "synchronisation changes nothing as far as the load is feasible (4 %)"
    yield Claim(text, apart < 0.04, f"{apart:.1%} apart")
    delay = points.curve(WAIT, with_sync)
    rises = all(delay[a] < delay[b] for a, b in pairwise(LOADS_13))
    seen = f"{delay[5.0]:.1f} to {delay[33.0]:.1f} us"
    yield Claim("the delay rises with the load", rises, seen)
    yield Claim("at 5 Gb/s about 4 us", 3 < delay[5.0] < 5, f"{delay[5.0]:.2f} us")


FIGURE_13 = Figure(
    "13",
    "6 sources with 10 flows each, to all servers of 20 out of 40 leaves, 1522 bytes",
    "load of a source [Gb/s]",
    "at receivers",
    runs_13,
    claims_13,
    own=("sync.on", "voq.drop", "line.gbps"),
    panel_y=((THROUGHPUT, "throughput [Gb/s]"), (WAIT, "delay [us]")),
)


# ---- Figures 15 and 16

SIZES = (512, 1522, 9022)
LOADS_15 = (1.0, 10.0, 25.0, 50.0, 75.0, 99.0)
RATE, DELAY = "15: throughput", "16: delay, {} bytes"


@dataclass(frozen=True)
class Size:
    """How much of the machine is simulated, and for how long."""

    leaves: int = LEAVES
    micros: float = 200
    warm: float = 60


def run_broadcast(size: Size, octets: int, load: float, extra: str, seed: int) -> list[Point]:
    """Gb/s of the receivers; microseconds by the surrogates that were passed."""
    flow = Flow(broadcast(size.leaves), load, octets)
    # Slow flows need longer for as many frames.
    longer = max(1.0, 12 * octets * 8 / load / 1000 / (size.micros - size.warm))
    micros, warm = size.micros * longer, size.warm * longer
    seen = run(Scenario(size.leaves, (flow,), micros, warm, {}, extra), seed)
    got = sum(seen.gbps(0)) / len(seen.sinks)
    printed = (octets, load, size.leaves) == (9022, 99.0, LEAVES)
    most = BROADCAST_JUMBO if printed else None
    delays = [
        Point(DELAY.format(octets), f"{level} surrogates", load, mean / MICROSECOND)
        for level, (_, mean, _) in enumerate(seen.delays)
        if mean is not None
    ]
    return [Point(RATE, f"{octets} bytes", load, got, load, most), *delays]


def runs_broadcast(size: Size, extra: str, seed: int) -> Iterator[Task[list[Point]]]:
    """By the bytes of a frame and the load of the sender."""
    for octets in SIZES:
        for load in LOADS_15:
            what = f"15 and 16, {octets} bytes, {load:g} Gb/s, seed {seed}"
            yield Task(what, run_broadcast, (size, octets, load, extra, seed))


def claims_broadcast(points: Points) -> Iterator[Claim]:
    """Linear; each level costs; flat for short frames."""
    for octets in SIZES[:2]:
        got = points.curve(RATE, f"{octets} bytes")
        off = max(abs(got[load] / load - 1) for load in LOADS_15[1:])
        text = f"{octets} bytes: all receivers get the load, to within 3 %"
        yield Claim(text, off < 0.03, f"off by up to {off:.1%}")
    jumbo = points.at(RATE, "9022 bytes", 99.0)
    text = "9022 bytes: at 99 Gb/s they get the paper's 93 at least"
    yield Claim(text, jumbo > BROADCAST_JUMBO - 1, f"{jumbo:.1f} Gb/s")
    for octets in SIZES:
        panel = DELAY.format(octets)
        curves = [points.curve(panel, curve) for curve in points.curves(panel)]
        grows = all(a[load] < b[load] for a, b in pairwise(curves) for load in LOADS_15)
        last = [curve[99.0] for curve in curves]
        seen = ", ".join(f"{delay:.1f}" for delay in last) + " us at 99 Gb/s"
        yield Claim(f"{octets} bytes: each level of surrogates adds to the delay", grows, seen)
    for octets in SIZES[:2]:
        panel = DELAY.format(octets)
        top = points.curve(panel, points.curves(panel)[-1])
        first, half, full = top[1.0], top[50.0], top[99.0]
        seen = f"{first:.2f}, {half:.2f}, {full:.2f} us at 1, 50 and 99 Gb/s"
        text = f"{octets} bytes: almost constant from 50 to 99 Gb/s (within 10 %)"
        yield Claim(text, abs(full / half - 1) < 0.1, seen)
        yield Claim(f"{octets} bytes: higher at 50 than at 1 Gb/s", half > first, seen)


def figure_broadcast(size: Size) -> Figure:
    """Figures 15 and 16, of the whole machine or of a part of it."""
    count = len(terminals(0)) * size.leaves - 1
    return Figure(
        "15-16",
        f"broadcast to {count} receivers, 4 levels of surrogates",
        "load of the sender [Gb/s]",
        "throughput [Gb/s], delay [us]",
        partial(runs_broadcast, size),
        claims_broadcast,
        panel_y=((RATE, "throughput [Gb/s]"), ("16", "delay [us]")),
    )
