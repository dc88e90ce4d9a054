"""Table I as a table of numbers, a comparison and a figure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from p4lab.experiment import tidy
from p4lab.experiment.confidence import error_bars, mean, runs_in_words
from p4lab.experiment.panels import BLUE, GREEN, ORANGE
from p4lab.systems.protect.experiments.cost import (
    ENDS,
    ENGINES,
    PAPER,
    SETTINGS,
    TNA_PLAIN,
    TNA_PROGRAM,
    Cycles,
    End,
    Timing,
)
from p4lab.systems.protect.experiments.figures import save
from p4lab.systems.protect.experiments.setup import MODES, PLAIN, PROGRAM, origin
from p4lab.systems.protect.settings import ProtectSettings

if TYPE_CHECKING:
    from rich.table import Table

FIT = "cycles by p4lab fit"
BARS = {"paper": "#dddddd", FIT: BLUE, "interpreter": ORANGE, "native code": GREEN}


def summary(found: Sequence[Timing]) -> list[dict[str, Any]]:
    """One record per engine, end and mode: percent of plain forwarding in the same run, with half
    the 95 % confidence interval, and the paper's value."""
    plain = {(t.engine, t.end, t.run): t.nanoseconds for t in found if t.mode == "plain"}
    keys = dict.fromkeys((t.engine, t.end, t.mode) for t in found)
    records = []
    for engine, end, mode in keys:
        own = [t for t in found if (t.engine, t.end, t.mode) == (engine, end, mode)]
        share = mean([100 * t.nanoseconds / plain[engine, end, t.run] for t in own])
        records.append(
            {
                "source": ENGINES[engine],
                "end": end,
                "mode": mode,
                "runs": len(own),
                "paper_percent": PAPER[end, mode],
                "percent": share.value,
                "half_width": share.half_width,
                "nanoseconds": mean([t.nanoseconds for t in own]).value,
            }
        )
    return records


def estimated(found: Sequence[Cycles]) -> list[dict[str, Any]]:
    """The same records of cycles: a program's are the same for all of its packets, at both ends."""
    (highest,) = (one for one in found if one.accept == "highest")
    return [
        {
            "source": FIT,
            "end": end,
            "mode": mode,
            "runs": 1,
            "paper_percent": PAPER[end, mode],
            "percent": 100.0 if mode == "plain" else highest.percent,
            "half_width": 0.0,
            "cycles": highest.plain if mode == "plain" else highest.cycles,
        }
        for end in ENDS
        for mode in MODES
    ]


def records(found: Sequence[Timing], estimates: Sequence[Cycles]) -> list[tidy.Row]:
    """One row per run, and one per policy of which there are cycles."""
    rows: list[tidy.Row] = []
    for timing in found:
        file = PLAIN if timing.mode == "plain" else PROGRAM
        row: tidy.Row = {"source": ENGINES[timing.engine], "end": timing.end, "mode": timing.mode}
        more = {"policy": SETTINGS.accept, "run": timing.run, "cycles": None}
        own = {**more, "nanoseconds": timing.nanoseconds}
        paper = PAPER[timing.end, timing.mode]
        rows.append({**origin(1, SETTINGS, file), **row, **own, "paper_percent": paper})
    for one in estimates:
        settings = ProtectSettings(accept=one.accept)
        for mode, cycles in (("plain", one.plain), ("any", one.cycles)):
            file = TNA_PLAIN if mode == "plain" else TNA_PROGRAM
            row = {"source": FIT, "end": "any", "mode": mode, "policy": one.accept, "run": 0}
            own = {"cycles": cycles, "nanoseconds": None, "paper_percent": None}
            rows.append({**origin(1, settings, file), **row, **own})
    return rows


def disorder(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Where a source does not have the paper's order: plain, unprotected, protected (the last two
    may be equal)."""
    found = []
    for source in dict.fromkeys(row["source"] for row in rows):
        for end in ENDS:
            own = {row["mode"]: row for row in rows if (row["source"], row["end"]) == (source, end)}
            plain, unprotected, protected = (own[mode]["percent"] for mode in MODES)
            if not plain < unprotected <= protected:
                found.append(f"{source}, {end}: {plain:.0f}, {unprotected:.0f}, {protected:.0f} %")
    return found


SAID_ALOUD = (
    "On a Tofino every packet of a program takes the same stages, so cycles of ingress cannot tell "
    "protected packets from others. The paper's 127 % at both ends fit that; its 166 % must be the "
    "traffic manager, which makes the copies between ingress and egress.",
    "100 % is a router with the same checks; one that checks less makes all other values larger.",
)


def tables(rows: Sequence[dict[str, Any]], estimates: Sequence[Cycles]) -> list[Table]:
    """Percent of plain forwarding, and cycles by policy."""
    from rich.table import Table  # heavy: rich

    percent = Table(box=None, title="percent of plain forwarding (table I); the order counts")
    percent.add_column("", no_wrap=True)
    sources = list(dict.fromkeys(row["source"] for row in rows))
    for source in ("paper", *sources):
        percent.add_column(source, justify="right", no_wrap=True)
    for end in ENDS:
        for mode in MODES:
            own = {r["source"]: r for r in rows if (r["end"], r["mode"]) == (end, mode)}
            cells = [str(PAPER[end, mode]), *(_cell(own[source]) for source in sources)]
            percent.add_row(f"{end}, {mode}", *cells)
    cycles = Table(box=None, title=f"{FIT}: ingress, plain {estimates[0].plain}")
    for one in estimates:
        cycles.add_column(one.accept, justify="right")
    cycles.add_row(*(f"{one.cycles} ({one.percent:.0f} %)" for one in estimates))
    return [percent, cycles]


def _cell(row: dict[str, Any]) -> str:
    if row["half_width"] < 0.5:
        return f"{row['percent']:.0f}"
    return f"{row['percent']:.0f} ± {row['half_width']:.0f}"


def draw(rows: Sequence[dict[str, Any]], path: Path, frames: int) -> None:
    """Bars for PTI and PTE. Raises OSError, ValueError."""
    runs = max(row["runs"] for row in rows)
    note = (
        f"policy highest; engine: processor time of one switch, {frames} frames of 100 bytes, "
        f"{runs_in_words(runs)}; fit: estimate for a Tofino 1, ingress only"
    )
    save(path, [partial(_draw_end, rows=rows, end=end) for end in ENDS], note=note)


def _draw_end(axis: Any, *, rows: Sequence[dict[str, Any]], end: End) -> None:
    sources = ["paper", *dict.fromkeys(row["source"] for row in rows)]
    width = 0.8 / len(sources)
    for place, source in enumerate(sources):
        if source == "paper":
            values, errors = [PAPER[end, mode] for mode in MODES], None
        else:
            own = {r["mode"]: r for r in rows if (r["source"], r["end"]) == (source, end)}
            values = [own[mode]["percent"] for mode in MODES]
            errors = error_bars([own[mode]["half_width"] for mode in MODES], own["plain"]["runs"])
        at = [mode + (place - (len(sources) - 1) / 2) * width for mode in range(len(MODES))]
        axis.bar(
            at,
            values,
            width,
            yerr=errors,
            color=BARS[source],
            edgecolor="#888888" if source == "paper" else None,
            capsize=2,
            label=source,
        )
        tops = [value + more for value, more in zip(values, errors or [0] * 3, strict=True)]
        for x, value, top in zip(at, values, tops, strict=True):
            axis.annotate(
                f"{value:.0f}",
                (x, top),
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
                fontsize=6,
            )
    axis.set_xticks(range(len(MODES)), MODES)
    axis.set_ylabel("time of a packet [% of plain forwarding]")
    axis.set_ylim(bottom=0)  # few runs have intervals that reach below
    axis.legend(fontsize=7, loc="upper left")
    axis.set_title(f"table I, {end}", fontsize=9)
