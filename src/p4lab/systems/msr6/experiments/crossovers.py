"""For how many receivers, or in how large a network, which encoding is the shortest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import TypeVar

from p4lab.experiment.confidence import mean
from p4lab.systems.msr6.experiments.comparison import Observation, Sent, cells

Span = tuple[int, int]
"""The first and the last of some numbers that were measured one after the other"""
T = TypeVar("T")


@dataclass(frozen=True)
class Measure:
    """Something that is compared: the less, the better."""

    key: str
    said: str
    of: Callable[[Sent], float]


def measures(payload: int) -> tuple[Measure, ...]:
    """What is compared; `payload` are the bytes of a packet in front of which headers are put."""
    return (
        Measure("tree_bytes", "list or bits alone\n[bytes per send]", lambda sent: sent.tree_bytes),
        Measure(
            "root_bytes", "headers at the ingress\n[bytes per send]", lambda sent: sent.root_bytes
        ),
        Measure(
            "link_bytes", "headers on all links\n[bytes per send]", lambda sent: sent.link_bytes
        ),
        Measure(
            "wire_bytes",
            f"headers and {payload:,} bytes on all links\n[bytes per send]",
            lambda sent: sent.wire_bytes(payload),
        ),
    )


PAIRS = (
    ("MSR6 TE", "MSR6 BE"),
    ("MSR6 TE", "BIER 256"),
    ("MSR6 RLB", "MSR6 TE"),
    ("MSR6 RLB", "MSR6 BE"),
    ("MSR6 RLB", "BIER 256"),
    ("RBS", "MSR6 BE"),
    ("RBS", "BIER 256"),
    ("RTS", "MSR6 BE"),
    ("RTS", "BIER 256"),
    ("RTS", "RBS"),
    ("BIER 64", "BIER 256"),
)
"""Which is compared with which"""
NOT_CARRIED = "stateful"
LEAST_DRAWS = 3
"""With fewer nothing counts as a difference: one draw has no confidence interval, and that of two
is eighteen standard deviations wide"""


@dataclass(frozen=True)
class Crossover:
    """Where `first` needs less than `second`: the 95 % confidence interval of their difference,
    draw by draw, is below zero there. Of the numbers that were `measured` those are `compared`
    where both could encode all draws, and where these are LEAST_DRAWS or more; None: nowhere."""

    panel: str
    measure: str
    first: str
    second: str
    less: tuple[Span, ...]
    compared: Span | None
    measured: Span

    @property
    def said(self) -> str:
        """Where, in words."""
        if self.compared is None:
            return "too few draws"
        if not self.less:
            first, last = self.compared
            return "nowhere" if self.compared == self.measured else f"nowhere in {first} to {last}"
        if self.less == (self.measured,):
            return "everywhere"
        return ", ".join(map(self._span, self.less))

    @property
    def ends(self) -> tuple[int, ...]:
        """Where it begins and stops to need less, within what is compared."""
        if self.compared is None:
            return ()
        return tuple(
            dict.fromkeys(
                end
                for span in self.less
                for end, border in zip(span, self.compared, strict=True)
                if end != border
            )
        )

    def _span(self, span: Span) -> str:
        first, last = span
        if span == self.compared:  # what comes behind is not known
            return f"{first} to {last}" if first < last else f"at {last}"
        if first == self.measured[0]:
            return f"at {last}" if last == first else f"up to {last}"
        if last == self.measured[1]:
            return f"from {first}"
        return f"at {first}" if first == last else f"{first} to {last}"


def crossovers(found: Sequence[Observation], payload: int) -> list[Crossover]:
    """All pairs by all measures, but for those of which one could nowhere encode all draws."""
    by_cell = cells(found)
    results = []
    for panel in dict.fromkeys(one.panel for one in found):
        for first, second in PAIRS:
            cell, against = by_cell[panel, first], by_cell[panel, second]
            measured = (min(*cell, *against), max(*cell, *against))
            for measure in measures(payload):
                one, other = values(cell, measure), values(against, measure)
                both = [x for x in one if x in other]
                if not both:
                    continue
                enough = [x for x in both if len(one[x]) >= LEAST_DRAWS]
                less = [_is_less(one[x], other[x]) for x in enough]
                spans = tuple(span for is_less, span in runs(enough, less) if is_less)
                compared = (enough[0], enough[-1]) if enough else None
                results.append(
                    Crossover(panel, measure.key, first, second, spans, compared, measured)
                )
    return results


def shortest(
    found: Sequence[Observation], payload: int
) -> dict[tuple[str, str], list[tuple[str, Span]]]:
    """By panel and measure: which encoding needs the least by its mean, and where. Of equal ones
    that which is listed first; stateful routers are left out, since they carry nothing."""
    by_cell = cells(found)
    encodings = [name for name in dict.fromkeys(one.encoding for one in found)]
    results = {}
    for panel in dict.fromkeys(one.panel for one in found):
        for measure in measures(payload):
            least: dict[int, tuple[float, str]] = {}
            for name in encodings:
                if name == NOT_CARRIED:
                    continue
                for x, draws in values(by_cell[panel, name], measure).items():
                    if x not in least or fmean(draws) < least[x][0]:
                        least[x] = fmean(draws), name
            xs = sorted(least)
            results[panel, measure.key] = runs(xs, [least[x][1] for x in xs])
    return results


def values(cell: Mapping[int, Sequence[Observation]], measure: Measure) -> dict[int, list[float]]:
    """What each draw needs, by what grows, where every draw could be encoded."""
    found = {}
    for x, draws in cell.items():
        sent = [one.sent for one in draws if one.sent is not None]
        if len(sent) == len(draws):
            found[x] = [measure.of(one) for one in sent]
    return found


def _is_less(one: Sequence[float], other: Sequence[float]) -> bool:
    difference = mean([a - b for a, b in zip(one, other, strict=True)])
    return difference.value + difference.half_width < 0


def runs(xs: Sequence[int], found: Sequence[T]) -> list[tuple[T, Span]]:
    """Equal values in a row, each with the first and the last of their places."""
    if not xs:
        return []
    starts = [0, *(i + 1 for i, (a, b) in enumerate(pairwise(found)) if a != b), len(found)]
    return [(found[start], (xs[start], xs[end - 1])) for start, end in pairwise(starts)]
