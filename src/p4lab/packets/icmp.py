"""What a router says when a packet is too long for the next link: ICMP and ICMPv6, built by hand.

`fragmentation_needed` is RFC 792 with the next-hop MTU of RFC 1191, `packet_too_big` RFC 4443,
section 3.2. Both give nothing for packets that must not be answered.
"""

from __future__ import annotations

import struct
from ipaddress import IPv4Address, IPv6Address

from p4lab.packets.ip import PROTOCOL_ICMP, PROTOCOL_ICMPV6, checksum, ipv4, ipv6

UNREACHABLE, FRAGMENTATION_NEEDED = 3, 4
PACKET_TOO_BIG = 2
# The types of ICMP that are no errors: all others may be (RFC 1122, section 3.2.2).
QUERIES = {bytes([number]) for number in (0, 8, 9, 10, 13, 14, 15, 16, 17, 18)}
FIRST_INFORMATION = 128  # of ICMPv6: those below are errors
MOST_V4 = 576 - 20 - 8  # bytes of the packet that are quoted (RFC 1812, section 4.3.2.3)
MOST_V6 = 1280 - 40 - 8  # RFC 4443, section 2.4 (c)


def fragmentation_needed(router: IPv4Address, packet: bytes, mtu: int) -> bytes | None:
    """The IPv4 packet by which `router` tells the sender of another (a whole header at least) that
    at most `mtu` bytes fit; None if it must not be answered (RFC 1812, section 4.3.2.7)."""
    source, destination = IPv4Address(packet[12:16]), IPv4Address(packet[16:20])
    header = 4 * (packet[0] & 0xF)
    is_later_fragment = int.from_bytes(packet[6:8], "big") & 0x1FFF
    is_error = packet[9] == PROTOCOL_ICMP and packet[header : header + 1] not in QUERIES
    if is_later_fragment or is_error or destination.is_multicast or not _is_one_v4(source):
        return None
    quoted = packet[:MOST_V4]
    body = struct.pack("!BBHHH", UNREACHABLE, FRAGMENTATION_NEEDED, 0, 0, mtu) + quoted
    body = body[:2] + checksum(body).to_bytes(2, "big") + body[4:]
    return ipv4(router, source, PROTOCOL_ICMP, body)


def packet_too_big(router: IPv6Address, packet: bytes, mtu: int) -> bytes | None:
    """The same of IPv6. Packets to groups are answered, too (RFC 4443, section 2.4 (e))."""
    source = IPv6Address(packet[8:24])
    is_error = packet[6] == PROTOCOL_ICMPV6 and packet[40:41] < bytes([FIRST_INFORMATION])
    if is_error or source.is_multicast or source.is_unspecified:
        return None
    quoted = packet[:MOST_V6]
    body = struct.pack("!BBHI", PACKET_TOO_BIG, 0, 0, mtu) + quoted
    pseudo = router.packed + source.packed + struct.pack("!II", len(body), PROTOCOL_ICMPV6)
    body = body[:2] + checksum(pseudo + body).to_bytes(2, "big") + body[4:]
    return ipv6(router, source, PROTOCOL_ICMPV6, body)


def _is_one_v4(source: IPv4Address) -> bool:
    """Whether the address is that of one host, to which one can answer."""
    number = int(source)
    is_limited_broadcast = number == 0xFFFFFFFF
    return not (
        source.is_multicast or source.is_loopback or number >> 24 == 0 or is_limited_broadcast
    )
