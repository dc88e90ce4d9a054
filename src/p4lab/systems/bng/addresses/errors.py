"""What a router answers to packets that it cannot forward, rate-limited per subscriber.

IPv4: RFC 792 and RFC 1191; IPv6: RFC 4443. `p4lab.packets.icmp` builds them, but for IPv4's "time
exceeded", which is here.
"""

from __future__ import annotations

import struct
from ipaddress import IPv4Address, IPv6Address

from p4lab.packets.icmp import (
    MOST_V4,
    QUERIES,
    fragmentation_needed,
    packet_too_big,
    time_exceeded,
)
from p4lab.packets.ip import PROTOCOL_ICMP, checksum, ipv4

TIME_EXCEEDED_V4, IN_TRANSIT = 11, 0
LEAST_V4, LEAST_V6 = 20, 40
DONT_FRAGMENT = 0x40


def expired(own4: IPv4Address, own6: IPv6Address, packet: bytes) -> bytes | None:
    """The answer to a packet whose TTL or hop limit has run out; None if none is allowed."""
    if packet[:1] and packet[0] >> 4 == 6:
        return time_exceeded(own6, packet)
    if not is_whole_v4(packet) or not _may_be_answered(packet):
        return None
    body = struct.pack("!BBHI", TIME_EXCEEDED_V4, IN_TRANSIT, 0, 0) + packet[:MOST_V4]
    body = body[:2] + checksum(body).to_bytes(2, "big") + body[4:]
    return ipv4(own4, IPv4Address(packet[12:16]), PROTOCOL_ICMP, body)


def too_long(own4: IPv4Address, own6: IPv6Address, packet: bytes, mtu: int) -> bytes | None:
    """The answer to a packet of which only `mtu` bytes may go on. IPv4 without DF gets none: it
    would have to be fragmented (see `fragments`)."""
    if packet[:1] and packet[0] >> 4 == 6:
        return packet_too_big(own6, packet, mtu)
    if not is_whole_v4(packet) or not packet[6] & DONT_FRAGMENT:
        return None
    return fragmentation_needed(own4, packet, mtu)


def fragments(packet: bytes, mtu: int) -> list[bytes]:
    """An IPv4 packet without DF in pieces of at most `mtu` bytes (RFC 791, section 3.2). Options
    go with the first one only. Nothing for a packet with DF, or one that is cut off."""
    if not is_whole_v4(packet) or packet[6] & DONT_FRAGMENT:
        return []
    header, length = 4 * (packet[0] & 0xF), int.from_bytes(packet[2:4], "big")
    flags = int.from_bytes(packet[6:8], "big")
    first, more = flags & 0x1FFF, flags & 0x2000
    body, at, found = packet[header:length], 0, []
    while at < len(body):
        front = packet[:header] if at == 0 else bytes((0x45,)) + packet[1:20]
        room = (mtu - len(front)) // 8 * 8
        if room < 8:
            return []
        piece = body[at : at + room]
        last = at + room >= len(body)
        word = (0 if last and not more else 0x2000) | first + at // 8
        front = front[:2] + struct.pack("!H", len(front) + len(piece)) + front[4:6]
        rest = packet[8:10] + bytes(2) + packet[12 : header if at == 0 else 20]
        front += struct.pack("!H", word) + rest
        found.append(front[:10] + checksum(front).to_bytes(2, "big") + front[12:] + piece)
        at += room
    return found


def is_whole_v4(packet: bytes) -> bool:
    """Whether there is an IPv4 packet, as long as it says."""
    if len(packet) < LEAST_V4 or packet[0] >> 4 != 4:
        return False
    header, length = 4 * (packet[0] & 0xF), int.from_bytes(packet[2:4], "big")
    return LEAST_V4 <= header <= length <= len(packet)


def _may_be_answered(packet: bytes) -> bool:
    """RFC 1812, section 4.3.2.7: no errors about errors, later fragments and packets to or from
    more than one."""
    source, destination = IPv4Address(packet[12:16]), IPv4Address(packet[16:20])
    header = 4 * (packet[0] & 0xF)
    is_error = packet[9] == PROTOCOL_ICMP and packet[header : header + 1] not in QUERIES
    is_later = int.from_bytes(packet[6:8], "big") & 0x1FFF
    is_one = not (source.is_multicast or source.is_loopback or int(source) in (0, 0xFFFFFFFF))
    return not (is_error or is_later or destination.is_multicast) and is_one
