"""Pictures as SVG text: the same for browsers that run scripts and for those that do not."""

from __future__ import annotations

import math
from html import escape
from typing import Any

Point = tuple[float, float]


def element(name: str, *children: str, **attributes: Any) -> str:
    """An element with what is in it. `class_` is the attribute class, `stroke_width` is
    stroke-width; None leaves an attribute out."""
    texts = [
        f' {key.rstrip("_").replace("_", "-")}="{escape(_text(value))}"'
        for key, value in attributes.items()
        if value is not None
    ]
    return f"<{name}{''.join(texts)}>{''.join(children)}</{name}>"


def _text(value: Any) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)


def text(at: Point, words: str, class_: str = "", **attributes: Any) -> str:
    """Words at a point."""
    return element("text", escape(words), x=at[0], y=at[1], class_=class_ or None, **attributes)


def line(start: Point, end: Point, class_: str) -> str:
    """A straight line."""
    (x1, y1), (x2, y2) = start, end
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def dot(at: Point, radius: float, class_: str) -> str:
    """A circle around a point."""
    return element("circle", cx=at[0], cy=at[1], r=radius, class_=class_)


def cross(at: Point, class_: str = "p4v-lost", size: float = 5.0) -> str:
    """An X: something ends here."""
    x, y = at
    side = 2 * size
    way = f"M{x - size:.1f} {y - size:.1f}l{side} {side}m0 {-side}l{-side} {side}"
    return element("path", d=way, class_=class_)


def polar(centre: Point, radius: float, turn: float) -> Point:
    """A point on a circle: `turn` in whole turns from the top, clockwise."""
    angle = 2 * math.pi * turn
    return centre[0] + radius * math.sin(angle), centre[1] - radius * math.cos(angle)


def arc(centre: Point, radius: float, start: float, turns: float, class_: str) -> str:
    """A part of a circle, `turns` long and clockwise from `start`; all of it from 1 on."""
    if turns >= 1:
        return dot(centre, radius, class_)
    (x1, y1), (x2, y2) = (polar(centre, radius, at) for at in (start, start + turns))
    large = int(turns > 0.5)
    way = f"M{x1:.1f} {y1:.1f}A{radius} {radius} 0 {large} 1 {x2:.1f} {y2:.1f}"
    return element("path", d=way, class_=class_)
