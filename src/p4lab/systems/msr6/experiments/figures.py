"""What the figures of these experiments share: a grid of axes, styles, the lines at the bottom."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from p4lab import __version__
from p4lab.experiment import footer

NOT_AN_IETF_FORMAT = "MSR6: p4lab's own profile, not an IETF format"


@dataclass(frozen=True)
class Style:
    """How a curve is drawn. Colours are those of Okabe and Ito, which everybody can tell apart;
    marks and dashes tell them apart without colour."""

    colour: str
    marker: str
    dashes: str


BLUE, RED, ORANGE, GREEN, PINK, BLACK, GREY = (
    "#0072b2",
    "#d55e00",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#000000",
    "#999999",
)
STYLES = {
    "BIER 64": Style(BLUE, "^", ":"),
    "BIER 128": Style(BLUE, "d", "--"),
    "BIER 256": Style(BLUE, "s", "-"),
    "MSR6 TE": Style(RED, "o", "-"),
    "MSR6 RLB": Style(ORANGE, "v", "--"),
    "MSR6 BE": Style(GREEN, "D", "-"),
    "RBS": Style(PINK, "x", "-"),
    "RTS": Style(BLACK, "+", "-"),
    "stateful": Style(GREY, "", "--"),
}

LEGEND_LINE = 0.19
"""Height in inches"""

Draw = Callable[[Any], None]
"""Draws into an axis"""


def save(
    path: Path,
    rows: Sequence[Sequence[Draw]],
    *,
    notes: Sequence[str],
    size: tuple[float, float],
    share: bool = False,
    legend: int = 0,
) -> None:
    """Lets each function draw into an axis of its own, and writes the whole into a file in the
    format that its name ends in. `notes` are lines at the bottom, `size` is that of one axis with
    its words in inches; axes may `share` the scales of their column. `legend` is one for all, in so
    many columns. Raises OSError, ValueError."""
    import matplotlib  # heavy: matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    lines = [*notes, f"p4lab {__version__}. {NOT_AN_IETF_FORMAT}."]
    columns = max(map(len, rows))
    with pyplot.rc_context({"font.size": 8, "svg.hashsalt": "p4lab"}):
        figure, axes = pyplot.subplots(
            len(rows),
            columns,
            figsize=(size[0] * columns, size[1] * len(rows)),
            squeeze=False,
            sharex="col" if share else False,
            sharey="col" if share else False,
            dpi=150,
        )
        for line, drawings in zip(axes, rows, strict=True):
            for axis, draw in zip(line, drawings, strict=True):
                draw(axis)
        curves = {
            label: handle
            for axis in axes.flat
            for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
        }
        entries = -(-len(curves) // legend) if legend else 0
        below = footer.add(figure, lines, room=LEGEND_LINE * entries)
        if entries:
            figure.legend(
                list(curves.values()),
                list(curves),
                ncols=legend,
                loc="upper center",
                bbox_to_anchor=(0.5, below),
                frameon=False,
                handlelength=3,
            )
        figure.tight_layout(rect=(0, below, 1, 1))
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
        pyplot.close(figure)
