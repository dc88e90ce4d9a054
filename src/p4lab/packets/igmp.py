"""IGMP on the wire: versions 1, 2 (RFC 2236) and 3 (RFC 3376), built and parsed.

`parse` takes an IPv4 packet and either gives a message or raises Malformed with a reason from a
short fixed list, which is what a router counts.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import TYPE_CHECKING

from p4lab.packets.ip import (
    ETHERTYPE_IPV4,
    PROTOCOL_IGMP,
    ROUTER_ALERT,
    checksum,
    ethernet,
    ipv4,
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

ALL_SYSTEMS = IPv4Address("224.0.0.1")
ALL_ROUTERS = IPv4Address("224.0.0.2")
V3_ROUTERS = IPv4Address("224.0.0.22")
NO_ADDRESS = IPv4Address("0.0.0.0")

QUERY = 0x11
V1_REPORT = 0x12
V2_REPORT = 0x16
V2_LEAVE = 0x17
V3_REPORT = 0x22


@dataclass(frozen=True)
class Query(AnyQuery[IPv4Address]):
    """A query of any version; `group` is 0.0.0.0 in a general one. `max_response` is in tenths of
    a second."""

    group: IPv4Address = NO_ADDRESS
    max_response: int = 100


ReportV3 = RecordReport


# --- reading ---------------------------------------------------------------------------------


def parse(packet: bytes) -> tuple[IPv4Address, Message[IPv4Address]]:
    """Source address and message of an IPv4 packet; bytes behind its total length are padding.

    Raises Malformed.
    """
    source, body = _ip_payload(packet)
    if len(body) < 8:
        raise Malformed("IGMP message shorter than 8 bytes")
    if checksum(body):
        raise Malformed("wrong IGMP checksum")
    kind = body[0]
    group = IPv4Address(body[4:8])
    if kind == QUERY:
        return source, _parse_query(body)
    if kind == V3_REPORT:
        return source, ReportV3(_parse_records(body))
    if kind not in (V1_REPORT, V2_REPORT, V2_LEAVE):
        raise Malformed("unknown IGMP type")
    if not group.is_multicast:
        raise Malformed("not a multicast group")
    if kind == V2_LEAVE:
        return source, Leave(group)
    return source, Report(1 if kind == V1_REPORT else 2, group)


def _ip_payload(packet: bytes) -> tuple[IPv4Address, bytes]:
    if len(packet) < 20:
        raise Malformed("IPv4 header cut short")
    header_length = (packet[0] & 0xF) * 4
    total_length = int.from_bytes(packet[2:4], "big")
    if packet[0] >> 4 != 4 or header_length < 20:
        raise Malformed("not an IPv4 header")
    if not header_length <= total_length <= len(packet):
        raise Malformed("IPv4 packet cut short")
    if checksum(packet[:header_length]):
        raise Malformed("wrong IPv4 checksum")
    if int.from_bytes(packet[6:8], "big") & 0x3FFF:
        raise Malformed("fragment")
    if packet[9] != PROTOCOL_IGMP:
        raise Malformed("not IGMP")
    return IPv4Address(packet[12:16]), packet[header_length:total_length]


def _parse_query(body: bytes) -> Query:
    group = IPv4Address(body[4:8])
    if group != NO_ADDRESS and not group.is_multicast:
        raise Malformed("not a multicast group")
    if len(body) == 8:
        return Query(2, group, body[1]) if body[1] else Query(1, group)
    if len(body) < 12:
        raise Malformed("IGMP query of 9 to 11 bytes")  # RFC 3376, section 7.1
    count = int.from_bytes(body[10:12], "big")
    return Query(
        3,
        group,
        decode_time(body[1]),
        _addresses(body, 12, count),
        bool(body[8] & 8),
        body[8] & 7,
        decode_time(body[9]),
    )


def _parse_records(body: bytes) -> tuple[Record[IPv4Address], ...]:
    records = []
    at = 8
    for _ in range(int.from_bytes(body[6:8], "big")):
        if at + 8 > len(body):
            raise Malformed("more IGMP group records counted than there are")
        kind, extra_words, count = struct.unpack_from("!BBH", body, at)
        group = IPv4Address(body[at + 4 : at + 8])
        if not group.is_multicast:
            raise Malformed("not a multicast group")
        records.append(Record(kind, group, _addresses(body, at + 8, count)))
        at += 8 + 4 * (count + extra_words)
        if at > len(body):
            raise Malformed("IGMP auxiliary data cut short")
    return tuple(records)


def _addresses(body: bytes, at: int, count: int) -> tuple[IPv4Address, ...]:
    if at + 4 * count > len(body):
        raise Malformed("more IGMP sources counted than there are")
    return tuple(map(IPv4Address, struct.unpack_from(f"!{count}I", body, at)))


# --- writing ---------------------------------------------------------------------------------


def report_v1(source: IPv4Address, group: IPv4Address) -> bytes:
    """An IPv4 packet with a version 1 report (RFC 1112, appendix I)."""
    return _packet(source, group, _with_checksum(struct.pack("!BBHI", V1_REPORT, 0, 0, int(group))))


def join_v2(source: IPv4Address, group: IPv4Address) -> bytes:
    """An IPv4 packet with a version 2 report, sent to the group itself (RFC 2236, section 3)."""
    return _packet(source, group, _with_checksum(struct.pack("!BBHI", V2_REPORT, 0, 0, int(group))))


def leave_v2(source: IPv4Address, group: IPv4Address) -> bytes:
    """An IPv4 packet with a version 2 leave message, sent to all routers."""
    body = _with_checksum(struct.pack("!BBHI", V2_LEAVE, 0, 0, int(group)))
    return _packet(source, ALL_ROUTERS, body)


def report_v3(source: IPv4Address, records: Sequence[Record[IPv4Address]]) -> bytes:
    """An IPv4 packet with a version 3 report (RFC 3376, section 4.2)."""
    body = struct.pack("!BBHHH", V3_REPORT, 0, 0, 0, len(records))
    for record in records:
        body += struct.pack("!BBHI", record.kind, 0, len(record.sources), int(record.group))
        body += b"".join(address.packed for address in record.sources)
    return _packet(source, V3_ROUTERS, _with_checksum(body))


def join_v3(source: IPv4Address, group: IPv4Address, senders: Sequence[IPv4Address] = ()) -> bytes:
    """A version 3 host wants `group`: from anybody, or only from `senders`."""
    kind = RecordType.CHANGE_TO_INCLUDE if senders else RecordType.CHANGE_TO_EXCLUDE
    return report_v3(source, [Record(kind, group, tuple(senders))])


def leave_v3(source: IPv4Address, group: IPv4Address) -> bytes:
    """A version 3 host wants `group` from nobody any more: TO_IN {}."""
    return report_v3(source, [Record(RecordType.CHANGE_TO_INCLUDE, group)])


def query_v3(source: IPv4Address, query: AnyQuery[IPv4Address]) -> bytes:
    """An IPv4 packet with a version 3 query, which older hosts understand too (RFC 3376, 4.1)."""
    body = struct.pack(
        "!BBHIBBH",
        QUERY,
        encode_time(query.max_response),
        0,
        int(query.group),
        (8 if query.suppress else 0) | (query.robustness if query.robustness < 8 else 0),
        encode_time(query.interval),
        len(query.sources),
    )
    body += b"".join(address.packed for address in query.sources)
    destination = ALL_SYSTEMS if query.group == NO_ADDRESS else query.group
    return _packet(source, destination, _with_checksum(body))


def host_frame(host: Host, packet: bytes) -> bytes:
    """The Ethernet frame in which `host` sends one of the packets above."""
    group = IPv4Address(packet[16:20])
    return ethernet(multicast_mac(group), host.mac, ETHERTYPE_IPV4, packet)


def _with_checksum(body: bytes) -> bytes:
    return body[:2] + struct.pack("!H", checksum(body)) + body[4:]


def _packet(source: IPv4Address, destination: IPv4Address, body: bytes) -> bytes:
    return ipv4(source, destination, PROTOCOL_IGMP, body, ttl=1, tos=0xC0, options=ROUTER_ALERT)
