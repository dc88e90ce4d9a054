"""What the PTI tells the sender of a packet that is too long for a connection's paths.

Nobody may fragment in a tunnel, and the headers of the tunnel take 28 bytes. So a host that sends
packets of 1500 bytes has to learn that 1472 fit (path MTU discovery, RFC 1191 and RFC 8201).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address

from p4lab.packets.icmp import fragmentation_needed, packet_too_big
from p4lab.packets.ip import ETHERTYPE_IPV4, ETHERTYPE_IPV6, ethernet
from p4lab.systems.protect.connections import PORTED, TUNNEL_BYTES, Flow, Prefix
from p4lab.systems.protect.entries import Placed
from p4lab.topology import Router

PER_SECOND = 100  # answers of one router at most
BURST = 10


@dataclass(frozen=True)
class Packet:
    """What flows are told apart by; ports are 0 where there are none."""

    source: int
    destination: int
    version: int
    protocol: int
    src_port: int
    dst_port: int

    @classmethod
    def of(cls, packet: bytes) -> Packet | None:
        """Of a packet of IPv4 or IPv6; None if its header is cut short."""
        version = packet[0] >> 4 if packet else 0
        if version == 4 and len(packet) >= 20:
            header, protocol = 4 * (packet[0] & 0xF), packet[9]
            first = not int.from_bytes(packet[6:8], "big") & 0x1FFF
            addresses = packet[12:16], packet[16:20]
        elif version == 6 and len(packet) >= 40:
            header, protocol, first = 40, packet[6], True
            addresses = packet[8:24], packet[24:40]
        else:
            return None
        ports = packet[header : header + 4] if first and protocol in PORTED else bytes(4)
        source, destination = (int.from_bytes(each, "big") for each in addresses)
        src_port, dst_port = (int.from_bytes(each, "big") for each in (ports[:2], ports[2:]))
        return cls(source, destination, version, protocol, src_port, dst_port)

    def is_of(self, flow: Flow) -> bool:
        """Whether it belongs to a flow."""
        wanted = (flow.protocol, flow.src_port, flow.dst_port)
        mine = (self.protocol, self.src_port, self.dst_port)
        return (
            self.version in flow.versions
            and _in(flow.src, self.source)
            and _in(flow.dst, self.destination)
            and all(want in (None, have) for want, have in zip(wanted, mine, strict=True))
        )


def _in(prefix: Prefix | None, address: int) -> bool:
    return prefix is None or address & int(prefix.netmask) == int(prefix.network_address)


def protecting(packet: Packet, router: str, placed: Iterable[Placed]) -> Placed | None:
    """The connection that begins at a router and takes the packet: the oldest that has a flow for
    it."""
    found = [
        one
        for one in placed
        if one.connection.ingress == router
        and any(packet.is_of(flow) for flow in one.connection.flows)
    ]
    return max(found, key=lambda one: one.priority, default=None)


def too_long(router: Router, port: int, frame: bytes, placed: Iterable[Placed]) -> bytes | str:
    """The frame that answers one that was too long and came by `port`; or, in words to count, why
    there is none."""
    packet = frame[14:]
    seen = Packet.of(packet)
    if seen is None:
        return "not an IP packet"
    taking = protecting(seen, router.name, placed)
    if taking is None:
        return "not expected"
    mtu = taking.connection.mtu - TUNNEL_BYTES
    if seen.version == 4:
        answer, ether_type = fragmentation_needed(router.address, packet, mtu), ETHERTYPE_IPV4
    else:
        answer, ether_type = packet_too_big(router.address6, packet, mtu), ETHERTYPE_IPV6
    if answer is None:
        return f"too long, and {ip_address(seen.source)} must not be answered"
    sender = int.from_bytes(frame[6:12], "big")
    return ethernet(sender, router.mac(port), ether_type, answer)
