"""Axes of the time diagram: time to the right in milliseconds, routers of a path from top to
bottom."""

from __future__ import annotations

from p4lab.widgets.svg import element, line, text

WIDTH = 560.0
"""As wide as a cell beside the living network"""
WIDER = 900.0
"""For more packets than can be told apart in that"""
LEFT, RIGHT = 44.0, 12.0  # margins
HEAD = 46.0
ROW = 42.0  # between two routers
TITLED = 27.0  # from the title of a path to its first router
MILLISECOND = 1_000_000
_TICKS = (0.001, 0.01, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000)
MOST_TICKS = 16


class Chart:
    """The axis of a picture whose last event is at `last` nanoseconds; it begins at 0."""

    def __init__(self, last: int, width: float) -> None:
        self.last = max(last, 1)
        self.right = width - RIGHT
        span = self.last / MILLISECOND
        self._tick = next((tick for tick in _TICKS if span / tick <= MOST_TICKS), _TICKS[-1])

    def x(self, time: int) -> float:
        """Where a time is, in nanoseconds."""
        return LEFT + 14 + time / self.last * (self.right - LEFT - 34)

    def grid(self, top: float, bottom: float) -> str:
        """Lines at round times, with their numbers and the unit below."""
        parts = []
        for number in range(int(self.last / MILLISECOND / self._tick) + 1):
            x = self.x(round(number * self._tick * MILLISECOND))
            parts.append(line((x, top), (x, bottom), "p4c-grid"))
            parts.append(text((x, bottom + 14), f"{number * self._tick:g}", "p4c-small"))
        middle = (LEFT + self.right) / 2
        words = "time in ms since the first packet"
        parts.append(text((middle, bottom + 32), words, "p4c-small"))
        return element("g", *parts)


class Band:
    """The part of a picture for one path: a rail for each of its routers, from `top` down."""

    def __init__(self, routers: tuple[str, ...], top: float) -> None:
        self.routers = routers
        self.top = top
        self.bottom = top + ROW * (len(routers) - 1)

    def y(self, router: str) -> float:
        """The rail of a router of the path."""
        return self.top + ROW * self.routers.index(router)

    def rails(self, title: str, right: float) -> str:
        """The rails with the names of their routers."""
        parts = [text((LEFT, self.top - TITLED), title, "p4c-name")]
        for router in self.routers:
            parts.append(line((LEFT, self.y(router)), (right, self.y(router)), "p4c-rail"))
            parts.append(text((LEFT - 10, self.y(router) + 4), router, "p4c-router"))
        return "".join(parts)
