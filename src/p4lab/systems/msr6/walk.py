"""A reference walk: follows the bytes of one packet from router to router, copy by copy.

Written from the profile alone. It shares no code with the encoders and none with the P4: both are
held to it. It reads and writes IPv6 packets, without Ethernet.

The walk ends for every packet, however ill its header is: each copy has a lower hop limit than what
it was copied from. A copy that a list asks for has a lower Segments Left as well, so that lists
make at most 2^SL - 1 copies of a packet. A header can reach that bound: pointers that only go down
rule out loops, but not that several nodes have the same children.

This encoding is p4lab's own profile, not an IETF format.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple

LOCATOR = 0x5F00 << 48
RL, RLB, RGB, DT6 = 0x100, 0x200, 0x300, 0x600
BITS = 128
_IPV6, _ROUTING = 41, 43
_IPV6_BYTES, _FIXED_BYTES, _ENTRY_BYTES = 40, 8, 16


class Reason(Enum):
    """Why a packet goes no further, by the names of `drop_reason_t` in p4/msr6/headers.p4."""

    CUT_OFF = auto()
    LINK_LOCAL = auto()
    HOP_LIMIT = auto()
    NOT_MULTICAST = auto()
    NO_SUCH_SID = auto()
    NO_WAY = auto()
    NO_BIFT_ENTRY = auto()
    TIME_EXCEEDED = auto()
    NO_ROUTE = auto()
    UPPER_LAYER = auto()
    ROUTING_TYPE = auto()
    HDR_EXT_LEN = auto()
    TOO_LONG = auto()
    LAST_ENTRY = auto()
    SEGMENTS_LEFT = auto()
    NO_COPY = auto()
    POINTER = auto()
    TOO_MANY = auto()
    NO_ADJACENCY = auto()

    @property
    def is_told(self) -> bool:
        """Whether the sender is told, unless the packet is a copy in the making."""
        return self.value >= Reason.TIME_EXCEEDED.value


class Way(NamedTuple):
    """Where a copy goes: to node `target`, with destination `sid`.

    `sid` is None for a transit adjacency of RLB, since the list has it. `mask` is the F-BM of a row
    of BE. A way to the node itself is its own listeners.
    """

    target: str
    sid: int | None = None
    mask: int = 0


@dataclass(frozen=True)
class Place:
    """What a node knows. A host knows only its own number.

    `routes` are next hops by node number. `bits` are the adjacencies of RLB by bit number, from 1.
    `bift` has a row for each SI and bit number of BE.
    """

    number: int
    is_router: bool = True
    routes: Mapping[int, str] = field(default_factory=dict)
    bits: Mapping[int, Way] = field(default_factory=dict)
    bift: Mapping[tuple[int, int], Way] = field(default_factory=dict)


class Copy(NamedTuple):
    """A packet from a node to the next, or to itself."""

    source: str
    target: str
    packet: bytes


class Delivery(NamedTuple):
    """What came out at a leaf: the packet inside."""

    node: str
    packet: bytes


class Loss(NamedTuple):
    """A packet that goes no further, as it came in. If it was `refused`, its sender is told."""

    node: str
    reason: Reason
    refused: bool
    packet: bytes


@dataclass
class Walk:
    """All that became of a packet. `copies` are those on links."""

    copies: list[Copy] = field(default_factory=list)
    deliveries: list[Delivery] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)


def walk(places: Mapping[str, Place], start: str, packet: bytes, *, segments: int = 16) -> Walk:
    """Follow an IPv6 packet that node `start` has got or made, until no copy is left.

    `segments` is the number of entries that routers can read.
    """
    result = Walk()
    waiting = deque([(start, packet)])
    while waiting:
        node, arrived = waiting.popleft()
        visit = _Visit(node, places[node], arrived, segments)
        visit.handle()
        result.deliveries += visit.deliveries
        result.losses += visit.losses
        for copy in visit.copies:
            assert copy.packet[7] < arrived[7], "hop limits go down, or the walk would never end"
            waiting.append((copy.target, copy.packet))
            if copy.target != node:
                result.copies.append(copy)
    return result


def refusal(place: Place, packet: bytes, *, segments: int = 16) -> Reason | None:
    """Why a node refuses an IPv6 packet, of which its sender is told; None if it does not."""
    visit = _Visit("", place, packet, segments)
    visit.handle()
    return next((loss.reason for loss in visit.losses if loss.refused), None)


class _Visit:
    """One packet at one node, and what becomes of it."""

    def __init__(self, node: str, place: Place, packet: bytes, segments: int) -> None:
        self.node, self.place, self.packet, self.segments = node, place, packet, segments
        self.copies: list[Copy] = []
        self.deliveries: list[Delivery] = []
        self.losses: list[Loss] = []
        self.destination = int.from_bytes(packet[24:40], "big")
        self.has_routing = packet[6] == _ROUTING

    def handle(self) -> None:
        if not self.place.is_router:
            self._host()
        elif not self._is_own():
            self._forward()
        elif (reason := self._guard()) is not None:
            self._give_up(reason)
        elif self._function() == RL:
            self._replicate_list()
        elif self._function() == RLB:
            self._replicate_local_bits()
        elif self._function() == RGB:
            self._replicate_global_bits()
        else:
            self._decapsulate(is_copy=False)

    # ---- What the packet says ------------------------------------------------------------------

    def _function(self) -> int:
        return self.destination >> 32 & 0xFFFF

    def _is_own(self) -> bool:
        return (
            self.destination >> 64 == LOCATOR
            and self.destination >> 48 & 0xFFFF == self.place.number
            and self._function() in (RL, RLB, RGB, DT6)
        )

    def _argument_byte(self, index: int) -> int:
        return self.packet[36 + index]

    @property
    def _ext_len(self) -> int:
        return self.packet[_IPV6_BYTES + 1]

    @property
    def _segments_left(self) -> int:
        return self.packet[_IPV6_BYTES + 3]

    def _entry(self, index: int) -> int:
        start = _IPV6_BYTES + _FIXED_BYTES + _ENTRY_BYTES * index
        return int.from_bytes(self.packet[start : start + _ENTRY_BYTES], "big")

    def _inner(self) -> bytes | None:
        """What an IPv6 header or the list announces as another IPv6 packet."""
        if not self.has_routing:
            announced, start = self.packet[6], _IPV6_BYTES
        else:
            announced = self.packet[_IPV6_BYTES]
            start = _IPV6_BYTES + _FIXED_BYTES + 8 * self._ext_len
        return self.packet[start:] if announced == _IPV6 else None

    def _is_cut_off(self) -> bool:
        """Whether it ends in the middle of a header that a router has to read."""
        rest = len(self.packet) - _IPV6_BYTES
        if self.has_routing:
            if rest < _FIXED_BYTES:
                return True
            if not self._is_list():
                return False
            if rest < _FIXED_BYTES + 8 * self._ext_len:
                return True
        inner = self._inner()
        return inner is not None and (not inner or (inner[0] >> 4 == 6 and len(inner) < 40))

    def _is_list(self) -> bool:
        """Whether it is a list of whole entries that a router reads to its end."""
        kind = self.packet[_IPV6_BYTES + 2]
        return kind == 253 and self._ext_len % 2 == 0 and self._ext_len <= 2 * self.segments

    # ---- What happens to it ----------------------------------------------------------------------

    def _give_up(self, reason: Reason, is_copy: bool = False) -> None:
        self.losses.append(Loss(self.node, reason, reason.is_told and not is_copy, self.packet))

    def _guard(self) -> Reason | None:
        """The first thing that is wrong with the header, in the profile's order."""
        is_leaf = self._function() == DT6
        if self._is_cut_off():
            return Reason.CUT_OFF
        if not self.has_routing:
            return None if is_leaf else Reason.UPPER_LAYER
        kind, last_entry = self.packet[_IPV6_BYTES + 2], self.packet[_IPV6_BYTES + 4]
        checks = [
            (kind != 253, Reason.ROUTING_TYPE),
            (self._ext_len % 2 == 1, Reason.HDR_EXT_LEN),
            (self._ext_len > 2 * self.segments, Reason.TOO_LONG),
            (not is_leaf and self.packet[7] <= 1, Reason.TIME_EXCEEDED),
            (last_entry > self._ext_len // 2 - 1, Reason.LAST_ENTRY),
            (self._segments_left > last_entry + 1, Reason.SEGMENTS_LEFT),
            (is_leaf and self._segments_left != 0, Reason.SEGMENTS_LEFT),
        ]
        return next((reason for is_wrong, reason in checks if is_wrong), None)

    def _forward(self) -> None:
        """As any IPv6 packet, whatever its routing header says."""
        target = self._route(self.destination)
        if self.packet[7] <= 1:
            self._give_up(Reason.TIME_EXCEEDED)
        elif target is None:
            self._give_up(Reason.NO_ROUTE)
        elif target == self.node:
            self._give_up(Reason.NO_SUCH_SID)
        else:
            self._send(target, self.destination)

    def _route(self, destination: int) -> str | None:
        if destination >> 64 != LOCATOR:
            return None
        number = destination >> 48 & 0xFFFF
        return self.node if number == self.place.number else self.place.routes.get(number)

    def _send(
        self,
        target: str,
        destination: int,
        segments_left: int | None = None,
        bit_string: int | None = None,
    ) -> None:
        copy = bytearray(self.packet)
        copy[7] -= 1
        copy[24:40] = destination.to_bytes(16, "big")
        if segments_left is not None:
            copy[43] = segments_left
        if bit_string is not None:
            copy[48:64] = bit_string.to_bytes(16, "big")
        self.copies.append(Copy(self.node, target, bytes(copy)))

    def _replicate_list(self) -> None:
        n, pointer = self._argument_byte(0), self._argument_byte(1)
        if n == 0:
            self._give_up(Reason.NO_COPY)
        elif pointer >= self._segments_left:
            self._give_up(Reason.POINTER)
        elif n - 1 > pointer:
            self._give_up(Reason.TOO_MANY)
        else:
            for index in range(pointer, pointer - n, -1):
                sid = self._entry(index)
                target = self._route(sid)
                if target is None:
                    self._give_up(Reason.NO_WAY, is_copy=True)
                else:
                    is_leaf = sid >> 24 & 0xFF == 0
                    self._send(target, sid, 0 if is_leaf else index)

    def _replicate_local_bits(self) -> None:
        string = self._argument_byte(0) << 8 | self._argument_byte(1)
        pointer = self._argument_byte(2)
        numbers = [number for number in range(1, 17) if string >> number - 1 & 1]
        ways = [self.place.bits[number] for number in numbers if number in self.place.bits]
        transits = sum(way.sid is None and way.target != self.node for way in ways)
        if not numbers:
            self._give_up(Reason.NO_COPY)
        elif len(ways) < len(numbers):
            self._give_up(Reason.NO_ADJACENCY)
        elif transits and pointer >= self._segments_left:
            self._give_up(Reason.POINTER)
        elif transits and transits - 1 > pointer:
            self._give_up(Reason.TOO_MANY)
        else:
            for way in ways:
                if way.target == self.node:
                    self._decapsulate(is_copy=True)
                elif way.sid is not None:
                    self._send(way.target, way.sid, 0)
                else:
                    self._send(way.target, self._entry(pointer), pointer)
                    pointer -= 1

    def _replicate_global_bits(self) -> None:
        si, left = self._argument_byte(0), self._entry(0)
        if self._segments_left == 0:
            self._give_up(Reason.SEGMENTS_LEFT)
            return
        if left == 0:
            self._give_up(Reason.NO_COPY)
            return
        for number in range(1, BITS + 1):
            way = self.place.bift.get((si, number))
            if way is None or not left >> number - 1 & 1:
                continue
            if way.target == self.node:
                self._decapsulate(is_copy=True)
            elif way.sid is not None:
                is_leaf = way.sid >> 32 & 0xFFFF == DT6
                self._send(way.target, way.sid, 0 if is_leaf else None, left & way.mask)
            left &= ~way.mask
        if left:
            self._give_up(Reason.NO_BIFT_ENTRY, is_copy=True)

    def _decapsulate(self, is_copy: bool) -> None:
        """The leaf: the packet inside is for the listeners of this router."""
        inner = self._inner()
        if inner is None or inner[0] >> 4 != 6:
            self._give_up(Reason.UPPER_LAYER, is_copy)
        elif inner[24] != 0xFF:
            self._give_up(Reason.NOT_MULTICAST, is_copy)
        elif inner[25] & 0xF <= 2:
            self._give_up(Reason.LINK_LOCAL, is_copy)
        elif inner[7] <= 1:
            self._give_up(Reason.HOP_LIMIT, is_copy)
        else:
            delivered = bytearray(inner)
            delivered[7] -= 1
            self.deliveries.append(Delivery(self.node, bytes(delivered)))

    def _host(self) -> None:
        """A Linux host (End.DT6): skips a routing type it does not know, and Segments Left too."""
        own = LOCATOR << 64 | self.place.number << 48 | DT6 << 32
        if self._is_cut_off():
            self._give_up(Reason.CUT_OFF)
            return
        inner = self._inner()
        if self.destination != own or inner is None:
            self._give_up(Reason.UPPER_LAYER, is_copy=True)
        else:
            self.deliveries.append(Delivery(self.node, inner))
