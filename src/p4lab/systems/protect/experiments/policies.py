"""Policies by events: all runs, as a table of numbers, a comparison and a figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from p4lab.experiment import tidy
from p4lab.experiment.confidence import mean, mean_of
from p4lab.spread.sweep import Sweep, Task
from p4lab.systems.protect.experiments.events import (
    EVENTS,
    HISTORY,
    INTERVAL,
    LOSS,
    POLICIES,
    RESET_MS,
    SKEW,
    Outcome,
    expected_lost,
    run,
)
from p4lab.systems.protect.experiments.figures import save
from p4lab.systems.protect.experiments.setup import US, origin

if TYPE_CHECKING:
    from rich.table import Table

NO_DUPLICATES = ("highest", "slots", "vector")
"""Policies that promise never to deliver a packet twice"""
MEASURES = ("lost", "duplicates", "reordered")
ASSUMED = (
    f"one packet every {INTERVAL // US} us, slow path {SKEW:g} packets behind, history {HISTORY}, "
    f"reset after {RESET_MS} ms, loss {LOSS:.0%}"
)


def measure(runs: int, packets: int, seed: int, sweep: Sweep) -> list[Outcome]:
    """Every event with every policy, so many times; run k has seed `seed` + k, so that policies
    meet the same trouble. Raises NetworkError, ProgramError, SweepError."""
    return sweep.all(
        [
            Task(f"{event.name}: {accept}, seed {own}", run, (event, accept, packets, own))
            for event in EVENTS
            for accept in POLICIES
            for own in range(seed, seed + runs)
        ]
    )


def records(outcomes: Sequence[Outcome]) -> list[tidy.Row]:
    """One row per run."""
    rows = []
    for outcome in outcomes:
        event = outcome.event
        row = {
            **origin(outcome.seed, event.settings(outcome.accept)),
            "event": event.name,
            "policy": outcome.accept,
            "history": HISTORY,
            "reset_ms": event.reset_ms,
            "skew_packets": event.skew,
            "interval_us": INTERVAL / US,
            "sent": outcome.sent,
            **asdict(outcome.delivered),
            **{f"defined_{name}": value for name, value in asdict(outcome.defined).items()},
            "lost_by_formula": expected_lost(event, outcome.accept, outcome.sent),
        }
        rows.append(row)
    return rows


def summary(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """One record per event and policy: means per run with half of their 95 % confidence intervals,
    in packets, and in how many runs the program did what the definition says."""
    found = []
    for event in EVENTS:
        for accept in POLICIES:
            own = [o for o in outcomes if (o.event, o.accept) == (event, accept)]
            if not own:
                continue
            record: dict[str, Any] = {
                "event": event.name,
                "policy": accept,
                "runs": len(own),
                "sent": own[0].sent,
                "lost_by_formula": expected_lost(event, accept, own[0].sent),
            }
            for name in MEASURES:
                value = mean([getattr(outcome.delivered, name) for outcome in own])
                record |= {name: value.value, f"{name}_half_width": value.half_width}
            record["as_defined"] = sum(outcome.delivered == outcome.defined for outcome in own)
            found.append(record)
    return found


def wrong(outcomes: Sequence[Outcome]) -> list[str]:
    """What must never be: a run that is not as the policy is defined, a packet that a policy passes
    twice though it promises not to."""
    found = []
    for outcome in outcomes:
        where = f"{outcome.event.name}, {outcome.accept}, seed {outcome.seed}"
        if outcome.delivered != outcome.defined:
            found.append(f"{where}: {outcome.delivered}, but by definition {outcome.defined}")
        if outcome.accept in NO_DUPLICATES and outcome.delivered.duplicates:
            found.append(f"{where}: {outcome.delivered.duplicates} packets came twice")
    return found


def table(rows: Sequence[dict[str, Any]]) -> Table:
    """Lost, twice and out of order by event and policy, and what should be lost by formula."""
    from rich.table import Table  # heavy: rich

    runs, sent = rows[0]["runs"], rows[0]["sent"]
    table = Table(
        box=None, title=f"lost | twice | out of order, of {sent} packets, {mean_of(runs)}"
    )
    table.add_column("event", no_wrap=True)
    for accept in POLICIES:
        table.add_column(accept, justify="right", no_wrap=True)
    table.add_column("lost, formula:\nhighest", justify="right")
    table.add_column("\nslots, vector", justify="right")
    for event in EVENTS:
        own = {row["policy"]: row for row in rows if row["event"] == event.name}
        cells = [" | ".join(_short(row[name]) for name in MEASURES) for row in own.values()]
        paper = [_short(own[accept]["lost_by_formula"]) for accept in ("highest", "vector")]
        table.add_row(event.name, *cells, *paper)
    return table


def _short(value: float) -> str:
    if 0 < value < 0.05:  # 0.0 would look like none at all
        return f"{value:.1g}"
    return f"{value:.0f}" if value == round(value) or value >= 20 else f"{value:.1f}"


def draw(rows: Sequence[dict[str, Any]], path: Path, seeds: str) -> None:
    """Three maps: lost, twice, out of order. Raises OSError, ValueError."""
    runs, sent = rows[0]["runs"], rows[0]["sent"]
    titles = {"lost": "lost", "duplicates": "delivered twice", "reordered": "out of order"}
    drawings = [
        partial(_draw_map, rows=rows, name=name, title=title, labelled=not place)
        for place, (name, title) in enumerate(titles.items())
    ]
    interval = ", ± half a 95 % interval" if runs > 1 else ""
    note = f"packets of {sent}, {mean_of(runs)} ({seeds}){interval}; {ASSUMED}"
    save(path, drawings, note=note, size=(4.1, 5.2), widths=(1.25, 1, 1))


def _draw_map(
    axis: Any, *, rows: Sequence[dict[str, Any]], name: str, title: str, labelled: bool
) -> None:
    from matplotlib.colors import SymLogNorm  # heavy: matplotlib

    cells = {(row["event"], row["policy"]): row for row in rows}
    values = [[cells[event.name, accept][name] for accept in POLICIES] for event in EVENTS]
    norm = SymLogNorm(linthresh=1, vmin=0, vmax=rows[0]["sent"])
    axis.imshow(values, cmap="OrRd", norm=norm, aspect="auto")
    for down, event in enumerate(EVENTS):
        for across, accept in enumerate(POLICIES):
            row = cells[event.name, accept]
            value, half = row[name], row[f"{name}_half_width"]
            text = _short(value) + (f"\n±{_short(half)}" if half >= 0.05 else "")
            dark = norm(value) > 0.6
            colour = "white" if dark else "#333333"
            axis.text(across, down, text, ha="center", va="center", fontsize=7, color=colour)
    axis.set_xticks(range(len(POLICIES)), POLICIES, fontsize=8)
    names = [event.name for event in EVENTS] if labelled else [""] * len(EVENTS)
    axis.set_yticks(range(len(EVENTS)), names, fontsize=8)
    axis.set_title(f"{title} [packets]", fontsize=9)
    axis.tick_params(length=0)
    if labelled:
        axis.set_xlabel("acceptance policy", fontsize=8)
