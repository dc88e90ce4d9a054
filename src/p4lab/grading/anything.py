"""Fields that may be anything: drawn for every packet, so that an answer which copies one of them,
or takes it for 0, is seen.

A student who reads a case wants small numbers; a hidden case takes the whole range of the field,
and both ends of it more often than chance would.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from p4lab.grading.frames import Layout

ANY = "any"
"""How a scenario writes such a field"""

MOST_SHOWN = 99  # in a case that students read
INSIDE = 6  # of eight values, so many lie anywhere in the range; the others at its ends


@dataclass(frozen=True)
class Anything:
    """Draws them from the case's own randomness."""

    chance: random.Random
    hidden: bool
    """Whether students will never read the case"""

    def filled(self, packet: Mapping[str, Any], layout: Layout) -> dict[str, Any]:
        """The packet (header to field to value, and a payload) with a number for each of them."""
        filled = {}
        for name, fields in packet.items():
            known = layout.get(name, {})
            if isinstance(fields, Mapping):
                fields = {
                    field: self._number(known[field]) if value == ANY and field in known else value
                    for field, value in fields.items()
                }
            filled[name] = fields
        return filled

    def _number(self, width: int) -> int:
        most = (1 << width) - 1
        if not self.hidden:
            return self.chance.randint(1, min(most, MOST_SHOWN))
        inside = [self.chance.getrandbits(width) for _ in range(INSIDE)]
        return self.chance.choice([0, most, *inside])
