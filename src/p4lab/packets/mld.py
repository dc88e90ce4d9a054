"""Multicast Listener Discovery on the wire: versions 1 (RFC 2710) and 2 (RFC 3810).

`parse` takes an IPv6 packet and either gives a message or raises Malformed with a reason from a
short fixed list, which is what a router counts. Builders give whole IPv6 packets: hop limit 1,
and a Hop-by-Hop header with the Router Alert option (RFC 2711), which no receiver does without.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv6Address
from typing import TYPE_CHECKING

from p4lab.packets.ip import (
    ETHERTYPE_IPV6,
    PROTOCOL_FRAGMENT,
    PROTOCOL_HOP_BY_HOP,
    PROTOCOL_ICMPV6,
    checksum_v6,
    ethernet,
    ipv6,
    multicast_mac,
)
from p4lab.packets.membership import (
    Leave,
    Malformed,
    Message,
    Record,
    RecordReport,
    RecordType,
    Report,
    decode_time,
    encode_time,
)
from p4lab.packets.membership import Query as AnyQuery

if TYPE_CHECKING:
    from p4lab.topology import Host

ALL_NODES = IPv6Address("ff02::1")
ALL_ROUTERS = IPv6Address("ff02::2")
V2_ROUTERS = IPv6Address("ff02::16")
NO_ADDRESS = IPv6Address("::")

QUERY = 130
V1_REPORT = 131
V1_DONE = 132
V2_REPORT = 143
TYPES = (QUERY, V1_REPORT, V1_DONE, V2_REPORT)

V1_BYTES = 24  # of every message of version 1
V2_QUERY_BYTES = 28  # without its sources
RECORD_BYTES = 20  # without its sources

PAD1, ROUTER_ALERT = 0, 5
ALERT_MLD = 0  # the value of Router Alert that announces MLD (RFC 2711, section 2.1)
# ICMPv6 comes next; the header is 8 bytes long: Router Alert, and two bytes of padding (PadN).
HOP_BY_HOP = bytes([PROTOCOL_ICMPV6, 0, ROUTER_ALERT, 2, 0, ALERT_MLD, 1, 0])


@dataclass(frozen=True)
class Query(AnyQuery[IPv6Address]):
    """A query of version 1 or 2; `group` is :: in a general one. `max_response` is in
    milliseconds."""

    group: IPv6Address = NO_ADDRESS
    max_response: int = 10_000


# --- reading ---------------------------------------------------------------------------------


def parse(packet: bytes) -> tuple[IPv6Address, Message[IPv6Address]]:
    """Source address and message of an IPv6 packet; bytes after its payload are padding.

    The source of a report may be ::, as that of a host that has no address yet: what a router
    does with it is the router's affair (RFC 3810, section 5.2.13). Raises Malformed.
    """
    source, body = _message(packet)
    kind = body[0]
    if kind == V2_REPORT:
        if len(body) < 8:
            raise Malformed("MLD report shorter than 8 bytes")
        return source, RecordReport(tuple(_records(body)))
    if len(body) < V1_BYTES:
        raise Malformed("MLD message shorter than 24 bytes")
    if kind == QUERY:
        return source, _query(body)
    group = IPv6Address(body[8:24])
    if not group.is_multicast:
        raise Malformed("not a multicast group")
    return source, Leave(group) if kind == V1_DONE else Report(1, group)


def _message(packet: bytes) -> tuple[IPv6Address, bytes]:
    """Source and ICMPv6 message of a packet that passes the checks of RFC 3810, section 6.2."""
    if len(packet) < 40:
        raise Malformed("IPv6 header cut short")
    if packet[0] >> 4 != 6:
        raise Malformed("not an IPv6 header")
    end = 40 + int.from_bytes(packet[4:6], "big")
    if end > len(packet):
        raise Malformed("IPv6 packet cut short")
    protocol, options, body = _behind_options(packet[6], packet[40:end])
    if protocol == PROTOCOL_FRAGMENT:
        raise Malformed("fragment")
    if protocol != PROTOCOL_ICMPV6 or not body or body[0] not in TYPES:
        raise Malformed("not MLD")
    source, destination = IPv6Address(packet[8:24]), IPv6Address(packet[24:40])
    if packet[7] != 1:
        raise Malformed("hop limit is not 1")
    unknown_yet = source == NO_ADDRESS and body[0] in (V1_REPORT, V2_REPORT)
    if not (source.is_link_local or unknown_yet):
        raise Malformed("source is not a link-local address")
    if not _alerts_routers(options):
        raise Malformed("no Router Alert option for MLD")
    if checksum_v6(source, destination, PROTOCOL_ICMPV6, body):
        raise Malformed("wrong MLD checksum")
    return source, body


def _behind_options(protocol: int, payload: bytes) -> tuple[int, bytes, bytes]:
    """What follows a Hop-by-Hop header, its options, and the rest; no options without one."""
    if protocol != PROTOCOL_HOP_BY_HOP:
        return protocol, b"", payload
    length = 8 + 8 * payload[1] if len(payload) >= 8 else 8
    if length > len(payload):
        raise Malformed("Hop-by-Hop header cut short")
    return payload[0], payload[2:length], payload[length:]


def _alerts_routers(options: bytes) -> bool:
    """Whether a Router Alert for MLD is among the options of a Hop-by-Hop header."""
    at, found = 0, False
    while at < len(options):
        kind = options[at]
        if kind == PAD1:
            at += 1
            continue
        value = options[at + 2 : at + 2 + options[at + 1]] if at + 1 < len(options) else None
        if value is None or len(value) < options[at + 1]:
            raise Malformed("Hop-by-Hop option cut short")
        # The two highest bits say what becomes of a packet with an option that nobody knows.
        if kind >> 6:
            raise Malformed("unknown Hop-by-Hop option that forbids the packet")
        found = found or (kind == ROUTER_ALERT and value == ALERT_MLD.to_bytes(2, "big"))
        at += 2 + len(value)
    return found


def _query(body: bytes) -> Query:
    group = IPv6Address(body[8:24])
    if group != NO_ADDRESS and not group.is_multicast:
        raise Malformed("not a multicast group")
    code = int.from_bytes(body[4:6], "big")
    if len(body) == V1_BYTES:
        return Query(1, group, code)
    if len(body) < V2_QUERY_BYTES:
        raise Malformed("MLD query of 25 to 27 bytes")  # RFC 3810, section 8.1
    flags, interval, count = struct.unpack_from("!BBH", body, V1_BYTES)
    return Query(
        2,
        group,
        decode_time(code, 16),
        _addresses(body, V2_QUERY_BYTES, count),
        bool(flags & 8),
        flags & 7,
        decode_time(interval),
    )


def _records(body: bytes) -> Iterator[Record[IPv6Address]]:
    at = 8
    for _ in range(int.from_bytes(body[6:8], "big")):
        if at + RECORD_BYTES > len(body):
            raise Malformed("more MLD address records counted than there are")
        kind, extra_words, count = struct.unpack_from("!BBH", body, at)
        group = IPv6Address(body[at + 4 : at + RECORD_BYTES])
        if not group.is_multicast:
            raise Malformed("not a multicast group")
        yield Record(kind, group, _addresses(body, at + RECORD_BYTES, count))
        at += RECORD_BYTES + 16 * count + 4 * extra_words
        if at > len(body):
            raise Malformed("MLD auxiliary data cut short")


def _addresses(body: bytes, at: int, count: int) -> tuple[IPv6Address, ...]:
    if at + 16 * count > len(body):
        raise Malformed("more MLD sources counted than there are")
    return tuple(IPv6Address(body[i : i + 16]) for i in range(at, at + 16 * count, 16))


# --- writing ---------------------------------------------------------------------------------


def join_v1(source: IPv6Address, group: IPv6Address) -> bytes:
    """An IPv6 packet with a version 1 report, sent to the group itself (RFC 2710, section 4)."""
    return _packet(source, group, _v1(V1_REPORT, group))


def leave_v1(source: IPv6Address, group: IPv6Address) -> bytes:
    """An IPv6 packet with a version 1 Done message, sent to all routers."""
    return _packet(source, ALL_ROUTERS, _v1(V1_DONE, group))


def report_v2(source: IPv6Address, records: Sequence[Record[IPv6Address]]) -> bytes:
    """An IPv6 packet with a version 2 report (RFC 3810, section 5.2)."""
    body = struct.pack("!BBHHH", V2_REPORT, 0, 0, 0, len(records))
    for record in records:
        body += struct.pack("!BBH", record.kind, 0, len(record.sources)) + record.group.packed
        body += b"".join(address.packed for address in record.sources)
    return _packet(source, V2_ROUTERS, body)


def join_v2(source: IPv6Address, group: IPv6Address, senders: Sequence[IPv6Address] = ()) -> bytes:
    """A version 2 host wants `group`: from anybody, or only from `senders`."""
    kind = RecordType.CHANGE_TO_INCLUDE if senders else RecordType.CHANGE_TO_EXCLUDE
    return report_v2(source, [Record(kind, group, tuple(senders))])


def leave_v2(source: IPv6Address, group: IPv6Address) -> bytes:
    """A version 2 host wants `group` from nobody any more: TO_IN {}."""
    return report_v2(source, [Record(RecordType.CHANGE_TO_INCLUDE, group)])


def query_v2(source: IPv6Address, query: AnyQuery[IPv6Address]) -> bytes:
    """An IPv6 packet with a version 2 query, which older hosts understand too (RFC 3810, 5.1)."""
    body = struct.pack("!BBHHH", QUERY, 0, 0, encode_time(query.max_response, 16), 0)
    body += query.group.packed
    body += struct.pack(
        "!BBH",
        (8 if query.suppress else 0) | (query.robustness if query.robustness < 8 else 0),
        encode_time(query.interval),
        len(query.sources),
    )
    body += b"".join(address.packed for address in query.sources)
    return _packet(source, ALL_NODES if query.group == NO_ADDRESS else query.group, body)


def host_frame(host: Host, packet: bytes) -> bytes:
    """The Ethernet frame in which `host` sends one of the packets above.

    Their source is the host's link-local address: `packets.ip.link_local(host.mac)`.
    """
    group = IPv6Address(packet[24:40])
    return ethernet(multicast_mac(group), host.mac, ETHERTYPE_IPV6, packet)


def _v1(kind: int, group: IPv6Address) -> bytes:
    return struct.pack("!BBHHH", kind, 0, 0, 0, 0) + group.packed


def _packet(source: IPv6Address, destination: IPv6Address, body: bytes) -> bytes:
    check = checksum_v6(source, destination, PROTOCOL_ICMPV6, body)
    body = body[:2] + check.to_bytes(2, "big") + body[4:]
    return ipv6(source, destination, PROTOCOL_HOP_BY_HOP, HOP_BY_HOP + body, hops=1)
