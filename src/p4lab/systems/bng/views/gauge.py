"""The pictures of one subscriber's speed: a dial with a needle, and below it what has been."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from p4lab.session.run import MILLISECOND
from p4lab.systems.bng.views.driving import WINDOW, Window
from p4lab.widgets.svg import Point, arc, dot, element, line, polar, text

WIDTH, HEIGHT = 220.0, 238.0
MOST = 40_000_000
"""Bits per second at the end of the dial"""
MARKS = (0, 10, 20, 30, 40)
"""Mbit/s"""
CENTRE: Point = (110.0, 108.0)
RADIUS = 76.0
FIRST_TURN, TURNS = -0.3, 0.6
TOP, BOTTOM, LEFT, RIGHT = 168.0, 216.0, 24.0, 198.0
LEAST_WINDOWS, WINDOWS = 10, 50
"""That the chart shows: as many as there have been, up to the last second"""
TICKS = (50, 100, 200)
MOST_TICKS = 5
LATELY = 5
"""Windows of which the needle shows the mean: a meter lets packets pass, not parts of them"""


def gauge(windows: Sequence[Window], limit: int | None) -> str:
    """The needle is at what arrived of late; the coloured part of the dial is what is agreed."""
    delivered = lately(windows)
    offered = windows[-1].offered if windows else 0.0
    agreed = TURNS if limit is None else TURNS * min(limit / MOST, 1)
    parts = [
        arc(CENTRE, RADIUS, FIRST_TURN, TURNS, "p4d-dial"),
        arc(CENTRE, RADIUS, FIRST_TURN, agreed, "p4d-agreed"),
    ]
    for mark in MARKS:
        turn = _turn(mark * 1_000_000)
        ends = polar(CENTRE, RADIUS - 8, turn), polar(CENTRE, RADIUS + 5, turn)
        x, y = polar(CENTRE, RADIUS + 16, turn)
        parts += [line(*ends, "p4d-tick"), text((x, y + 4), str(mark), "p4d-small")]
    parts.append(dot(polar(CENTRE, RADIUS, _turn(offered)), 5, "p4d-offered"))
    parts.append(line(CENTRE, polar(CENTRE, RADIUS - 10, _turn(delivered)), "p4d-needle"))
    parts.append(dot(CENTRE, 6, "p4d-pin"))
    parts.append(text((CENTRE[0], CENTRE[1] + 30), f"{megabits(delivered)} Mbit/s", "p4d-speed"))
    return "".join([*parts, _chart(windows[-WINDOWS:])])


def lately(windows: Sequence[Window]) -> float:
    """What arrived in the last few windows, in bits per second."""
    last = windows[-LATELY:]
    return sum(window.delivered for window in last) / len(last) if last else 0.0


def megabits(rate: float) -> str:
    """A rate in Mbit/s, with a digit behind the point where it is needed."""
    return f"{rate / 1_000_000:.1f}".removesuffix(".0")


def _turn(rate: float) -> float:
    return FIRST_TURN + TURNS * min(rate / MOST, 1.0)


def _chart(windows: Sequence[Window]) -> str:
    """Offered, agreed and delivered over time."""
    frame = [
        line((LEFT, BOTTOM), (RIGHT, BOTTOM), "p4d-axis"),
        line((LEFT, TOP), (LEFT, BOTTOM), "p4d-axis"),
        text((LEFT - 12, TOP + 8), str(MOST // 1_000_000), "p4d-small"),
        text((LEFT - 10, BOTTOM), "0", "p4d-small"),
        text((LEFT, TOP - 5), "Mbit/s", "p4d-small"),
    ]
    if not windows:
        return "".join(frame)
    first = windows[0].start
    last = windows[-1].start + WINDOW
    frame += _ticks(first // MILLISECOND, last // MILLISECOND, _step(windows) / WINDOW)
    return "".join(
        [
            *frame,
            _steps(windows, lambda window: window.offered, "p4d-line offered"),
            _steps(windows, lambda window: window.delivered, "p4d-line delivered"),
            _steps(windows, lambda window: window.limit, "p4d-line agreed"),
        ]
    )


def _step(windows: Sequence[Window]) -> float:
    """How wide a window is drawn."""
    return (RIGHT - LEFT) / max(len(windows), LEAST_WINDOWS)


def _ticks(first: int, last: int, scale: float) -> Iterator[str]:
    """Round times from `first` to `last`, in milliseconds; the last of them has the unit."""
    tick = next((one for one in TICKS if (last - first) / one <= MOST_TICKS), TICKS[-1])
    times = range(-(-first // tick) * tick, last + 1, tick)
    for time in times:
        x = LEFT + (time - first) * MILLISECOND * scale
        yield line((x, BOTTOM), (x, BOTTOM + 4), "p4d-tick")
        unit = " ms" if time == times[-1] else ""
        yield text((x, BOTTOM + 16), f"{time}{unit}", "p4d-small")


def _steps(windows: Sequence[Window], of: Callable[[Window], float | None], class_: str) -> str:
    """A line that is level within each window; it stops where there is no value."""
    step = _step(windows)
    way, pen = "", "M"
    for number, window in enumerate(windows):
        value = of(window)
        if value is None:
            pen = "M"
            continue
        y = BOTTOM - min(value / MOST, 1.0) * (BOTTOM - TOP)
        x = LEFT + number * step
        way += f"{pen}{x:.1f} {y:.1f}H{x + step:.1f}"
        pen = "L"
    return element("path", d=way, class_=class_) if way else ""
