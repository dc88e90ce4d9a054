"""The lines at the bottom of a figure: what has been assumed, which paper, which seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

COLOUR = "#555555"
LEFT = 0.01
"""Where lines begin, as a share of the figure's width; as much is free on the right"""
SPACING = 1.3
"""From line to line, in heights of a letter"""


def add(figure: Any, lines: Sequence[str], size: float = 6.5, room: float = 0.0) -> float:
    """Makes a figure higher by some lines of text, each broken where it would leave the figure, and
    by `room` inches above them. Gives the share of its height below which nothing else may be.

    To be called when the figure is as wide as it will be, and before its layout. The figure must
    have the resolution of its file: letters are rounded to pixels.
    """
    renderer = figure.canvas.get_renderer()
    room_for_text = figure.bbox.width * (1 - 2 * LEFT)

    def fits(text: str) -> bool:
        shown = figure.text(0, 0, text, fontsize=size)
        width = shown.get_window_extent(renderer).width
        shown.remove()
        return bool(width <= room_for_text)

    broken: list[str] = []
    for line in lines:
        words = line.split()
        while words:
            count = next((n for n in range(len(words), 1, -1) if fits(" ".join(words[:n]))), 1)
            broken.append(" ".join(words[:count]))
            words = words[count:]
    step = size * SPACING / 72
    below = step * (len(broken) + 0.8) + room
    figure.set_figheight(figure.get_figheight() + below)
    height = figure.get_figheight()
    for place, line in enumerate(reversed(broken)):
        at = step * (place + 0.5) / height
        figure.text(LEFT, at, line, fontsize=size, color=COLOUR)
    return float(below / height)
