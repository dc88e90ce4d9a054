"""Equations 1 and 2, held against trees, and against the cells that a run sends to the spines."""

from __future__ import annotations

from collections.abc import Iterator

from p4lab.systems.fabric.experiments.figure import Claim, Figure, Point, Points, Scope
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


def measure(scope: Scope, seed: int) -> Iterator[Point]:
    """Terminals by levels; leaf-spine cells of a run by the leaves that it reaches."""
    for n in LEVELS:
        yield Point(REACH, "D(n)", n, len(levels(full_tree(n))), reach(n), reach(n))
    for leaves in SPREAD:
        tree = grown(0, min(8, leaves), list(range(1, leaves + 1)))
        ours, ideal = crossings(tree)
        flow = Flow(tree, 10)
        scenario = Scenario(leaves + 1, (flow,), 200, 0, {}, scope.extra)
        totals = run(scenario, seed, scope.telling(f"equation 2, {leaves} leaves")).totals
        sent = (totals["cells_up"] + totals["cells_down"]) / CELLS / totals["emitted"]
        yield Point(LOAD, "L / L*", leaves, sent / ideal, ours / ideal, 2.0)


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
    measure,
    claims,
    len(SPREAD),
)
