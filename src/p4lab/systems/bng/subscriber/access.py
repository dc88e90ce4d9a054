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
TAGS = (VLAN, SERVICE_VLAN)
MPLS = 0x8847
BOTTOM = 0x100
"""The S bit of a label's 32 bits (RFC 3032)"""
MOST_LABELS = 8
MOST_TAGS = 4


class Inner(NamedTuple):
    """A subscriber's frame without what surrounds it."""

    destination: bytes
    source: bytes
    ethertype: int
    packet: bytes


class Line:
    """One line; MAC addresses are 6 bytes.

    `tags` are EtherType and VLAN number from the outside in; `labels` MPLS labels, and `outer` the
    gateway's and the access node's address of the frame that carries them.
    """

    __slots__ = ("_front", "_tags", "labels", "outer", "tags")

    def __init__(
        self,
        tags: tuple[tuple[int, int], ...] = (),
        labels: tuple[int, ...] = (),
        outer: tuple[bytes, bytes] = (bytes(6), bytes(6)),
    ) -> None:
        self.tags, self.labels, self.outer = tags, labels, outer
        self._tags = b"".join([struct.pack("!HH", kind, number) for kind, number in tags])
        stack = [struct.pack("!I", label << 12 | 64) for label in labels]
        if stack:
            stack[-1] = struct.pack("!I", labels[-1] << 12 | BOTTOM | 64)
            stack.insert(0, outer[0] + outer[1] + MPLS.to_bytes(2, "big"))
        self._front = b"".join(stack)

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

    def carries(self, frame: bytes) -> bool:
        """Whether a frame has the labels and VLAN numbers of this line, and no others."""
        labels, at = _labels(frame)
        return labels == self.labels and _vlans(frame, at) == tuple(vid for _, vid in self.tags)


def _labels(frame: bytes) -> tuple[tuple[int, ...], int]:
    """The labels of a frame, and where the Ethernet header begins that belongs to its packet."""
    labels: list[int] = []
    at = 14
    if frame[12:14] != b"\x88\x47":
        return (), 0
    while at + 4 <= len(frame) and len(labels) < MOST_LABELS:
        entry = int.from_bytes(frame[at : at + 4], "big")
        labels.append(entry >> 12)
        at += 4
        if entry & BOTTOM:
            break
    return tuple(labels), at


def _vlans(frame: bytes, at: int) -> tuple[int, ...]:
    """The VLAN numbers of the Ethernet header at `at`."""
    numbers: list[int] = []
    at += 12
    while (
        at + 4 <= len(frame)
        and len(numbers) < MOST_TAGS
        and int.from_bytes(frame[at : at + 2], "big") in TAGS
    ):
        numbers.append(int.from_bytes(frame[at + 2 : at + 4], "big") & 0xFFF)
        at += 4
    return tuple(numbers)


def inner_of(frame: bytes) -> Inner | None:
    """A frame without labels and tags, whatever line it is from; None if it is cut off."""
    _, start = _labels(frame)
    at = start + 12 + 4 * len(_vlans(frame, start))
    if at + 2 > len(frame):
        return None
    ethertype = int.from_bytes(frame[at : at + 2], "big")
    return Inner(
        frame[start : start + 6], frame[start + 6 : start + 12], ethertype, frame[at + 2 :]
    )
