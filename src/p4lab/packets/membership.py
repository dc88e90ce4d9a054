"""What the messages of IGMP (IPv4) and MLD (IPv6) have in common.

The newest versions of both say the same in other bytes: IGMPv3 (RFC 3376) and MLDv2 (RFC 3810).
The older ones only join a group and leave it: IGMPv1, IGMPv2 (RFC 2236) and MLDv1 (RFC 2710).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from ipaddress import IPv4Address, IPv6Address
from typing import Generic, TypeVar

Address = IPv4Address | IPv6Address
A = TypeVar("A", IPv4Address, IPv6Address)


class RecordType(IntEnum):
    """Kinds of group records (RFC 3376, section 4.2.12; RFC 3810, section 5.2.12)."""

    MODE_IS_INCLUDE = 1
    MODE_IS_EXCLUDE = 2
    CHANGE_TO_INCLUDE = 3
    CHANGE_TO_EXCLUDE = 4
    ALLOW_NEW_SOURCES = 5
    BLOCK_OLD_SOURCES = 6


@dataclass(frozen=True)
class Report(Generic[A]):
    """A report of a version without records: somebody listens to `group`, whoever sends."""

    version: int
    group: A


@dataclass(frozen=True)
class Leave(Generic[A]):
    """A listener is gone: IGMP calls the message Leave, MLD calls it Done."""

    group: A


@dataclass(frozen=True)
class Record(Generic[A]):
    """One group in a report with records. `kind` may be a number that no RFC defines."""

    kind: int
    group: A
    sources: tuple[A, ...] = ()


@dataclass(frozen=True)
class RecordReport(Generic[A]):
    """A report of IGMPv3 or MLDv2."""

    records: tuple[Record[A], ...]


@dataclass(frozen=True)
class Query(Generic[A]):
    """A query of any version; `group` is the unspecified address in a general one.

    `max_response` is in the protocol's own unit. `suppress` is the S flag: routers that hear the
    query do not touch their timers. `interval` is in seconds.
    """

    version: int
    group: A
    max_response: int
    sources: tuple[A, ...] = ()
    suppress: bool = False
    robustness: int = 2
    interval: int = 125


Message = Report[A] | Leave[A] | RecordReport[A] | Query[A]


class Malformed(Exception):
    """A packet that a router ignores; the text is the reason to count it under."""


def decode_time(code: int, bits: int = 8) -> int:
    """A time in a field of `bits` bits: plain below half of the range, else a small float.

    8 bits have a mantissa of 4 (RFC 3376, section 4.1.1), 16 one of 12 (RFC 3810, section 5.1.3).
    """
    mantissa = bits - 4
    if code < 1 << bits - 1:
        return code
    return (code & (1 << mantissa) - 1 | 1 << mantissa) << ((code >> mantissa & 7) + 3)


def encode_time(value: int, bits: int = 8) -> int:
    """The code of the largest time that is not above `value`, and of the largest there is."""
    mantissa = bits - 4
    if value < 1 << bits - 1:
        return value
    shift = min(value.bit_length() - mantissa - 1, 10)
    digits = min(value >> shift, (2 << mantissa) - 1)
    return 1 << bits - 1 | shift - 3 << mantissa | digits & (1 << mantissa) - 1
