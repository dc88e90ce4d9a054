"""What is said on a subscriber's line, in words: PPPoE discovery, PPP's control protocols, and how
IPv6 addresses are found."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address
from typing import NamedTuple

from p4lab.systems.bng.addresses.dhcpv6 import (
    CLIENT_PORT,
    SERVER_PORT,
    Message,
    Option,
    delegated,
    packet_of,
)
from p4lab.systems.bng.addresses.router import advertisement_of, is_solicitation
from p4lab.systems.bng.entries import Net
from p4lab.systems.bng.notation import DISCOVERY_CODES, PROTOCOLS
from p4lab.systems.bng.ppp import ipcp, ipv6cp, lcp
from p4lab.systems.bng.ppp.codes import CHAP, IPCP, IPV6, IPV6CP, LCP, PAP, options_of
from p4lab.systems.bng.pppoe import packets as pppoe
from p4lab.systems.bng.subscriber.access import inner_of

CONTROL_CODES = {
    1: "Configure-Request",
    2: "Configure-Ack",
    3: "Configure-Nak",
    4: "Configure-Reject",
    5: "Terminate-Request",
    6: "Terminate-Ack",
    7: "Code-Reject",
    8: "Protocol-Reject",
    9: "Echo-Request",
    10: "Echo-Reply",
    11: "Discard-Request",
}
"""RFC 1661, section 5"""
CHAP_CODES = {1: "Challenge", 2: "Response", 3: "Success", 4: "Failure"}
PAP_CODES = {1: "Authenticate-Request", 2: "Authenticate-Ack", 3: "Authenticate-Nak"}
CODES = {CHAP: CHAP_CODES, PAP: PAP_CODES}
CONFIGURE = range(1, 5)

TAGS = {
    pppoe.SERVICE_NAME: "Service-Name",
    pppoe.AC_NAME: "AC-Name",
    pppoe.HOST_UNIQ: "Host-Uniq",
    pppoe.AC_COOKIE: "AC-Cookie",
    pppoe.VENDOR: "Vendor-Specific",
    pppoe.MAX_PAYLOAD: "PPP-Max-Payload",
    pppoe.SERVICE_NAME_ERROR: "Service-Name-Error",
    pppoe.AC_SYSTEM_ERROR: "AC-System-Error",
    pppoe.GENERIC_ERROR: "Generic-Error",
}
WRITTEN = {pppoe.AC_NAME, pppoe.SERVICE_NAME, *range(0x0201, 0x0204)}
"""Tags that hold text"""

Field = tuple[str, str]
"""Name and value"""


class Decoded(NamedTuple):
    """A frame in a few words, the protocol that speaks, and what it says."""

    title: str
    protocol: str
    fields: tuple[Field, ...]


def decoded(frame: bytes) -> Decoded:
    """A frame of a line, whatever surrounds it."""
    inner = inner_of(frame)
    if inner is None:
        return Decoded("a frame that is cut off", "", ())
    around = tuple(_around(inner.labels, inner.vlans))
    if inner.ethertype == pppoe.DISCOVERY:
        return _discovery(inner.packet, around)
    found = pppoe.data_of(inner.packet) if inner.ethertype == pppoe.SESSION else None
    if found is None:
        return Decoded(f"EtherType {inner.ethertype:#06x}", "", around)
    session, protocol, body = found
    title, fields = _said(protocol, body)
    return Decoded(title, _name(protocol), (*around, ("session id", str(session)), *fields))


def _around(labels: tuple[int, ...], vlans: tuple[int, ...]) -> Iterator[Field]:
    """What tells lines apart."""
    if labels:
        yield "MPLS labels", ", ".join(map(str, labels))
    if vlans:
        yield "VLAN tags", ", ".join(map(str, vlans))


def _name(protocol: int) -> str:
    return PROTOCOLS.get(protocol, f"protocol {protocol:#06x}")


def _discovery(packet: bytes, around: tuple[Field, ...]) -> Decoded:
    found = pppoe.discovery_of(packet)
    if found is None:
        return Decoded("a broken discovery packet", "PPPoE", around)
    title = DISCOVERY_CODES.get(found.code, f"code {found.code:#04x}")
    fields = [("session id", str(found.session_id))]
    for kind, value in found.tags:
        text = value.decode("utf-8", "replace") if kind in WRITTEN else value.hex()
        fields.append((TAGS.get(kind, f"tag {kind:#06x}"), _shortened(text) or "(any)"))
    return Decoded(title, "PPPoE", (*around, *fields))


def _shortened(text: str) -> str:
    """As much of a cookie as is good to look at."""
    return text if len(text) <= 24 else f"{text[:16]}…"


def _said(protocol: int, body: bytes) -> tuple[str, tuple[Field, ...]]:
    if protocol == IPV6:
        return _ipv6(body)
    name = _name(protocol)
    if protocol not in (LCP, IPCP, IPV6CP, CHAP, PAP) or len(body) < 4:
        return name, ()
    code = body[0]
    codes = CODES.get(protocol, CONTROL_CODES)
    fields: list[Field] = [("identifier", str(body[1]))]
    if protocol in (LCP, IPCP, IPV6CP) and code in CONFIGURE:
        for kind, value in (options_of(body) or {}).items():
            fields.append(_option(protocol, kind, value))
    elif protocol in CODES:
        fields += _proof(protocol, code, body[4 : int.from_bytes(body[2:4], "big")])
    return f"{name} {codes.get(code, f'code {code}')}", tuple(fields)


def _option(protocol: int, kind: int, value: bytes) -> Field:
    """A configuration option: RFC 1661, section 6; RFC 1332; RFC 1877; RFC 5072."""
    number = str(int.from_bytes(value, "big"))
    if protocol == LCP:
        if kind == lcp.AUTHENTICATION:
            return "authentication", _name(int.from_bytes(value[:2], "big"))
        names = {lcp.MRU: ("MRU", number), lcp.MAGIC: ("magic number", value.hex())}
    elif protocol == IPCP:
        address = str(IPv4Address(value)) if len(value) == 4 else value.hex()
        names = {
            ipcp.ADDRESS: ("IP address", address),
            ipcp.PRIMARY_DNS: ("first DNS server", address),
            ipcp.SECONDARY_DNS: ("second DNS server", address),
        }
    else:
        names = {ipv6cp.INTERFACE_ID: ("interface identifier", value.hex(":", 2))}
    return names.get(kind, (f"option {kind}", value.hex()))


def _proof(protocol: int, code: int, data: bytes) -> Iterator[Field]:
    """What CHAP and PAP say of who somebody is (RFC 1994, section 4; RFC 1334, section 2)."""
    if protocol == CHAP and code in (1, 2) and data:
        value, name = data[1 : 1 + data[0]], data[1 + data[0] :]
        yield "value", _shortened(value.hex())
        yield "name", name.decode("utf-8", "replace")
    elif protocol == PAP and code == 1 and data:
        yield "name", data[1 : 1 + data[0]].decode("utf-8", "replace")


def _ipv6(packet: bytes) -> tuple[str, tuple[Field, ...]]:
    """Neighbour discovery and DHCPv6."""
    if is_solicitation(packet):
        return "Router Solicitation", ()
    said = advertisement_of(packet)
    if said is not None:
        fields = [("more by DHCPv6", "yes" if said.other else "no"), ("MTU", str(said.mtu))]
        if said.prefix is not None:
            fields.insert(0, ("prefix of the link", written(said.prefix)))
        return "Router Advertisement", tuple(fields)
    for port in (SERVER_PORT, CLIENT_PORT):
        message = packet_of(packet, port)
        if message is not None:
            kinds = {kind.value: kind.name for kind in Message}
            name = kinds.get(message.kind, f"message {message.kind}").replace("_", "-").title()
            granted = delegated(message.first(Option.IA_PD) or b"")
            prefix = (("delegated prefix", written(granted[0])),) if granted else ()
            return f"DHCPv6 {name}", prefix
    return "IPv6", ()


def written(net: Net) -> str:
    """An address, or a prefix with its length."""
    address = IPv4Address(net.address) if net.version == 4 else IPv6Address(net.address)
    whole = net.length == (32 if net.version == 4 else 128)
    return str(address) if whole else f"{address}/{net.length}"
