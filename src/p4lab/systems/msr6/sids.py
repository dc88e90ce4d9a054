"""Segment identifiers (SIDs): IPv6 addresses that say where a packet goes and what happens there.

    locator 64 | node 16 | function 16 | argument 32

The drafts' layouts are not public. This encoding is p4lab's own profile, not an IETF format.
Locators come from the block that RFC 9602 sets aside for SRv6 SIDs, 5f00::/16.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv6Address

from p4lab.model.control import NumberError
from p4lab.systems.msr6.tree import Node
from p4lab.topology import Topology

LOCATOR = 0x5F00 << 48
PREFIX_LENGTH = 80
"""Bits of a node's own prefix: locator and node"""

END_RL = 0x0100
"""TE: replicate by a list of SIDs"""
END_RLB = 0x0200
"""TE with RLB: replicate by a local bit string"""
END_RGB = 0x0300
"""BE: replicate by a global bit string"""
END_DT6 = 0x0600
"""Leaf: take the outer headers off"""

HOSTS = 0x8000
"""The top bit of a node number says that it is a host's"""
MOST_ADJACENCIES = 16
"""Bits of a local bit string"""


@dataclass(frozen=True)
class Sid:
    """A SID in its parts. Raises NumberError if one does not fit."""

    node: int
    function: int
    argument: int = 0
    locator: int = LOCATOR

    def __post_init__(self) -> None:
        if (self.node | self.function) >> 16 or self.argument >> 32 or self.locator >> 64:
            _fits("node", self.node, 16)
            _fits("function", self.function, 16)
            _fits("argument", self.argument, 32)
            _fits("locator", self.locator, 64)

    def pack(self) -> int:
        """The 128-bit number."""
        return self.locator << 64 | self.node << 48 | self.function << 32 | self.argument

    @classmethod
    def parse(cls, number: int) -> Sid:
        """The parts of a 128-bit number."""
        return cls(number >> 48 & 0xFFFF, number >> 32 & 0xFFFF, number & 0xFFFFFFFF, number >> 64)

    @property
    def address(self) -> IPv6Address:
        return IPv6Address(self.pack())


@dataclass(frozen=True)
class ListArgument:
    """Argument of End.RL: `n` children, the first at index `pointer` of the list, the others at
    pointer - 1, pointer - 2, ...

    n 8 | pointer 8 | 0 16
    """

    n: int
    pointer: int

    def pack(self) -> int:
        _fits("number of children", self.n, 8)
        _fits("pointer", self.pointer, 8)
        return self.n << 24 | self.pointer << 16

    @classmethod
    def parse(cls, argument: int) -> ListArgument:
        return cls(argument >> 24 & 0xFF, argument >> 16 & 0xFF)


@dataclass(frozen=True)
class LocalBits:
    """Argument of End.RLB: a bit for each adjacency, bit 1 the lowest, and the index of the entry
    for the first of them that needs one.

    bits 16 | pointer 8 | 0 8
    """

    bits: int
    pointer: int

    def pack(self) -> int:
        _fits("local bit string", self.bits, MOST_ADJACENCIES)
        _fits("pointer", self.pointer, 8)
        return self.bits << 16 | self.pointer << 8

    @classmethod
    def parse(cls, argument: int) -> LocalBits:
        return cls(argument >> 16 & 0xFFFF, argument >> 8 & 0xFF)


@dataclass(frozen=True)
class GlobalSet:
    """Argument of End.RGB: which set of receivers the BitString is about.

    SI 8 | 0 24
    """

    si: int

    def pack(self) -> int:
        _fits("set identifier", self.si, 8)
        return self.si << 24

    @classmethod
    def parse(cls, argument: int) -> GlobalSet:
        return cls(argument >> 24 & 0xFF)


def locator_prefix(node: int, locator: int = LOCATOR) -> int:
    """What all SIDs of a node begin with: the number of a prefix of PREFIX_LENGTH bits."""
    return Sid(node, 0, 0, locator).pack()


def leaf(node: int) -> Sid:
    """The SID at which a router or a host takes the outer headers off."""
    return Sid(node, END_DT6)


def node_numbers(topology: Topology) -> dict[Node, int]:
    """Name to node number: routers have their own, hosts in their order count from HOSTS + 1.

    Raises NumberError if a router has a host's number.
    """
    for router in topology.routers:
        if router.number >= HOSTS:
            raise NumberError(
                f"router {router.name} has number {router.number}, and a SID has room for router "
                f"numbers up to {HOSTS - 1}: give it a lower one"
            )
    numbers: dict[Node, int] = {router.name: router.number for router in topology.routers}
    return numbers | {host.name: HOSTS + i for i, host in enumerate(topology.hosts, 1)}


def _fits(what: str, value: int, bits: int) -> None:
    if not 0 <= value < 1 << bits:
        raise NumberError(f"{what} {value} does not fit into the {bits} bits that a SID has for it")
