"""Figures of experiments whose axes stand side by side: colours, and the lines at the bottom."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from p4lab import __version__
from p4lab.experiment import footer

GREY, BLUE, RED, GREEN, ORANGE = "#777777", "#1f77b4", "#d62728", "#2ca02c", "#ff7f0e"


def save(
    path: Path,
    drawings: Sequence[Callable[[Any], None]],
    *,
    note: str,
    source: str,
    size: tuple[float, float] = (4.8, 3.9),
    widths: Sequence[float] | None = None,
) -> None:
    """Lets each function draw into an axis of its own, side by side, and writes the whole into a
    file in the format that its name ends in. `note` says what has been assumed, `source` names the
    paper; `size` is that of one axis in inches, to which the lines at the bottom add. Raises
    OSError, ValueError."""
    import matplotlib  # heavy: matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    ratios = list(widths or [1] * len(drawings))
    with pyplot.rc_context({"font.size": 8}):
        figure, axes = pyplot.subplots(
            1,
            len(drawings),
            figsize=(size[0] * sum(ratios), size[1]),
            squeeze=False,
            width_ratios=ratios,
            dpi=130,
        )
        for axis, draw in zip(axes[0], drawings, strict=True):
            draw(axis)
    below = footer.add(figure, (note, f"p4lab {__version__}; paper: {source}"))
    figure.tight_layout(rect=(0, below, 1, 1))
    figure.savefig(path)
    pyplot.close(figure)
