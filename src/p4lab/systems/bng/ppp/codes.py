"""Numbers of PPP: protocols and the codes of control packets (RFC 1661, 1334, 1994)."""

from __future__ import annotations

import struct

IPV4 = 0x0021
IPV6 = 0x0057
IPCP = 0x8021
IPV6CP = 0x8057
LCP = 0xC021
PAP = 0xC023
CHAP = 0xC223

CONFIGURE_REQUEST = 1
CONFIGURE_ACK = 2
CONFIGURE_NAK = 3
CONFIGURE_REJECT = 4
TERMINATE_REQUEST = 5
TERMINATE_ACK = 6
CODE_REJECT = 7
PROTOCOL_REJECT = 8
ECHO_REQUEST = 9
ECHO_REPLY = 10
DISCARD_REQUEST = 11

HEADER = struct.Struct("!BBH")
"""Code, identifier and length (these four bytes included) of a control packet"""


def packet(code: int, identifier: int, data: bytes = b"") -> bytes:
    """A control packet without PPP's protocol field."""
    return HEADER.pack(code, identifier, 4 + len(data)) + data


def option(kind: int, value: bytes) -> bytes:
    """A configuration option; its length counts type and length, too."""
    return bytes((kind, 2 + len(value))) + value


def options_of(body: bytes) -> dict[int, bytes] | None:
    """The options of a Configure packet by type, in their order.

    None if they do not fill the packet exactly or one comes twice: such a packet is ignored.
    """
    options: dict[int, bytes] = {}
    at, end = 4, len(body)
    while at < end:
        if at + 2 > end:
            return None
        kind, length = body[at], body[at + 1]
        if length < 2 or at + length > end or kind in options:
            return None
        options[kind] = body[at + 2 : at + length]
        at += length
    return options
