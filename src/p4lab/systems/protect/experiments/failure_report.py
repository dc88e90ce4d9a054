"""The experiment on failures as a table of numbers, a comparison and a figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from p4lab.experiment import tidy
from p4lab.experiment.confidence import mean, mean_of, runs_in_words, with_interval
from p4lab.experiment.panels import BLUE, GREEN, GREY, RED
from p4lab.systems.frr.experiments import plan as frr
from p4lab.systems.protect.experiments.failure import WAYS, Outcome, Way, state
from p4lab.systems.protect.experiments.figures import save
from p4lab.systems.protect.experiments.setup import origin

if TYPE_CHECKING:
    from rich.table import Table


def _colour(way: Way) -> str:
    if way.mode:
        return {"IP-FRR": BLUE, "BIER-FRR": GREEN}.get(way.name, GREY)
    return RED


def records(outcomes: Sequence[Outcome], pps: int) -> list[tidy.Row]:
    """One row per run."""
    rows = []
    for outcome in outcomes:
        way = outcome.way
        first = (
            origin(outcome.seed, way.settings)
            if not way.mode
            else replace(_frr_origin(), seed=outcome.seed).columns
        )
        rows.append(
            {
                **first,
                "way": way.name,
                "pps": pps,
                "sent": outcome.sent,
                "lost": outcome.lost,
                "lost_by_formula": way.outage_ms * pps / 1000,
                "duplicates": outcome.duplicates,
                "frames_per_packet": outcome.frames_per_packet,
                "bytes_per_packet": outcome.bytes_per_packet,
                **asdict(state(way)),
            }
        )
    return rows


@cache
def _frr_origin() -> tidy.Origin:
    return tidy.origin(0, frr.PROGRAM, [("BSL", str(frr.BSL))])


def summary(rows: Sequence[tidy.Row]) -> list[dict[str, Any]]:
    """One record per way: packets lost per run with half the 95 % confidence interval, what rate
    times outage comes to, frames and bytes on links per packet, and state."""
    found = []
    for way in WAYS:
        own = [row for row in rows if row["way"] == way.name]
        lost = mean([float(row["lost"] or 0) for row in own])
        record = {"way": way.name, "runs": len(own)}
        record |= {"lost": lost.value, "lost_half_width": lost.half_width}
        names = ("frames_per_packet", "bytes_per_packet", "entries", "groups", "cells")
        record |= {name: own[0][name] for name in ("lost_by_formula", *names)}
        record["duplicates"] = sum(int(row["duplicates"] or 0) for row in own)
        found.append(record)
    return found


def wrong(outcomes: Sequence[Outcome]) -> list[str]:
    """Runs in which 1+1 protection lost something, or anything came twice."""
    return [
        f"{o.way.name}, seed {o.seed}: {o.lost} lost, {o.duplicates} came twice"
        for o in outcomes
        if o.duplicates or (o.lost and not o.way.mode)
    ]


def table(rows: Sequence[dict[str, Any]]) -> Table:
    """What a failure costs, and what it costs to be ready."""
    from rich.table import Table  # heavy: rich

    table = Table(box=None, title=f"the link r1-r2 fails, {mean_of(rows[0]['runs'])}")
    table.add_column("prepared", no_wrap=True)
    for column in ("lost,\nformula", "lost,\nsimulated", "frames on\nlinks", "bytes on\nlinks"):
        table.add_column(column, justify="right", no_wrap=True)
    for column in ("entries\nmore", "groups\nmore", "register\ncells"):
        table.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            row["way"],
            f"{row['lost_by_formula']:.0f}",
            with_interval(row["lost"], row["lost_half_width"], row["runs"], digits=1),
            f"{row['frames_per_packet']:g}",
            f"{row['bytes_per_packet']:g}",
            *(str(row[name]) for name in ("entries", "groups", "cells")),
        )
    table.caption = "frames and bytes: of all links between routers, per packet, without failure"
    return table


def draw(rows: Sequence[dict[str, Any]], path: Path, pps: int, seeds: str) -> None:
    """Lost, bandwidth and state, side by side. Raises OSError, ValueError."""
    note = (
        f"r1-r2 of testbed cut at {pps} packets (100 bytes) a second, "
        f"{runs_in_words(rows[0]['runs'], f' ({seeds})')}; assumed: detection 0.6 ms, "
        "controller 36 and 76 ms; FRR for all destinations, 1+1 for one connection"
    )
    drawings = [
        partial(_draw_lost, rows=rows),
        partial(_draw_bandwidth, rows=rows),
        partial(_draw_state, rows=rows),
    ]
    save(path, drawings, note=note, size=(3.6, 3.2), widths=(1.4, 1, 1))


def _prepare(axis: Any, title: str, unit: str, *, names: bool = False) -> None:
    axis.set_yticks(range(len(WAYS)), [way.name if names else "" for way in WAYS])
    axis.invert_yaxis()
    axis.set_xlabel(unit)
    axis.set_title(title, fontsize=9)


def _draw_lost(axis: Any, *, rows: Sequence[dict[str, Any]]) -> None:
    for place, (way, row) in enumerate(zip(WAYS, rows, strict=True)):
        axis.barh(
            place, row["lost"], xerr=row["lost_half_width"] or None, color=_colour(way), capsize=3
        )
        end = row["lost"] + row["lost_half_width"]
        axis.text(end * 1.1 + 0.15, place, f"{row['lost']:.0f}", va="center", fontsize=7)
        axis.plot(row["lost_by_formula"], place, "|", color="black", markersize=14)
    axis.set_xscale("symlog", linthresh=1)
    axis.set_xlim(0, 20 * max(row["lost"] for row in rows))
    _prepare(axis, "lost in one failure", "packets (stroke: rate x assumed outage)", names=True)


def _draw_bandwidth(axis: Any, *, rows: Sequence[dict[str, Any]]) -> None:
    for place, (way, row) in enumerate(zip(WAYS, rows, strict=True)):
        axis.barh(place, row["bytes_per_packet"], color=_colour(way))
        text = f"{row['frames_per_packet']:g} x {_per_frame(row):g} B"
        axis.text(row["bytes_per_packet"] + 8, place, text, va="center", fontsize=7)
    axis.set_xlim(0, 1.5 * max(row["bytes_per_packet"] for row in rows))
    _prepare(axis, "bandwidth while all is well", "bytes on links between routers, per packet")


def _per_frame(row: dict[str, Any]) -> float:
    return row["bytes_per_packet"] / row["frames_per_packet"]


def _draw_state(axis: Any, *, rows: Sequence[dict[str, Any]]) -> None:
    for place, (way, row) in enumerate(zip(WAYS, rows, strict=True)):
        entries = row["entries"] + row["groups"]
        axis.barh(place, entries, color=_colour(way))
        axis.barh(place, row["cells"], left=entries, color=_colour(way), alpha=0.4)
        text = f"{entries} + {row['cells']}"
        axis.text(entries + row["cells"] + 3, place, text, va="center", fontsize=7)
    axis.set_xlim(0, 1.4 * max(row["entries"] + row["cells"] for row in rows))
    _prepare(
        axis,
        "state in order to be ready",
        "table entries and groups + register cells (pale)",
    )
