"""Reading what the virtual network captures: pcapng with one kind of timestamp, nanoseconds."""

from __future__ import annotations

import struct
from collections.abc import Iterator

_BLOCK = struct.Struct("<II")
_PACKET = struct.Struct("<IIIII")
ENHANCED_PACKET = 6


def frames(capture: bytes) -> Iterator[tuple[int, bytes]]:
    """Time in nanoseconds and bytes of every frame in whole blocks of a capture, in order."""
    at = 0
    while at < len(capture):
        kind, length = _BLOCK.unpack_from(capture, at)
        if kind == ENHANCED_PACKET:
            _, high, low, size, _ = _PACKET.unpack_from(capture, at + _BLOCK.size)
            start = at + _BLOCK.size + _PACKET.size
            yield high << 32 | low, capture[start : start + size]
        at += length
