"""What a number in a header stands for in one network: nodes of SIDs, bits of routers, receivers.

The numbering is the profile's, which the control plane follows too; whether a program does is to be
seen in its traces.
"""

from __future__ import annotations

from p4lab.model.notation import set_bits
from p4lab.plurals import count_of
from p4lab.systems.msr6 import be, rlb
from p4lab.systems.msr6.sids import (
    END_DT6,
    END_RGB,
    END_RL,
    END_RLB,
    GlobalSet,
    ListArgument,
    LocalBits,
    Sid,
    node_numbers,
)
from p4lab.systems.msr6.views.frames import sid_of
from p4lab.systems.msr6.words import FUNCTIONS
from p4lab.topology import Topology

MOST_SAID = 6
"""Names in a row; the others are counted"""


class Names:
    """The names of a topology by the profile's numbers."""

    def __init__(self, topology: Topology) -> None:
        self._nodes = {number: str(name) for name, number in node_numbers(topology).items()}
        self._receivers = {number: str(name) for name, number in be.bfr_ids(topology).items()}
        self._bits = {
            str(router): {one.number: one for one in row}
            for router, row in rlb.adjacencies(topology).items()
        }

    def node(self, sid: Sid) -> str:
        """The node of a SID; its number, if there is none."""
        return self._nodes.get(sid.node, f"node {sid.node}")

    def is_of(self, sid: Sid | None, name: str) -> bool:
        """Whether a SID is a node's own."""
        return sid is not None and self._nodes.get(sid.node) == name

    def adjacency(self, router: str, bit: int) -> rlb.Adjacency | None:
        """What a bit (1 is the lowest) stands for at a router."""
        return self._bits.get(router, {}).get(bit)

    def behind(self, router: str, bit: int) -> str:
        """Where a bit of a router leads, in a word."""
        found = self.adjacency(router, bit)
        if found is None:
            return "nothing"
        return "its listeners" if found.kind is rlb.Kind.LOCAL else str(found.neighbour)

    def receiver(self, si: int, bit: int) -> str:
        """Who has a bit of a set of BE; its number, if nobody has it."""
        return self._receivers.get(si * be.BITS + bit, f"bit {bit}")

    def receivers(self, si: int, bits: int) -> list[str]:
        """Who is in a BitString, the lowest bit first."""
        return [self.receiver(si, bit) for bit in set_bits(bits)]

    def argument(self, sid: Sid) -> str:
        """What a SID asks its node to do, in a few words."""
        if sid.function == END_RL:
            asked = ListArgument.parse(sid.argument)
            children = count_of(asked.n, "child", "children")
            return children if not asked.n else f"{children}, from {asked.pointer} down"
        if sid.function == END_RLB:
            local = LocalBits.parse(sid.argument)
            router = self.node(sid)
            ways = [self.behind(router, bit) for bit in set_bits(local.bits)]
            return f"{bits(local.bits)}: {row(ways)}" if ways else "no bit"
        if sid.function == END_RGB:
            return f"set {GlobalSet.parse(sid.argument).si}"
        if sid.function == END_DT6:
            return "leaf"
        return "unknown function"

    def entry(self, number: int) -> str:
        """An entry of a list in words: its node, and what it asks for."""
        sid = sid_of(number)
        if sid is None:
            return "no SID" if number else "nothing"
        return f"{self.node(sid)} · {self.argument(sid)}"


def function(sid: Sid) -> str:
    """The name of a SID's function."""
    return FUNCTIONS.get(sid.function, f"function {sid.function:#06x}")


def bits(number: int) -> str:
    """Bits by their numbers: "bit 3", "bits 1 and 2"."""
    numbers = [str(bit) for bit in set_bits(number)]
    if not numbers:
        return "no bit"
    return f"bit{'s' if len(numbers) > 1 else ''} {row(numbers)}"


def row(words: list[str]) -> str:
    """Words in a row, as people say it: "a, b and c"."""
    if not words:
        return "nobody"
    if len(words) > MOST_SAID:
        return f"{', '.join(words[:MOST_SAID])} and {len(words) - MOST_SAID} more"
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
