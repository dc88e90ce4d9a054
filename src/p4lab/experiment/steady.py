"""Steady state: how long to run, what to leave out at the beginning, how sure the result is.

A run is a row of windows of equal length. Those of the warm-up are left out; the rest becomes a
fixed number of batches whose means are nearly independent, however much neighbouring windows depend
on each other. The run is over when the confidence interval of every quantity is narrow enough, or
at a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import Any, Literal

from p4lab import _engine
from p4lab.experiment.confidence import Mean, mean

BATCHES = 20
LEAST = 5 * BATCHES  # windows before the first verdict
CHECKS = 1.25  # how much longer the run is at each verdict than at the last
GROUP = 5  # windows of which MSER-5 takes the mean
Window = Callable[[], Mapping[str, float]]


@dataclass(frozen=True)
class Progress:
    """How far a run is. `share` from 0 to 1 is what is done of what it will take, as it seems."""

    windows: int
    share: float
    means: Mapping[str, Mean]


@dataclass(frozen=True)
class Steady:
    """Means of all quantities with half of their 95 % confidence intervals.

    `warm_up` of the `windows` are left out. `stopped` says why the run ended: its intervals were
    "narrow" enough, or the "bound" was reached. `values` are those of all windows, by quantity.
    """

    means: Mapping[str, Mean]
    warm_up: int
    windows: int
    stopped: Literal["narrow", "bound"]
    values: Mapping[str, tuple[float, ...]]

    @property
    def relative(self) -> float:
        """The largest half width over its mean."""
        return max(relative(mean) for mean in self.means.values())


def steady_state(
    window: Window,
    *,
    target: float = 0.01,
    small: float = 0.0,
    most: int = 100_000,
    warm_up: int | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> Steady:
    """Calls `window`, which lets time pass and gives what was seen in it by quantity, until half
    the width of every 95 % confidence interval is at most `target` times its mean, or `most` times.
    A mean below `small` counts as that: what hardly ever happens need not be known as well.

    Without `warm_up` (in windows) it is found by MSER-5 (White 1997): as many groups of five
    windows are left out as make the standard error of the rest the least, anew at each verdict.
    With fewer than 100 windows there is no verdict. Raises ValueError for bounds that make no
    sense, and when `window` gives nothing or changes its quantities.
    """
    if not 0 < target < 1:
        raise ValueError(f"a target of {target} makes no sense; 0.01 is one percent of the mean")
    if most < LEAST + (warm_up or 0):
        raise ValueError(f"{most} windows are too few; {LEAST + (warm_up or 0)} is the least")
    values: dict[str, list[float]] = {}
    count, check = 0, LEAST + (warm_up or 0)
    while True:
        while count < check:
            _keep(values, window(), count)
            count += 1
        start = max(map(truncation, values.values())) if warm_up is None else warm_up
        batches = {name: batch_means(seen[start:]) for name, seen in values.items()}
        means = {name: mean(found) for name, found in batches.items()}
        widest = max(relative(one, small) for one in means.values())
        narrow = widest <= target and not any(map(depend, batches.values()))
        if progress:
            share = (
                1.0 if narrow else max(count / most, min(0.99, (target / max(widest, target)) ** 2))
            )
            progress(Progress(count, share, means))
        if narrow or count >= most:
            seen = {name: tuple(row) for name, row in values.items()}
            return Steady(means, start, count, "narrow" if narrow else "bound", seen)
        check = min(most, max(check + 1, round(check * CHECKS)))


def _keep(values: dict[str, list[float]], seen: Mapping[str, float], count: int) -> None:
    if not seen or (count and seen.keys() != values.keys()):
        raise ValueError("a window must give a value for each quantity, always the same ones")
    for name, value in seen.items():
        values.setdefault(name, []).append(value)


def truncation(values: Sequence[float]) -> int:
    """How many values to leave out at the beginning, by MSER-5; at most half of them."""
    groups = [fmean(values[i : i + GROUP]) for i in range(0, len(values) - GROUP + 1, GROUP)]
    best, least = 0, float("inf")
    total = squares = 0.0
    # From the end, so that each sum follows from the one before.
    centre = fmean(groups) if groups else 0.0
    for start in range(len(groups) - 1, -1, -1):
        value = groups[start] - centre
        total += value
        squares += value * value
        left = len(groups) - start
        if start > len(groups) // 2:
            continue
        error = max(0.0, squares - total * total / left) / left**2
        if error <= least * (1 + 1e-12):
            best, least = start, min(least, error)
    return best * GROUP


def batch_means(values: Sequence[float]) -> list[float]:
    """The means of `BATCHES` runs of equal length; what is left over, at the beginning, is not
    used. Raises ValueError for fewer values than batches."""
    length = len(values) // BATCHES
    if length == 0:
        raise ValueError(
            f"{len(values)} windows after the warm-up are fewer than {BATCHES} batches"
        )
    first = len(values) - length * BATCHES
    return [fmean(values[i : i + length]) for i in range(first, len(values), length)]


def depend(batches: Sequence[float]) -> bool:
    """Whether each batch resembles the one before it more than chance explains (lag 1, one-sided 5
    %): then batches are too short for their interval to mean anything."""
    centre = fmean(batches)
    deviations = [value - centre for value in batches]
    spread = sum(value * value for value in deviations)
    if spread <= (1e-12 * centre) ** 2 * len(batches):
        return False
    products = sum(a * b for a, b in pairwise(deviations))
    return bool(products / spread > 1.645 / len(batches) ** 0.5)


def relative(mean: Mean, small: float = 0.0) -> float:
    """Half the width over the mean, or over `small` if that is larger; 0 for what never varies."""
    if mean.half_width == 0:
        return 0.0
    size = max(abs(mean.value), small)
    return mean.half_width / size if size else float("inf")


def windows_of(
    net: _engine.Network,
    hosts: Mapping[str, int],
    length: int,
    quantity: Callable[[dict[str, Any]], float] = lambda measured: measured["rate_l1"],
) -> Window:
    """Windows of `length` picoseconds of a network: a quantity of what each host has measured in
    one (`_engine.Network.measured`), by the hosts' names. Frames for a controller pass by."""

    def window() -> dict[str, float]:
        for host in hosts.values():
            net.measure(host)
        end = net.now + length
        while net.run_until(end) is not None:
            pass
        seen = {}
        for name, host in hosts.items():
            measured = net.measured(host)
            seen[name] = quantity(measured) if measured is not None else 0.0
        return seen

    return window
