"""Which differences of a packet are consequences of others: no line of the student's makes them.

A field is one if, on both ways, only lines that the lab gives have written it. They are the same
for both, so what they write depends on something else that differs: a port, a header's validity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from p4lab.grading.culprit import Source, place
from p4lab.grading.difference import Pair
from p4lab.grading.frames import PAYLOAD
from p4lab.grading.record import FieldDifference, PacketDifference


def marked(told: PacketDifference, pair: Pair, mine: Source, theirs: Source) -> PacketDifference:
    """The difference of a pair with its consequences marked, unless nothing else would be left.
    `mine` is the reference's program."""
    fields = tuple(
        replace(one, caused=_is_caused(one, told, pair, mine, theirs)) for one in told.fields
    )
    moved = told.expected_port != told.got_port or told.expected_headers != told.got_headers
    if not moved and all(one.caused for one in fields):
        return told
    return replace(told, fields=fields)


def _is_caused(
    one: FieldDifference, told: PacketDifference, pair: Pair, mine: Source, theirs: Source
) -> bool:
    if one.field == PAYLOAD or pair.wanted is None or pair.got is None:
        return False
    header, _, name = one.field.rpartition(".")
    if "checksum" in name:  # computed over other fields
        beside = [item.field for item in told.fields if item.field.startswith(f"{header}.")]
        return len(beside) > 1
    lines = [
        (source, place(step, source.files))
        for lineage, source in ((pair.wanted.lineage, mine), (pair.got.lineage, theirs))
        for step in _changes(one.field, lineage)
    ]
    return bool(lines) and not any(source.is_new(line) for source, line in lines)


def _changes(name: str, lineage: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The steps that changed a field."""
    return [
        step
        for packet in lineage
        for step in packet["steps"]
        if step["kind"] == "change" and (step["name"] == name or step["name"].endswith(f".{name}"))
    ]
