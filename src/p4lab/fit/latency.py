"""Cycles of the match-action stages, by the exact rule of the chip's compiler.

The rule is in backends/tofino/bf-p4c/mau/mau_power.cpp and determine_power_usage.cpp of bf-p4c
9.13.4. A stage that waits for the one before (match dependent) costs its whole length, one that
only needs what an action wrote costs 2 cycles, any other 1. A stage is 20 cycles long, and longer
with ternary tables (2), with selectors (8) or else with registers, meters or filters (4), its own
or those of stages chained to it. The corner turn between the halves costs 4. Egress has at least
160 cycles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from p4lab.fit import chip


@dataclass(frozen=True)
class StageTiming:
    """What the time of one stage in one direction depends on."""

    dependency: str = "concurrent"  # to the stages before: match, action or concurrent
    ternary: bool = False  # ternary tables, and tables without key that run without a hash
    selector: bool = False
    wide_selector: bool = False
    filter: bool = False  # Lpf or Wred, and meters, which the compiler counts as such
    stateful: bool = False


def empty_pipe() -> list[StageTiming]:
    """Twelve stages without tables: those that begin a half wait."""
    return [
        StageTiming(dependency="match" if stage in (0, chip.HALFWAY) else "concurrent")
        for stage in range(chip.STAGES)
    ]


def stage_lengths(stages: Sequence[StageTiming]) -> list[int]:
    """Cycles that each stage takes from beginning to end."""
    lengths = []
    for at, stage in enumerate(stages):
        chain = _chain(stages, at)
        cycles = chip.BASE_CYCLES
        if stage.wide_selector or any(
            other.ternary or (other.selector and other.wide_selector) for other in chain
        ):
            cycles += chip.TCAM_CYCLES
        if any(other.selector for other in chain):
            cycles += chip.SELECTOR_CYCLES
        elif any(other.filter or other.stateful for other in chain):
            cycles += chip.STATEFUL_CYCLES
        lengths.append(cycles)
    return lengths


def _chain(stages: Sequence[StageTiming], at: int) -> Sequence[StageTiming]:
    """The stage and those that are bound to it without a stage that waits in between."""
    first = at
    while first > 0 and stages[first].dependency != "match":
        first -= 1
    last = at + 1
    while last < len(stages) and stages[last].dependency != "match":
        last += 1
    return stages[first:last]


def contributions(stages: Sequence[StageTiming]) -> list[int]:
    """Cycles that each stage adds to the way of a packet."""
    by_kind = {"action": chip.ACTION_CYCLES, "concurrent": chip.CONCURRENT_CYCLES}
    return [
        by_kind.get(stage.dependency, length)
        for stage, length in zip(stages, stage_lengths(stages), strict=True)
    ]


def total(stages: Sequence[StageTiming]) -> int:
    """Cycles through all stages, corner turn included."""
    return sum(contributions(stages)) + chip.CORNER_TURN


def padded(stages: Sequence[StageTiming]) -> list[StageTiming]:
    """Egress: stages are made to wait, the first ones first, until it has its 160 cycles."""
    stages = list(stages)
    for at in range(len(stages)):
        if total(stages) >= chip.EGRESS_FLOOR:
            break
        stages[at] = replace(stages[at], dependency="match")
    return stages


def nanoseconds(cycles: int) -> float:
    return cycles / chip.CLOCK_GHZ
