"""The slots of a connection inside the circle: what each of them holds, step by step."""

from __future__ import annotations

from collections.abc import Sequence

from p4lab.systems.protect.views.copies import Arrival
from p4lab.systems.protect.views.ring import CENTRE
from p4lab.widgets.svg import Point, element, line, text

MOST = 64
"""Boxes that fit into the circle; of a longer history, the slots that were asked are shown"""


class Slots:
    """Boxes for `history` slots, or for those that the copies asked if that are fewer. What a slot
    held before it was first asked is what that copy found in it."""

    def __init__(self, shown: Sequence[Arrival], history: int) -> None:
        self._cells = [arrival.cell for arrival in shown]
        asked = [cell.index % history for cell in self._cells if cell]
        self._history = history
        self._slots = (
            list(range(history)) if history <= MOST else sorted(dict.fromkeys(asked))[:MOST]
        )
        self._columns = next(n for n in (1, 2, 4, 8) if n * n >= len(self._slots))
        self._width, self._height = (44.0, 34.0) if self._columns <= 4 else (22.0, 17.0)

    def _place(self, slot: int) -> Point:
        """The middle of a slot's box."""
        row, column = divmod(self._slots.index(slot), self._columns)
        rows = -(-len(self._slots) // self._columns)
        return (
            CENTRE[0] + (column - (self._columns - 1) / 2) * self._width,
            CENTRE[1] + (row - (rows - 1) / 2) * self._height,
        )

    def _box(self, slot: int, class_: str) -> str:
        x, y = self._place(slot)
        width, height = self._width - 3, self._height - 3
        return element(
            "rect",
            x=x - width / 2,
            y=y - height / 2,
            width=width,
            height=height,
            rx=3,
            class_=class_,
        )

    def base(self) -> str:
        """The boxes, each with the number of its slot in a corner if there is room."""
        parts = [self._box(slot, "p4c-slot") for slot in self._slots]
        if self._columns <= 4:
            for slot in self._slots:
                x, y = self._place(slot)
                parts.append(text((x - 18, y - 5), str(slot), "p4c-corner"))
        title = "slots, and the newest number in each"
        top = self._place(self._slots[0])[1] - self._height / 2
        if self._columns <= 4:
            parts.append(text((CENTRE[0], top - 8), title, "p4c-small"))
        return "".join(parts)

    def held(self, number: int) -> dict[int, int | None]:
        """What the slots hold when copy `number` comes; None for an empty one. Slots that nobody
        asks are not there."""
        found: dict[int, int | None] = {}
        for cell in reversed(self._cells[number:]):
            if cell:
                found[cell.index % self._history] = cell.before
        for cell in self._cells[:number]:
            if cell:
                found[cell.index % self._history] = cell.after
        return found

    def layer(self, number: int, place: Point) -> str:
        """What the slots hold, and a line from the place of the copy's number to its slot."""
        parts = []
        cell = self._cells[number]
        held = self.held(number)
        if cell and cell.index % self._history in self._slots:
            slot = cell.index % self._history
            parts += [line(place, self._place(slot), "p4c-to"), self._box(slot, "p4c-slot asked")]
            if cell.after != cell.before:
                held[slot] = cell.after
        small = "" if self._columns <= 4 else " tiny"
        for slot, value in held.items():
            if slot in self._slots and value is not None:
                x, y = self._place(slot)
                parts.append(text((x, y + (8 if not small else 4)), str(value), f"p4c-in{small}"))
        return "".join(parts)
