"""What an experiment of this system is: runs, rows, what must hold of them, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from p4lab import __version__
from p4lab.experiment import tidy
from p4lab.experiment.confidence import Mean, mean
from p4lab.spread.sweep import Task
from p4lab.systems.fabric.parameters import condensed


@dataclass(frozen=True)
class Point:
    """One value of a curve, of one seed."""

    panel: str
    curve: str
    x: float
    simulated: float
    formula: float | None = None
    paper: float | None = None


@dataclass(frozen=True)
class Claim:
    """What must hold of the points of one seed, and what was seen."""

    text: str
    holds: bool
    seen: str


@dataclass(frozen=True)
class Figure:
    """A figure of the paper."""

    name: str
    title: str
    x: str
    y: str
    runs: Callable[[str, int], Iterator[Task[list[Point]]]]
    """All runs of a seed, with the user's parameters as TOML; they raise ValueError"""
    claims: Callable[[Points], Iterable[Claim]]
    series: bool = False
    """x is time: a table would have too many rows"""
    log: bool = False
    """The x axis is logarithmic"""
    names: tuple[str, ...] = ()
    """What x from 1 on stands for, where it is not a quantity"""
    own: tuple[str, ...] = ()
    """Parameters that its runs set themselves, or that its formulas take as they are"""
    panel_y: tuple[tuple[str, str], ...] = ()
    """What the y axis of a panel is, by how the panel's name begins, where it is not `y`"""
    most: float | None = None
    """What no value can exceed: error bars end there"""


class Points:
    """The points of one seed, by panel and curve."""

    def __init__(self, points: Sequence[Point]) -> None:
        self._points = points

    def curve(self, panel: str, curve: str) -> dict[float, float]:
        """Simulated values by x."""
        return {
            one.x: one.simulated for one in self._points if (one.panel, one.curve) == (panel, curve)
        }

    def curves(self, panel: str) -> list[str]:
        """Names of a panel's curves, in order."""
        return list(dict.fromkeys(one.curve for one in self._points if one.panel == panel))

    def at(self, panel: str, curve: str, x: float) -> float:
        """One simulated value. Raises KeyError."""
        return self.curve(panel, curve)[x]


@dataclass(frozen=True)
class Cell:
    """A value over all seeds."""

    panel: str
    curve: str
    x: float
    simulated: Mean
    formula: float | None
    paper: float | None


def cells(by_seed: Mapping[int, Sequence[Point]]) -> list[Cell]:
    """Points with the same place, over all seeds, in the order of the first one. A formula that
    depends on what a seed has drawn is a mean, too."""
    found: dict[tuple[str, str, float], list[Point]] = {}
    for points in by_seed.values():
        for one in points:
            found.setdefault((one.panel, one.curve, one.x), []).append(one)
    return [
        Cell(
            *place,
            mean([one.simulated for one in same]),
            _mean([one.formula for one in same]),
            _mean([one.paper for one in same]),
        )
        for place, same in found.items()
    ]


def _mean(values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there else None


def judged(figure: Figure, by_seed: Mapping[int, Sequence[Point]]) -> list[tuple[Claim, list[int]]]:
    """Each claim with the seeds for which it does not hold: as the first of these saw it, or, if
    there is none, as the first of all did."""
    found: dict[str, tuple[Claim, list[int]]] = {}
    for seed, points in by_seed.items():
        for claim in figure.claims(Points(points)):
            broken = found.setdefault(claim.text, (claim, []))[1]
            if not claim.holds:
                broken.append(seed)
            if broken == [seed]:
                found[claim.text] = (claim, broken)
    return list(found.values())


def rows(figure: Figure, by_seed: Mapping[int, Sequence[Point]], extra: str) -> list[tidy.Row]:
    """One row for each point: a tidy table."""
    engine = f"fabric {tidy.engine_build()}"
    found = []
    for seed, points in by_seed.items():
        origin = tidy.Origin(seed, __version__, engine, condensed(extra))
        found += [
            {
                **origin.columns,
                "figure": figure.name,
                "panel": one.panel,
                "curve": one.curve,
                "x": float(one.x),
                "paper": one.paper,
                "formula": one.formula,
                "simulated": float(one.simulated),
            }
            for one in points
        ]
    tidy.check(found)
    return found
