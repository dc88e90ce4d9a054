"""Plots of this system's figures: simulated, formula and paper in the same axes."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import Any

from p4lab import __version__
from p4lab.experiment import footer
from p4lab.systems.fabric.experiments.figure import Cell, Figure
from p4lab.systems.fabric.paper import SOURCE

# Those of Okabe and Ito, which everybody can tell apart; marks tell them apart without colour.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999")
MARKERS = "osD^vPx+"
COLUMNS = 3
BESIDE = 0.16
"""Between marks for the same name"""
LEGEND_COLUMNS = 3
ROOM, ROW = 1.06, 0.08
"""How much higher an axis is than what is in it, and than that for each row of the legend"""


def draw(figure: Figure, cells: Sequence[Cell], path: Path, note: str) -> None:
    """All panels of a figure into a file, in the format that its name ends in. Raises OSError and
    ValueError."""
    import matplotlib  # heavy: matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    panels = list(dict.fromkeys(cell.panel for cell in cells))
    columns = min(COLUMNS, len(panels)) or 1
    lines = -(-len(panels) // columns) or 1
    width = 6.4 if columns == 1 else 4.4
    with pyplot.rc_context({"font.size": 8, "svg.hashsalt": "p4lab"}):
        picture, axes = pyplot.subplots(
            lines, columns, figsize=(width * columns, 3.4 * lines + 0.4), squeeze=False, dpi=130
        )
        for axis, panel in zip(axes.flat, panels, strict=False):
            _panel(axis, figure, [cell for cell in cells if cell.panel == panel], panel)
        for axis in axes.flat[len(panels) :]:
            axis.axis("off")
        title = f"Figure {figure.name}: {figure.title}"
        picture.suptitle(title, fontsize=9)
        text = f"p4lab {__version__}, simulated, {note}. Without marks: formula. Stars: paper."
        below = footer.add(picture, (text, f"Paper: {SOURCE}"), size=6)
        picture.tight_layout(rect=(0, below, 1, 0.98))
        date = {"Date": None} if path.suffix == ".svg" else None
        picture.savefig(path, metadata=date)
        pyplot.close(picture)


def _panel(axis: Any, figure: Figure, cells: Sequence[Cell], panel: str) -> None:
    curves = list(dict.fromkeys(cell.curve for cell in cells))
    for number, curve in enumerate(curves):
        own = [cell for cell in cells if cell.curve == curve]
        colour = COLOURS[number % len(COLOURS)]
        xs = [cell.x for cell in own]
        # Where x are names, marks stand side by side, lest one hides another.
        shift = BESIDE * (number - (len(curves) - 1) / 2) if figure.names else 0.0
        style = {"color": colour, "label": curve}
        if figure.series:
            axis.plot(xs, [cell.simulated.value for cell in own], linewidth=1, **style)
        else:
            axis.errorbar(
                [x + shift for x in xs],
                [cell.simulated.value for cell in own],
                yerr=_errors(own, figure.most),
                marker=MARKERS[number % len(MARKERS)],
                markersize=4,
                linewidth=0.8,
                linestyle="none" if figure.names else "-",
                capsize=2,
                **style,
            )
        formula = [(cell.x, cell.formula) for cell in own if cell.formula is not None]
        if formula:
            look: dict[str, Any] = {"linestyle": "--", "linewidth": 0.8}
            if figure.series:
                look["drawstyle"] = "steps-post"
            if figure.names:
                look = {"linestyle": "none", "marker": "_", "markersize": 16}
            axis.plot(*zip(*formula, strict=True), color=colour, **look)
        printed = [(cell.x, cell.paper) for cell in own if cell.paper is not None]
        if printed:
            axis.plot(*zip(*printed, strict=True), "*", color=colour, markersize=9, alpha=0.6)
    if figure.names:
        axis.set_xticks(range(1, len(figure.names) + 1), figure.names)
    if figure.log:
        axis.set_xscale("log")
    axis.set_xlabel(figure.x)
    axis.set_ylabel(next((y for begin, y in figure.panel_y if panel.startswith(begin)), figure.y))
    _, top = axis.get_ylim()
    rows = -(-len(curves) // LEGEND_COLUMNS)
    axis.set_ylim(0, top * (ROOM + ROW * rows))
    axis.grid(alpha=0.25, linewidth=0.5)
    axis.legend(fontsize=6, loc="upper center", ncols=min(LEGEND_COLUMNS, len(curves)))
    if panel:
        axis.set_title(panel, fontsize=8)


def _errors(cells: Sequence[Cell], most: float | None) -> list[list[float]] | None:
    """How far error bars go down and up: not to where nothing can be. None for one run."""
    if not any(cell.simulated.half_width for cell in cells):
        return None
    pairs = [(cell.simulated.value, cell.simulated.half_width) for cell in cells]
    above = inf if most is None else most
    return [
        [min(half_width, max(0.0, value)) for value, half_width in pairs],
        [min(half_width, max(0.0, above - value)) for value, half_width in pairs],
    ]
