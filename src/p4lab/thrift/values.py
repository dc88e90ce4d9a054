"""Keys and arguments: bytes and numbers of the runtime API, and matches of the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from p4lab.model.entries import (
    DontCare,
    Exact,
    Lpm,
    Match,
    Matches,
    Optional,
    Params,
    Range,
    Ternary,
)
from p4lab.thrift.interface import TYPES, MatchKind, TableCode, TableRefused
from p4lab.thrift.program import Key, Table

# bmv2's lowest number wins, the engine's highest.
LAST_PRIORITY = 2**31 - 1
RATE = 1_000_000
"""Microseconds of a second: the API's rates are in units per microsecond"""


class ValueTooWideError(Exception):
    """A number that does not fit."""


def key_of(table: Table, given: Sequence[Any]) -> Matches:
    """The matches of an entry's key, in the order of the table's keys; raises TableRefused."""
    if len(given) != len(table.keys):
        raise TableRefused(TableCode.BAD_KEY)
    try:
        pairs = zip(table.keys, given, strict=True)
        return tuple((key.name, _match(key, param)) for key, param in pairs)
    except (ValueTooWideError, TypeError, AttributeError) as error:  # a part that was not sent
        raise TableRefused(TableCode.BAD_KEY) from error


def priority_of(table: Table, options: Any) -> int:
    """The engine's priority of an entry."""
    if not table.has_priorities:
        return 0
    given = options.priority or 0
    if not 0 <= given < LAST_PRIORITY:
        raise TableRefused(TableCode.OTHER)
    return LAST_PRIORITY - given


def _match(key: Key, param: Any) -> Match:
    if param.kind == MatchKind.EXACT and key.kind == "exact":
        return Exact(_number(param.exact.key, key.width))
    if param.kind == MatchKind.VALID and key.kind == "exact" and key.width == 1:
        return Exact(int(param.valid.key))
    if param.kind == MatchKind.LPM and key.kind == "lpm":
        return _prefix(key, _number(param.lpm.key, key.width), param.lpm.length)
    if param.kind == MatchKind.TERNARY and key.kind in ("ternary", "optional"):
        value = _number(param.ternary.key, key.width)
        return _masked(key, value, _number(param.ternary.mask, key.width))
    if param.kind == MatchKind.RANGE and key.kind == "range":
        low, high = (_number(end, key.width) for end in (param.range.low, param.range.high))
        return DontCare() if (low, high) == (0, _full(key)) else Range(low, high)
    raise ValueTooWideError


def _prefix(key: Key, value: int, length: int) -> Match:
    if not 0 <= length <= key.width:
        raise ValueTooWideError
    free = key.width - length
    return Lpm(value >> free << free, length)


def _masked(key: Key, value: int, mask: int) -> Match:
    if mask == 0:
        return DontCare()
    if key.kind == "ternary":
        return Ternary(value & mask, mask)
    if mask != _full(key):
        raise ValueTooWideError
    return Optional(value)


def _full(key: Key) -> int:
    return int((1 << key.width) - 1)


def _number(data: bytes, width: int) -> int:
    """A value of so many bits, in as many bytes as they need."""
    value = int.from_bytes(data, "big")
    if len(data) != (width + 7) // 8 or value >> width:
        raise ValueTooWideError
    return value


def _data(value: int, key: Key) -> bytes:
    return value.to_bytes(key.bytes, "big")


def params_of(table: Table, matches: Mapping[str, Match]) -> list[Any]:
    """A key as the API shows it."""
    return [_param(key, matches[key.name]) for key in table.keys]


def _param(key: Key, match: Match) -> Any:
    match key.kind:
        case "exact":
            own = {"exact": TYPES["Exact"](_data(_first(match), key))}
            number = MatchKind.EXACT
        case "lpm":
            length = match.prefix_len if isinstance(match, Lpm) else 0
            own = {"lpm": TYPES["Lpm"](_data(_first(match), key), length)}
            number = MatchKind.LPM
        case "range":
            low, high = _ends(match, key)
            own = {"range": TYPES["Range"](_data(low, key), _data(high, key))}
            number = MatchKind.RANGE
        case _:
            value, mask = _data(_first(match), key), _data(_mask(match, key), key)
            own = {"ternary": TYPES["Ternary"](value, mask)}
            number = MatchKind.TERNARY
    return TYPES["Match"](number, **own)


def _first(match: Match) -> int:
    """The value of a match that has one."""
    return 0 if isinstance(match, DontCare | Range) else match.value


def _ends(match: Match, key: Key) -> tuple[int, int]:
    if isinstance(match, Range):
        return match.low, match.high
    return (match.value, match.value) if isinstance(match, Exact) else (0, _full(key))


def _mask(match: Match, key: Key) -> int:
    if isinstance(match, Ternary):
        return match.mask
    return 0 if isinstance(match, DontCare) else _full(key)


def arguments_of(params: Sequence[tuple[str, int]], given: Sequence[bytes]) -> Params:
    """Arguments by parameter; raises TableRefused. bmv2 takes them in any number of bytes."""
    if len(params) != len(given):
        raise TableRefused(TableCode.BAD_DATA)
    numbers = [int.from_bytes(data, "big") for data in given]
    if any(number >> width for (_, width), number in zip(params, numbers, strict=True)):
        raise TableRefused(TableCode.BAD_DATA)
    return tuple((name, number) for (name, _), number in zip(params, numbers, strict=True))


def data_of(params: Sequence[tuple[str, int]], arguments: Mapping[str, int]) -> list[bytes]:
    """Arguments as bmv2 shows them: in as many bytes as they need, of which zero needs one."""
    numbers = [arguments[name] for name, _ in params]
    return [number.to_bytes((number.bit_length() + 7) // 8 or 1, "big") for number in numbers]


def signed(value: int) -> int:
    """The lowest 64 bits as Thrift has them, which knows signed numbers only."""
    value &= 2**64 - 1
    return value - 2**64 if value >> 63 else value
