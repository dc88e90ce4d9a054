"""The probe: a numbered frame that can be counted without knowing what surrounds it.

A probe ends in 24 bytes: magic, flow, sequence and sender. It is never shorter than 64 bytes,
so nobody pads it, and the trailer is at the very end of the frame whatever is in front.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING

from p4lab.packets.ip import (
    ETHERTYPE_IPV4,
    ETHERTYPE_IPV6,
    PROTOCOL_UDP,
    ethernet,
    ipv4,
    ipv6,
    multicast_mac,
    udp,
)

if TYPE_CHECKING:
    from p4lab.topology import Host

MAGIC = b"P4LABPRB"
UDP_PORT = 5004
MIN_LENGTHS = {4: 14 + 20 + 8 + 24, 6: 14 + 40 + 8 + 24}
"""Bytes of the shortest probe, by version of IP"""
MAX_LENGTH = 1514

_TRAILER = struct.Struct("!8sIQI")


@dataclass(frozen=True)
class Probe:
    """What a probe says about itself; `sender` is the host's `id`."""

    flow: int
    sequence: int
    sender: int

    @classmethod
    def of(cls, frame: bytes) -> Probe | None:
        """The probe that ends `frame`, or None."""
        if len(frame) < _TRAILER.size:
            return None
        magic, flow, sequence, sender = _TRAILER.unpack_from(frame, len(frame) - _TRAILER.size)
        return cls(flow, sequence, sender) if magic == MAGIC else None

    def trailer(self) -> bytes:
        """The 24 bytes at the end of the frame."""
        return _TRAILER.pack(MAGIC, self.flow, self.sequence, self.sender)


def probe_frame(
    host: Host,
    address: IPv4Address | IPv6Address | int,
    flow: int,
    sequence: int,
    *,
    length: int = 100,
    ttl: int = 64,
) -> bytes:
    """A probe as `host` sends it to `address`, a group or (by its router) another host; `length`
    bytes without FCS. `ttl` is the hop limit of IPv6.

    Raises ValueError if the length is not from 66, of IPv6 86, to 1514.
    """
    destination = ip_address(address)
    shortest = MIN_LENGTHS[destination.version]
    if not shortest <= length <= MAX_LENGTH:
        raise ValueError(f"a probe has {shortest} to {MAX_LENGTH} bytes, not {length}")
    payload = bytes(length - shortest) + Probe(flow, sequence, host.id).trailer()
    source, ports = host.ip_of(destination.version), (UDP_PORT, UDP_PORT)
    datagram = udp(source, destination, ports, payload)
    mac = multicast_mac(destination) if destination.is_multicast else host.gateway_mac
    if isinstance(destination, IPv6Address):
        packet = ipv6(host.ip6, destination, PROTOCOL_UDP, datagram, hops=ttl)
        return ethernet(mac, host.mac, ETHERTYPE_IPV6, packet)
    packet = ipv4(host.ip, destination, PROTOCOL_UDP, datagram, ttl=ttl)
    return ethernet(mac, host.mac, ETHERTYPE_IPV4, packet)
