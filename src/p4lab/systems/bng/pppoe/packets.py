"""PPPoE's packets and tags (RFC 2516; numbers of vendors and TR-101 where they are used)."""

from __future__ import annotations

import struct
from typing import NamedTuple

DISCOVERY = 0x8863
SESSION = 0x8864
"""EtherTypes"""

PADI, PADO, PADR, PADS, PADT = 0x09, 0x07, 0x19, 0x65, 0xA7

END_OF_LIST = 0x0000
SERVICE_NAME = 0x0101
AC_NAME = 0x0102
HOST_UNIQ = 0x0103
AC_COOKIE = 0x0104
VENDOR = 0x0105
RELAY_SESSION_ID = 0x0110
MAX_PAYLOAD = 0x0120
"""RFC 4638"""
SERVICE_NAME_ERROR = 0x0201
AC_SYSTEM_ERROR = 0x0202
GENERIC_ERROR = 0x0203

BROADCAST = b"\xff" * 6
BROADBAND_FORUM = (3561).to_bytes(4, "big")
"""The vendor of TR-101's tag (its section 3.9.2)"""
CIRCUIT_ID, REMOTE_ID = 1, 2
LONGEST_ID = 63

PLAIN_MRU = 1492
"""What PPP may carry in Ethernet's 1500 bytes (RFC 2516, section 7)"""

VERSION_AND_TYPE = 0x11
_HEADER = struct.Struct("!BBHH")
_DATA_HEADER = struct.Struct("!BBHHH")
_TAG = struct.Struct("!HH")

Tags = list[tuple[int, bytes]]


class Discovery(NamedTuple):
    """A packet of the discovery stage."""

    code: int
    session_id: int
    tags: Tags

    def all(self, kind: int) -> list[bytes]:
        """The values of all tags of a type."""
        return [value for tag, value in self.tags if tag == kind]

    def first(self, kind: int) -> bytes | None:
        """The value of the first tag of a type."""
        return next((value for tag, value in self.tags if tag == kind), None)


def tag(kind: int, value: bytes) -> bytes:
    """A tag with its length."""
    return _TAG.pack(kind, len(value)) + value


def tags_of(data: bytes) -> Tags | None:
    """Tags up to End-Of-List; None if the last one is cut off."""
    tags: Tags = []
    at, end = 0, len(data)
    while at < end:
        if at + 4 > end:
            return None
        kind, length = _TAG.unpack_from(data, at)
        at += 4
        if kind == END_OF_LIST:
            break
        if at + length > end:
            return None
        tags.append((kind, data[at : at + length]))
        at += length
    return tags


def discovery(code: int, session_id: int, tags: Tags) -> bytes:
    """A packet of the discovery stage, to be put into an Ethernet frame."""
    data = b"".join([_TAG.pack(kind, len(value)) + value for kind, value in tags])
    return _HEADER.pack(VERSION_AND_TYPE, code, session_id, len(data)) + data


def discovery_of(packet: bytes) -> Discovery | None:
    """What a packet of the discovery stage says, Ethernet's padding aside; None if malformed."""
    if len(packet) < 6:
        return None
    version, code, session_id, length = _HEADER.unpack_from(packet)
    if version != VERSION_AND_TYPE or 6 + length > len(packet):
        return None
    tags = tags_of(packet[6 : 6 + length])
    return None if tags is None else Discovery(code, session_id, tags)


def data(session_id: int, protocol: int, body: bytes) -> bytes:
    """A PPP packet in a session."""
    return _DATA_HEADER.pack(VERSION_AND_TYPE, 0, session_id, 2 + len(body), protocol) + body


def data_of(packet: bytes) -> tuple[int, int, bytes] | None:
    """Session id, PPP protocol and body of a packet in a session; None if malformed."""
    if len(packet) < 8:
        return None
    version, code, session_id, length, protocol = _DATA_HEADER.unpack_from(packet)
    if version != VERSION_AND_TYPE or code or length < 2 or 6 + length > len(packet):
        return None
    return session_id, protocol, packet[8 : 6 + length]


def line_tag(circuit_id: bytes, remote_id: bytes) -> bytes:
    """The value of the tag that an access node adds: whose line this is (TR-101).

    Raises ValueError if one of them has more than 63 bytes.
    """
    fields = b""
    for kind, value in ((CIRCUIT_ID, circuit_id), (REMOTE_ID, remote_id)):
        if len(value) > LONGEST_ID:
            raise ValueError(f"an agent id has at most {LONGEST_ID} bytes, not {len(value)}")
        if value:
            fields += bytes((kind, len(value))) + value
    return BROADBAND_FORUM + fields


def line_of(packet: Discovery) -> tuple[bytes, bytes]:
    """Agent circuit id and remote id, empty where missing.

    The last tag counts: the access node's comes after what a subscriber may have forged.
    """
    found: dict[int, bytes] = {}
    for value in packet.all(VENDOR):
        if value[:4] != BROADBAND_FORUM:
            continue
        found = {}
        at = 4
        while at + 2 <= len(value) and at + 2 + value[at + 1] <= len(value):
            found[value[at]] = value[at + 2 : at + 2 + value[at + 1]]
            at += 2 + value[at + 1]
    return found.get(CIRCUIT_ID, b"")[:LONGEST_ID], found.get(REMOTE_ID, b"")[:LONGEST_ID]


def max_payload_of(packet: Discovery, most: int) -> int:
    """How long a PPP payload may be: more than 1492 if both sides can (RFC 4638, section 4)."""
    value = packet.first(MAX_PAYLOAD)
    if value is None or len(value) != 2:
        return PLAIN_MRU
    return max(PLAIN_MRU, min(int.from_bytes(value, "big"), most))
