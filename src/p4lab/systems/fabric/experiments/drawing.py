"""Plots of this system's figures: simulated, formula and paper in the same axes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from p4lab import __version__
from p4lab.systems.fabric.experiments.figure import Cell, Figure
from p4lab.systems.fabric.paper import SOURCE

# Those of Okabe and Ito, which everybody can tell apart; marks tell them apart without colour.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999")
MARKERS = "osD^vPx+"
COLUMNS = 3


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
            lines, columns, figsize=(width * columns, 3.4 * lines + 0.4), squeeze=False
        )
        for axis, panel in zip(axes.flat, panels, strict=False):
            _panel(axis, figure, [cell for cell in cells if cell.panel == panel], panel)
        for axis in axes.flat[len(panels) :]:
            axis.axis("off")
        title = f"Figure {figure.name}: {figure.title}"
        picture.suptitle(title, fontsize=9)
        text = f"p4lab {__version__}, simulated, {note}. Without marks: formula. Stars: paper."
        picture.text(0.01, 0.025, text, fontsize=6, color="#555555")
        picture.text(0.01, 0.005, f"Paper: {SOURCE}", fontsize=5, color="#555555")
        picture.tight_layout(rect=(0, 0.04, 1, 0.98))
        date = {"Date": None} if path.suffix == ".svg" else None
        picture.savefig(path, dpi=130, metadata=date)
        pyplot.close(picture)


def _panel(axis: Any, figure: Figure, cells: Sequence[Cell], panel: str) -> None:
    for number, curve in enumerate(dict.fromkeys(cell.curve for cell in cells)):
        own = [cell for cell in cells if cell.curve == curve]
        colour = COLOURS[number % len(COLOURS)]
        xs = [cell.x for cell in own]
        style = {"color": colour, "label": curve}
        if figure.series:
            axis.plot(xs, [cell.simulated.value for cell in own], linewidth=1, **style)
        else:
            axis.errorbar(
                xs,
                [cell.simulated.value for cell in own],
                yerr=[cell.simulated.half_width for cell in own],
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
    axis.set_ylabel(figure.y)
    axis.set_ylim(bottom=0)
    axis.grid(alpha=0.25, linewidth=0.5)
    axis.legend(fontsize=6)
    if panel:
        axis.set_title(panel, fontsize=8)
