"""Unicast and multicast together on the whole machine, in all shares: no figure of the paper."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from typing import Any

from p4lab.spread.sweep import Task
from p4lab.systems.fabric.experiments.figure import Claim, Figure, Point, Points
from p4lab.systems.fabric.experiments.machine import Size
from p4lab.systems.fabric.ports import TERMINALS, terminal
from p4lab.systems.fabric.runs import MICROSECOND, Flow, Scenario, Seen, run
from p4lab.systems.fabric.trees import Tree, broadcast, direct

SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
"""Of what a server gets, that which is broadcast"""
LOADS = (50.0, 99.0)
"""Gb/s that each server gets in all"""
RATE, DELAY = "throughput [Gb/s]", "delay [us]"
UNICAST, MULTICAST = "unicast", "multicast"


def curve_of(kind: str, load: float) -> str:
    """The name of a kind's curve at a load."""
    return f"{kind}, {load:g} Gb/s in all"


def pairs(leaves: int, seed: int) -> list[Tree]:
    """A flow from each server to one of another leaf, and one to each server."""
    chance = random.Random(seed)
    shifts = [chance.randrange(1, leaves) for _ in range(TERMINALS)]
    places = chance.sample(range(TERMINALS), TERMINALS)
    return [
        direct(terminal(leaf, place), [terminal((leaf + shifts[place]) % leaves, places[place])])
        for leaf in range(leaves)
        for place in range(TERMINALS)
    ]


def flows(leaves: int, load: float, share: float, seed: int) -> tuple[list[Flow], list[Flow]]:
    """Unicast flows, and the broadcast: none where there is nothing to send."""
    unicast = [Flow(tree, load * (1 - share)) for tree in pairs(leaves, seed)]
    return (
        unicast if share < 1 else [],
        [Flow(broadcast(leaves), load * share)] if share > 0 else [],
    )


def run_mix(size: Size, load: float, share: float, extra: str, seed: int) -> list[Point]:
    """Gb/s that a server gets of each kind, and the mean delay of its frames."""
    unicast, multicast = flows(size.leaves, load, share, seed)
    scenario = Scenario(size.leaves, (*unicast, *multicast), size.micros, size.warm, {}, extra)
    seen = run(scenario, seed)
    points = []
    for kind, own, part in ((UNICAST, unicast, 1 - share), (MULTICAST, multicast, share)):
        if own:
            sinks = _sinks(seen, kind == MULTICAST, len(unicast))
            got = sum(sink["gbps"] for sink in sinks) / len(sinks)
            points.append(Point(RATE, curve_of(kind, load), share, got, load * part))
            points.append(Point(DELAY, curve_of(kind, load), share, _delay(sinks)))
    return points


def _sinks(seen: Seen, multicast: bool, unicasts: int) -> list[dict[str, Any]]:
    """Of the broadcast, which is the last flow, or of all others."""
    return [sink for sink in seen.sinks if (sink["flow"] >= unicasts) == multicast]


def _delay(sinks: list[dict[str, Any]]) -> float:
    frames = sum(sink["frames"] for sink in sinks)
    return sum(sink["frames"] * (sink["delay"] or 0) for sink in sinks) / frames / MICROSECOND


def runs_mix(size: Size, extra: str, seed: int) -> Iterator[Task[list[Point]]]:
    """By the load and the share of the broadcast."""
    for load in LOADS:
        for share in SHARES:
            what = f"mix, {load:g} Gb/s, {share:.0%} multicast, seed {seed}"
            yield Task(what, run_mix, (size, load, share, extra, seed))


def claims_mix(points: Points) -> Iterator[Claim]:
    """Both get what they offer, and neither delays the other much."""
    for load in LOADS:
        for kind in (UNICAST, MULTICAST):
            got = points.curve(RATE, curve_of(kind, load))
            wanted = {x: load * (x if kind == MULTICAST else 1 - x) for x in got}
            off = max(abs(got[x] / wanted[x] - 1) for x in got)
            text = f"{load:g} Gb/s: all {kind} arrives, whatever its share (4 %)"
            yield Claim(text, off < 0.04, f"off by up to {off:.1%}")
        delay = points.curve(DELAY, curve_of(UNICAST, load))
        alone, beside = delay[0.0], max(delay.values())
        text = f"{load:g} Gb/s: a broadcast delays unicast by less than a tenth"
        yield Claim(text, beside < 1.1 * alone, f"{alone:.2f} us alone, up to {beside:.2f} us")


def figure_mix(size: Size) -> Figure:
    """On the whole machine or on a part of it."""
    return Figure(
        "mix",
        f"a broadcast and {TERMINALS * size.leaves} unicast flows, 1522 bytes",
        "share of the broadcast",
        "at a server",
        partial(runs_mix, size),
        claims_mix,
        panel_y=((RATE, RATE), (DELAY, DELAY)),
    )
