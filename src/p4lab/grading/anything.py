"""What a packet has and no scenario names: drawn for every packet, so that an answer which copies
one of its fields, or takes it for 0, is seen.

A student who reads a case wants few and small numbers: there a field is 0 unless the scenario says
`"any"`. In a hidden case every field that nobody fixes takes its whole range, and both ends of it
more often than chance would.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from p4lab.grading import drawing
from p4lab.grading.frames import PAYLOAD, Layout

ANY = "any"
"""How a scenario writes such a field"""

MOST_SHOWN = 99  # in a case that students read
INSIDE = 8  # of twelve values, so many lie anywhere in the range; the others at its ends


@dataclass(frozen=True)
class Anything:
    """Draws them from the case's own randomness."""

    chance: random.Random
    hidden: bool
    """Whether students will never read the case"""

    def value(self, written: Any, names: Mapping[str, Any]) -> Any:
        """What a field is written as: computed, or drawn as in [draw], anew for every packet. What
        only says how it is `shown` may be anything in a hidden case."""
        if self.hidden and isinstance(written, Mapping) and set(written) == {drawing.SHOWN}:
            return ANY
        return drawing.drawn(written, names, self.chance)

    def payload(self, written: Any, names: Mapping[str, Any]) -> Any:
        """A payload as it is written, or random bytes, if what is drawn is their number."""
        value = self.value(written, names)
        if isinstance(written, Mapping) and isinstance(value, int):
            return f"hex:{self.chance.getrandbits(8 * value).to_bytes(value, 'big').hex()}"
        return value

    def filled(self, packet: Mapping[str, Any], layout: Layout) -> dict[str, Any]:
        """The packet (header to field to value, and a payload) with a number for each field that
        may be anything; in a hidden case these are also those that nobody names."""
        filled = {}
        for name, fields in packet.items():
            known = layout.get(name, {})
            if isinstance(fields, Mapping):
                open_ones = dict.fromkeys(known, ANY) if self.hidden and name != PAYLOAD else {}
                fields = {
                    field: self._number(known[field]) if value == ANY and field in known else value
                    for field, value in {**open_ones, **fields}.items()
                }
            filled[name] = fields
        return filled

    def _number(self, width: int) -> int:
        most = (1 << width) - 1
        if not self.hidden:
            return self.chance.randint(1, min(most, MOST_SHOWN))
        inside = [self.chance.getrandbits(width) for _ in range(INSIDE)]
        return self.chance.choice([0, min(1, most), max(0, most - 1), most, *inside])
