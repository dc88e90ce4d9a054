"""What stands around packets at the gateway: labels and tags of a line, labels of the core."""

from __future__ import annotations

import struct
from ipaddress import IPv4Address
from typing import NamedTuple

from p4lab.systems.bng.entries import Access, Line, Route
from p4lab.systems.bng.subscriber import access

ARP = 0x0806
TAGS = (b"\x81\x00", b"\x88\xa8")
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


def cable(line: Line, outer: tuple[bytes, bytes], service_vid: int) -> access.Line:
    """What surrounds frames of a line and service, in either direction: `outer` are destination
    and source of the frame around the labels, if there are any."""
    if not line.label0:
        kinds = ((access.SERVICE_VLAN, line.outer_vid), (access.VLAN, line.inner_vid))
        return access.Line(kinds if line.inner_vid else kinds[:1])
    kinds = ((access.VLAN, line.outer_vid), (access.VLAN, service_vid))
    return access.Line(kinds if service_vid else kinds[:1], (line.label0, line.label1), outer)


class Wrapping:
    """What surrounds all frames to a line and service; `port` is where they leave."""

    __slots__ = ("_line", "_own", "port")

    def __init__(self, line: Line, interface: Access, service_vid: int) -> None:
        self.port, self._own = line.port, interface.mac.to_bytes(6, "big")
        outer = (interface.peer.to_bytes(6, "big"), self._own)
        self._line = cable(line, outer, service_vid)

    def frame(self, mac: bytes, ethertype: int, packet: bytes) -> bytes:
        """A frame to the subscriber with this MAC address."""
        return self._line.frame(mac, self._own, ethertype, packet)


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
        stack = access.stack((route.label0, route.label1))
        return addresses + access.MPLS.to_bytes(2, "big") + stack + packet
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
