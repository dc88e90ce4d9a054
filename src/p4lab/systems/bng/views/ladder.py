"""The picture of a call: a line for each end, and an arrow for each message, from top to bottom in
the order in which they arrive."""

from __future__ import annotations

from collections.abc import Sequence

from p4lab.systems.bng.views.decoding import Decoded
from p4lab.systems.bng.views.dialling import Message
from p4lab.widgets.svg import cross, element, line, text

WIDTH = 300.0
LEFT, RIGHT = 24.0, 276.0
HEAD, ROW = 36.0, 30.0
ABOVE = 6.0  # that a row begins higher: the first begins a row below the top
SLANT = 5.0
TIP = 6.0


def height(count: int) -> float:
    """Of a picture with so many messages."""
    return HEAD - ABOVE + ROW * max(count, 1) + ROW


def ladder(name: str, messages: Sequence[tuple[Message, Decoded]]) -> str:
    """All that is drawn."""
    bottom = height(len(messages)) - 20
    parts = [
        text((LEFT - 16, 14), name, "p4d-end subscriber"),
        text((RIGHT + 16, 14), "gateway", "p4d-end gateway"),
        line((LEFT, 22), (LEFT, bottom), "p4d-life subscriber"),
        line((RIGHT, 22), (RIGHT, bottom), "p4d-life gateway"),
    ]
    parts += [
        _arrow(number, message, decoded.title) for number, (message, decoded) in enumerate(messages)
    ]
    return "".join(parts)


def _arrow(number: int, message: Message, title: str) -> str:
    """One message; one that is lost ends before the other line."""
    y = HEAD + ROW * number + 14
    start, end = (LEFT, RIGHT) if message.up else (RIGHT, LEFT)
    lost = message.arrived is None
    if lost:
        end += -30 if message.up else 30
    side = "up" if message.up else "down"
    row = element(
        "rect", x=2, y=y - 14 - ABOVE, width=WIDTH - 4, height=ROW, rx=5, class_="p4d-row"
    )
    parts = [row, line((start, y), (end, y + SLANT), "p4d-way")]
    if lost:
        parts.append(cross((end, y + SLANT)))
    else:
        back = -TIP if message.up else TIP
        way = f"M{end} {y + SLANT}l{back} {-TIP / 1.6}v{TIP * 1.25}z"
        parts.append(element("path", d=way, class_="p4d-tip"))
    parts.append(text((WIDTH / 2, y - 5), title, "p4d-title"))
    lost_class = " lost" if lost else ""
    return element("g", *parts, class_=f"p4d-message {side}{lost_class}", data_step=number)
