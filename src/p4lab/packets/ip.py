"""Ethernet, IPv4, IPv6 and UDP around a payload, without a packet library."""

from __future__ import annotations

import struct
from ipaddress import IPv4Address, IPv6Address

ETHERTYPE_IPV4 = 0x0800
ETHERTYPE_IPV6 = 0x86DD
ETHERTYPE_VLAN = 0x8100
PROTOCOL_HOP_BY_HOP = 0
PROTOCOL_ICMP = 1
PROTOCOL_IGMP = 2
PROTOCOL_TCP = 6
PROTOCOL_UDP = 17
PROTOCOL_IPV6 = 41
PROTOCOL_ROUTING = 43
PROTOCOL_FRAGMENT = 44
PROTOCOL_ICMPV6 = 58
PROTOCOL_DESTINATION_OPTIONS = 60
IPV6_BYTES = 40
EXTENSIONS = (
    PROTOCOL_HOP_BY_HOP,
    PROTOCOL_ROUTING,
    PROTOCOL_FRAGMENT,
    PROTOCOL_DESTINATION_OPTIONS,
)
"""Headers that may stand between that of IPv6 and what it carries"""
ROUTER_ALERT = bytes([0x94, 0x04, 0x00, 0x00])  # RFC 2113

_HEADER = struct.Struct("!BBHHHBBHII")


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071): 0 over data that holds a right checksum."""
    if len(data) % 2:
        data += b"\0"
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ipv4(
    source: IPv4Address,
    destination: IPv4Address,
    protocol: int,
    payload: bytes,
    *,
    ttl: int = 64,
    tos: int = 0,
    options: bytes = b"",
) -> bytes:
    """An IPv4 packet with its header checksum; `options` in whole 32-bit words (RFC 791)."""
    length = _HEADER.size + len(options)

    def header(check: int) -> bytes:
        return (
            _HEADER.pack(
                4 << 4 | length // 4,
                tos,
                length + len(payload),
                0,
                0,
                ttl,
                protocol,
                check,
                int(source),
                int(destination),
            )
            + options
        )

    return header(checksum(header(0))) + payload


def ipv6(
    source: IPv6Address, destination: IPv6Address, protocol: int, payload: bytes, *, hops: int = 64
) -> bytes:
    """An IPv6 packet without extension headers (RFC 8200); `hops` is its hop limit."""
    start = struct.pack("!IHBB", 6 << 28, len(payload), protocol, hops)
    return start + source.packed + destination.packed + payload


def payload_v6(packet: bytes) -> tuple[int, bytes]:
    """What an IPv6 packet (a whole header at least) carries after its extension headers, with its
    protocol. Of a packet that ends in the middle of them it is what is left, and an extension's
    number."""
    protocol, at = packet[6], IPV6_BYTES
    while protocol in EXTENSIONS and at + 8 <= len(packet):
        length = 8 if protocol == PROTOCOL_FRAGMENT else 8 + 8 * packet[at + 1]
        protocol, at = packet[at], at + length
    return protocol, packet[at:]


def udp(
    source: IPv4Address | IPv6Address,
    destination: IPv4Address | IPv6Address,
    ports: tuple[int, int],
    payload: bytes,
) -> bytes:
    """A UDP datagram with its checksum (RFC 768, for IPv6 RFC 8200, section 8.1); `ports` are
    source and destination port, the addresses of one version."""
    length = 8 + len(payload)
    # The pseudo-header of IPv4 has shorter fields than that of IPv6, and the same sum.
    pseudo = source.packed + destination.packed + struct.pack("!II", length, PROTOCOL_UDP)
    check = checksum(pseudo + struct.pack("!HHHH", *ports, length, 0) + payload)
    return struct.pack("!HHHH", *ports, length, check or 0xFFFF) + payload


def checksum_v6(
    source: IPv6Address, destination: IPv6Address, protocol: int, payload: bytes
) -> int:
    """The checksum over `payload` and IPv6's pseudo-header (RFC 8200, section 8.1).

    `payload` begins with the upper-layer header. 0 if it holds a right checksum already.
    """
    pseudo = source.packed + destination.packed + struct.pack("!II", len(payload), protocol)
    return checksum(pseudo + payload)


def link_local(mac: int) -> IPv6Address:
    """The IPv6 link-local address that belongs to a 48-bit MAC address (RFC 4291, appendix A)."""
    high, low = mac >> 24 ^ 0x020000, mac & 0xFFFFFF
    return IPv6Address(0xFE80 << 112 | high << 40 | 0xFFFE << 24 | low)


def multicast_mac(group: IPv4Address | IPv6Address) -> int:
    """The Ethernet address of a group.

    IPv4: 01-00-5E and its low 23 bits (RFC 1112, section 6.4). IPv6: 33-33 and its low 32 bits
    (RFC 2464, section 7).
    """
    if isinstance(group, IPv6Address):
        return 0x333300000000 | int(group) & 0xFFFFFFFF
    return 0x01005E000000 | int(group) & 0x7FFFFF


def ethernet(destination: int, source: int, ether_type: int, payload: bytes) -> bytes:
    """An Ethernet frame without FCS and padding; addresses are 48-bit numbers."""
    addresses = destination.to_bytes(6, "big") + source.to_bytes(6, "big")
    return addresses + ether_type.to_bytes(2, "big") + payload


def tagged(frame: bytes, vlan: int) -> bytes:
    """An Ethernet frame with the tag of a virtual network (IEEE 802.1Q), priority 0."""
    return frame[:12] + struct.pack("!HH", ETHERTYPE_VLAN, vlan) + frame[12:]
