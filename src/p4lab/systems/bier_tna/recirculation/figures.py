"""Figures 14 to 17 of the paper, with what the formulas and the engine say in the same axes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from p4lab import __version__
from p4lab.experiment import footer
from p4lab.plurals import count_of
from p4lab.systems.bier_tna.recirculation.equations import loss_after
from p4lab.systems.bier_tna.recirculation.limits import fluid_limit
from p4lab.systems.bier_tna.recirculation.results import (
    PAPER_TABLE2,
    PORTIONS,
    RECIRCULATIONS,
    SOURCE,
    UTILISATIONS,
)

Records = Sequence[dict[str, Any]]

COLOURS = {
    "tail-drop": "#d62728",
    "equal-drop": "#1f77b4",
    "random": "#9467bd",
    "looped-first": "#2ca02c",
    "fresh-first": "#ff7f0e",
    "bmv2": "#444444",
}
MARKERS = {"tail-drop": "s", "equal-drop": "o", "random": "D", "looped-first": "^"}
MARKERS |= {"fresh-first": "v", "bmv2": "x"}
GREY = "#bbbbbb"


def draw_figure14(axis: Any, records: Records) -> None:
    """Throughput at the last next hop: the paper's bars, equations 1 and 2, and the runs."""
    cells = sorted({(row["loops"], row["next_hops"]) for row in records})
    for place, (k, n) in enumerate(cells):
        if (n, k) in PAPER_TABLE2:
            axis.bar(place, PAPER_TABLE2[n, k][1], 0.8, color="#e4e4e4", edgecolor=GREY)
        formula = next(row["formula"] for row in _last(records, n, k))
        axis.plot([place - 0.4, place + 0.4], [formula, formula], color="black", linewidth=1.2)
    names = list(dict.fromkeys(_name(row) for row in records))
    for shift, name in enumerate(names):
        for place, (k, n) in enumerate(cells):
            for row in _last(records, n, k):
                if _name(row) == name:
                    axis.errorbar(
                        place + 0.6 * ((shift + 0.5) / len(names) - 0.5),
                        row["value"],
                        yerr=row["half_width"],
                        fmt=MARKERS[name],
                        color=COLOURS[name],
                        markersize=4,
                        capsize=2,
                        label=_label(name) if place == 0 else None,
                    )
    axis.bar(0, 0, color="#e4e4e4", edgecolor=GREY, label="paper, measured")
    axis.plot([], [], color="black", label="equations 1 and 2")
    axis.set_xticks(range(len(cells)))
    axis.set_xticklabels([f"{n}\n{k}" for k, n in cells], fontsize=7)
    axis.set_xlabel("next hops (above), recirculation ports (below)")
    axis.set_ylabel("throughput at the last next hop [Gb/s]")
    axis.set_ylim(0, 150)  # room for the legend
    axis.set_yticks(range(0, 101, 20))
    axis.legend(fontsize=6, loc="upper center", ncols=2)
    axis.set_title("figure 14 and table 2", fontsize=9)


def draw_next_hops(axis: Any, records: Records, next_hops: int, loops: int) -> None:
    """Throughput at every next hop of one cell: limits as lines, runs as points."""
    rows = [row for row in records if (row["next_hops"], row["loops"]) == (next_hops, loops)]
    for name in dict.fromkeys(_name(row) for row in rows):
        own = [row for row in rows if _name(row) == name]
        axis.errorbar(
            [row["next_hop"] for row in own],
            [row["value"] for row in own],
            yerr=[row["half_width"] or 0 for row in own],
            fmt=MARKERS[name],
            color=COLOURS[name],
            markersize=5,
            capsize=2,
            label=_label(name),
        )
    for order in ("equal-drop", "random", "looped-first", "fresh-first"):
        limit = fluid_limit(order, next_hops, loops, rows[0]["offered"])
        numbers = range(1, next_hops + 1)
        axis.plot(numbers, limit, color=COLOURS[order], lw=0.9, alpha=0.7, label=f"{order}, limit")
    if (next_hops, loops) in PAPER_TABLE2:
        paper = PAPER_TABLE2[next_hops, loops][1]
        axis.plot(next_hops, paper, "*", color="black", markersize=9, label="paper, measured")
    axis.set_xticks(range(1, next_hops + 1))
    axis.set_xlabel("next hop, in the order of service")
    axis.set_ylabel("throughput [Gb/s]")
    axis.set_ylim(-3, 108)
    axis.legend(fontsize=6)
    axis.set_title(f"{next_hops} next hops, {count_of(loops, 'recirculation port')}", fontsize=9)


def draw_timing(axis: Any, records: Records) -> None:
    """Tail drop at the last next hop, over the time that packets need back to ingress."""
    cells = list(dict.fromkeys((row["next_hops"], row["loops"]) for row in records))
    for shade, (n, k) in enumerate(cells):
        own = [row for row in records if (row["next_hops"], row["loops"]) == (n, k)]
        colour = f"C{shade}"
        axis.errorbar(
            [row["latency"] / row["service"] for row in own],
            [row["value"] for row in own],
            yerr=[row["half_width"] for row in own],
            fmt="s-",
            color=colour,
            markersize=4,
            capsize=2,
            label=f"{n} next hops, {count_of(k, 'port')}",
        )
        axis.axhline(own[0]["paper_measured"], color=colour, linestyle=":", linewidth=1)
    axis.set_xlabel("time from a loop back to ingress [service times of a packet]")
    axis.set_ylabel("throughput at the last next hop [Gb/s]")
    axis.set_ylim(0, 80)
    arrivals = "equal intervals" if records[0]["collapsed"] else "Poisson"
    title = f"tail drop, {arrivals}; dotted: paper, measured"
    axis.legend(fontsize=6, title=title, title_fontsize=6)
    axis.set_title("tail drop is a matter of timing", fontsize=9)


def draw_figure15(axis: Any, records: Records = ()) -> None:
    """Loss after several recirculations over the loss of one; simulated points if there are any."""
    ps = [10 ** (-4 + 4 * step / 200) for step in range(201)]
    for shade, m in enumerate(RECIRCULATIONS):
        colour = f"C{shade}"
        axis.loglog(ps, [loss_after(p, m) for p in ps], color=colour, label=f"n = {m}")
        own = [row for row in records if row["recirculations"] == m and row["p"] > 0]
        axis.plot([r["p"] for r in own], [r["value"] for r in own], "o", color=colour, ms=4)
    axis.set_xlabel("loss probability p of one recirculation")
    axis.set_ylabel("loss after n recirculations")
    axis.legend(fontsize=6, title="lines: 1-(1-p)^n, points: simulated", title_fontsize=6)
    axis.set_title("figure 15", fontsize=9)


def draw_figure16(axis: Any, records: Records, checked: Records = ()) -> None:
    """Physical recirculation ports over R; squares where a simulation found no loss."""
    for u in UTILISATIONS:
        own = [row for row in records if row["U"] == u]
        axis.step(
            [r["R"] for r in own], [r["physical"] for r in own], where="mid", label=f"U = {u}"
        )
    _draw_checked(axis, [row for row in checked if row["figure"] == 16], "R")
    axis.set_xlabel("R, recirculations per packet")
    axis.set_ylabel("physical recirculation ports of 32")
    axis.legend(fontsize=6)
    axis.set_title("figure 16", fontsize=9)


def draw_figure17(axis: Any, records: Records, checked: Records = ()) -> None:
    """Physical recirculation ports over the number of next hops; dotted: at the BFIR."""
    for shade, a in enumerate(PORTIONS):
        own = [row for row in records if row["a"] == a]
        numbers = [row["n"] for row in own]
        colour = f"C{shade}"
        axis.plot(numbers, [r["physical"] for r in own], "o-", ms=3, color=colour, label=f"{a:.1%}")
        at_bfir = [row["physical_at_bfir"] for row in own]
        axis.plot(numbers, at_bfir, ":", linewidth=1, color=colour)
    _draw_checked(axis, [row for row in checked if row["figure"] == 17], "n")
    axis.set_xlabel("n, average number of next hops")
    axis.set_ylabel("physical recirculation ports of 32")
    axis.legend(fontsize=6, title="multicast; dotted: encapsulated here", title_fontsize=6)
    axis.set_title("figure 17, U = 4", fontsize=9)


def _draw_checked(axis: Any, checked: Records, x: str) -> None:
    for row in checked:
        good = row["dropped"] == 0
        axis.plot(
            row[x],
            row["physical"],
            "s" if good else "X",
            markersize=7,
            markerfacecolor="none",
            color="black" if good else "#d62728",
        )


def save(path: Path, *drawings: Any, columns: int = 2, note: str = "") -> None:
    """Draws each (function, arguments) into an axis of its own, and the whole into a file, in the
    format that its name ends in. Raises OSError and ValueError."""
    import matplotlib  # heavy: matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    columns = min(columns, len(drawings))
    rows = -(-len(drawings) // columns)
    size = (5.2 * columns, 4 * rows)
    figure, axes = pyplot.subplots(rows, columns, figsize=size, squeeze=False, dpi=150)
    places = [axis for row in axes for axis in row]
    for axis, (draw, *arguments) in zip(places, drawings, strict=False):
        draw(axis, *arguments)
    for axis in places[len(drawings) :]:
        axis.axis("off")
    below = footer.add(figure, [f"p4lab {__version__}{note and '; ' + note}; paper: {SOURCE}"])
    figure.tight_layout(rect=(0, below, 1, 1))
    figure.savefig(path)
    pyplot.close(figure)


def _last(records: Records, next_hops: int, loops: int) -> list[dict[str, Any]]:
    wanted = (next_hops, loops, next_hops)
    return [row for row in records if (row["next_hops"], row["loops"], row["next_hop"]) == wanted]


def _name(row: dict[str, Any]) -> str:
    return "bmv2" if row["source"] == "bmv2" else row["arbitration"]


def _label(name: str) -> str:
    return f"{name}, {'measured (looped-first)' if name == 'bmv2' else 'simulated'}"
