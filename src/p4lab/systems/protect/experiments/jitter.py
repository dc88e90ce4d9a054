"""Figure 4 of the paper: what 1+1 protection makes of jitter.

Both paths delay every packet by U[0, J], in either direction and independently; the first copy
counts. Pings go through the switches in virtual time. By formula the round trip is the sum of two
draws, each the least of as many as there are paths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Any

from p4lab.experiment import tidy
from p4lab.experiment.confidence import error_bars, mean, runs_in_words
from p4lab.experiment.panels import BLUE, GREY, RED
from p4lab.spread.sweep import Sweep, Task
from p4lab.systems.protect.experiments.figures import save
from p4lab.systems.protect.experiments.pings import ping
from p4lab.systems.protect.experiments.setup import (
    US,
    Cable,
    between,
    opened,
    origin,
    plan_of,
    two_paths,
)
from p4lab.systems.protect.settings import ProtectSettings

if TYPE_CHECKING:
    from rich.table import Table

TRAVEL = 1_000 * US  # of each path, one way
JITTERS_US = (200, 400, 600, 800, 1_000)
PATHS = {"unprotected": 1, "protected": 2}
COLOURS = {"unprotected": BLUE, "protected": RED}
PAPER_RATIO = 0.5  # "only from about half the jitter"
MOST_PATHS = 8  # by formula
GRID = 4_000  # steps of a distribution
ACCEPT = ProtectSettings(accept="highest")


@dataclass(frozen=True)
class Statistics:
    """Of round trip times: the mean above the least possible time, standard deviation (what ping
    calls mdev), mean absolute deviation, and mean difference of two successive ones. All in one
    unit: nanoseconds where measured, J by formula."""

    excess: float
    deviation: float
    absolute: float
    variation: float


@dataclass(frozen=True)
class Outcome:
    """One run of so many pings; `jitter_us` is J."""

    mode: str
    jitter_us: int
    seed: int
    pings: int
    measured: Statistics


@cache
def by_formula(paths: int) -> Statistics:
    """For so many paths and J = 1; numbers on a grid, good to three digits and more."""
    import numpy  # heavy: numpy

    middles = (numpy.arange(GRID) + 0.5) / GRID
    least = paths * (1 - middles) ** (paths - 1)
    density = numpy.convolve(least, least) / GRID  # of the sum of two, there and back
    at = (numpy.arange(len(density)) + 1) / GRID
    weights = density / density.sum()
    average = float(at @ weights)
    below = weights.cumsum()
    return Statistics(
        average,
        float(((at - average) ** 2 @ weights) ** 0.5),
        float(abs(at - average) @ weights),
        float(2 * (below * (1 - below)).sum() / GRID),
    )


def run(mode: str, jitter_us: int, pings: int, seed: int) -> Outcome:
    """So many pings from h1 to h2. Raises NetworkError, ProgramError."""
    jitter = jitter_us * US
    topology = two_paths(Cable(TRAVEL, jitter), Cable(TRAVEL, jitter))
    plan = plan_of(topology, seed, between(topology), ACCEPT)
    with opened(plan, protected=mode == "protected") as session:
        ends = topology.host("h1"), topology.host("h2")
        times = ping(session.net, *ends, pings, 4 * (TRAVEL + jitter))
    average = fmean(times)
    measured = Statistics(
        average - 2 * TRAVEL,
        pstdev(times),
        fmean(abs(time - average) for time in times),
        fmean(abs(b - a) for a, b in pairwise(times)),
    )
    return Outcome(mode, jitter_us, seed, pings, measured)


def measure(runs: int, pings: int, seed: int, sweep: Sweep) -> list[Outcome]:
    """Every J with and without protection. Every J has seeds of its own, from `seed` on: links draw
    the same for the same seed, only larger. Raises NetworkError, ProgramError, SweepError."""
    tasks = []
    for place, jitter_us in enumerate(JITTERS_US):
        for mode in PATHS:
            first = seed + place * runs
            tasks += [
                Task(f"jitter {jitter_us} us, {mode}, seed {k}", run, (mode, jitter_us, pings, k))
                for k in range(first, first + runs)
            ]
    return sweep.all(tasks)


def records(outcomes: Sequence[Outcome]) -> list[tidy.Row]:
    """One row per run."""
    return [
        {
            **origin(outcome.seed, ACCEPT),
            "mode": outcome.mode,
            "jitter_us": outcome.jitter_us,
            "pings": outcome.pings,
            "excess_us": outcome.measured.excess / US,
            "deviation_us": outcome.measured.deviation / US,
            "absolute_deviation_us": outcome.measured.absolute / US,
            "variation_us": outcome.measured.variation / US,
            "deviation_by_formula_us": by_formula(PATHS[outcome.mode]).deviation
            * outcome.jitter_us,
        }
        for outcome in outcomes
    ]


def deviations(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """One record per J and mode: the standard deviation of the round trip in microseconds, with
    half its 95 % confidence interval."""
    found = []
    for jitter_us in JITTERS_US:
        for mode, paths in PATHS.items():
            own = [o for o in outcomes if (o.jitter_us, o.mode) == (jitter_us, mode)]
            value = mean([o.measured.deviation / US for o in own])
            found.append(
                {
                    "jitter_us": jitter_us,
                    "mode": mode,
                    "runs": len(own),
                    "deviation_us": value.value,
                    "half_width_us": value.half_width,
                    "formula_us": by_formula(paths).deviation * jitter_us,
                }
            )
    return found


def ratios(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """Protected over unprotected for each statistic, runs with the same J and seed paired: the
    mean with half its 95 % confidence interval, the same by formula, and what the paper says."""
    pairs = {(o.jitter_us, o.seed): o.measured for o in outcomes if o.mode == "unprotected"}
    protected = [o for o in outcomes if o.mode == "protected"]
    one, two = by_formula(1), by_formula(2)
    found = []
    for name in ("deviation", "absolute", "excess", "variation"):
        value = mean(
            [
                getattr(o.measured, name) / getattr(pairs[o.jitter_us, o.seed], name)
                for o in protected
            ]
        )
        found.append(
            {
                "statistic": name,
                "ratio": value.value,
                "half_width": value.half_width,
                "formula": getattr(two, name) / getattr(one, name),
                "paper": PAPER_RATIO if name in ("deviation", "absolute") else None,
            }
        )
    return found


def paths_for_half() -> int:
    """With how many paths the deviation would be half of that of one, or less."""
    half = PAPER_RATIO * by_formula(1).deviation
    return next(n for n in range(1, MOST_PATHS + 1) if by_formula(n).deviation <= half)


def table(rows: Sequence[dict[str, Any]]) -> Table:
    """The ratios beside what they should be."""
    from rich.table import Table  # heavy: rich

    names = {
        "deviation": "standard deviation (ping's mdev)",
        "absolute": "mean absolute deviation",
        "excess": "mean time above the least",
        "variation": "mean difference of successive pings",
    }
    table = Table(box=None, title="round trip with protection over that without (figure 4)")
    for column in ("", "paper", "formula, U[0, J]", "simulated"):
        table.add_column(column, justify="right" if column else "left", no_wrap=True)
    for row in rows:
        said = "" if row["paper"] is None else "about half"
        value = f"{row['ratio']:.3f} ± {row['half_width']:.3f}"
        table.add_row(names[row["statistic"]], said, f"{row['formula']:.3f}", value)
    return table


def draw(outcomes: Sequence[Outcome], path: Path, seeds: str) -> None:
    """Figure 4, and how the deviation falls with the number of paths. Raises OSError,
    ValueError."""
    runs = len(outcomes) // (len(JITTERS_US) * len(PATHS))
    note = (
        f"each path delays each packet by U[0, J], independently; "
        f"{runs_in_words(runs, f' of {outcomes[0].pings} pings ({seeds})')}"
    )
    drawings = [
        partial(_draw_deviation, rows=deviations(outcomes)),
        partial(_draw_paths, row=ratios(outcomes)[0]),
    ]
    save(path, drawings, note=note)


def _draw_deviation(axis: Any, *, rows: Sequence[dict[str, Any]]) -> None:
    for mode, paths in PATHS.items():
        own = [row for row in rows if row["mode"] == mode]
        at = [0, max(JITTERS_US)]
        slope = by_formula(paths).deviation
        axis.plot(at, [slope * j for j in at], color=COLOURS[mode], label=f"{mode}, formula")
        axis.errorbar(
            [row["jitter_us"] for row in own],
            [row["deviation_us"] for row in own],
            yerr=error_bars([row["half_width_us"] for row in own], own[0]["runs"]),
            fmt="o",
            color=COLOURS[mode],
            markersize=4,
            capsize=3,
            label=f"{mode}, simulated",
        )
    half = PAPER_RATIO * by_formula(1).deviation
    axis.plot(at, [half * j for j in at], ":", color=GREY, label='"about half" (paper)')
    axis.set_xlabel("jitter J of each path and direction [µs]")
    axis.set_ylabel("standard deviation of the round trip [µs]")
    axis.set_ylim(0)
    axis.set_xlim(0)
    axis.legend(fontsize=7)
    axis.set_title("figure 4", fontsize=9)


def _draw_paths(axis: Any, *, row: dict[str, Any]) -> None:
    numbers = range(1, MOST_PATHS + 1)
    shares = [by_formula(n).deviation / by_formula(1).deviation for n in numbers]
    axis.plot(numbers, shares, "o-", color=GREY, markersize=3, label="formula")
    axis.errorbar(
        [2],
        [row["ratio"]],
        yerr=[row["half_width"]],
        fmt="o",
        color=RED,
        capsize=3,
        label="simulated",
    )
    axis.axhline(PAPER_RATIO, linestyle=":", color=GREY, label='"about half" (paper)')
    axis.set_xlabel("number of paths")
    axis.set_ylabel("standard deviation over that of one path")
    axis.set_ylim(0, 1.05)
    axis.legend(fontsize=7)
    axis.set_title(f"half the jitter takes {paths_for_half()} paths", fontsize=9)
