"""DHCPv6 for prefix delegation (RFC 8415): messages, and the server's side.

The server keeps nothing: what a subscriber gets is that of its session, so the same question has
the same answer, before and after a restart.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from enum import IntEnum
from ipaddress import IPv6Address
from typing import NamedTuple

from p4lab.packets.ip import IPV6_BYTES, PROTOCOL_UDP, checksum_v6, ipv6, udp
from p4lab.systems.bng.entries import Net

CLIENT_PORT, SERVER_PORT = 546, 547
SERVERS = IPv6Address("ff02::1:2")
VALID, PREFERRED = 86400, 14400
"""Seconds; T1 and T2 are half and four fifths of the preferred lifetime"""


class Message(IntEnum):
    """Types of messages."""

    SOLICIT = 1
    ADVERTISE = 2
    REQUEST = 3
    CONFIRM = 4
    RENEW = 5
    REBIND = 6
    REPLY = 7
    RELEASE = 8
    DECLINE = 9
    INFORMATION_REQUEST = 11


class Option(IntEnum):
    """Types of options."""

    CLIENT_ID = 1
    SERVER_ID = 2
    IA_NA = 3
    ORO = 6
    ELAPSED_TIME = 8
    STATUS_CODE = 13
    RAPID_COMMIT = 14
    DNS_SERVERS = 23
    IA_PD = 25
    IA_PREFIX = 26


class Status(IntEnum):
    """Status codes."""

    SUCCESS = 0
    NO_ADDRESSES = 2
    NO_BINDING = 3
    NOT_ON_LINK = 4
    NO_PREFIX = 6


Options = list[tuple[int, bytes]]
MOST_ASSOCIATIONS = 4
"""That are answered in one message"""


class Packet(NamedTuple):
    """A message between client and server."""

    kind: int
    transaction: bytes
    options: Options

    def first(self, kind: int) -> bytes | None:
        """The value of the first option of a type."""
        return next((value for option, value in self.options if option == kind), None)


class Delegation(NamedTuple):
    """What a session gets: its delegated prefix, and name servers."""

    prefix: Net | None
    dns: tuple[int, ...] = ()


def option(kind: int, value: bytes) -> bytes:
    """An option with its length."""
    return struct.pack("!HH", kind, len(value)) + value


def options_of(body: bytes) -> Iterator[tuple[int, bytes]]:
    """Options; one that does not fit ends them."""
    at = 0
    while at + 4 <= len(body):
        kind, length = struct.unpack_from("!HH", body, at)
        if at + 4 + length > len(body):
            return
        yield kind, body[at + 4 : at + 4 + length]
        at += 4 + length


def message(kind: int, transaction: bytes, options: Iterable[tuple[int, bytes]]) -> bytes:
    """A message without UDP."""
    return bytes((kind,)) + transaction + b"".join(option(*each) for each in options)


def in_udp(source: IPv6Address, destination: IPv6Address, to_server: bool, body: bytes) -> bytes:
    """The IPv6 packet that carries a message."""
    ports = (CLIENT_PORT, SERVER_PORT) if to_server else (SERVER_PORT, CLIENT_PORT)
    datagram = udp(source, destination, ports, body)
    return ipv6(source, destination, PROTOCOL_UDP, datagram, hops=1)


def packet_of(packet: bytes, port: int) -> Packet | None:
    """The message in an IPv6 packet to a UDP port; None if there is none, or a broken one."""
    if len(packet) < IPV6_BYTES + 12 or packet[6] != PROTOCOL_UDP:
        return None
    datagram = packet[IPV6_BYTES : IPV6_BYTES + int.from_bytes(packet[4:6], "big")]
    if len(datagram) < 12 or int.from_bytes(datagram[2:4], "big") != port:
        return None
    source, destination = IPv6Address(packet[8:24]), IPv6Address(packet[24:40])
    if checksum_v6(source, destination, PROTOCOL_UDP, datagram):
        return None
    return Packet(datagram[8], datagram[9:12], list(options_of(datagram[12:])))


def server_id(mac: int) -> bytes:
    """The server's name: a DUID from its MAC address (RFC 8415, section 11.4)."""
    return struct.pack("!HH", 3, 1) + mac.to_bytes(6, "big")


def answer(own_id: bytes, heard: Packet, granted: Delegation) -> bytes | None:
    """The server's answer to a message of the subscriber who has `granted`; None if none is due."""
    client, server = heard.first(Option.CLIENT_ID), heard.first(Option.SERVER_ID)
    kind = heard.kind
    if kind in _TO_ONE_SERVER:
        if server != own_id or client is None:
            return None
    elif kind in _TO_ALL_SERVERS:
        if server is not None or client is None:
            return None
    elif kind != Message.INFORMATION_REQUEST or server not in (None, own_id):
        return None
    rapid = kind == Message.SOLICIT and heard.first(Option.RAPID_COMMIT) is not None
    said: Options = [(Option.SERVER_ID, own_id)]
    if client is not None:
        said.insert(0, (Option.CLIENT_ID, client))
    if rapid:
        said.append((Option.RAPID_COMMIT, b""))
    said += _associations(heard, granted)
    if kind in (Message.RELEASE, Message.DECLINE):
        said.append((Option.STATUS_CODE, struct.pack("!H", Status.SUCCESS)))
    if granted.dns:
        servers = b"".join(server.to_bytes(16, "big") for server in granted.dns)
        said.append((Option.DNS_SERVERS, servers))
    advertise = kind == Message.SOLICIT and not rapid
    return message(Message.ADVERTISE if advertise else Message.REPLY, heard.transaction, said)


_TO_ONE_SERVER = {Message.REQUEST, Message.RENEW, Message.RELEASE, Message.DECLINE}
_TO_ALL_SERVERS = {Message.SOLICIT, Message.REBIND}


def _associations(heard: Packet, granted: Delegation) -> Options:
    """An answer for each association: the prefix for the first, none for others."""
    found: Options = []
    prefix = granted.prefix
    for kind, value in heard.options:
        if len(found) >= MOST_ASSOCIATIONS or heard.kind in (Message.RELEASE, Message.DECLINE):
            break
        if kind == Option.IA_NA and len(value) >= 12:
            found.append((kind, value[:4] + bytes(8) + _status(Status.NO_ADDRESSES)))
        elif kind == Option.IA_PD and len(value) >= 12:
            found.append((kind, _association(heard, value, prefix)))
            prefix = None
    return found


def _association(heard: Packet, value: bytes, prefix: Net | None) -> bytes:
    """An IA_PD with the prefix. Others that the client thinks it has get the lifetime 0."""
    foreign = b""
    if heard.kind in (Message.RENEW, Message.REBIND):
        for kind, asked in options_of(value[12:]):
            if kind == Option.IA_PREFIX and len(asked) >= 25 and _net(asked) != prefix:
                foreign += option(Option.IA_PREFIX, bytes(8) + asked[8:25])
    if prefix is None:
        renewing = heard.kind in (Message.RENEW, Message.REBIND)
        status = _status(Status.NO_BINDING if renewing else Status.NO_PREFIX)
        return value[:4] + bytes(8) + foreign + status
    times = struct.pack("!II", PREFERRED // 2, PREFERRED * 4 // 5)
    return value[:4] + times + option(Option.IA_PREFIX, prefix_value(prefix)) + foreign


def prefix_value(prefix: Net) -> bytes:
    """An IA_PREFIX: lifetimes, length, prefix."""
    times = struct.pack("!IIB", PREFERRED, VALID, prefix.length)
    return times + prefix.address.to_bytes(16, "big")


def _net(value: bytes) -> Net:
    return Net(6, int.from_bytes(value[9:25], "big"), value[8])


def _status(status: Status) -> bytes:
    return option(Option.STATUS_CODE, struct.pack("!H", status))


def delegated(association: bytes) -> tuple[Net, float, float] | None:
    """Prefix, T1 and valid lifetime (seconds) of an IA_PD that grants one."""
    if len(association) < 12:
        return None
    first, _ = struct.unpack_from("!II", association, 4)
    for kind, value in options_of(association[12:]):
        if kind == Option.IA_PREFIX and len(value) >= 25:
            preferred, valid = struct.unpack_from("!II", value)
            if valid:
                return _net(value), float(first or preferred / 2), float(valid)
    return None
