"""How values of MSR6 are written: SIDs by what they say, bits by numbers, reasons by name."""

from __future__ import annotations

from ipaddress import IPv6Address

from p4lab.model.notation import BITS, Notation, plain
from p4lab.systems.msr6.reasons import REASONS
from p4lab.systems.msr6.words import sid_in_words

ARGUMENT_BITS = 32


def _sid(value: int, width: int) -> str:
    """A SID in words; any other address as it is written. A router looks its own SIDs up without
    their arguments, which are not said then."""
    if width == 128:
        return sid_in_words(value) or str(IPv6Address(value))
    whole = value << ARGUMENT_BITS
    return (sid_in_words(whole) or str(IPv6Address(whole))).partition(": ")[0]


def _reason(value: int, _: int) -> str:
    """Why a packet goes to the control plane; 0 if it is for it."""
    return f"{value} ({REASONS.get(value, 'no reason')})"


SID = plain("SID", _sid)
REASON = plain("reason", _reason)

SIDS = ("sid", "destination", *(f"sid_{index}" for index in range(16)))
SETS = ("bits", "own", "known", "transits", "bit_string", "fbm")

NOTATION = Notation(
    {**dict.fromkeys(SIDS, SID), **dict.fromkeys(SETS, BITS), "packet_in.reason": REASON},
    {
        ("next_header", 41): "IPv6",
        ("next_header", 43): "routing header",
        ("routing_type", 253): "MSR6 (experimental)",
    },
)
