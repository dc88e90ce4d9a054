"""Equations 1 and 2, held against trees, and against the cells that a run sends to the spines."""

from __future__ import annotations

from collections.abc import Iterator

from p4lab.spread.sweep import Task
from p4lab.systems.fabric.experiments.figure import Claim, Figure, Point, Points
from p4lab.systems.fabric.ports import terminals
from p4lab.systems.fabric.runs import Flow, Scenario, run
from p4lab.systems.fabric.trees import ONWARD, Tree, crossings, grown, levels, reach

LEVELS = (0, 1, 2, 3, 4)
SPREAD = (1, 2, 4, 8, 16, 30)
"""Leaves that get a message"""
REACH, LOAD = "equation 1: terminals", "equation 2: load over the ideal"
CELLS = 6
"""Of a frame with 1522 bytes"""


def full_tree(n: int) -> Tree:
    """Up to n levels of surrogates with as many copies as there can be, on leaves enough."""
    leaves = list(range(1, 1 + 4 * sum(ONWARD**i for i in range(n))))
    own = terminals(0)[1:]
    if not leaves:
        return [(0, own)]
    return grown(0, 4, leaves, own)


def count() -> list[Point]:
    """Terminals by levels."""
    return [Point(REACH, "D(n)", n, len(levels(full_tree(n))), reach(n), reach(n)) for n in LEVELS]


def run_load(leaves: int, extra: str, seed: int) -> list[Point]:
    """Leaf-spine cells of a run that reaches so many leaves."""
    tree = grown(0, min(8, leaves), list(range(1, leaves + 1)))
    ours, ideal = crossings(tree)
    totals = run(Scenario(leaves + 1, (Flow(tree, 10),), 200, 0, {}, extra), seed).totals
    sent = (totals["cells_up"] + totals["cells_down"]) / CELLS / totals["emitted"]
    return [Point(LOAD, "L / L*", leaves, sent / ideal, ours / ideal, 2.0)]


def runs(extra: str, seed: int) -> Iterator[Task[list[Point]]]:
    """Trees are counted, and load is measured by the leaves that are reached."""
    yield Task("equation 1", count)
    for leaves in SPREAD:
        yield Task(f"equation 2, {leaves} leaves, seed {seed}", run_load, (leaves, extra, seed))


def claims(points: Points) -> Iterator[Claim]:
    """Trees and runs are as the equations say."""
    same = all(points.at(REACH, "D(n)", n) == reach(n) for n in LEVELS)
    last = points.at(REACH, "D(n)", LEVELS[-1])
    yield Claim("equation 1 counts the receivers of a full tree", same, f"D(4) = {last:.0f}")
    got = points.curve(LOAD, "L / L*")
    rises = list(got.values()) == sorted(got.values())
    text = "equation 2: at most twice the ideal, and close to it with many leaves"
    fine = rises and max(got.values()) <= 2 and got[SPREAD[-1]] > 1.8
    yield Claim(text, fine, ", ".join(f"{value:.2f}" for value in got.values()))


EQUATIONS = Figure(
    "equations",
    "reach of a tree, and what it costs on links to spines",
    "levels of surrogates, or leaves",
    "terminals, or load",
    runs,
    claims,
    own=("cell.bytes",),
    panel_y=((REACH, "terminals"), (LOAD, "load over the ideal")),
)
