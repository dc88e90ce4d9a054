"""Figure 7, tables II and III as tables of numbers, a comparison and a figure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from p4lab.experiment import tidy
from p4lab.experiment.confidence import mean
from p4lab.experiment.panels import BLUE, GREY, ORANGE, RED
from p4lab.systems.bng.experiments.bench import origin
from p4lab.systems.bng.experiments.figures import save
from p4lab.systems.bng.experiments.latency import (
    BOUND,
    LENGTH,
    PAPER_SUBSCRIBERS,
    SHAPED,
    Outcome,
    Pattern,
    by_formula,
    chance,
)

if TYPE_CHECKING:
    from rich.table import Table

US = 1e6
OFF = 0.1
"""Of the formula, beyond which a mean is wrong, if chance alone does not bring it there"""
UNLIKELY = 3
"""Standard deviations: one measurement in 400 is further off by chance"""
LOST = 0.002
"""How far a loss may be off its formula, which knows of no whole packets"""
PAPER_BY_LOAD = {
    "P4-NetFPGA": {0.01: 5.0, 0.1: 5.0, 1.0: 5.0, 9.4: 5.08},
    "P4-SmartNIC": {0.01: 10.0, 9.4: 22.15},
    "Linux": {0.01: 53.0, 0.1: 33.0, 3.0: 2200.0},
}
"""Mean latencies of figure 7, µs, as far as the text has numbers"""
PAPER_DEVIATION = {
    0.1: "13.2, 1.7, < 0.5",
    1.0: "19.8, 0.7, < 0.5",
    9.0: "157.9, 1.6, < 0.5",
}
"""Table II: Linux, SmartNIC, NetFPGA, µs. The last is printed as "90000 Mbit/s", which no link of
10 Gb/s carries: 9000"""
PAPER_BY_SUBSCRIBERS = {
    32: "5.08, 22.12",
    128: "5.08, 22.13",
    512: "5.08, 22.15",
    2048: "5.08, 22.03",
    4000: "5.08, 22.06",
}
"""Table III: NetFPGA, SmartNIC, µs"""
ERRATA = (
    'Table II says "90000 Mbit/s"; links of 10 Gb/s carry 9000. MTU 1492 is RFC 2516\'s: RFC 4638, '
    "which the paper cites for it, is how to get 1500."
)
COLOURS: dict[Pattern, str] = {"constant": BLUE, "poisson": ORANGE}


def records(found: Sequence[Outcome]) -> list[tidy.Row]:
    """One row per run."""
    rows: list[tidy.Row] = []
    for one in found:
        formula = by_formula(one.pattern, one.load)
        rows.append(
            {
                **origin(one.seed),
                "pattern": one.pattern,
                "load_gbps": one.load,
                "subscribers": one.subscribers,
                "packet_bytes": LENGTH,
                "packets": one.packets,
                "latency_us": one.mean * US,
                "formula_us": formula.mean * US,
                "deviation_us": one.deviation * US,
                "formula_deviation_us": formula.deviation * US,
                "least_us": one.least * US,
                "most_us": one.most * US,
                "loss": one.loss,
                "formula_loss": formula.loss,
                "processor_ns_per_packet": one.processor * 1e9,
                "checked": one.checked,
                "wrong_session": one.wrong_session,
            }
        )
    return rows


def summary(found: Sequence[Outcome]) -> list[dict[str, Any]]:
    """One record per pattern, load and number of subscribers: means of its runs."""
    cells: dict[tuple[Pattern, float, int], list[Outcome]] = {}
    for one in found:
        cells.setdefault((one.pattern, one.load, one.subscribers), []).append(one)
    rows = []
    for (pattern, load, subscribers), own in cells.items():
        formula, latency = by_formula(pattern, load), mean([one.mean * US for one in own])
        rows.append(
            {
                "pattern": pattern,
                "load_gbps": load,
                "subscribers": subscribers,
                "runs": len(own),
                "latency_us": latency.value,
                "half_width_us": latency.half_width,
                "formula_us": formula.mean * US,
                "chance_us": chance(pattern, load, sum(one.packets for one in own)) * US,
                "deviation_us": mean([one.deviation * US for one in own]).value,
                "formula_deviation_us": formula.deviation * US,
                "loss": mean([one.loss for one in own]).value,
                "formula_loss": formula.loss,
                "processor_ns": mean([one.processor * 1e9 for one in own]).value,
                "wrong_session": sum(one.wrong_session for one in own),
            }
        )
    return rows


def flatness(rows: Sequence[dict[str, Any]]) -> tuple[float, float]:
    """The greatest by the least over numbers of subscribers at the load of table III: of latencies,
    and of the engine's processor time for a packet."""
    own = [row for row in rows if (row["pattern"], row["load_gbps"]) == ("constant", SHAPED)]
    latencies, costs = ([row[name] for row in own] for name in ("latency_us", "processor_ns"))
    return max(latencies) / min(latencies), max(costs) / min(costs)


def wrong(rows: Sequence[dict[str, Any]]) -> list[str]:
    """What is off its formula, and what must not be. Processor time is not among it."""
    found = []
    for row in rows:
        where = f"{row['load_gbps']:g} Gb/s, {row['pattern']}, {row['subscribers']} subscribers"
        away = abs(row["latency_us"] - row["formula_us"])
        chance_us = max(row["half_width_us"], UNLIKELY * row["chance_us"])
        if away > OFF * row["formula_us"] + chance_us:
            found.append(f"{where}: {row['latency_us']:.3f}, not {row['formula_us']:.3f} µs")
        if abs(row["loss"] - row["formula_loss"]) > LOST:
            found.append(f"{where}: a loss of {row['loss']:.4f}, not {row['formula_loss']:.4f}")
        if row["wrong_session"]:
            found.append(f"{where}: {row['wrong_session']} packets in a wrong session")
    over, _ = flatness(rows)
    if over > 1.001:
        found.append(f"latencies are not flat over subscribers: {over:.3f} times the least")
    return found


def tables(rows: Sequence[dict[str, Any]]) -> list[Table]:
    """By load (figure 7, table II) and by number of subscribers (table III)."""
    from rich.table import Table  # heavy: rich

    by_load = Table(box=None, title=f"{PAPER_SUBSCRIBERS} subscribers: latency, µs (figure 7)")
    for column in ("Gb/s", "arrivals", *PAPER_BY_LOAD, "formula", "measured"):
        by_load.add_column(column, justify="right")
    for column in ("deviation,\npaper (II)", "deviation,\nformula", "deviation", "loss,\nformula"):
        by_load.add_column(column, justify="right")
    by_load.add_column("loss", justify="right")
    for row in (row for row in rows if row["subscribers"] == PAPER_SUBSCRIBERS):
        load = row["load_gbps"]
        known = row["pattern"] == "constant"
        paper = [
            f"{line[load]:g}" if known and load in line else "" for line in PAPER_BY_LOAD.values()
        ]
        by_load.add_row(
            f"{load:g}",
            row["pattern"],
            *paper,
            f"{row['formula_us']:.3f}",
            f"{row['latency_us']:.3f} ± {row['half_width_us']:.3f}",
            PAPER_DEVIATION.get(load, "") if known else "",
            f"{row['formula_deviation_us']:.3f}",
            f"{row['deviation_us']:.3f}",
            f"{row['formula_loss']:.2%}",
            f"{row['loss']:.2%}",
        )
    by_subscribers = Table(box=None, title=f"{SHAPED} Gb/s: latency, µs (table III)")
    for column in ("subscribers", "paper: NetFPGA, SmartNIC", "formula", "measured", "engine, ns"):
        by_subscribers.add_column(column, justify="right")
    for row in sorted(rows, key=lambda row: row["subscribers"]):
        if (row["pattern"], row["load_gbps"]) == ("constant", SHAPED):
            by_subscribers.add_row(
                f"{row['subscribers']:,}",
                PAPER_BY_SUBSCRIBERS.get(row["subscribers"], ""),
                f"{row['formula_us']:.3f}",
                f"{row['latency_us']:.3f}",
                f"{row['processor_ns']:.0f}",
            )
    return [by_load, by_subscribers]


def draw(rows: Sequence[dict[str, Any]], path: Path, note: str) -> None:
    """Latency by load, and by number of subscribers. Raises OSError, ValueError."""
    save(path, [partial(_draw_loads, rows=rows), partial(_draw_subscribers, rows=rows)], note=note)


def _draw_loads(axis: Any, *, rows: Sequence[dict[str, Any]]) -> None:
    for pattern, colour in COLOURS.items():
        own = [
            row
            for row in rows
            if row["pattern"] == pattern and row["subscribers"] == PAPER_SUBSCRIBERS
        ]
        loads = [row["load_gbps"] for row in own]
        axis.plot(loads, [row["latency_us"] for row in own], "o", color=colour, label=pattern)
        formula = [row["formula_us"] for row in own]
        axis.plot(loads, formula, "-", color=colour, linewidth=0.8, label=f"{pattern}, formula")
    styles = zip(PAPER_BY_LOAD.items(), ("s", "^", "x"), strict=True)
    for (name, points), marker in styles:
        values = list(points.values())
        axis.plot(list(points), values, marker, color=GREY, label=f"{name}, paper")
    axis.axvline(BOUND, color=RED, linewidth=0.8, label=f"bound, {BOUND:.3f} Gb/s")
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("load on the core's wire [Gb/s]")
    axis.set_ylabel("mean latency [µs]")
    axis.set_title("figure 7: 512 subscribers, 532 bytes", fontsize=9)
    axis.legend(fontsize=6)


def _draw_subscribers(axis: Any, *, rows: Sequence[dict[str, Any]]) -> None:
    own = [row for row in rows if (row["pattern"], row["load_gbps"]) == ("constant", SHAPED)]
    own.sort(key=lambda row: row["subscribers"])
    counts = [row["subscribers"] for row in own]
    latencies = [row["latency_us"] for row in own]
    axis.plot(counts, latencies, "o-", color=BLUE, label="virtual time")
    for name, place, marker in (("P4-NetFPGA", 0, "s"), ("P4-SmartNIC", 1, "^")):
        values = [float(text.split(", ")[place]) for text in PAPER_BY_SUBSCRIBERS.values()]
        axis.plot(list(PAPER_BY_SUBSCRIBERS), values, marker, color=GREY, label=f"{name}, paper")
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("subscribers")
    axis.set_ylabel("mean latency [µs]")
    axis.set_title(f"table III: {SHAPED} Gb/s", fontsize=9)
    axis.legend(fontsize=7)
