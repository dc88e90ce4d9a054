"""What all figures of these experiments share: colours, the line at the bottom, the file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from p4lab import __version__
from p4lab.systems.bng.experiments.bench import SOURCE

GREY, BLUE, RED, GREEN, ORANGE = "#777777", "#1f77b4", "#d62728", "#2ca02c", "#ff7f0e"


def save(path: Path, drawings: Sequence[Callable[[Any], None]], note: str) -> None:
    """Lets each function draw into an axis of its own, side by side, and writes the whole into a
    file in the format that its name ends in. `note` says what has been assumed. Raises OSError,
    ValueError."""
    import matplotlib  # heavy: matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    with pyplot.rc_context({"font.size": 8}):
        count = len(drawings)
        figure, axes = pyplot.subplots(1, count, figsize=(4.8 * count, 3.9), squeeze=False)
        for axis, draw in zip(axes[0], drawings, strict=True):
            draw(axis)
    figure.text(0.01, 0.055, note, fontsize=7, color="#555555")
    figure.text(0.01, 0.015, f"p4lab {__version__}; paper: {SOURCE}", fontsize=5, color="#555555")
    figure.tight_layout(rect=(0, 0.09, 1, 1))
    figure.savefig(path, dpi=130)
    pyplot.close(figure)
