"""The circle of sequence numbers as a drawing: where numbers stand, and what marks them.

A small circle is drawn to scale. On one of 2^32 numbers those of a run would be a single point, so
they are drawn wide, around the top, and all others share the dotted rest.
"""

from __future__ import annotations

from collections.abc import Iterable

from p4lab.widgets.svg import Point, arc, dot, element, line, polar, text

WIDTH, HEIGHT = 460.0, 470.0
CENTRE: Point = (230.0, 205.0)
RADIUS = 128.0
LABELS, COPY = RADIUS + 18, RADIUS + 48
TO_SCALE = 64  # numbers on a circle that is drawn as it is
WIDE = 0.62  # of the circle, for the numbers of a run on a large one
MOST_LABELS = 24


class Ring:
    """Places for the numbers of a run on a circle of `size` numbers."""

    def __init__(self, numbers: Iterable[int], size: int) -> None:
        self.size = size
        self.is_to_scale = size <= TO_SCALE
        found = list(numbers) or [0]
        offsets = [(number - found[0] + size // 2) % size - size // 2 for number in found]
        near = [offset for offset in offsets if abs(offset) < 4 * len(found) + 16]
        self._first = (found[0] + min(near) - 1) % size
        self._count = max(near) - min(near) + 2
        if self.is_to_scale:
            self._first, self._count = 0, size - 1

    @property
    def shown(self) -> list[int]:
        """Numbers with a place of their own."""
        return [(self._first + step) % self.size for step in range(self._count + 1)]

    def turn(self, number: int) -> float:
        """Where a number stands, in turns from the top, clockwise; between -1/2 and 1."""
        if self.is_to_scale:
            return number / self.size
        step = (number - self._first) % self.size
        if step <= self._count:
            return WIDE * (step / self._count - 0.5)
        rest = (step - self._count) / (self.size - self._count)
        return WIDE / 2 + (1 - WIDE) * rest

    def at(self, number: int, radius: float = RADIUS) -> Point:
        """The point of a number at a distance from the middle."""
        return polar(CENTRE, radius, self.turn(number))

    def base(self) -> str:
        """The circle with its numbers, which run clockwise."""
        if self.is_to_scale:
            parts = [dot(CENTRE, RADIUS, "p4c-ring")]
        else:
            half = WIDE / 2
            parts = [
                arc(CENTRE, RADIUS, half, 1 - WIDE, "p4c-ring rest"),
                arc(CENTRE, RADIUS, -half, WIDE, "p4c-ring"),
                text(
                    (CENTRE[0], CENTRE[1] + RADIUS + 20),
                    f"… all other numbers, up to 2^{self.size.bit_length() - 1} - 1 …",
                    "p4c-small",
                ),
            ]
        every = -(-len(self.shown) // MOST_LABELS)
        for place, number in enumerate(self.shown):
            parts.append(line(self.at(number, RADIUS - 4), self.at(number, RADIUS + 4), "p4c-tick"))
            if place % every == 0:
                x, y = self.at(number, LABELS)
                parts.append(text((x, y + 4), str(number), "p4c-number"))
        return "".join(parts)

    def window(self, first: int, steps: int) -> str:
        """The part of the circle where a number is new: `steps` numbers from `first` on."""
        if steps >= self.size:
            return dot(CENTRE, RADIUS, "p4c-window")
        start = self.turn(first)
        turns = (self.turn((first + steps - 1) % self.size) - start) % 1
        return arc(CENTRE, RADIUS, start, max(turns, 0.004), "p4c-window")

    def everything(self) -> str:
        """Any number is new."""
        return dot(CENTRE, RADIUS, "p4c-window")

    def hand(self, number: int, class_: str = "p4c-hand") -> str:
        """Points at a number, as the hand of a clock."""
        tip, left = self.at(number, RADIUS - 10), polar(CENTRE, RADIUS - 24, self.turn(number))
        x, y = tip
        dx, dy = (x - left[0]) / 3, (y - left[1]) / 3
        head = (
            f"M{x:.1f} {y:.1f}L{left[0] - dy:.1f} {left[1] + dx:.1f}"
            f"L{left[0] + dy:.1f} {left[1] - dx:.1f}z"
        )
        return line(CENTRE, left, class_) + element("path", d=head, class_=f"{class_} tip")
