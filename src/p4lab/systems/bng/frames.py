"""What stands around packets at the gateway: labels and tags of a line, labels of the core."""

from __future__ import annotations

import struct
from ipaddress import IPv4Address
from typing import NamedTuple

from p4lab.systems.bng.entries import Access, Line, Route

MPLS, QINQ, VLAN = 0x8847, 0x88A8, 0x8100
ARP = 0x0806
TAGS = (b"\x81\x00", b"\x88\xa8")
BOTTOM = 0x100
LABEL_TTL = 64
LABELS_END = 22
"""Where the inner Ethernet header begins: an Ethernet header and two labels"""
REQUEST, REPLY = 1, 2


class Inner(NamedTuple):
    """A subscriber's frame without what surrounds it; `service_vid` is 0 without such a tag."""

    destination: bytes
    source: bytes
    service_vid: int
    ethertype: int
    packet: bytes


def inner(frame: bytes, line: Line) -> Inner | None:
    """A frame as it came in from a line; None if it is cut off."""
    start = LABELS_END if line.label0 else 0
    at, tags = start + 12, 0
    service_vid = 0
    while frame[at : at + 2] in TAGS and tags < 2:
        tags += 1
        if tags == 2 and line.label0:
            service_vid = int.from_bytes(frame[at + 2 : at + 4], "big") & 0xFFF
        at += 4
    if at + 2 > len(frame):
        return None
    ethertype = int.from_bytes(frame[at : at + 2], "big")
    return Inner(
        frame[start : start + 6],
        frame[start + 6 : start + 12],
        service_vid,
        ethertype,
        frame[at + 2 :],
    )


def overhead(line: Line, service_vid: int) -> int:
    """Bytes in front of the IP packet of a subscriber's frame, PPPoE and PPP (8) included."""
    if line.label0:
        return LABELS_END + 14 + 4 + 4 * (service_vid != 0) + 8
    return 14 + 4 + 4 * (line.inner_vid != 0) + 8


class Wrapping:
    """What surrounds all frames to a line and service; `port` is where they leave."""

    __slots__ = ("_front", "_middle", "port")

    def __init__(self, line: Line, access: Access, service_vid: int) -> None:
        self.port = line.port
        own, front = access.mac.to_bytes(6, "big"), b""
        if line.label0:
            front = access.peer.to_bytes(6, "big") + own + struct.pack("!H", MPLS)
            front += labels(line.label0, line.label1)
            tags = struct.pack("!HH", VLAN, line.outer_vid)
            inner_vid = service_vid
        else:
            tags = struct.pack("!HH", QINQ, line.outer_vid)
            inner_vid = line.inner_vid
        if inner_vid:
            tags += struct.pack("!HH", VLAN, inner_vid)
        self._front, self._middle = front, own + tags

    def frame(self, mac: bytes, ethertype: int, packet: bytes) -> bytes:
        """A frame to the subscriber with this MAC address."""
        return b"".join((self._front, mac, self._middle, ethertype.to_bytes(2, "big"), packet))


def labels(first: int, second: int) -> bytes:
    """A stack of two labels, as the data plane has it; the second may be 0, explicit null."""
    return struct.pack("!II", first << 12 | LABEL_TTL, second << 12 | BOTTOM | LABEL_TTL)


def core_packet(frame: bytes) -> bytes:
    """The IP packet in a frame from the core; nothing if there is none."""
    at = 14
    if frame[12:14] == b"\x88\x47":
        while at + 4 <= len(frame):
            at += 4
            if frame[at - 2] & 1:
                break
    return frame[at:]


def core_frame(route: Route, mac: int, packet: bytes) -> bytes:
    """A frame with an IP packet by a route; `mac` is our own address there."""
    addresses = route.peer.to_bytes(6, "big") + mac.to_bytes(6, "big")
    if route.label0:
        stack = labels(route.label0, route.label1)
        return addresses + struct.pack("!H", MPLS) + stack + packet
    version = 0x86DD if packet[0] >> 4 == 6 else 0x0800
    return addresses + struct.pack("!H", version) + packet


def arp_reply(frame: bytes, own: IPv4Address, mac: int) -> bytes | None:
    """The answer to an ARP request for our address (RFC 826), else None."""
    head = struct.pack("!HHBBH", 1, 0x0800, 6, 4, REQUEST)
    if len(frame) < 42 or frame[14:22] != head or frame[38:42] != own.packed:
        return None
    address, asker = mac.to_bytes(6, "big"), frame[22:32]
    head = head[:6] + struct.pack("!H", REPLY)
    return asker[:6] + address + struct.pack("!H", ARP) + head + address + own.packed + asker
