"""Who gave a field its value: the changes of one field, backwards through the passes and hops of a
packet that was traced."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from p4lab.grading.frames import trace_number
from p4lab.tracing import Hop, Writer, all_hops

Passage = tuple[Hop, dict[str, Any]]
"""A packet of a switch, and the arrival that it came of"""

_ASKED = re.compile(r"(?P<name>[\w.$\[\]]+?)(?::(?P<bit>[1-9]\d{0,3}))?")


@dataclass(frozen=True)
class Asked:
    """A field such as `bier.bit_string`, or one bit of it, counted from 1, the lowest."""

    name: str
    bit: int | None = None

    @classmethod
    def of(cls, written: str) -> Asked | None:
        """What a user means by `FIELD` or `FIELD:BIT`; None if it is neither."""
        found = _ASKED.fullmatch(written)
        return found and cls(found["name"], int(found["bit"]) if found["bit"] else None)

    def is_in(self, step: dict[str, Any]) -> bool:
        """Whether a step changed the field, or the bit if one is asked for."""
        if step["kind"] != "change" or not _ends(step["name"], self.name):
            return False
        if self.bit is None:
            return True
        before, after = (trace_number(step[side]) or 0 for side in ("before", "after"))
        return bool((before ^ after) >> (self.bit - 1) & 1)

    def seen(self, text: str) -> str:
        """What a value in a trace is of the field: itself, or the bit."""
        if self.bit is None:
            return text
        return str((trace_number(text) or 0) >> (self.bit - 1) & 1)

    def read(self, step: dict[str, Any]) -> str | None:
        """What a parser found in the field; None if the step is no such thing."""
        header, _, field = self.name.rpartition(".")
        if step["kind"] != "extract" or not header or not _ends(step["header"], header):
            return None
        fields: dict[str, str] = step["fields"]
        return fields.get(field)


def _ends(full: str, name: str) -> bool:
    return full == name or full.endswith(f".{name}")


def ways(first: Hop) -> Iterator[list[Passage]]:
    """The packets from the one that was sent to each that left no other, across all switches."""
    waiting: list[tuple[Hop, list[Passage]]] = [(first, [])]
    while waiting:
        hop, before = waiting.pop()
        packets = {packet["id"]: packet for packet in hop.packets}
        parents = {packet["parent"] for packet in hop.packets}
        for packet in hop.packets:
            if packet["id"] in parents and packet["id"] not in hop.next:
                continue
            line = [packet]
            while (parent := line[-1]["parent"]) in packets:
                line.append(packets[parent])
            way = [*before, *((hop, one) for one in reversed(line))]
            if packet["id"] in hop.next:
                waiting.append((hop.next[packet["id"]], way))
            else:
                yield way


def chosen(first: Hop, router: str | None, asked: Asked) -> list[Passage]:
    """The way to tell of: up to a router if one is named, else one that ends at a host, if any; of
    these the one on which the field changed last."""
    found = []
    for way in ways(first):
        if router is not None:
            places = [place for place, (hop, _) in enumerate(way) if hop.router == router]
            if not places:
                continue
            way = way[: places[-1] + 1]
        hop, packet = way[-1]
        changes = [
            place for place, (_, one) in enumerate(way) if any(map(asked.is_in, one["steps"]))
        ]
        rank = (packet["id"] in hop.delivered, max(changes, default=-1), len(way))
        found.append((rank, way))
    return max(found, key=lambda one: one[0], default=((), []))[1]


def told(
    way: list[Passage], asked: Asked, writer: Writer, headers: Collection[str]
) -> Iterator[str]:
    """The changes of the field on a way, the last one first, each with where it was, its line and
    the table that led to it; and what it came in with. `headers` are those of the program: what is
    in none of them begins anew at every switch."""
    hop, packet = way[-1]
    end = hop.delivered.get(packet["id"]) or f"the end of its path in {hop.router}"
    what = asked.name if asked.bit is None else f"bit {asked.bit} of {asked.name}"
    yield f"{what}, on the way to {end}, from the last change back:"
    if asked.name.rpartition(".")[0] not in headers:
        way = [passage for passage in way if passage[0] is hop]
    steps = list(_back(way, asked))
    for hop, packet, place in steps:
        step = packet["steps"][place]
        yield f"  {_where(hop, packet)}: {writer.text(step)}  ({_line(step)})"
        table = _table_before(packet["steps"][:place], step)
        if table is not None:
            yield f"      run by {_brief(writer.text(table))}  ({_line(table)})"
    hop, packet = way[0]
    for step in packet["steps"]:
        if (value := asked.read(step)) is not None:
            shown = writer.value(step, asked.name.rpartition(".")[2], value)
            yield f"  {hop.router}, port {hop.port}: it came in with {shown}, from {hop.source}"
            return
    if not steps:
        yield "  Nothing changed it: it is 0 from the beginning."


def _back(way: list[Passage], asked: Asked) -> Iterator[tuple[Hop, dict[str, Any], int]]:
    """The changes that made the value, from the last one back. A packet may come of an earlier one
    as that came in: what happened to it after the copy was made left another value, and does not
    count."""
    value = None
    for hop, packet in reversed(way):
        for place, step in reversed([*enumerate(packet["steps"])]):
            if (found := asked.read(step)) is not None:
                value = asked.seen(found)
            elif asked.is_in(step) and (value is None or asked.seen(step["after"]) == value):
                value = asked.seen(step["before"])
                yield hop, packet, place


def _where(hop: Hop, packet: dict[str, Any]) -> str:
    passes = f", pass {packet['pass'] + 1}" if packet["pass"] else ""
    return f"{hop.router}, packet {packet['id']} ({packet['kind']}{passes})"


def _line(step: dict[str, Any]) -> str:
    return f"{PurePath(step['file']).name}:{step['line']}"


def _brief(text: str) -> str:
    """Tables and actions by the last part of their names."""
    return re.sub(r"(table |-> )(?:\w+\.)+(\w+)", r"\1\2", text)


def _table_before(steps: list[dict[str, Any]], change: dict[str, Any]) -> dict[str, Any] | None:
    """The look-up whose action made a change: the last before it, unless something in its block,
    further down than the look-up, did."""
    last = next((step for step in reversed(steps) if step["kind"] in ("table", "block")), None)
    if last is None or last["kind"] != "table" or last["file"] != change["file"]:
        return None
    return last if change["line"] < last["line"] else None


def fields(first: Hop) -> list[str]:
    """What changed anywhere, by its last two names."""
    names = set()
    for hop in all_hops([first]):
        for packet in hop.packets:
            for step in packet["steps"]:
                if step["kind"] == "change":
                    names.add(".".join(step["name"].split(".")[-2:]))
                elif step["kind"] == "extract":
                    header = step["header"].rpartition(".")[2]
                    names.update(f"{header}.{field}" for field in step["fields"])
    return sorted(name for name in names if "." in name and "$" not in name)
