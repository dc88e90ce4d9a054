"""How values of MSR6 are written: SIDs by what they say, bits by numbers, reasons by name."""

from __future__ import annotations

from ipaddress import IPv6Address

from p4lab.model.notation import BITS, Notation, plain
from p4lab.systems.msr6.words import sid_in_words

ARGUMENT_BITS = 32

REASONS = {
    0: "for the control plane",
    32: "TOO_BIG",
    33: "TIME_EXCEEDED",
    34: "NO_ROUTE",
    35: "UPPER_LAYER",
    36: "ROUTING_TYPE",
    37: "HDR_EXT_LEN",
    38: "TOO_LONG",
    39: "LAST_ENTRY",
    40: "SEGMENTS_LEFT",
    41: "NO_COPY",
    42: "POINTER",
    43: "TOO_MANY",
    44: "NO_ADJACENCY",
}
"""Why a packet goes to the control plane: drop_reason_t of p4/msr6/headers.p4"""


def _sid(value: int, width: int) -> str:
    """A SID in words; any other address as it is written. A router looks its own SIDs up without
    their arguments, which are not said then."""
    if width == 128:
        return sid_in_words(value) or str(IPv6Address(value))
    whole = value << ARGUMENT_BITS
    return (sid_in_words(whole) or str(IPv6Address(whole))).partition(": ")[0]


def _reason(value: int, _: int) -> str:
    return f"{value} ({REASONS.get(value, 'none that there is')})"


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
