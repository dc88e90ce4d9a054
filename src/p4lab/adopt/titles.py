"""What scenarios are about, told apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from p4lab.grading.frames import PAYLOAD
from p4lab.model.notation import Notation

Data = dict[str, Any]


@dataclass(frozen=True)
class Found:
    """A scenario, and what its packet meets: names of tables, and how it ends. `about` is the
    clause that tells it from the others."""

    data: Data
    tables: tuple[str, ...]
    fate: str
    about: str = ""


def told_apart(ways: Sequence[Found], widths: Mapping[str, Mapping[str, int]]) -> Iterator[Found]:
    """What each is about. Of those that meet and become the same, it names actions of entries and
    numbers of fields that are not the same in all."""
    alike: dict[tuple[str, str], list[Found]] = {}
    for one in ways:
        alike.setdefault((_told(one, {}), one.fate), []).append(one)
    for one in ways:
        group = alike[_told(one, {}), one.fate]
        others = [_decided(other) for other in group]
        named: dict[str, list[str]] = {}
        if any(_actions(other) != _actions(one) for other in group):
            for table, action in _actions(one):
                named.setdefault(table, []).append(action)
        for (header, field), value in _decided(one).items():
            if any(other.get((header, field)) != value for other in others):
                text = Notation().text(field, value, widths[header][field])
                named.setdefault(header, []).append(f"{field} {text}")
        yield replace(one, about=_told(one, named))


def _decided(found: Found) -> dict[tuple[str, str], int]:
    """The numbers in the packet that decide its way, by header and field."""
    packet = found.data["send"][0]["packet"].items()
    return {
        (header, field): value
        for header, fields in packet
        if header != PAYLOAD and isinstance(fields, Mapping)
        for field, value in fields.items()
        if isinstance(value, int)
    }


def _actions(found: Found) -> list[tuple[str, str]]:
    """The tables and actions of its entries."""
    return [(entry["table"], entry["action"]) for entry in found.data.get("entry", [])]


def _told(found: Found, named: Mapping[str, Sequence[str]]) -> str:
    """A clause with what is `named` of headers and tables in brackets."""

    def whole(name: str) -> str:
        return f"{name} ({', '.join(named[name])})" if name in named else name

    packet = [whole(name) for name in found.data["send"][0]["packet"] if name != PAYLOAD]
    what = f"A packet with {', '.join(packet)} comes in" if packet else "A short packet comes in"
    entries = [whole(table) for table in dict.fromkeys(table for table, _ in _actions(found))]
    if not entries:
        return what
    has = "has an entry" if len(entries) == 1 else "have entries"
    return f"{what}; {' and '.join(entries)} {has}"
