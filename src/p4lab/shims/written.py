"""Values as people write them for simple_switch_CLI, as bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from p4lab.model.notation import read
from p4lab.shims.remote import Key, RemoteError
from p4lab.thrift.interface import TYPES, MatchKind


def value(text: str, width: int) -> bytes:
    """A number in any base, or an address. Raises RemoteError."""
    try:
        number = read("value", text, width)
    except ValueError as error:
        raise RemoteError(f"Error while parsing {text} - {error}") from error
    return number.to_bytes((width + 7) // 8, "big")


def values(texts: Sequence[str], params: Sequence[tuple[str, int]], action: str) -> list[bytes]:
    """The parameters of an action. Raises RemoteError."""
    if len(texts) != len(params):
        raise RemoteError(f"Action {action} needs {len(params)} parameters")
    return [value(text, width) for text, (_, width) in zip(texts, params, strict=True)]


def matches(texts: Sequence[str], keys: Sequence[Key], table: str) -> list[Any]:
    """A key for each of the table's, as the runtime API wants it. Raises RemoteError."""
    if len(texts) != len(keys):
        raise RemoteError(f"Table {table} needs {len(keys)} key fields")
    return [_match(text, key) for text, key in zip(texts, keys, strict=True)]


def _match(text: str, key: Key) -> Any:
    make = TYPES["Match"]
    if key.kind == "lpm":
        prefix, slash, length = text.partition("/")
        if not slash or not length.isdigit() or int(length) > key.width:
            raise RemoteError(f"Invalid LPM value {text}: it is VALUE/LENGTH")
        own = TYPES["Lpm"](value(prefix, key.width), int(length))
        return make(MatchKind.LPM, lpm=own)
    if key.kind in ("ternary", "optional"):
        wanted, and_mask, mask = text.partition("&&&")
        if not and_mask:
            raise RemoteError(f"Invalid ternary value {text}: it is VALUE&&&MASK")
        own = TYPES["Ternary"](value(wanted, key.width), value(mask, key.width))
        return make(MatchKind.TERNARY, ternary=own)
    if key.kind == "range":
        low, arrow, high = text.partition("->")
        if not arrow:
            raise RemoteError(f"Invalid range value {text}: it is LOW->HIGH")
        own = TYPES["Range"](value(low, key.width), value(high, key.width))
        return make(MatchKind.RANGE, range=own)
    return make(MatchKind.EXACT, exact=TYPES["Exact"](value(text, key.width)))


def shown(match: Any, between: str = "") -> tuple[str, str]:
    """The kind of a match, and its value in hexadecimal digits, with something between bytes."""
    if match.lpm is not None:
        return "LPM", f"{_hex(match.lpm.key, between)}/{match.lpm.length}"
    if match.ternary is not None:
        pair = match.ternary.key, match.ternary.mask
        return "TERNARY", " &&& ".join(_hex(data, between) for data in pair)
    if match.range is not None:
        pair = match.range.low, match.range.high
        return "RANGE", " -> ".join(_hex(data, between) for data in pair)
    return "EXACT", _hex(match.exact.key, between)


def colons(data: bytes) -> str:
    """Bytes with colons between them."""
    return _hex(data, ":")


def _hex(data: bytes, between: str) -> str:
    return between.join(f"{byte:02x}" for byte in data)
