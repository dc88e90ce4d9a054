"""The probe: a numbered frame that can be counted without knowing what surrounds it.

A probe ends in 24 bytes: magic, flow, sequence and sender. It is never shorter than 64 bytes,
so nobody pads it, and the trailer is at the very end of the frame whatever is in front.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import TYPE_CHECKING

from p4lab.packets.ip import ETHERTYPE_IPV4, PROTOCOL_UDP, ethernet, ipv4, multicast_mac, udp

if TYPE_CHECKING:
    from p4lab.topology import Host

MAGIC = b"P4LABPRB"
UDP_PORT = 5004
MIN_LENGTH = 14 + 20 + 8 + 24
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
    address: IPv4Address | int,
    flow: int,
    sequence: int,
    *,
    length: int = 100,
    ttl: int = 64,
) -> bytes:
    """A probe as `host` sends it to `address`, a group or (by its router) another host; `length`
    bytes without FCS.

    Raises ValueError if the length is not from 66 to 1514.
    """
    if not MIN_LENGTH <= length <= MAX_LENGTH:
        raise ValueError(f"a probe has {MIN_LENGTH} to {MAX_LENGTH} bytes, not {length}")
    destination = IPv4Address(address)
    payload = bytes(length - MIN_LENGTH) + Probe(flow, sequence, host.id).trailer()
    datagram = udp(host.ip, destination, (UDP_PORT, UDP_PORT), payload)
    packet = ipv4(host.ip, destination, PROTOCOL_UDP, datagram, ttl=ttl)
    mac = multicast_mac(destination) if destination.is_multicast else host.gateway_mac
    return ethernet(mac, host.mac, ETHERTYPE_IPV4, packet)
