"""The errors by which a router answers packets that it cannot forward, built by hand.

ICMP (IPv4) has `fragmentation_needed`: RFC 792 with the next-hop MTU of RFC 1191. ICMPv6 (RFC 4443)
has `packet_too_big`, `no_route`, `time_exceeded` and `parameter_problem`. All give nothing for
packets that must not be answered. Not seen here: whether the frame around a packet was sent to a
group, which forbids an answer, too. `control.limit` says how often a router may answer.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from ipaddress import IPv4Address, IPv6Address

from p4lab.packets.ip import (
    EXTENSIONS,
    IPV6_BYTES,
    PROTOCOL_FRAGMENT,
    PROTOCOL_ICMP,
    PROTOCOL_ICMPV6,
    checksum,
    checksum_v6,
    ipv4,
    ipv6,
)

UNREACHABLE, FRAGMENTATION_NEEDED = 3, 4
UNREACHABLE_V6, NO_ROUTE = 1, 0
PACKET_TOO_BIG = 2
TIME_EXCEEDED, HOP_LIMIT_EXCEEDED = 3, 0
PARAMETER_PROBLEM = 4
# The types of ICMP that are not errors: all others may be (RFC 1122, section 3.2.2).
QUERIES = {bytes([number]) for number in (0, 8, 9, 10, 13, 14, 15, 16, 17, 18)}
FIRST_INFORMATION = 128  # of ICMPv6: those below are errors
REDIRECT = bytes([137])  # no error, and not answered by one either
MOST_V4 = 576 - 20 - 8  # bytes of the packet that are quoted (RFC 1812, section 4.3.2.3)
MOST_V6 = 1280 - 40 - 8  # RFC 4443, section 2.4 (c)


class Problem(IntEnum):
    """What is wrong with a header: codes of ICMPv6's parameter problem that routers send."""

    ERRONEOUS_FIELD = 0
    UNRECOGNIZED_NEXT_HEADER = 1
    UNRECOGNIZED_OPTION = 2
    SR_UPPER_LAYER_HEADER = 4  # RFC 8754; RFC 8986, section 4.1.1
    EXTENSION_HEADER_TOO_BIG = 6  # RFC 8883: the pointer is at that header's first byte


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
    """The same of IPv6 (RFC 4443, section 3.2). Packets to groups are answered, too."""
    return _error_v6(router, packet, PACKET_TOO_BIG, 0, mtu, to_groups=True)


def no_route(router: IPv6Address, packet: bytes) -> bytes | None:
    """The IPv6 packet that says that `router` knows no way to the destination of another
    (RFC 4443, section 3.1)."""
    return _error_v6(router, packet, UNREACHABLE_V6, NO_ROUTE, 0)


def time_exceeded(router: IPv6Address, packet: bytes) -> bytes | None:
    """The IPv6 packet that says that the hop limit of another has run out (RFC 4443, 3.3)."""
    return _error_v6(router, packet, TIME_EXCEEDED, HOP_LIMIT_EXCEEDED, 0)


def parameter_problem(
    router: IPv6Address, packet: bytes, problem: Problem, pointer: int
) -> bytes | None:
    """The IPv6 packet that says what `router` cannot process in another (RFC 4443, section 3.4).

    `pointer` counts bytes from the first of the IPv6 header. It may point past what is quoted.
    """
    # An unknown option wants an answer whatever the destination if it begins with the bits 10.
    option = packet[pointer : pointer + 1] if problem == Problem.UNRECOGNIZED_OPTION else b""
    to_groups = bool(option) and option[0] >> 6 == 0b10
    return _error_v6(router, packet, PARAMETER_PROBLEM, problem, pointer, to_groups=to_groups)


def _error_v6(
    router: IPv6Address,
    packet: bytes,
    kind: int,
    code: int,
    word: int,
    *,
    to_groups: bool = False,
) -> bytes | None:
    """An ICMPv6 error about `packet`, with `word` in its second four bytes.

    None where RFC 4443, section 2.4 (e), forbids one, and for what has no whole header.
    """
    if len(packet) < IPV6_BYTES:
        return None
    source, destination = IPv6Address(packet[8:24]), IPv6Address(packet[24:40])
    if not _is_one_v6(source) or (destination.is_multicast and not to_groups):
        return None
    if _is_error_v6(packet):
        return None
    whole = packet[: IPV6_BYTES + int.from_bytes(packet[4:6], "big")]  # without Ethernet's padding
    body = struct.pack("!BBHI", kind, code, 0, word) + whole[:MOST_V6]
    check = checksum_v6(router, source, PROTOCOL_ICMPV6, body)
    return ipv6(router, source, PROTOCOL_ICMPV6, body[:2] + check.to_bytes(2, "big") + body[4:])


def _is_error_v6(packet: bytes) -> bool:
    """Whether an IPv6 packet is an ICMPv6 error or redirect, or may be one.

    That is so for an ICMPv6 message whose type is cut off or in another fragment.
    """
    protocol, at = packet[6], IPV6_BYTES
    while protocol in EXTENSIONS and at + 8 <= len(packet):
        fragment = protocol == PROTOCOL_FRAGMENT
        if fragment and int.from_bytes(packet[at + 2 : at + 4], "big") >> 3:
            return packet[at] == PROTOCOL_ICMPV6
        length = 8 if fragment else 8 + 8 * packet[at + 1]
        protocol, at = packet[at], at + length
    kind = packet[at : at + 1]
    return protocol == PROTOCOL_ICMPV6 and (kind < bytes([FIRST_INFORMATION]) or kind == REDIRECT)


def _is_one_v4(source: IPv4Address) -> bool:
    """Whether an address is that of one host, to which one can answer."""
    number = int(source)
    is_limited_broadcast = number == 0xFFFFFFFF
    return not (
        source.is_multicast or source.is_loopback or number >> 24 == 0 or is_limited_broadcast
    )


def _is_one_v6(source: IPv6Address) -> bool:
    """The same of IPv6; what comes from ::1 must not be on a link (RFC 4291, section 2.5.3)."""
    return not (source.is_multicast or source.is_unspecified or source.is_loopback)
