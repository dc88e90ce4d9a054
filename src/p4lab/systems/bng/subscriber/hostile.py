"""What a hostile subscriber sends: frames for tests of who must not suffer from them."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address
from random import Random

from p4lab.packets.ip import PROTOCOL_UDP, ipv4, udp
from p4lab.systems.bng.ppp.codes import (
    CONFIGURE_NAK,
    CONFIGURE_REQUEST,
    ECHO_REQUEST,
    IPCP,
    IPV4,
    LCP,
    option,
    packet,
)
from p4lab.systems.bng.pppoe.packets import (
    BROADCAST,
    DISCOVERY,
    GENERIC_ERROR,
    HOST_UNIQ,
    PADI,
    PADT,
    SERVICE_NAME,
    SESSION,
    data,
    discovery,
)
from p4lab.systems.bng.subscriber.access import Line


def padi_flood(line: Line, random: Random, count: int) -> Iterator[bytes]:
    """As many PADIs, each from another MAC address."""
    for _ in range(count):
        mac = b"\x02" + random.randbytes(5)
        tags = [(SERVICE_NAME, b""), (HOST_UNIQ, random.randbytes(8))]
        yield line.frame(BROADCAST, mac, DISCOVERY, discovery(PADI, 0, tags))


def foreign_padt(line: Line, mac: bytes, gateway: bytes, session_id: int) -> bytes:
    """The end of a session that is somebody else's; `mac` may be forged."""
    tags = [(GENERIC_ERROR, b"goodbye")]
    return line.frame(gateway, mac, DISCOVERY, discovery(PADT, session_id, tags))


def control(
    line: Line, mac: bytes, gateway: bytes, session_id: int, protocol: int, body: bytes
) -> bytes:
    """A PPP packet in any session."""
    return line.frame(gateway, mac, SESSION, data(session_id, protocol, body))


def hijack(
    line: Line, mac: bytes, gateway: bytes, session_id: int, source: IPv4Address, flow: int
) -> bytes:
    """A packet in the session of another line, with that subscriber's MAC and IP address."""
    target = IPv4Address("198.51.100.1")
    datagram = udp(source, target, (5004, 5004), flow.to_bytes(4, "big"))
    body = ipv4(source, target, PROTOCOL_UDP, datagram)
    return control(line, mac, gateway, session_id, IPV4, body)


def stolen_address(address: IPv4Address, identifier: int) -> tuple[int, bytes]:
    """An IPCP request for an address that was not granted: protocol and body."""
    return IPCP, packet(CONFIGURE_REQUEST, identifier, option(3, address.packed))


def endless_requests(random: Random, count: int) -> Iterator[tuple[int, bytes]]:
    """LCP requests that never agree: each with another MRU that is too large."""
    for number in range(count):
        mru = random.randrange(60000, 65536).to_bytes(2, "big")
        yield LCP, packet(CONFIGURE_REQUEST, number & 0xFF, option(1, mru))


def endless_nak(request: bytes, random: Random) -> bytes:
    """The answer to a Configure-Request that never agrees to its first option."""
    value = random.randbytes(max(0, request[5] - 2)) if len(request) > 5 else b""
    kind = request[4] if len(request) > 4 else 1
    return packet(CONFIGURE_NAK, request[1], option(kind, value))


def restarts(random: Random, count: int) -> Iterator[tuple[int, bytes]]:
    """Good LCP requests without end: each begins the negotiation again."""
    for number in range(count):
        magic = random.randbytes(4)
        yield LCP, packet(CONFIGURE_REQUEST, number & 0xFF, option(5, magic))


def broken_options() -> Iterator[bytes]:
    """LCP requests whose options have the length 0, 1, 255 or end after the packet."""
    for length in (0, 1, 3, 255):
        yield packet(CONFIGURE_REQUEST, 1, bytes((1, length)) + b"\x05\xd4")
        yield packet(CONFIGURE_REQUEST, 2, option(5, b"\1\2\3\4") + bytes((1, length)))
    yield packet(CONFIGURE_REQUEST, 3, b"\1")
    yield packet(CONFIGURE_REQUEST, 4, option(1, b"\5\xd4") * 2)


def broken_tags(code: int = PADI) -> Iterator[bytes]:
    """Discovery packets whose tags or lengths lie."""
    for data_part in (
        b"\1",
        b"\1\1\0",
        b"\1\1\xff\xff",
        b"\1\1\0\0\1\3\0\x09abc",
        b"\1\1\0\0" * 300,
        b"\1\5\0\x07\0\0\x0d\xe9\1\xff\x41\1\1\0\0",
        b"\1\5\0\6\0\0\x0d\xe9\1\0\1\1\0\0",
    ):
        yield b"\x11" + bytes((code, 0, 0)) + len(data_part).to_bytes(2, "big") + data_part
    yield b"\x11" + bytes((code, 0, 0)) + b"\xff\xff"
    yield b"\x21" + bytes((code, 0, 0)) + b"\0\4\1\1\0\0"


def echo_flood(random: Random, count: int) -> Iterator[tuple[int, bytes]]:
    """As many LCP Echo-Requests."""
    for number in range(count):
        yield LCP, packet(ECHO_REQUEST, number & 0xFF, random.randbytes(1000))
