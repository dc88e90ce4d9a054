"""A Linux host that is to be a leaf, what it is sent, and what becomes of that."""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence
from ipaddress import IPv6Address

from linux_stacks import Room, colons, echo_request
from p4lab.packets.ip import (
    ETHERTYPE_IPV6,
    PROTOCOL_ICMPV6,
    PROTOCOL_ROUTING,
    PROTOCOL_UDP,
    ethernet,
    ipv6,
    multicast_mac,
    udp,
)

PROTOCOL_IPV6 = 41
SRH = 4  # routing type of RFC 8754
PROFILE = 253  # that of p4lab's profile, and RFC 4727's for experiments

SID = IPv6Address("5f00::8001:600:0:0")
OTHER_SIDS = (IPv6Address("5f00::8002:600:0:0"), IPv6Address("5f00::8003:600:0:0"))
HOST = IPv6Address("fd00:0:0:1::1")
GATEWAY = IPv6Address("fd00:0:0:1::fe")
INGRESS = IPv6Address("fd00:0:0:2::fe")
SOURCE = IPv6Address("fd00:0:0:2::1")
GROUP = IPv6Address("ff3e::4:1")
HOST_MAC, GATEWAY_MAC = 0x020000000001, 0x020000000002
PORT = 5004
INNER_HOPS = 1
"""Hop limit of what is inside: a leaf that decremented it would have to drop the packet"""


def routing_header(
    kind: int,
    segments_left: int,
    next_header: int,
    entries: Sequence[IPv6Address] = OTHER_SIDS,
    *,
    last_entry: int | None = None,
    length: int | None = None,
) -> bytes:
    """A routing header with a list, as in RFC 8754, section 2, and in the profile; both fields that
    say how long the list is can be wrong."""
    last = len(entries) - 1 if last_entry is None else last_entry
    units = 2 * len(entries) if length is None else length
    start = bytes([next_header, units, kind, segments_left, last, 0, 0, 0])
    return start + b"".join(entry.packed for entry in entries)


def datagram(destination: IPv6Address, data: bytes, *, source: IPv6Address = SOURCE) -> bytes:
    """A UDP datagram to the port at which the host listens."""
    return udp(source, destination, (PORT, PORT), data)


def inner(destination: IPv6Address, data: bytes) -> bytes:
    """The IPv6 packet that is carried."""
    return ipv6(SOURCE, destination, PROTOCOL_UDP, datagram(destination, data), hops=INNER_HOPS)


def behind(header: bytes, protocol: int, payload: bytes, to: IPv6Address = SID) -> bytes:
    """A payload behind the outer header and, if there is one, a routing header."""
    first = PROTOCOL_ROUTING if header else protocol
    return ipv6(INGRESS, to, first, header + payload)


class Leaf:
    """The host. One cable leads from its eth0 to us, who are its router."""

    def __init__(self, room: Room, commands: Sequence[Sequence[str]] = (), name: str = "eth0"):
        """`commands` are carried out when the host has its addresses."""
        self.stack = room.stack()
        self.stack.set("conf.default.accept_dad=0", "conf.default.accept_ra=0")
        self._wire = room.cable(self.stack, name, HOST_MAC)
        gateway = ("lladdr", colons(GATEWAY_MAC), "nud", "permanent")
        for command in (
            ("addr", "add", f"{HOST}/64", "dev", name, "nodad"),
            ("neigh", "replace", str(GATEWAY), *gateway, "dev", name),
            ("route", "add", "default", "via", str(GATEWAY), "dev", name),
        ):
            self.stack.run("ip", "-6", *command)
        for command in commands:
            self.stack.run(*command)
        self._port = self.stack.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        self._port.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVHOPLIMIT, 1)
        self._port.bind(("::", PORT))
        self._port.setblocking(False)
        self._interface = self.stack.index(name)
        self._pings = 0
        mark = b"ping"
        self._wire.awake(self._ping(mark), mark)

    def join(self) -> Leaf:
        """The socket joins the group."""
        request = GROUP.packed + struct.pack("@i", self._interface)
        self._port.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, request)
        return self

    def close(self) -> None:
        self._port.close()

    def carry(self, packet: bytes) -> tuple[list[bytes], list[tuple[bytes, int]]]:
        """Sends a packet to the host. Gives the packets that it sends because of that, and what the
        socket receives: data and hop limit."""
        destination = IPv6Address(packet[24:40])
        mac = multicast_mac(destination) if destination.is_multicast else HOST_MAC
        self._pings += 1
        mark = f"ping {self._pings:4}".encode()
        self._wire.send(ethernet(mac, GATEWAY_MAC, ETHERTYPE_IPV6, packet))
        self._wire.send(self._ping(mark))
        return [frame[14:] for frame in self._wire.before(mark)], list(self._received())

    def _ping(self, mark: bytes) -> bytes:
        request = echo_request(INGRESS, HOST, mark)
        return ethernet(HOST_MAC, GATEWAY_MAC, ETHERTYPE_IPV6, request)

    def _received(self):
        while True:
            try:
                data, extra, _, _ = self._port.recvmsg(2048, socket.CMSG_SPACE(4))
            except BlockingIOError:
                return
            ((_, _, hops),) = extra
            yield data, struct.unpack("@i", hops)[0]

    def outcome(self, packet: bytes, data: bytes) -> str:
        """What becomes of a packet that carries `data`, in the words of docs/msr6.md."""
        sent, received = self.carry(packet)
        words = ["delivered" if each == data else f"delivered as {each!r}" for each, _ in received]
        words += [error(each, packet) for each in sent]
        return " and ".join(words) or "dropped"


def error(packet: bytes, about: bytes) -> str:
    """An ICMPv6 error in words; anything else in hexadecimal digits."""
    kind, code, word = packet[40], packet[41], int.from_bytes(packet[44:48], "big")
    is_error = packet[6] == PROTOCOL_ICMPV6 and kind < 128
    if not is_error or packet[48:] != about or packet[24:40] != about[8:24]:
        return f"answered by {packet.hex()}"
    return f"error {kind}/{code}" + (f" at {word}" if kind == 4 else "")
