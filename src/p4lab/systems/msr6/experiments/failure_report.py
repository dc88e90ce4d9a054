"""The experiment on failures as a table of numbers, a comparison and a figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from p4lab.experiment import tidy
from p4lab.experiment.confidence import (
    error_bars,
    mean,
    mean_of,
    runs_in_words,
    with_interval,
)
from p4lab.systems.frr.experiments import plan as frr
from p4lab.systems.msr6.experiments.failure import (
    GROUPS,
    MS,
    PROGRAM,
    SWEEP_RUNS,
    WAYS,
    WITH_GROUPS,
    Outcome,
    Part,
    Way,
)
from p4lab.systems.msr6.experiments.figures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    RED,
    Style,
    save,
)

if TYPE_CHECKING:
    from rich.table import Table

WAY_STYLES = {
    "BIER": Style(BLUE, "s", "-"),
    "BIER-FRR": Style(GREY, "^", "-"),
    "MSR6 BE": Style(GREEN, "D", "-"),
    "MSR6 TE": Style(RED, "o", "-"),
    "MSR6 RLB": Style(ORANGE, "v", "--"),
}


# ---- Numbers


def records(found: Sequence[Outcome]) -> list[tidy.Row]:
    """One row per run."""
    return [
        {
            **replace(_origin(one.way), seed=one.seed).columns,
            "part": one.part,
            "way": one.way.name,
            "routers": one.routers,
            "groups": one.groups,
            "interval_us": one.interval / 1_000,
            "outage_ms": one.outage_ns / MS,
            "formula_ms": None if one.formula_ns is None else one.formula_ns / MS,
            "sent": one.sent,
            "lost": one.lost,
            "duplicates": one.duplicates,
            "route_rows": one.changed.routes,
            "multicast_rows": one.changed.multicast,
            "backup_rows": one.changed.backups,
            "most_multicast_rows": one.changed.most,
            "routers_touched": one.changed.routers,
            "header_before": one.header_before,
            "header_after": one.header_after,
        }
        for one in found
    ]


def _origin(way: Way) -> tidy.Origin:
    return _origin_of(way.encoding is None)


@cache
def _origin_of(bier: bool) -> tidy.Origin:
    if bier:
        return tidy.origin(0, frr.PROGRAM, [("BSL", str(frr.BSL))])
    return tidy.origin(0, PROGRAM)


MEANS = (
    "outage_ms",
    "lost",
    "route_rows",
    "multicast_rows",
    "backup_rows",
    "most_multicast_rows",
    "routers_touched",
    "header_before",
    "header_after",
)


def summary(rows: Sequence[tidy.Row]) -> list[dict[str, Any]]:
    """One record per part, way, size and number of groups: means with half the 95 % confidence
    interval, and packets that came twice in all runs."""
    cells: dict[tuple[tidy.Value, ...], list[tidy.Row]] = {}
    for row in rows:
        cells.setdefault((row["part"], row["way"], row["routers"], row["groups"]), []).append(row)
    records = []
    for (part, way, routers, groups), own in cells.items():
        record: dict[str, Any] = {"part": part, "way": way, "routers": routers, "groups": groups}
        record["runs"] = len(own)
        for name in MEANS:
            value = mean([float(row[name] or 0) for row in own])
            record[name] = value.value
            record[f"{name}_half_width"] = value.half_width
        formulas = [float(row["formula_ms"]) for row in own if row["formula_ms"] is not None]
        record["formula_ms"] = mean(formulas).value if formulas else None
        record["duplicates"] = sum(int(row["duplicates"] or 0) for row in own)
        records.append(record)
    return records


# ---- A table on a terminal


def table(cells: Sequence[dict[str, Any]]) -> Table:
    """What a failure costs on the testbed."""
    from rich.table import Table  # heavy: rich

    own = [cell for cell in cells if cell["part"] == "ways"]
    table = Table(box=None, title=f"the link r1-r2 fails, {mean_of(own[0]['runs'])}")
    table.add_column("", no_wrap=True)
    names = ("without\ndelivery, ms", "lost", "rows:\nroutes", "rows:\nmulticast")
    for name in (*names, "at so many\nrouters", "rows:\nbackups", "header,\nbytes"):
        table.add_column(name, justify="right", no_wrap=True)
    for cell in own:
        table.add_row(
            cell["way"],
            *(
                with_interval(cell[name], cell[f"{name}_half_width"], cell["runs"], digits)
                for name, digits in (("outage_ms", 1), ("lost", 0))
            ),
            *(
                f"{cell[name]:.3g}"
                for name in ("route_rows", "multicast_rows", "routers_touched", "backup_rows")
            ),
            f"{cell['header_before']:.0f}, then {cell['header_after']:.0f}",
        )
    return table


# ---- The figure


def notes(pps: int, runs: int, seeds: str, sweeps: bool) -> tuple[str, ...]:
    """What stands below the figure, of so many packets a second and runs with these seeds."""
    more = f", in larger networks and with more groups {min(runs, SWEEP_RUNS)}" if sweeps else ""
    dotted = ("Dotted: BIER and BIER-FRR, whatever the number of groups.",) if sweeps else ()
    return (
        f"{pps:,} packets a second; {runs_in_words(runs, f' ({seeds}){more}')}.",
        "Delays as in p4lab experiment restoration: assumed there. Trees are computed with routes.",
        *dotted,
    )


def draw(cells: Sequence[dict[str, Any]], path: Path, notes: Sequence[str]) -> None:
    """Silence and rows on the testbed; the same in larger networks and with more groups, if that
    was measured. Raises OSError, ValueError."""
    grid = [[partial(_draw_outages, cells=cells), partial(_draw_rows, cells=cells)]]
    if any(cell["part"] == "size" for cell in cells):
        grid += [
            [
                partial(_draw_sizes, cells=cells, key="outage_ms", title=SILENCE),
                partial(_draw_sizes, cells=cells, key="multicast_rows", title=ROWS),
            ],
            [
                partial(_draw_groups, cells=cells, key="outage_ms", title=SILENCE),
                partial(_draw_groups, cells=cells, key="multicast_rows", title=ROWS),
            ],
        ]
    save(path, grid, notes=notes, size=(3.4, 2.1), legend=5)


ROOM = 1.8
"""How much longer an axis is than the longest bar, for the words beside that"""
SILENCE = "without delivery [ms]"
ROWS = "multicast rows that change"


def _draw_outages(axis: Any, *, cells: Sequence[dict[str, Any]]) -> None:
    own = [cell for cell in cells if cell["part"] == "ways"]
    for place, cell in enumerate(own):
        axis.barh(
            place,
            cell["outage_ms"],
            xerr=cell["outage_ms_half_width"] or None,
            color=WAY_STYLES[cell["way"]].colour,
            capsize=2,
        )
        end = cell["outage_ms"] + cell["outage_ms_half_width"]
        text = f"{cell['outage_ms']:.3g} ms, {cell['lost']:.0f} lost"
        _beside(axis, end, place, text)
    ends = [cell["outage_ms"] + cell["outage_ms_half_width"] for cell in own]
    axis.set_xlim(0, ROOM * max(ends))
    _names(axis, own, f"r1-r2 of the testbed fails\n{SILENCE}")


def _draw_rows(axis: Any, *, cells: Sequence[dict[str, Any]]) -> None:
    own = [cell for cell in cells if cell["part"] == "ways"]
    for place, cell in enumerate(own):
        colour = WAY_STYLES[cell["way"]].colour
        multicast, others = cell["multicast_rows"], cell["route_rows"] + cell["backup_rows"]
        axis.barh(place, multicast, color=colour)
        axis.barh(place, others, left=multicast, color=colour, alpha=0.35)
        text = (
            f"{multicast:.0f} at {cell['routers_touched']:.0f} of {cell['routers']} + {others:.0f}"
        )
        _beside(axis, multicast + others, place, text)
    axis.set_xlim(
        0, ROOM * max(c["multicast_rows"] + c["route_rows"] + c["backup_rows"] for c in own)
    )
    _names(axis, own, f"{ROWS}\n(pale: routes and backups)")


def _beside(axis: Any, x: float, place: int, text: str) -> None:
    axis.annotate(
        text, (x, place), xytext=(3, 0), textcoords="offset points", va="center", fontsize=7
    )


def _names(axis: Any, cells: Sequence[dict[str, Any]], title: str) -> None:
    axis.set_yticks(range(len(cells)), [cell["way"] for cell in cells])
    axis.invert_yaxis()
    axis.set_title(title, fontsize=8)


def _draw_sizes(axis: Any, *, cells: Sequence[dict[str, Any]], key: str, title: str) -> None:
    for way in WAYS:
        _curve(axis, cells, "size", way.name, "routers", key)
    axis.set_yscale("log")
    _finish(axis, title, "routers in the network, one group")


def _draw_groups(axis: Any, *, cells: Sequence[dict[str, Any]], key: str, title: str) -> None:
    for way in WAYS:
        if way in WITH_GROUPS:
            _curve(axis, cells, "groups", way.name, "groups", key)
            continue
        (alone,) = (c for c in cells if (c["part"], c["way"]) == ("ways", way.name))
        style = WAY_STYLES[way.name]
        axis.axhline(alone[key], color=style.colour, linestyle=":", linewidth=1)
    axis.set_xscale("log", base=2)
    axis.set_xticks(GROUPS, [str(count) for count in GROUPS])
    if key == "multicast_rows":
        axis.set_yscale("log")
    _finish(axis, title, "groups that use the link, testbed")


def _curve(
    axis: Any, cells: Sequence[dict[str, Any]], part: Part, way: str, x: str, y: str
) -> None:
    own = [cell for cell in cells if (cell["part"], cell["way"]) == (part, way)]
    style = WAY_STYLES[way]
    axis.errorbar(
        [cell[x] for cell in own],
        [cell[y] for cell in own],
        yerr=error_bars([cell[f"{y}_half_width"] for cell in own], own[0]["runs"]),
        color=style.colour,
        linestyle=style.dashes,
        marker=style.marker,
        markersize=3.5,
        linewidth=1,
        capsize=2,
        label=way,
    )


def _finish(axis: Any, title: str, x_label: str) -> None:
    axis.yaxis.set_major_formatter("{x:,g}")
    axis.grid(color="#eeeeee")
    axis.set_title(title, fontsize=8)
    axis.set_xlabel(x_label)
