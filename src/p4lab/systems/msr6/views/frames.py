"""A frame as the views see it: its IPv6 destination and its routing header, byte by byte.

Read here from the bytes alone, however ill they are. What is cut off is not there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from p4lab.steps import Widths
from p4lab.systems.msr6.encoded import ENTRY_BYTES, FIXED_BYTES, ROUTING_TYPE
from p4lab.systems.msr6.sids import END_DT6, END_RGB, LOCATOR, Sid

ETHERNET_BYTES, IPV6_BYTES = 14, 40
NEXT_HEADER, DESTINATION = 6, 24
"""Where these are in an IPv6 header"""
NEXT_ROUTING = 43
_ETHERTYPE_IPV6 = b"\x86\xdd"


@dataclass(frozen=True)
class Frame:
    """The parts of a frame that carry a tree. `destination` is the IPv6 destination as a number,
    None for what is no IPv6. `fixed` are the FIXED_BYTES of a routing header, empty if there is
    none; `entries` its list as numbers, index 0 first, as far as HdrExtLen and the frame reach.
    `length` counts the bytes of the IPv6 packet; None where it was not seen on a wire."""

    destination: int | None
    fixed: bytes = b""
    entries: tuple[int, ...] = ()
    length: int | None = None

    @classmethod
    def of(cls, data: bytes) -> Frame:
        """What an Ethernet frame carries."""
        packet = data[ETHERNET_BYTES:]
        is_ipv6 = data[12:ETHERNET_BYTES] == _ETHERTYPE_IPV6 and len(packet) >= IPV6_BYTES
        if not is_ipv6:
            return cls(None, length=len(packet))
        destination = int.from_bytes(packet[DESTINATION:IPV6_BYTES], "big")
        if packet[NEXT_HEADER] != NEXT_ROUTING or len(packet) < IPV6_BYTES + FIXED_BYTES:
            return cls(destination, length=len(packet))
        start = IPV6_BYTES + FIXED_BYTES
        fixed, rest = packet[IPV6_BYTES:start], packet[start:]
        count = min(fixed[1] // 2, len(rest) // ENTRY_BYTES) if fixed[2] == ROUTING_TYPE else 0
        parts = (rest[ENTRY_BYTES * i : ENTRY_BYTES * (i + 1)] for i in range(count))
        entries = tuple(int.from_bytes(part, "big") for part in parts)
        return cls(destination, fixed, entries, len(packet))

    @classmethod
    def made(cls, headers: Sequence[Mapping[str, Any]], widths: Widths) -> Frame:
        """What a switch made and sent to nobody but itself, from the headers that it wrote (steps
        of a trace). It has never been on a wire."""
        whole = cls.of(b"".join(_bytes(step, widths) for step in headers))
        return cls(whole.destination, whole.fixed, whole.entries)

    @property
    def has_tree(self) -> bool:
        """Whether it has a routing header of the profile's type."""
        return bool(self.fixed) and self.fixed[2] == ROUTING_TYPE

    @property
    def segments_left(self) -> int:
        return self.fixed[3]

    @property
    def header_length(self) -> int:
        """Bytes of the routing header, as it says itself; 0 without one."""
        return FIXED_BYTES + 8 * self.fixed[1] if self.fixed else 0

    @property
    def sid(self) -> Sid | None:
        """The destination in parts; None if it is no SID."""
        return sid_of(self.destination or 0)

    @property
    def has_bit_string(self) -> bool:
        """Whether its entry is the BitString of BE. At a leaf the address does not say so: there it
        is what stands alone and cannot be a SID."""
        if self.sid is None or not self.entries:
            return False
        if self.sid.function == END_DT6:
            return (
                len(self.entries) == 1 and self.entries[0] != 0 and sid_of(self.entries[0]) is None
            )
        return self.sid.function == END_RGB

    @property
    def bit_string(self) -> int:
        """The BitString; 0 if there is none."""
        return self.entries[0] if self.has_bit_string else 0

    def is_same(self, other: Frame) -> bool:
        """Whether both say the same, on whatever wire they were."""
        return (self.destination, self.fixed, self.entries) == (
            other.destination,
            other.fixed,
            other.entries,
        )


def sid_of(number: int) -> Sid | None:
    """The parts of a SID; None for any other address."""
    sid = Sid.parse(number)
    return sid if sid.locator == LOCATOR else None


def _bytes(step: Mapping[str, Any], widths: Widths) -> bytes:
    """A header as bytes, from the values of its fields; empty if one of them is not a number."""
    value, bits = 0, 0
    for name, text in step["fields"].items():
        width = widths.of(step, name)
        try:
            value = value << width | int(text, 0)
        except ValueError:  # a field of variable length, which no header of the profile has
            return b""
        bits += width
    return value.to_bytes((bits + 7) // 8, "big")
