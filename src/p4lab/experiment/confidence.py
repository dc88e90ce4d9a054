"""Means with confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev

from p4lab.plurals import count_of

# Student's t: the 97.5 % quantile by degrees of freedom, and beyond the table the next lower row.
_T975 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}
_T975 |= {10: 2.228, 12: 2.179, 15: 2.131, 20: 2.086, 30: 2.042, 60: 2.000, 120: 1.980}


@dataclass(frozen=True)
class Mean:
    """A mean and half the width of its 95 % confidence interval, in the unit of the values."""

    value: float
    half_width: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ± {self.half_width:.2f}"


def with_interval(value: float, half_width: float, runs: int, digits: int = 2) -> str:
    """A mean and half the width of its interval in words, such as "75.52 ± 3.10"; the value alone
    if it is of one run, which has no interval."""
    text = f"{value:.{digits}f}"
    return text if runs == 1 else f"{text} ± {half_width:.{digits}f}"


def runs_in_words(runs: int, more: str = "") -> str:
    """How many runs there were, with `more` behind that, and what their error bars are, where they
    have some."""
    return f"{count_of(runs, 'run')}{more}{', 95 % confidence' * (runs > 1)}"


def seeds_of(first: int, count: int) -> str:
    """Which seeds so many runs had."""
    return f"seed {first}" if count == 1 else f"seeds {first} to {first + count - 1}"


def mean_of(runs: int) -> str:
    """Whose mean something is, in words."""
    return "1 run" if runs == 1 else f"mean of {runs} runs"


def error_bars(half_widths: Sequence[float], runs: int) -> list[float] | None:
    """What to draw as error bars: nothing for one run."""
    return None if runs == 1 else list(half_widths)


def mean(values: Sequence[float]) -> Mean:
    """Mean of independent runs; the width is 0 for a single one. Raises ValueError for none."""
    if not values:
        raise ValueError("a mean needs at least one value")
    if len(values) == 1:
        return Mean(values[0], 0.0)
    freedom = len(values) - 1
    t = _T975[max(degrees for degrees in _T975 if degrees <= freedom)]
    return Mean(fmean(values), t * stdev(values) / sqrt(len(values)))
