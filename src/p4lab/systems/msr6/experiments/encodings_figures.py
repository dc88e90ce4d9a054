"""The comparison of encodings as figures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import Any

from p4lab.systems.msr6.experiments.crossovers import NOT_CARRIED, Crossover
from p4lab.systems.msr6.experiments.figures import STYLES, save
from p4lab.systems.msr6.experiments.stages import Stages
from p4lab.systems.msr6.experiments.summary import Quantity, at_shown, quantities

MOST_STAGES = 12
MOST_TICKS = 20
NAME = 12
"""Letters of a line in the name of a panel, which stands beside its axes"""

MARKED = {
    "tree_bytes": (("RBS", "MSR6 BE"), ("RTS", "BIER 256")),
    "root_bytes": (("RBS", "MSR6 BE"), ("RTS", "RBS")),
    "link_bytes": (("RTS", "RBS"),),
    "wire_bytes": (
        ("MSR6 TE", "MSR6 BE"),
        ("RBS", "MSR6 BE"),
        ("RBS", "BIER 256"),
        ("RTS", "MSR6 BE"),
        ("RTS", "BIER 256"),
    ),
}
"""Crossovers that figures show, by measure"""
MARK, MARK_LINE = 6, 7
"""Size of what they are called, and of a line of that, in points"""
POINT = 1 / 72
"""In inches"""


def draw_grid(
    rows: Sequence[dict[str, Any]],
    crossovers: Sequence[Crossover],
    path: Path,
    keys: Sequence[str],
    notes: Sequence[str],
    payload: int,
) -> None:
    """A line of axes for each panel, a column for each quantity, and where encodings cross. Raises
    OSError, ValueError."""
    chosen = {one.key: one for one in quantities(payload)}
    names = list(dict.fromkeys(row["panel"] for row in rows))
    unit = "receivers" if rows[0]["part"] == "receivers" else "routers in the network"
    marks = {(name, key): marked(crossovers, name, chosen[key]) for name in names for key in keys}
    most = max(map(len, marks.values()))
    above = max(len(marks[names[0], key]) for key in keys)
    if most:
        notes = (*notes, MARKS_NOTE)
    grid = [
        [
            partial(
                _draw_curves,
                rows=[row for row in rows if row["panel"] == name],
                quantity=chosen[key],
                marks=marks[name, key],
                title=chosen[key].label if name == names[0] else "",
                title_pad=4 + MARK_LINE * above,
                x_label=unit if name == names[-1] else "",
                y_label="\n".join(wrap(name, NAME)) if key == keys[0] else "",
            )
            for key in keys
        ]
        for name in names
    ]
    size = (2.35, 1.5 + most * MARK_LINE * POINT)
    save(path, grid, notes=notes, size=size, share=True, legend=5)


MARKS_NOTE = (
    "Vertical lines, named above: where the first needs fewer bytes than the second, by the 95 % "
    "confidence interval of the difference draw by draw."
)


def marked(found: Sequence[Crossover], panel: str, quantity: Quantity) -> list[Crossover]:
    """Those of MARKED that have an end within what is compared."""
    pairs = MARKED.get(quantity.measure, ())
    return [
        one
        for one in found
        if (one.panel, one.measure) == (panel, quantity.measure)
        and (one.first, one.second) in pairs
        and any(one.ends)
    ]


def _draw_curves(
    axis: Any,
    *,
    rows: Sequence[dict[str, Any]],
    quantity: Quantity,
    marks: Sequence[Crossover],
    title: str,
    title_pad: float,
    x_label: str,
    y_label: str,
) -> None:
    from matplotlib.ticker import LogLocator  # heavy: matplotlib

    key = quantity.key
    for name, style in STYLES.items():
        own = [row for row in rows if row["encoding"] == name and row["encoded"] == row["draws"]]
        own = [row for row in own if row[key] > 0]
        xs = [row["x"] for row in own]
        if not own and name == NOT_CARRIED:
            continue
        axis.plot(
            xs,
            [row[key] for row in own],
            color=style.colour,
            linestyle=style.dashes,
            marker=style.marker,
            markevery=[i for i, x in enumerate(xs) if x & (x - 1) == 0 or x % 50 == 0],
            markersize=3.5,
            linewidth=1,
            label=name,
        )
        axis.fill_between(
            xs,
            [row[key] - row[f"{key}_half_width"] for row in own],
            [row[key] + row[f"{key}_half_width"] for row in own],
            color=style.colour,
            alpha=0.15,
            linewidth=0,
        )
    axis.set_xscale("log", base=4)
    axis.xaxis.set_major_locator(LogLocator(4, numticks=MOST_TICKS))
    axis.xaxis.set_major_formatter("{x:.0f}")
    if quantity.base:
        axis.set_yscale("log", base=quantity.base)
        axis.yaxis.set_major_locator(LogLocator(quantity.base, numticks=MOST_TICKS))
    axis.yaxis.set_major_formatter("{x:,g}")
    axis.minorticks_off()
    axis.grid(color="#eeeeee")
    axis.set_title(title, fontsize=8, pad=title_pad)
    axis.set_xlabel(x_label)
    axis.set_ylabel(y_label, fontweight="bold")
    _mark(axis, marks)


def _mark(axis: Any, marks: Sequence[Crossover]) -> None:
    """Lines where encodings cross, in the colour of the one that needs less, with their names above
    the axes."""
    for number, one in enumerate(reversed(marks)):
        colour = STYLES[one.first].colour
        for end in one.ends:
            axis.axvline(end, color=colour, linestyle="--", linewidth=0.6)
        axis.annotate(
            f"{one.first} < {one.second}: {one.said}",
            (1, 1),
            xycoords="axes fraction",
            xytext=(0, 2 + number * MARK_LINE),
            textcoords="offset points",
            ha="right",
            fontsize=MARK,
            color=colour,
        )


def draw_state(
    rows: Sequence[dict[str, Any]],
    stages: Sequence[Stages],
    path: Path,
    notes: Sequence[str],
) -> None:
    """Rows of tables in the first network, and stages. Raises OSError, ValueError."""
    own = at_shown(rows, rows[0]["panel"])
    grid = [
        [
            partial(_draw_rows, rows=own),
            partial(_draw_group, rows=own),
            partial(_draw_stages, stages=stages),
        ]
    ]
    save(path, grid, notes=notes, size=(2.35, 2.6))


def _bars(axis: Any, names: Sequence[str], first: Sequence[float], second: Sequence[float]) -> None:
    """Bars with their values: the second behind the first, and paler."""
    colours = [STYLES[name.split(",")[0]].colour for name in names]
    axis.barh(range(len(names)), first, color=colours)
    axis.barh(range(len(names)), second, left=first, color=colours, alpha=0.35)
    for place, (a, b) in enumerate(zip(first, second, strict=True)):
        text = f"{a:.3g} + {b:.3g}" if b else f"{a:.3g}"
        axis.annotate(
            text, (a + b, place), xytext=(3, 0), textcoords="offset points", va="center", fontsize=7
        )
    axis.set_yticks(range(len(names)), names)
    axis.invert_yaxis()
    axis.set_xlim(0, 1.85 * max(a + b for a, b in zip(first, second, strict=True)))


def _draw_rows(axis: Any, *, rows: Sequence[dict[str, Any]]) -> None:
    names = [row["encoding"] for row in rows]
    _bars(axis, names, [row["router_rows"] for row in rows], [row["routes"] for row in rows])
    title = f"{rows[0]['panel']}, no group\n[rows per router (pale: routes)]"
    axis.set_title(title, fontsize=8)


def _draw_group(axis: Any, *, rows: Sequence[dict[str, Any]]) -> None:
    rows = [row for row in rows if row["encoded"] == row["draws"]]
    names = [row["encoding"] for row in rows]
    ingress = [row["packets"] for row in rows]
    _bars(axis, names, ingress, [row["rows"] for row in rows])
    axis.set_title(f"a group of {rows[0]['x']}\n[rows at ingress (pale: between)]", fontsize=8)


def _draw_stages(axis: Any, *, stages: Sequence[Stages]) -> None:
    names = [one.program for one in stages]
    _bars(axis, names, [one.ingress or 0 for one in stages], [0] * len(stages))
    axis.set_xlim(0, MOST_STAGES)
    axis.set_title(f"Tofino 1, p4lab fit\n[ingress stages of {MOST_STAGES}]", fontsize=8)
