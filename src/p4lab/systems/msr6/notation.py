"""How values of MSR6 are written: SIDs by what they say, bits by their numbers."""

from __future__ import annotations

from ipaddress import IPv6Address

from p4lab.model.notation import BITS, Notation, plain
from p4lab.systems.msr6.words import sid_in_words


def _sid(value: int, _: int) -> str:
    """A SID in words; any other address as it is written."""
    return sid_in_words(value) or str(IPv6Address(value))


SID = plain("SID", _sid)

SIDS = ("sid", "destination", *(f"sid_{index}" for index in range(16)))
SETS = ("bits", "own", "known", "transits", "bit_string", "fbm")

NOTATION = Notation(
    {**dict.fromkeys(SIDS, SID), **dict.fromkeys(SETS, BITS)},
    {
        ("next_header", 41): "IPv6",
        ("next_header", 43): "routing header",
        ("routing_type", 253): "MSR6 (experimental)",
    },
)
