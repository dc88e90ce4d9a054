"""How values of the gateway are written: numbers of sessions and lines, reasons by name, PPPoE and
PPP in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import IPv6Address
from typing import Any

from p4lab.model.notation import Notation, Style, plain
from p4lab.model.system import Carried
from p4lab.systems.bng.ppp.codes import CHAP, IPCP, IPV4, IPV6, IPV6CP, LCP, PAP
from p4lab.systems.bng.pppoe.packets import PADI, PADO, PADR, PADS, PADT

TO_CONTROL_PLANE = {
    1: "DISCOVERY",
    2: "PPP_CONTROL",
    3: "PROTOCOL",
    4: "LINK_LOCAL",
    5: "IGMP",
    6: "LOCAL",
    7: "TTL_EXPIRED",
    8: "TOO_BIG",
    9: "ARP",
}
DROPPED = {
    32: "UNKNOWN_PACKET",
    33: "UNKNOWN_INTERFACE",
    34: "UNKNOWN_LINE",
    35: "WRONG_MAC",
    36: "UNKNOWN_SESSION",
    37: "MALFORMED",
    38: "BAD_CHECKSUM",
    39: "SPOOFED",
    40: "MULTICAST",
    41: "NO_ROUTE",
    42: "NO_SUBSCRIBER",
    43: "RED_CLASS",
    44: "RED_SESSION",
    45: "RED_UPSTREAM",
    46: "RED_CONTROL",
    47: "NO_LINK",
}
REASONS = {**TO_CONTROL_PLANE, **DROPPED}
"""`reason_t` of p4/bng/headers.p4: the cells of its counters"""
ENUM = "reason_t."
"""What stands before their names in a trace"""

IN_WORDS = {
    "DISCOVERY": "PPPoE discovery",
    "PPP_CONTROL": "PPP control",
    "PROTOCOL": "an unknown PPP protocol",
    "LINK_LOCAL": "IPv6 on the link",
    "IGMP": "IGMP",
    "LOCAL": "to the gateway itself",
    "TTL_EXPIRED": "no hop left",
    "TOO_BIG": "longer than the MTU of its session",
    "ARP": "ARP",
    "UNKNOWN_PACKET": "headers that a gateway does not expect",
    "UNKNOWN_INTERFACE": "from an unknown interface",
    "UNKNOWN_LINE": "from an unknown line",
    "WRONG_MAC": "not addressed to the gateway",
    "UNKNOWN_SESSION": "line, MAC address and session id do not belong together",
    "MALFORMED": "no IP packet, or an impossible length, version or code",
    "BAD_CHECKSUM": "a wrong checksum",
    "SPOOFED": "the source address is somebody else's",
    "MULTICAST": "multicast that may not pass",
    "NO_ROUTE": "no route",
    "NO_SUBSCRIBER": "nobody has this address",
    "RED_CLASS": "more than the traffic class may get",
    "RED_SESSION": "more than the subscriber may get",
    "RED_UPSTREAM": "more than the subscriber may send",
    "RED_CONTROL": "more than a line may send to the control plane",
    "NO_LINK": "nobody knows the next MAC address",
}
"""What a reader of a report is told of a reason"""

DISCOVERY_CODES = {PADI: "PADI", PADO: "PADO", PADR: "PADR", PADS: "PADS", PADT: "PADT"}
PROTOCOLS = {
    IPV4: "IPv4",
    IPV6: "IPv6",
    LCP: "LCP",
    PAP: "PAP",
    CHAP: "CHAP",
    IPCP: "IPCP",
    IPV6CP: "IPv6CP",
}
"""Of PPP"""

LINK_BITS = 64


def _reason(value: int, _: int) -> str:
    """Why a packet is not forwarded."""
    return f"{value} ({REASONS.get(value, 'no reason')})"


def _protocol(value: int, _: int) -> str:
    name = PROTOCOLS.get(value)
    return f"{value:#06x} ({name})" if name else f"{value:#06x}"


def _prefix(value: int, width: int) -> str:
    """The highest bits of an IPv6 address; a whole address as it is."""
    if width > LINK_BITS:
        return str(IPv6Address(value))
    return f"{IPv6Address(value << 128 - width)}/{width}"


def _bits(value: int, _: int) -> str:
    return f"{value:#x}"


DECIMAL = plain("decimal", lambda value, _: str(value))
REASON = plain("reason", _reason)
PROTOCOL = Style("PPP protocol", lambda value, _: f"{value:#06x}", _protocol, brief=_protocol)
PREFIX = Style("prefix", _bits, _prefix, words=_prefix, brief=_prefix)

NUMBERED = (
    "session",
    "session_id",
    "line",
    "label",
    "label0",
    "label1",
    "vid",
    "outer_vid",
    "inner_vid",
    "line_vid",
    "service_vid",
    "mcast_grp",
    "owner",
    "mtu",
    "len",
    "total_len",
    "payload_len",
    "bytes",
)
"""Fields, keys and parameters that are numbers of something, however large"""

BY_REASON = ("dropped", "dropped_copies", "punted")
"""Counters with a cell for each reason"""

NOTATION = Notation(
    {
        **dict.fromkeys(NUMBERED, DECIMAL),
        "packet_in.reason": REASON,
        "ppp.protocol": PROTOCOL,
        "prefix": PREFIX,
    },
    {
        ("ether_type", 0x8847): "MPLS",
        ("ether_type", 0x8863): "PPPoE discovery",
        ("ether_type", 0x8864): "PPPoE session",
        ("ether_type", 0x88A8): "S-tag",
        **{("code", code): name for code, name in DISCOVERY_CODES.items()},
        **{(counter, cell): name for counter in BY_REASON for cell, name in REASONS.items()},
    },
)


def carried(headers: Sequence[Mapping[str, Any]]) -> Carried | None:
    """Whose packet it is: its session, or what discovery says. Plain IP is told by its headers."""
    session = protocol = None
    for step in headers:
        fields = step["fields"]
        if "session_id" in fields:
            code, session = int(fields["code"], 0), int(fields["session_id"], 0)
            if code:
                name = DISCOVERY_CODES.get(code, f"code {code:#04x}")
                return Carried(f"{name} of PPPoE", name)
        elif session is not None and fields.keys() == {"protocol"}:
            protocol = PROTOCOLS.get(int(fields["protocol"], 0))
    if session is None:
        return None
    inside = "" if protocol in (None, "IPv4", "IPv6") else f"{protocol}, "
    return Carried(f"{inside}session {session}", f"{inside}session {session}")
