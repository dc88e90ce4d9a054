"""Figures 9 and 10: QCN and multicast, in a lossless class."""

from __future__ import annotations

from collections.abc import Iterator

from p4lab.spread.sweep import Task
from p4lab.systems.fabric.experiments.figure import Claim, Figure, Point, Points
from p4lab.systems.fabric.paper import LOAD
from p4lab.systems.fabric.parameters import Settings
from p4lab.systems.fabric.ports import terminal
from p4lab.systems.fabric.runs import Flow, Scenario, run
from p4lab.systems.fabric.trees import direct

MICROS, WARM = 4000, 1000


# ---- Figure 9

POINTS: dict[str, Settings] = {
    "points at outputs": {"qcn.points": "outputs"},
    "points at inputs": {"qcn.points": "inputs", "qcn.marking": "standard"},
}
COPIES, UNICASTS = "multicast copies", "unicast flows"


def scenario_9(settings: Settings, extra: str) -> Scenario:
    """One flow to four servers of its leaf, and one flow to each of three of them."""
    flows = [Flow(direct(0, [terminal(0, place) for place in range(1, 5)]), LOAD, lossless=True)]
    for number in (1, 2, 3):
        tree = direct(terminal(number), [terminal(0, number)])
        flows.append(Flow(tree, LOAD, lossless=True))
    return Scenario(4, tuple(flows), MICROS, WARM, settings, extra)


def run_9(panel: str, extra: str, seed: int) -> list[Point]:
    """Gb/s of m1 to m4 and u1 to u3."""
    seen = run(scenario_9(POINTS[panel], extra), seed)
    copies = [
        Point(panel, COPIES, number, got, 50.0) for number, got in enumerate(seen.gbps(0), start=1)
    ]
    flows = [Point(panel, UNICASTS, number, seen.gbps(number)[0], 50.0) for number in (1, 2, 3)]
    return copies + flows


def runs_9(extra: str, seed: int) -> Iterator[Task[list[Point]]]:
    """By where congestion points are."""
    for panel in POINTS:
        yield Task(f"9, {panel}, seed {seed}", run_9, (panel, extra, seed))


def ratio(points: Points, panel: str) -> float:
    """What a unicast flow gets over what a copy gets, where both go to the same server."""
    unicasts, copies = points.curve(panel, UNICASTS), points.curve(panel, COPIES)
    return sum(unicasts.values()) / sum(copies[number] for number in unicasts)


def claims_9(points: Points) -> Iterator[Claim]:
    """Fair at inputs, not at outputs."""
    outputs, inputs = (ratio(points, panel) for panel in POINTS)
    text = "points at outputs: unicast flows get one and a half times as much and more"
    yield Claim(text, outputs > 1.5, f"{outputs:.2f} times")
    text = "points at inputs: both get the same, to within 10 %"
    yield Claim(text, abs(inputs - 1) < 0.1, f"{inputs:.2f} times")


FIGURE_9 = Figure(
    "9",
    "QCN: one flow to 4 servers, a unicast flow to each of the first three",
    "server",
    "throughput [Gb/s]",
    runs_9,
    claims_9,
    names=("1", "2", "3", "4"),
    own=("qcn.points", "qcn.marking", "line.gbps"),
    most=100,
)


# ---- Figure 10

SCHEMES: dict[str, Settings] = {
    "a: PAUSE only": {"qcn.points": "off"},
    "b: inputs, standard": {"qcn.points": "inputs", "qcn.marking": "standard"},
    "c: inputs, random occupied": {"qcn.points": "inputs", "qcn.marking": "random"},
    "c: inputs, largest": {"qcn.points": "inputs", "qcn.marking": "largest"},
    "d: outputs, standard": {"qcn.points": "outputs"},
}
NAMES = ("T1-m1", "T1-m2", "T2-m1", "T2-m2", "u1", "u2", "u3")
FAIR = (25.0, 25.0, 75.0, 75.0, 25.0, 25.0, 25.0)


def scenario_10(settings: Settings, extra: str) -> Scenario:
    """T1 to servers 1 and 2, T2 to 3 and 4 from the same server; three flows to server 1."""
    flows = [
        Flow(direct(0, [terminal(0, 1), terminal(0, 2)]), LOAD, lossless=True),
        Flow(direct(0, [terminal(0, 3), terminal(0, 4)]), LOAD, lossless=True),
    ]
    for leaf in (1, 2, 3):
        flows.append(Flow(direct(terminal(leaf), [terminal(0, 1)]), LOAD, lossless=True))
    return Scenario(4, tuple(flows), MICROS, WARM, settings, extra)


def run_10(panel: str, extra: str, seed: int) -> list[Point]:
    """Gb/s of all seven, by their place in NAMES."""
    seen = run(scenario_10(SCHEMES[panel], extra), seed)
    got = [sink["gbps"] for sink in seen.sinks]
    points = []
    for number, (name, value, fair) in enumerate(zip(NAMES, got, FAIR, strict=True), start=1):
        paper = 25.0 if name.startswith("T1") and not panel.startswith(("a", "b")) else None
        points.append(Point(panel, "throughput", number, value, fair, paper))
    return points


def runs_10(extra: str, seed: int) -> Iterator[Task[list[Point]]]:
    """By how flows are notified."""
    for panel in SCHEMES:
        yield Task(f"10{panel}, seed {seed}", run_10, (panel, extra, seed))


def claims_10(points: Points) -> Iterator[Claim]:
    """Who tells the culprit from its neighbour."""

    def of(panel: str) -> tuple[float, float]:
        curve = points.curve(panel, "throughput")
        return curve[1], curve[3]

    for panel in ("a: PAUSE only", "b: inputs, standard"):
        culprit, victim = of(panel)
        text = f"{panel}: T2 is held back with T1"
        yield Claim(text, victim < 40, f"T1 {culprit:.1f}, T2 {victim:.1f}")
    for panel in list(SCHEMES)[2:]:
        culprit, victim = of(panel)
        # Who is notified is drawn: in these few milliseconds, unicast flows get 19 to 40.
        text = f"{panel}: T2 is free, T1 has half of its 25 Gb/s at least, and 35 at most"
        fine = victim > 62 and 12.5 <= culprit <= 35
        yield Claim(text, fine, f"T1 {culprit:.1f}, T2 {victim:.1f}")


FIGURE_10 = Figure(
    "10",
    "two flows of one server; T1's first copy is congested",
    "flow or copy",
    "throughput [Gb/s]",
    runs_10,
    claims_10,
    names=NAMES,
    own=("qcn.points", "qcn.marking", "line.gbps"),
    most=100,
)
