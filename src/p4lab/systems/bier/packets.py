"""scapy layers for BIER over Ethernet (RFC 8296): importing this module imports scapy.

scapy's own contributed layer has the BSL code off by one and is bound to no EtherType.
"""

from __future__ import annotations

from typing import Any, ClassVar

from scapy.fields import BitField, ByteField, Field, ShortField, XBitField
from scapy.layers.inet import IP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, bind_layers

ETHERTYPE_BIER = 0xAB37

PROTO_ETHERNET = 3
PROTO_IPV4 = 4
PROTO_IPV6 = 6

BSL_BITS = {code: 32 << code for code in range(1, 8)}
BSL_CODES = {bits: code for code, bits in BSL_BITS.items()}


class BitStringField(Field[Any, Any]):
    """The BitString as a number: bit 1, for the BFR-id 1 of a set, is the lowest.

    Its length is that of the packet's BIFT-id if `BIER.lengths` knows it, else that of the BSL
    code, as offline tools do. A value given as bytes is sent as it is, whatever the code says.
    """

    def i2len(self, pkt: Any, value: Any) -> int:
        return len(value) if isinstance(value, bytes) else pkt.bit_string_length // 8

    def addfield(self, pkt: Any, s: bytes, val: Any) -> bytes:
        if isinstance(val, bytes):
            return s + val
        length = pkt.bit_string_length
        if not 0 <= val < 1 << length:
            raise ValueError(f"the BitString {val:#x} does not fit into {length} bits")
        return s + int(val).to_bytes(length // 8, "big")

    def getfield(self, pkt: Any, s: bytes) -> tuple[bytes, Any]:
        length = pkt.bit_string_length // 8
        if len(s) < length:
            return b"", s  # cut short: keep the bytes as they are
        return s[length:], int.from_bytes(s[:length], "big")

    def i2m(self, pkt: Any, x: Any) -> Any:
        return x

    def m2i(self, pkt: Any, x: Any) -> Any:
        return x

    def any2i(self, pkt: Any, x: Any) -> Any:
        return x

    def i2repr(self, pkt: Any, x: Any) -> str:
        if isinstance(x, bytes):
            return x.hex()
        return f"{x:#x} bits {set_bits(x)}"


class BIER(Packet):
    """The BIER header as it goes over Ethernet, EtherType 0xAB37 (RFC 8296, section 2.2).

    `lengths` maps BIFT-ids to BitStringLengths in bits. A router infers the length from the
    BIFT-id and never from the BSL field; whoever knows the mapping can enter it here.
    """

    name = "BIER"
    lengths: ClassVar[dict[int, int]] = {}
    fields_desc: ClassVar[list[Any]] = [
        XBitField("bift_id", 0x30000, 20),
        BitField("tc", 0, 3),
        BitField("s", 1, 1),
        ByteField("ttl", 64),
        BitField("nibble", 0, 4),
        BitField("ver", 0, 4),
        BitField("bsl", 3, 4),
        XBitField("entropy", 0, 20),
        BitField("oam", 0, 2),
        BitField("rsv", 0, 2),
        BitField("dscp", 0, 6),
        BitField("proto", PROTO_IPV4, 6),
        ShortField("bfir_id", 0),
        BitStringField("bit_string", 0),
    ]

    @property
    def bit_string_length(self) -> int:
        """Bits in the BitString; 0 for a BSL code that RFC 8296 does not define."""
        known = self.lengths.get(self.bift_id)
        return BSL_BITS.get(self.bsl, 0) if known is None else known

    @property
    def bits(self) -> list[int]:
        """The numbers of the bits that are set, from 1."""
        return set_bits(self.bit_string) if isinstance(self.bit_string, int) else []


def set_bits(bit_string: int) -> list[int]:
    """The numbers of the bits that are set in a BitString, lowest first, from 1."""
    return [i + 1 for i in range(bit_string.bit_length()) if bit_string >> i & 1]


bind_layers(Ether, BIER, type=ETHERTYPE_BIER)
bind_layers(BIER, Ether, proto=PROTO_ETHERNET)
bind_layers(BIER, IP, proto=PROTO_IPV4)
bind_layers(BIER, IPv6, proto=PROTO_IPV6)
