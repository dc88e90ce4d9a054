"""scapy layers for MSR6: importing this module imports scapy.

`MSR6` is the routing header of type 253 behind an IPv6 header. Other routing headers keep the
layers that scapy has for them.

The drafts' layouts are not public. This encoding is p4lab's own profile, not an IETF format.
"""

from __future__ import annotations

from ipaddress import IPv6Address
from typing import Any, ClassVar

from scapy.config import conf
from scapy.fields import ByteEnumField, ByteField, Field, StrLenField, XByteField, XShortField
from scapy.layers.inet6 import IPv6, IPv6ExtHdrRouting, IPv6ExtHdrSegmentRouting
from scapy.packet import Packet, bind_layers

from p4lab.systems.msr6.encoded import ENTRY_BYTES, NEXT_IPV6, ROUTING_TYPE
from p4lab.systems.msr6.sids import END_DT6, END_RGB, LOCATOR, Sid
from p4lab.systems.msr6.words import bits_in_words, sid_in_words

NEXT_ROUTING = 43
SEGMENT_ROUTING_TYPE = 4
LONGEST = 8 * 256
"""Bytes of a routing header, of which HdrExtLen does not count the first eight"""


def _number(entry: Any) -> int:
    """An entry as a 128-bit number: of a Sid, an address, its text or its 16 bytes."""
    if isinstance(entry, Sid):
        return entry.pack()
    return int(IPv6Address(entry))


class EntriesField(Field[Any, Any]):
    """The list, index 0 first, as on the wire: 128-bit numbers.

    It may be given as numbers, addresses or `Sid`s. What is read ends with Last Entry, with the
    header or with the packet, whichever comes first.
    """

    islist = 1

    def any2i(self, pkt: Any, x: Any) -> list[int]:
        return [_number(entry) for entry in x]

    def addfield(self, pkt: Any, s: bytes, val: list[int] | None) -> bytes:
        return s + b"".join(entry.to_bytes(ENTRY_BYTES, "big") for entry in val or ())

    def getfield(self, pkt: Any, s: bytes) -> tuple[bytes, list[int]]:
        count = min(pkt.last_entry + 1, pkt.hdr_ext_len // 2, len(s) // ENTRY_BYTES)
        end = ENTRY_BYTES * count
        parts = [s[start : start + ENTRY_BYTES] for start in range(0, end, ENTRY_BYTES)]
        return s[end:], [int.from_bytes(part, "big") for part in parts]

    def i2repr(self, pkt: Any, x: list[int]) -> str:
        return "[" + "; ".join(f"{index}: {pkt.said(index)}" for index in range(len(x))) + "]"


class MSR6(Packet):
    """The routing header. Unless told otherwise, it is that of a packet at the root of its tree:
    Segments Left is the number of entries.

    `rest` is what lies behind the entries and belongs to the header all the same; nobody looks at
    it. It is filled up to a multiple of 8 bytes if `hdr_ext_len` is left to be computed.
    """

    name = "MSR6"
    fields_desc: ClassVar[list[Any]] = [
        ByteEnumField("next_header", NEXT_IPV6, {NEXT_IPV6: "IPv6"}),
        ByteField("hdr_ext_len", None),
        ByteField("routing_type", ROUTING_TYPE),
        ByteField("segments_left", None),
        ByteField("last_entry", None),
        XByteField("flags", 0),
        XShortField("tag", 0),
        EntriesField("entries", []),
        StrLenField("rest", b"", length_from=lambda pkt: pkt.rest_length),
    ]

    @classmethod
    def dispatch_hook(cls, _pkt: bytes = b"", *_args: Any, **_kwargs: Any) -> type[Packet]:
        """The layer for a routing header: next header 43 leads here, whatever the type."""
        if not _pkt:
            return cls
        if len(_pkt) < 3:
            layer: type[Packet] = conf.raw_layer
            return layer
        layers: dict[int, type[Packet]] = {
            ROUTING_TYPE: cls,
            SEGMENT_ROUTING_TYPE: IPv6ExtHdrSegmentRouting,
        }
        return layers.get(_pkt[2], IPv6ExtHdrRouting)

    def post_build(self, pkt: bytes, pay: bytes) -> bytes:
        header = bytearray(pkt)
        count = len(self.entries)
        if self.hdr_ext_len is None:
            header += bytes(-len(header) % 8)
            if len(header) > LONGEST:
                raise ValueError(
                    f"a routing header ends after {LONGEST} bytes, and {count} entries with "
                    f"{len(self.rest)} bytes behind them need {len(header)}: leave some out"
                )
            header[1] = len(header) // 8 - 1
        if self.segments_left is None:
            header[3] = count
        if self.last_entry is None:
            header[4] = max(count - 1, 0)
        return bytes(header) + pay

    @property
    def rest_length(self) -> int:
        """Bytes of the header that lie behind its entries."""
        return 8 * int(self.hdr_ext_len) - ENTRY_BYTES * len(self.entries)

    @property
    def destination(self) -> Sid | None:
        """The destination address in parts, which say what is to be done; None without an IPv6
        header in front."""
        below = self.underlayer
        while below is not None and not isinstance(below, IPv6):
            below = below.underlayer
        return None if below is None else Sid.parse(_number(below.dst))

    @property
    def has_bit_string(self) -> bool:
        """Whether the first entry is the BitString of BE. A leaf is not told: there it is what
        stands alone and cannot be a SID."""
        destination = self.destination
        if destination is None or destination.locator != LOCATOR:
            return False
        if destination.function == END_DT6 and len(self.entries) == 1:
            return self.entries[0] != 0 and Sid.parse(self.entries[0]).locator != LOCATOR
        return destination.function == END_RGB

    def said(self, index: int) -> str:
        """An entry in words."""
        entry: int = self.entries[index]
        if index == 0 and self.has_bit_string:
            return bits_in_words(entry)
        return sid_in_words(entry) or str(IPv6Address(entry))


bind_layers(IPv6, MSR6, nh=NEXT_ROUTING)
bind_layers(MSR6, IPv6, next_header=NEXT_IPV6)
