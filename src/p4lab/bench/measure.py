"""One figure of the bench, with its spread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

Say = Callable[[str], None]
REPEATS = 3


@dataclass(frozen=True)
class Measure:
    """One number with its unit: the median, and between what it lay.

    `goal` is what it should reach (or stay under, where `at_most`). `value` is None where it could
    not be measured, and `note` says why.
    """

    group: str
    name: str
    unit: str
    value: float | None
    least: float | None = None
    most: float | None = None
    goal: float | None = None
    at_most: bool = False
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None without a goal or a value."""
        if self.value is None or self.goal is None:
            return None
        return self.value <= self.goal if self.at_most else self.value >= self.goal


def of(
    group: str,
    name: str,
    unit: str,
    values: Sequence[float],
    goal: float | None = None,
    *,
    at_most: bool = False,
) -> Measure:
    """The measure of several runs; there must be one at least."""
    least, most = min(values), max(values)
    return Measure(group, name, unit, median(values), least, most, goal, at_most)


def missing(group: str, name: str, unit: str, why: str, goal: float | None = None) -> Measure:
    """A measure that could not be taken."""
    return Measure(group, name, unit, None, goal=goal, note=why)


def repeats(seconds: float) -> int:
    """How often to measure what has a size of its own: in less than a second, for its form."""
    return REPEATS if seconds >= 1 else 1


def part(count: int, seconds: float, unit: int = 1) -> int:
    """How many of what has a size of its own: in less than a second as much less, in whole units,
    of which there is one at least."""
    return max(1, int(count * min(1.0, seconds)) // unit) * unit


def ratios(numerators: Sequence[float], denominators: Sequence[float]) -> list[float]:
    """Run by run, since runs that follow each other meet the same machine."""
    pairs = zip(numerators, denominators, strict=True)
    return [above / below for above, below in pairs if below > 0] or [0.0]
