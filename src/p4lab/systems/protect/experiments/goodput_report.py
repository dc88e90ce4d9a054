"""Figure 3 as a table of numbers, a comparison and a figure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from p4lab.experiment import tidy
from p4lab.experiment.confidence import error_bars, mean, mean_of, with_interval
from p4lab.experiment.goodput import PARALLEL
from p4lab.systems.protect.experiments.figures import MODE_COLOURS, save
from p4lab.systems.protect.experiments.goodput import (
    GIGABIT,
    PAIRS,
    PAPER_GBPS,
    SETTINGS,
    Outcome,
    by_formula,
    host_mtu,
)
from p4lab.systems.protect.experiments.setup import MODES, PLAIN, PROGRAM, origin

if TYPE_CHECKING:
    from rich.table import Table

OFF = 0.01  # of the formula, beyond which a run in virtual time is wrong
ONE_OR_FIFTEEN = (
    'The paper calls an iperf3 connection "15 parallel TCP flows" and "a single TCP connection" in '
    "one section; here a pair has 15 flows."
)


def records(outcomes: Sequence[Outcome], host_rate: int) -> list[tidy.Row]:
    """One row per run. On Linux hosts there is no formula, and no rate of hosts."""
    rows = []
    for outcome in outcomes:
        virtual = outcome.network == "virtual"
        file = PLAIN if outcome.mode == "plain" else PROGRAM
        formula = by_formula(outcome.mode, outcome.pairs, host_rate)
        rows.append(
            {
                **origin(outcome.seed, SETTINGS, file),
                "network": outcome.network,
                "mode": outcome.mode,
                "pairs": outcome.pairs,
                "flows_per_pair": PARALLEL,
                "host_rate_bps": host_rate if virtual else None,
                "host_mtu": host_mtu(outcome.mode) if virtual else None,
                "goodput_bps": outcome.goodput,
                "formula_bps": formula if virtual else None,
            }
        )
    return rows


def summary(rows: Sequence[tidy.Row]) -> list[dict[str, Any]]:
    """One record per mode and number of pairs: the mean in Gb/s with half the 95 % confidence
    interval, the formula and the paper's value, None where there is none."""
    found = []
    for mode in MODES:
        for pairs in PAIRS:
            own = [row for row in rows if (row["mode"], row["pairs"]) == (mode, pairs)]
            value = mean([float(row["goodput_bps"] or 0) / GIGABIT for row in own])
            formula = own[0]["formula_bps"]
            found.append(
                {
                    "mode": mode,
                    "pairs": pairs,
                    "runs": len(own),
                    "gbps": value.value,
                    "half_width": value.half_width,
                    "formula_gbps": None if formula is None else float(formula) / GIGABIT,
                    "paper_gbps": PAPER_GBPS.get(pairs),
                }
            )
    return found


def wrong(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Means that are off their formula by more than a hundredth."""
    return [
        f"{row['mode']}, {row['pairs']} pairs: {row['gbps']:.2f} instead of "
        f"{row['formula_gbps']:.2f} Gb/s"
        for row in rows
        if row["formula_gbps"] and abs(row["gbps"] / row["formula_gbps"] - 1) > OFF
    ]


def table(rows: Sequence[dict[str, Any]]) -> Table:
    """Goodput of all pairs together, by mode."""
    from rich.table import Table  # heavy: rich

    table = Table(box=None, title=f"TCP goodput of all pairs, Gb/s, {mean_of(rows[0]['runs'])}")
    with_formula = rows[0]["formula_gbps"] is not None
    for column in ("pairs", "paper") if with_formula else ("pairs",):
        table.add_column(column, justify="right", no_wrap=True)
    for mode in MODES:
        if with_formula:
            table.add_column(f"{mode},\nformula", justify="right", no_wrap=True)
        table.add_column(f"{mode},\nmeasured", justify="right", no_wrap=True)
    for pairs in PAIRS:
        cells = [str(pairs)]
        if with_formula:
            cells.append(f"about {PAPER_GBPS[pairs]:g}" if pairs in PAPER_GBPS else "< 100")
        for mode in MODES:
            (row,) = (r for r in rows if (r["mode"], r["pairs"]) == (mode, pairs))
            if with_formula:
                cells.append(f"{row['formula_gbps']:.2f}")
            cells.append(with_interval(row["gbps"], row["half_width"], row["runs"], digits=3))
        table.add_row(*cells)
    return table


def draw(rows: Sequence[dict[str, Any]], path: Path, note: str) -> None:
    """Figure 3. Raises OSError, ValueError."""
    save(path, [partial(_draw_bars, rows=rows)], note=note, size=(7.2, 4.2))


def _draw_bars(axis: Any, *, rows: Sequence[dict[str, Any]]) -> None:
    width = 0.8 / len(MODES)
    formula = rows[0]["formula_gbps"] is not None
    for place, mode in enumerate(MODES):
        own = [row for row in rows if row["mode"] == mode]
        at = [row["pairs"] + (place - 1) * width for row in own]
        axis.bar(
            at,
            [row["gbps"] for row in own],
            width * 0.94,
            yerr=error_bars([row["half_width"] for row in own], own[0]["runs"]),
            capsize=3,
            color=MODE_COLOURS[mode],
            label=mode,
        )
        if formula:
            label = "formula" if not place else None
            values = [row["formula_gbps"] for row in own]
            axis.plot(at, values, "_", color="black", markersize=20, label=label)
        for x, row in zip(at, own, strict=True):
            axis.annotate(
                f"{row['gbps']:.1f}" if formula else f"{row['gbps']:.2f}",
                (x, row["gbps"] + row["half_width"]),
                xytext=(0, 4),
                textcoords="offset points",
                ha="center",
                fontsize=7,
            )
    if formula:
        for pairs, value in PAPER_GBPS.items():
            ends = [pairs - 0.45, pairs + 0.45]
            axis.plot(ends, [value, value], ":", color="black", label=f"paper, about {value:g}")
    axis.set_xticks(PAIRS)
    axis.set_xlabel("client/server pairs, 15 TCP flows each")
    axis.set_ylabel("goodput of all pairs [Gb/s]")
    axis.set_ylim(0, 1.18 * max(row["gbps"] for row in rows))
    axis.legend(fontsize=7, loc="upper left")
    axis.set_title("figure 3", fontsize=9)
