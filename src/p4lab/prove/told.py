"""What the prover found out, in words for a terminal and as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from p4lab.model.entries_json import to_json
from p4lab.plurals import count_of
from p4lab.prove import RATES
from p4lab.prove.compare import Outcome, Stage, describe_bounds
from p4lab.prove.cover import Branch

_LEGS = {
    "first pass": "one pass of any packet that comes in",
    "later pass": "one pass of any packet that comes around",
}


def bounds_told(outcome: Outcome) -> str:
    """Within which bounds two programs are equal."""
    passes = "any number of passes" if outcome.is_for_all_journeys else "so many passes"
    told = f"{passes}; {describe_bounds(outcome.bounds, outcome.stages)}"
    if not outcome.has_meters:
        return told
    counters = " and ".join(outcome.bounds.counters) or "none"
    return f"{told}; {RATES}; of counters only these: {counters}"


def covered(outcome: Outcome) -> Iterator[str]:
    """A line for each stage: what was compared, and how far."""
    width = max((len(_leg(stage)) for stage in outcome.stages), default=0)
    for stage in outcome.stages:
        beyond = sum(stage.beyond.values())
        more = f", {beyond} of them up to a bound" if beyond else ""
        state = "all" if stage.is_whole else "the first"
        yield f"{_leg(stage):{width}}  {state} {count_of(stage.paths, 'path')}{more}"


def branches_told(branches: Sequence[Branch]) -> Iterator[str]:
    """How many branches packets have taken, and which they have not, a line for each."""
    if not branches:
        return
    left = [branch for branch in branches if branch.fate != "taken"]
    yield f"{len(branches) - len(left)} of {len(branches)} branches taken by packets"
    for branch in left:
        yield f"  {branch.file}, line {branch.line}, {branch.what}: {_FATES[branch.fate]}"


_FATES = {
    "unmet": "no path found",
    "refused": "no packet takes it on the paths found",
    "supposed": "depends on what came before, in a register of its own",
}


def _leg(stage: Stage) -> str:
    told = _LEGS.get(stage.leg)
    if told is None:
        passes = f"{'up to ' * (stage.passes > 1)}{count_of(stage.passes, 'pass', 'passes')}"
        told = f"journeys of {passes}"
    return f"{told}, {count_of(stage.entries, 'entry', 'entries')} per table"


def as_json(outcome: Outcome) -> dict[str, Any]:
    """`verdict` (equal, different, undecided), `why`, `bounds`, `stages` and `example`: the packet
    in hex, its port and its moment in picoseconds, the updates (`model/entries_json.py`), what both
    programs sent, cells and counts that differ, the seed of noise if it takes noise."""
    shown: dict[str, Any] = {"verdict": outcome.verdict, "why": outcome.why}
    shown["bounds"] = bounds_told(outcome)
    shown["stages"] = [vars(stage) for stage in outcome.stages]
    example = outcome.example
    shown["example"] = example and {
        "port": example.port,
        "now": example.now,
        "before": [(port, data.hex(), times) for port, data, times in example.before],
        "packet": example.packet.hex(),
        "updates": [to_json(update) for update in example.updates],
        "sent": [[(port, data.hex()) for port, data in sent] for sent in example.sent],
        "endless": example.is_endless,
        "cells": example.cells,
        "counts": example.counts,
        "undefined": example.undefined,
    }
    return shown
