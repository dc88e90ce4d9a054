"""What an encoder makes of a tree: the routing header of one packet, and where the packet starts.

The header is laid out like that of RFC 8754, with routing type 253. This encoding is p4lab's own
profile, not an IETF format.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from p4lab.model.control import NumberError
from p4lab.systems.msr6.sids import Sid
from p4lab.systems.msr6.tree import Node

ROUTING_TYPE = 253
"""For experiments (RFC 4727): MSR6 has no number of its own"""
NEXT_IPV6 = 41
FIXED_BYTES = 8
ENTRY_BYTES = 16
MOST_ENTRIES = 127
"""HdrExtLen has eight bits and counts two for an entry"""


@dataclass(frozen=True)
class Encoded:
    """One packet of a tree.

    `destination` is the root's own SID, which is not in the list. `entries` begins with index 0,
    as on the wire: 128-bit numbers. `receivers` are the names of those whom the packet reaches.
    """

    destination: Sid
    entries: tuple[int, ...]
    segments_left: int
    receivers: tuple[Node, ...]

    def __post_init__(self) -> None:
        check(len(self.entries))

    @property
    def last_entry(self) -> int:
        """The highest index of the list."""
        return len(self.entries) - 1

    @property
    def header_length(self) -> int:
        """Bytes of the routing header."""
        return header_length(len(self.entries))

    def header(self, next_header: int = NEXT_IPV6) -> bytes:
        """The routing header: FIXED_BYTES and ENTRY_BYTES for each entry."""
        fixed = struct.pack(
            "!BBBBBBH",
            next_header,
            self.header_length // 8 - 1,
            ROUTING_TYPE,
            self.segments_left,
            self.last_entry,
            0,
            0,
        )
        return fixed + b"".join(entry.to_bytes(ENTRY_BYTES, "big") for entry in self.entries)


def check(entries: int) -> None:
    """Raises NumberError if no routing header has so many entries."""
    if not 1 <= entries <= MOST_ENTRIES:
        raise NumberError(
            f"a routing header has 1 to {MOST_ENTRIES} entries, and this tree needs {entries}: "
            "split it"
        )


def header_length(entries: int) -> int:
    """Bytes of a routing header with so many entries: 8 + 16 x entries."""
    return FIXED_BYTES + ENTRY_BYTES * entries
