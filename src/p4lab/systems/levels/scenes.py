"""What is sent in each level of lab 00, and who shall get how much of it.

A level's number is the macro LEVEL of `p4/levels/v1model.p4`; from 9 on they are puzzles. Hosts are
counted in the order of the topology, from 1, as their ports are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address

ALLOWED = 3
"""Packets that each port may send in level 7"""

TAG = 7
"""The virtual network of the packets with a tag in level 6"""


@dataclass(frozen=True)
class Sends:
    """A host sends packets to another, or to an address; `got` are the hosts that shall get them,
    each `most` of them if that is not all."""

    source: int
    to: int | IPv4Address
    got: tuple[int, ...] = ()
    ttl: int = 64
    vlan: int | None = None
    most: int | None = None

    def wanted(self, host: int, packets: int) -> int:
        """How many of so many packets a host shall get."""
        if host not in self.got:
            return 0
        return packets if self.most is None else min(self.most, packets)


@dataclass(frozen=True)
class Scene:
    """A level as a run of it shows it. `sessions` are clone sessions with the port of each, `cells`
    those of registers with what they hold, `counts` a counter and the ports whose cells it has."""

    title: str
    sends: tuple[Sends, ...]
    routes: bool = False
    """Whether the control plane fills the table `routes`"""
    sessions: Mapping[int, int] = field(default_factory=dict)
    cells: Mapping[tuple[str, int], int] = field(default_factory=dict)
    counter: str = ""


def _of_bits(bits: int) -> IPv4Address:
    """The destination whose last bits say who gets a packet."""
    return IPv4Address("10.0.9.0") + bits


_HOP = (Sends(1, 2, (2,)), Sends(3, 2, ttl=1))
_ALLOWED = (Sends(1, 2, (2,), most=ALLOWED), Sends(3, 2, (2,), most=ALLOWED))
_GUARDED = (Sends(1, 2, (2,)), Sends(2, 1, (1,)), Sends(4, 1))

SCENES: Mapping[int, Scene] = {
    1: Scene("drop", (Sends(4, 2), Sends(1, 2, (2,)))),
    2: Scene("forward", (Sends(1, 2, (2,)), Sends(2, 1, (1,)), Sends(3, 2))),
    3: Scene("TTL and checksum", _HOP),
    4: Scene(
        "a table",
        (Sends(1, 3, (3,)), Sends(2, 1, (1,)), Sends(3, IPv4Address("10.0.7.7"))),
        routes=True,
    ),
    5: Scene("a counter", (Sends(1, 2, (2,)), Sends(3, 2, (2,))), counter="arrived"),
    6: Scene("a parser branch", (Sends(1, 2, (2,)), Sends(3, 2, (2,), vlan=TAG))),
    7: Scene("a register", _ALLOWED),
    8: Scene("a copy", (Sends(1, 2, (2,)), Sends(4, 2, (2, 3), ttl=3)), sessions={7: 3}),
    9: Scene(
        "puzzle: no copy too many",
        (
            Sends(1, _of_bits(0b01), (2,)),
            Sends(2, _of_bits(0b10), (3,)),
            Sends(4, _of_bits(0b11), (2, 3)),
        ),
        sessions={2: 2, 3: 3},
    ),
    10: Scene("puzzle: a detour", (Sends(1, 2, (3,)), Sends(3, 2)), cells={("down", 2): 1}),
    11: Scene("puzzle: one table less", _GUARDED),
    12: Scene("puzzle: somebody's level 3", _HOP),
    13: Scene("puzzle: somebody's level 7", _ALLOWED),
    14: Scene("puzzle: the same with two tables", _GUARDED),
}

LEVELS = tuple(SCENES)
