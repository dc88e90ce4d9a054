"""Router advertisements and solicitations on a PPP link (RFC 4861, RFC 4862; DNS: RFC 8106)."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from ipaddress import IPv6Address
from typing import NamedTuple

from p4lab.packets.ip import IPV6_BYTES, PROTOCOL_ICMPV6, checksum_v6, ipv6
from p4lab.systems.bng.entries import Net

SOLICITATION, ADVERTISEMENT = 133, 134
PREFIX_INFORMATION, MTU, DNS_SERVERS = 3, 5, 25
ALL_NODES = IPv6Address("ff02::1")
ALL_ROUTERS = IPv6Address("ff02::2")
HOPS = 255
"""No router has touched the packet"""
MANAGED, OTHER = 0x80, 0x40
AUTONOMOUS = 0x40
"""The subscriber makes its addresses itself. The prefix is not "on link": PPP has two ends"""

LIFETIME = 1800
VALID, PREFERRED = 86400, 14400
"""Seconds"""


def link_local(interface_id: int) -> IPv6Address:
    """The address of an end of a PPP link."""
    return IPv6Address(0xFE80 << 112 | interface_id)


class Advertisement(NamedTuple):
    """What a router says: is there DHCPv6 for addresses (`managed`), or for the rest (`other`, and
    so prefixes); the prefix of the link."""

    managed: bool
    other: bool
    prefix: Net | None
    mtu: int
    dns: tuple[int, ...] = ()


def advertisement(own_id: int, wanted: Advertisement) -> bytes:
    """The IPv6 packet from the gateway's end of a link to all nodes."""
    flags = MANAGED * wanted.managed | OTHER * wanted.other
    body = struct.pack("!BBHBBHII", ADVERTISEMENT, 0, 0, 64, flags, LIFETIME, 0, 0)
    body += struct.pack("!BBHI", MTU, 1, 0, wanted.mtu)
    if wanted.prefix is not None:
        body += struct.pack(
            "!BBBBIII", PREFIX_INFORMATION, 4, wanted.prefix.length, AUTONOMOUS, VALID, PREFERRED, 0
        )
        body += wanted.prefix.address.to_bytes(16, "big")
    if wanted.dns:
        body += struct.pack("!BBHI", DNS_SERVERS, 1 + 2 * len(wanted.dns), 0, LIFETIME)
        body += b"".join(server.to_bytes(16, "big") for server in wanted.dns)
    return _icmp(link_local(own_id), ALL_NODES, body)


def solicitation(own_id: int) -> bytes:
    """The IPv6 packet by which a subscriber asks for an advertisement."""
    return _icmp(link_local(own_id), ALL_ROUTERS, struct.pack("!BBHI", SOLICITATION, 0, 0, 0))


def is_solicitation(packet: bytes) -> bool:
    """Whether an IPv6 packet is a good router solicitation (RFC 4861, section 6.1.1)."""
    return _body(packet, SOLICITATION, 8) is not None


def advertisement_of(packet: bytes) -> Advertisement | None:
    """What a good router advertisement says (RFC 4861, section 6.1.2)."""
    body = _body(packet, ADVERTISEMENT, 16)
    if body is None or packet[8:10] != b"\xfe\x80":
        return None
    prefix, mtu = None, 0
    dns: tuple[int, ...] = ()
    for kind, option in options(body[16:]):
        if kind == PREFIX_INFORMATION and len(option) == 32 and option[3] & AUTONOMOUS:
            prefix = Net(6, int.from_bytes(option[16:], "big"), option[2])
        elif kind == MTU and len(option) == 8:
            mtu = int.from_bytes(option[4:], "big")
        elif kind == DNS_SERVERS:
            dns += tuple(
                int.from_bytes(option[at : at + 16], "big") for at in range(8, len(option), 16)
            )
    return Advertisement(bool(body[5] & MANAGED), bool(body[5] & OTHER), prefix, mtu, dns)


def options(body: bytes) -> Iterable[tuple[int, bytes]]:
    """The options of neighbour discovery: type, and the whole option. A length of 0 ends them."""
    at = 0
    while at + 2 <= len(body) and body[at + 1]:
        end = at + 8 * body[at + 1]
        if end > len(body):
            return
        yield body[at], body[at:end]
        at = end


def _icmp(source: IPv6Address, destination: IPv6Address, body: bytes) -> bytes:
    check = checksum_v6(source, destination, PROTOCOL_ICMPV6, body)
    body = body[:2] + check.to_bytes(2, "big") + body[4:]
    return ipv6(source, destination, PROTOCOL_ICMPV6, body, hops=HOPS)


def _body(packet: bytes, kind: int, least: int) -> bytes | None:
    """The ICMPv6 message of a type in a packet that no router has forwarded."""
    if len(packet) < IPV6_BYTES + least or packet[6] != PROTOCOL_ICMPV6 or packet[7] != HOPS:
        return None
    body = packet[IPV6_BYTES : IPV6_BYTES + int.from_bytes(packet[4:6], "big")]
    if len(body) < least or body[0] != kind or body[1] != 0:
        return None
    source, destination = IPv6Address(packet[8:24]), IPv6Address(packet[24:40])
    return None if checksum_v6(source, destination, PROTOCOL_ICMPV6, body) else body
