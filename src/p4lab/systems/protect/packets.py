"""scapy layers for protected packets: importing this module imports scapy.

`Protection` stands between two IP headers (protocol 253), `RTAG` behind Ethernet or a VLAN tag
(EtherType 0xF1C1, IEEE 802.1CB-2017, 7.8); scapy itself knows neither.
"""

from __future__ import annotations

from typing import Any, ClassVar

from scapy.data import ETHER_TYPES
from scapy.fields import BitField, ByteEnumField, IntField, ShortField, XShortEnumField
from scapy.layers.inet import IP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet, bind_layers

IP_PROTOCOL_PROTECT = 253
ETHERTYPE_RTAG = 0xF1C1
NEXT_IPV4 = 4
NEXT_IPV6 = 41


class Protection(Packet):
    """The protection header of the paper: connection, number, and what follows."""

    name = "Protection"
    fields_desc: ClassVar[list[Any]] = [
        BitField("cid", 0, 24),
        IntField("sn", 0),
        ByteEnumField("next_protocol", NEXT_IPV4, {NEXT_IPV4: "IPv4", NEXT_IPV6: "IPv6"}),
    ]


class RTAG(Packet):
    """The redundancy tag: a reserved field, the number, and the EtherType of what follows."""

    name = "R-TAG"
    fields_desc: ClassVar[list[Any]] = [
        ShortField("reserved", 0),
        ShortField("sn", 0),
        XShortEnumField("type", 0x0800, ETHER_TYPES),
    ]


bind_layers(IP, Protection, proto=IP_PROTOCOL_PROTECT)
bind_layers(Protection, IP, next_protocol=NEXT_IPV4)
bind_layers(Protection, IPv6, next_protocol=NEXT_IPV6)
bind_layers(Ether, RTAG, type=ETHERTYPE_RTAG)
bind_layers(Dot1Q, RTAG, type=ETHERTYPE_RTAG)
bind_layers(RTAG, IP, type=0x0800)
bind_layers(RTAG, IPv6, type=0x86DD)
bind_layers(RTAG, Dot1Q, type=0x8100)
