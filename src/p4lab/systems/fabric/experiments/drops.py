"""Figures 5 and 6: which copies of a lossy class are dropped."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from p4lab.spread.sweep import Task
from p4lab.systems.fabric.experiments.copies import FOUR_AND_FOUR, PLAIN
from p4lab.systems.fabric.experiments.figure import Claim, Figure, Point, Points
from p4lab.systems.fabric.paper import ACKNOWLEDGED_NS, FIRST_AND_LAST, HEADERS, LOAD
from p4lab.systems.fabric.parameters import Settings
from p4lab.systems.fabric.ports import terminal
from p4lab.systems.fabric.runs import INTERVAL, Flow, Scenario, run
from p4lab.systems.fabric.trees import direct

# ---- Figure 5

ONE_AND_SEVEN = [terminal(0, 1), *(terminal(leaf) for leaf in range(1, 8))]
POLICIES: dict[str, Settings] = {
    "b: fixed order": {"headers.low": HEADERS},
    "c: random order": {"headers.low": HEADERS, "headers.order": "random"},
    "d: RED": {"headers.low": 70, "headers.probability": 0.5},
}


PRINTED_5B = dict(zip((2, 8), FIRST_AND_LAST, strict=True))
"""By place of the header. The paper has two values and no places: these are the first and the last
remote copy, since what it explains, a pool that is full for longer, holds for remote ones"""


def share_of_headers(acknowledged_ns: float) -> float:
    """Gb/s of a copy if all share the pool: a frame for each header and time to its release."""
    return 1522 * 8 * (HEADERS / 8) / acknowledged_ns


def run_5(panel: str, extra: str, seed: int) -> list[Point]:
    """Gb/s of each copy, by the place of its header."""
    settings = {**PLAIN, "headers.high": HEADERS, **POLICIES[panel]}
    flow = Flow(direct(0, ONE_AND_SEVEN), LOAD)
    seen = run(Scenario(8, (flow,), 2000, 500, settings, extra), seed)
    expected = share_of_headers(ACKNOWLEDGED_NS)
    points = []
    for place, got in enumerate(seen.gbps(0), start=1):
        paper = {"b": PRINTED_5B.get(place), "c": 40.0}.get(panel[0])
        points.append(Point(panel, "1522 bytes", place, got, expected, paper))
    return points


def runs_5(extra: str, seed: int) -> Iterator[Task[list[Point]]]:
    """By the policy."""
    for panel in POLICIES:
        yield Task(f"5{panel}, seed {seed}", run_5, (panel, extra, seed))


def claims_5(points: Points) -> Iterator[Claim]:
    """Who gets what of the header pool."""
    fixed, random, red = (
        list(points.curve(panel, "1522 bytes").values())[1:] for panel in POLICIES
    )
    spread = max(fixed) - min(fixed)
    falls = all(a > b for a, b in pairwise(fixed))
    text = "fixed order: throughput follows the order of the headers, spread over 40 Gb/s and more"
    yield Claim(text, falls and spread > 40, f"{fixed[0]:.1f} to {fixed[-1]:.1f}")
    even = max(random) - min(random)
    yield Claim("random order: all remote copies get the same", even < 5, f"within {even:.1f}")
    rest = max(red) - min(red)
    text = "RED: the spread is less than a quarter of that of the fixed order"
    yield Claim(text, rest < spread / 4, f"within {rest:.1f}")


FIGURE_5 = Figure(
    "5",
    "one local and seven remote copies, 100 headers, 1522 bytes, 99 Gb/s offered",
    "place of the copy's header",
    "throughput of a copy [Gb/s]",
    runs_5,
    claims_5,
    names=("1\nlocal", *(f"{place}\nremote" for place in range(2, 9))),
    own=("headers.high", "headers.low", "headers.order", "headers.probability", "voq.drop"),
)


# ---- Figure 6

SCENES: dict[str, Settings] = {
    "a: pool drops, no sync": {"voq.drop": "off", "sync.on": False},
    "b: pool drops, sync": {"voq.drop": "off", "sync.on": True},
    "c: tail drop, no sync": {"voq.drop": "tail", "sync.on": False},
    "d: tail drop, sync": {"voq.drop": "tail", "sync.on": True},
    "e: drop from head, sync": {"voq.drop": "head", "sync.on": True},
}
PERIODS = ((0, 1, 0), (1, 2, 7), (2, 3, 3), (3, 4, 1), (4, 5, 0))
"""Begin and end in ms, and unicast flows to the first receiver"""
SLOW, FAST, FAR = "congested", "local", "remote"
CURVES = {SLOW: 0, FAST: 1, FAR: 4}
SETTLED_MS = 0.4
"""After so much of a period its rates are what the policies make of it"""


def fair(unicasts: int) -> float:
    """Gb/s of the congested copy."""
    return min(LOAD, 100 / (1 + unicasts))


def scenario_6(settings: Settings, extra: str) -> Scenario:
    """Figure 6's traffic."""
    flows = [Flow(direct(0, FOUR_AND_FOUR), LOAD)]
    for number in range(7):
        stop = max(end for _, end, count in PERIODS if count > number) * 1000
        sender = terminal(5 + number)
        flows.append(Flow(direct(sender, FOUR_AND_FOUR[:1]), LOAD, start=1000, stop=stop))
    return Scenario(12, tuple(flows), 5000, 0, settings, extra)


def run_6(panel: str, extra: str, seed: int) -> list[Point]:
    """Gb/s over time: the congested copy, one that is not, and one to another leaf."""
    seen = run(scenario_6(SCENES[panel], extra), seed)
    points = []
    for curve, sink in CURVES.items():
        for place, got in enumerate(seen.series(sink)):
            time = place * INTERVAL / 1000
            count = next(count for begin, end, count in PERIODS if begin <= time < end)
            formula = fair(count) if curve == SLOW else None
            points.append(Point(panel, curve, time, got, formula))
    return points


def runs_6(extra: str, seed: int) -> Iterator[Task[list[Point]]]:
    """By the policy."""
    for panel in SCENES:
        yield Task(f"6{panel}, seed {seed}", run_6, (panel, extra, seed))


def in_period(points: Points, panel: str, curve: str, period: int) -> float:
    """Mean Gb/s in a period, once it has settled."""
    begin, end, _ = PERIODS[period]
    values = [
        got for time, got in points.curve(panel, curve).items() if begin + SETTLED_MS <= time < end
    ]
    return sum(values) / len(values)


def claims_6(points: Points) -> Iterator[Claim]:
    """Who suffers from one congested receiver."""
    a, b, c, d, e = SCENES

    def got(panel: str, curve: str) -> list[float]:
        return [in_period(points, panel, curve, period) for period in range(len(PERIODS))]

    def shown(values: list[float]) -> str:
        return ", ".join(f"{value:.0f}" for value in values) + " Gb/s by period"

    for panel in (a, b):
        fast, slow = got(panel, FAST), got(panel, SLOW)
        capped = all(abs(fast[at] - slow[at]) < 5 for at in (1, 2, 3))
        yield Claim(f"{panel}: all get what the congested one gets", capped, shown(fast))
    last = got(a, FAST)[4]
    text = "a: thrashing stays when the congestion is over, at about 60 Gb/s"
    yield Claim(text, 45 < last < 70, f"{last:.0f} Gb/s")
    last = got(b, FAST)[4]
    yield Claim("b: with synchronisation it recovers", last > 97, f"{last:.0f} Gb/s")
    fast = got(c, FAST)
    yield Claim("c: 2 to 3 ms, the others get 99 Gb/s", fast[2] > 95, shown(fast))
    slow = got(c, SLOW)
    below = all(slow[at] < 0.8 * fair(PERIODS[at][2]) for at in (1, 2))
    yield Claim("c: but not all is well: the congested one misses its share", below, shown(slow))
    fast = got(d, FAST)
    text = "d: synchronisation takes away what tail drop gives"
    yield Claim(text, all(fast[at] < fair(PERIODS[at][2]) + 10 for at in (1, 2, 3)), shown(fast))
    fast, slow = got(e, FAST), got(e, SLOW)
    text = "e: the others lose less than a tenth, the congested one has its fair share"
    fine = min(fast) > 89 and all(abs(slow[at] - fair(PERIODS[at][2])) < 3 for at in (1, 2, 3))
    yield Claim(text, fine, f"{shown(fast)}; {shown(slow)}")


FIGURE_6 = Figure(
    "6",
    "4 local and 4 remote copies, 1522 bytes; 7, 3 and 1 unicast flows to the first receiver",
    "time [ms]",
    "throughput of a copy [Gb/s]",
    runs_6,
    claims_6,
    series=True,
    own=("sync.on", "voq.drop", "line.gbps"),
)
