"""What surrounds a subscriber's frames between its line and the gateway.

    labels:  Ethernet 0x8847 | label | label, S=1 | Ethernet | tags | EtherType | packet
    tags:    Ethernet | tags | EtherType | packet

A line without labels and tags is the cable at the subscriber itself.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

VLAN = 0x8100
SERVICE_VLAN = 0x88A8
MPLS = 0x8847
BOTTOM = 0x100
"""The S bit of a label's 32 bits (RFC 3032)"""
LABEL_TTL = 64
MOST_LABELS = 8
MOST_TAGS = 4

_LABEL = struct.Struct("!I")
_TAG = struct.Struct("!HH")


class Inner(NamedTuple):
    """A subscriber's frame, and the numbers of what surrounded it, from the outside in."""

    labels: tuple[int, ...]
    vlans: tuple[int, ...]
    destination: bytes
    source: bytes
    ethertype: int
    packet: bytes


class Line:
    """One line; MAC addresses are 6 bytes.

    `tags` are EtherType and VLAN number from the outside in; `labels` MPLS labels, and `outer` the
    destination and source of the frame that carries them.
    """

    __slots__ = ("_front", "_tags", "labels", "outer", "tags", "vlans")

    def __init__(
        self,
        tags: tuple[tuple[int, int], ...] = (),
        labels: tuple[int, ...] = (),
        outer: tuple[bytes, bytes] = (bytes(6), bytes(6)),
    ) -> None:
        self.tags, self.labels, self.outer = tags, labels, outer
        self.vlans = tuple(number for _, number in tags)
        self._tags = b"".join([_TAG.pack(kind, number) for kind, number in tags])
        self._front = b"".join((*outer, MPLS.to_bytes(2, "big"), stack(labels))) if labels else b""

    def frame(self, destination: bytes, source: bytes, ethertype: int, packet: bytes) -> bytes:
        """A frame as it reaches the gateway, or the subscriber's line."""
        return b"".join(
            (
                self._front,
                destination,
                source,
                self._tags,
                ethertype.to_bytes(2, "big"),
                packet,
            )
        )

    def carries(self, inner: Inner) -> bool:
        """Whether a frame had the labels and VLAN numbers of this line, and no others."""
        return inner.vlans == self.vlans and inner.labels == self.labels


def stack(labels: tuple[int, ...]) -> bytes:
    """Labels from the outside in, at least one, as they follow an Ethernet header."""
    above = [_LABEL.pack(label << 12 | LABEL_TTL) for label in labels[:-1]]
    return b"".join((*above, _LABEL.pack(labels[-1] << 12 | BOTTOM | LABEL_TTL)))


def inner_of(frame: bytes) -> Inner | None:
    """A frame without labels and tags, whatever line it is from; None if it is cut off."""
    labels: tuple[int, ...] = ()
    start, end = 0, len(frame)
    if frame[12:14] == b"\x88\x47":
        start = 14
        while start + 4 <= end and len(labels) < MOST_LABELS:
            (entry,) = _LABEL.unpack_from(frame, start)
            labels += (entry >> 12,)
            start += 4
            if entry & BOTTOM:
                break
    at = start + 12
    vlans: tuple[int, ...] = ()
    while at + 4 <= end and len(vlans) < MOST_TAGS:
        kind, number = _TAG.unpack_from(frame, at)
        if kind not in (VLAN, SERVICE_VLAN):
            break
        vlans += (number & 0xFFF,)
        at += 4
    if at + 2 > end:
        return None
    ethertype = frame[at] << 8 | frame[at + 1]
    destination, source = frame[start : start + 6], frame[start + 6 : start + 12]
    return Inner(labels, vlans, destination, source, ethertype, frame[at + 2 :])
