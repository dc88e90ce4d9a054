"""What came out beside what should have: packet by packet, field by field, and of which kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from p4lab import _engine
from p4lab.grading import frames
from p4lab.grading.frames import Header, Headers
from p4lab.grading.record import FieldDifference, PacketDifference
from p4lab.model.notation import BITS_LOST as BITS_LOST
from p4lab.model.notation import BITS_NOT_CLEARED as BITS_NOT_CLEARED
from p4lab.packets.ip import checksum
from p4lab.plurals import count_of
from p4lab.steps import emits, short

# Kinds of differences, each with the sentence that a student reads when nothing better is known.
# A notation knows more of them, such as those of sets.
LOOP = "loop"
TABLE_MISSED = "table missed"
DROPPED = "dropped"
COPY_MISSING = "copy missing"
COPY_TOO_MANY = "copy too many"
WRONG_PORT = "wrong port"
HEADER_NOT_REMOVED = "header not removed"
HEADER_MISSING = "header missing"
TTL = "TTL not decremented"
CHECKSUM = "stale checksum"
WRONG_FIELD = "wrong field"
PAYLOAD = "payload changed"
PARSER = "parser"
UNMET = "unmet line"

MORE = "..."
"""Headers that a check does not look at, behind the names of those that it does"""

_TTLS = {"ttl", "hop_limit", "hoplimit", "time_to_live"}


@dataclass(frozen=True)
class Out:
    """A packet that came out. `lineage` are the trace's packets from the one that came in to this
    one; `rest` is what follows the headers. It has `more` headers if some were left out."""

    port: int
    data: bytes
    headers: tuple[Header, ...]
    rest: bytes = b""
    lineage: tuple[dict[str, Any], ...] = field(default=(), compare=False)
    more: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class Wanted:
    """A packet that should come out. Fields of its headers that are not there do not matter;
    `rest` None: nor does what follows the headers. It has `more` headers if some were left out."""

    port: int
    headers: tuple[Header, ...]
    rest: bytes | None = None
    lineage: tuple[dict[str, Any], ...] = field(default=(), compare=False)
    more: bool = field(default=False, compare=False)


def outs(program: _engine.Program, trace: dict[str, Any] | _engine.Arrival) -> list[Out]:
    """The packets that a trace says were sent, in order."""
    sizes = {short(header["name"]): header["fields"] for header in program.summary["headers"]}
    packets = {packet["id"]: packet for packet in trace["packets"]}
    lines: dict[int, tuple[dict[str, Any], ...]] = {}
    found = []
    for packet in trace["packets"]:
        fate = packet["fate"]
        if not fate or fate["kind"] != "sent":
            continue
        bits = sum(_bits(step, sizes) for step in emits(packet))
        headers = frames.emitted(packet)
        rest = fate["data"][bits // 8 :]
        found.append(
            Out(fate["port"], fate["data"], headers, rest, _lineage(packet, packets, lines))
        )
    return found


def _bits(step: dict[str, Any], sizes: dict[str, list[dict[str, Any]]]) -> int:
    """Bits on the wire of an emitted header; a varbit says its own length."""
    total = 0
    for item in sizes.get(short(step["header"]), []):
        text = step["fields"].get(item["name"], "")
        total += int(text.partition(" bits ")[0]) if item["varbit"] else item["width"]
    return total


def _lineage(
    packet: dict[str, Any],
    packets: dict[int, dict[str, Any]],
    known: dict[int, tuple[dict[str, Any], ...]],
) -> tuple[dict[str, Any], ...]:
    """The packets from the one that came in to this one. `known` holds those already found: in a
    loop each begins with the one before."""
    own = [packet]
    while (parent := own[-1]["parent"]) is not None and parent not in known:
        own.append(packets[parent])
    for item in reversed(own):
        known[item["id"]] = (*known.get(item["parent"], ()), item)
    return known[packet["id"]]


def settled(out: Out, ignore: frozenset[str], layout: frames.Layout) -> Out:
    """A packet in which fields that do not matter make no difference to a checksum over them: one
    that fits its header is what it would be if they were 0. Others stay as they are."""
    headers = tuple(_settled(header, ignore, layout.get(header.name, {})) for header in out.headers)
    return replace(out, headers=headers)


def _settled(header: Header, ignore: frozenset[str], widths: Mapping[str, int]) -> Header:
    free = [name for name in header.fields if f"{header.name}.{name}" in ignore]
    sums = [name for name, width in widths.items() if "checksum" in name and width == 16]
    if not free or len(sums) != 1 or checksum(frames.packed(header.fields, widths)) != 0:
        return header
    without = {**header.fields, **dict.fromkeys([*free, *sums], 0)}
    return Header(header.name, {**header.fields, sums[0]: checksum(frames.packed(without, widths))})


def wanted(out: Out, ignore: frozenset[str]) -> Wanted:
    """What the reference sent, as the thing to expect; `ignore` are fields such as `bier.tc`, all
    fields of a header (`bier.*`), and headers that may be there or not (`bier`)."""
    headers = tuple(
        Header(
            header.name,
            {
                name: number
                for name, number in header.fields.items()
                if not {f"{header.name}.{name}", f"{header.name}.*"} & ignore
            },
        )
        for header in out.headers
        if header.name not in ignore
    )
    return Wanted(out.port, headers, out.rest, out.lineage, len(headers) < len(out.headers))


def without(out: Out, ignore: frozenset[str]) -> Out:
    """A packet without its headers that may be there or not."""
    headers = tuple(header for header in out.headers if header.name not in ignore)
    return replace(out, headers=headers, more=len(headers) < len(out.headers))


@dataclass(frozen=True)
class Pair:
    """A wanted packet and the one taken for it; one of them may be missing."""

    wanted: Wanted | None
    got: Out | None


def fits(expected: Wanted, got: Out) -> bool:
    """Whether a packet is as it should be."""
    return expected.port == got.port and not _unlike(expected, got)


def _unlike(expected: Wanted, got: Out) -> int:
    """How much two packets differ apart from their ports; 0: not at all."""
    if [header.name for header in expected.headers] != [header.name for header in got.headers]:
        return 1000
    count = sum(
        other.fields.get(name) != number
        for header, other in zip(expected.headers, got.headers, strict=True)
        for name, number in header.fields.items()
    )
    return count + (expected.rest is not None and expected.rest != got.rest)


def unequal(expected: Sequence[Wanted], got: Sequence[Out], others: bool) -> list[Pair]:
    """What is left when equal packets are put aside, the rest paired by likeness; empty if all is
    as expected. `others` allows packets that nobody expects."""
    missing = list(expected)
    extra: list[Out] = []
    for packet in got:
        same = next((item for item in missing if fits(item, packet)), None)
        if same is None:
            extra.append(packet)
        else:
            missing.remove(same)
    pairs = []
    costs = sorted(
        (
            (_unlike(item, packet) + 2 * (item.port != packet.port), i, j)
            for i, item in enumerate(missing)
            for j, packet in enumerate(extra)
        ),
    )
    used_missing: set[int] = set()
    used_extra: set[int] = set()
    for _, i, j in costs:
        if i not in used_missing and j not in used_extra:
            used_missing.add(i)
            used_extra.add(j)
            pairs.append(Pair(missing[i], extra[j]))
    pairs += [Pair(item, None) for i, item in enumerate(missing) if i not in used_missing]
    if not others:
        pairs += [Pair(None, item) for j, item in enumerate(extra) if j not in used_extra]
    return pairs


def inside(pair: Pair) -> Pair:
    """The pair, or where only what follows the headers differs, what that was in an earlier pass:
    a tunnel hides the headers of what it carries from the pass after it."""
    expected, got = pair.wanted, pair.got
    if expected is None or got is None:
        return pair
    if (earlier := _between(expected, got)) is not None:
        return earlier
    if expected.rest == got.rest or _changed(expected, got):
        return pair
    shown = len(expected.headers)
    for mine, theirs in zip(expected.lineage[-2::-1], got.lineage[-2::-1], strict=False):
        hidden = [frames.emitted(item)[shown:] for item in (mine, theirs)]
        if hidden[0] != hidden[1]:
            return Pair(
                Wanted(expected.port, hidden[0], lineage=expected.lineage),
                Out(got.port, got.data, hidden[1], lineage=got.lineage),
            )
    return pair


def _between(expected: Wanted, got: Out) -> Pair | None:
    """What two packets were between ingress and egress of a TNA switch, if that explains why egress
    found other headers in one than in the other; headers that only the inside has are left out."""
    if not expected.lineage or not got.lineage:
        return None
    stages = [_last_pass(item.lineage) for item in (expected, got)]
    if min(map(len, stages)) < 2:
        return None
    mine, theirs = stages[0][0], stages[1][0]
    last = {header.name: header.fields for header in expected.headers}
    inner = {header.name for header in mine} - last.keys()
    headers = tuple(
        Header(header.name, {n: v for n, v in header.fields.items() if n in last[header.name]})
        for header in mine
        if header.name not in inner
    )
    found = tuple(header for header in theirs if header.name not in inner)
    wanted = Wanted(expected.port, headers, lineage=expected.lineage)
    then = Out(got.port, got.data, found, lineage=got.lineage)
    if _names(headers) != _names(found):
        return Pair(wanted, then)
    differs = _names(expected.headers) != _names(got.headers)
    return Pair(wanted, then) if differs and _changed(wanted, then) else None


def _last_pass(lineage: Sequence[dict[str, Any]]) -> list[tuple[Header, ...]]:
    """What each deparser wrote since the packet came in last; a replica begins at egress."""
    found: list[tuple[Header, ...]] = []
    for packet in reversed(lineage):
        found = frames.deparsed(packet) + found
        if packet["ingress_port"] is not None:
            break
    return found


def _names(headers: Sequence[Header]) -> list[str]:
    return [header.name for header in headers]


def describe(pair: Pair, known: Headers) -> PacketDifference:
    """The difference for a reader; fields that do not matter are left out."""
    expected, got = pair.wanted, pair.got
    fields: list[FieldDifference] = []
    if expected is not None and got is not None:
        theirs = {header.name: header for header in got.headers}
        for header in expected.headers:
            other = theirs.get(header.name)
            for name, number in header.fields.items():
                found = other.fields.get(name) if other else None
                if other is not None and found != number:
                    fields.append(_field(f"{header.name}.{name}", number, found, known))
        if expected.rest is not None and expected.rest != got.rest and not fields:
            fields.append(
                FieldDifference(
                    frames.PAYLOAD, _bytes(expected.rest, ""), _bytes(got.rest, "other ")
                )
            )
    both = (_listed(expected, got), _listed(got, expected))
    ports = (expected.port if expected else None, got.port if got else None)
    return PacketDifference(*ports, *both, tuple(fields))


def _listed(one: Wanted | Out | None, other: Wanted | Out | None) -> tuple[str, ...]:
    """The headers of a packet; that there are more is said where another has others."""
    if one is None:
        return ()
    names = tuple(_names(one.headers))
    alike = other is not None and names == tuple(_names(other.headers))
    return (*names, MORE) if one.more and not alike else names


def _bytes(data: bytes, which: str) -> str:
    return count_of(len(data), f"{which}byte")


def _field(name: str, expected: int, got: int | None, known: Headers) -> FieldDifference:
    return FieldDifference(
        name, known.said(name, expected), None if got is None else known.said(name, got)
    )


def signature(pair: Pair, known: Headers) -> tuple[str, str]:
    """The kind of a difference between two packets and the field it shows in (may be empty)."""
    expected, got = pair.wanted, pair.got
    if got is None:
        return COPY_MISSING, ""
    if expected is None:
        return COPY_TOO_MANY, ""
    names = [header.name for header in expected.headers]
    theirs = [header.name for header in got.headers]
    if surplus := [name for name in theirs if name not in names]:
        return HEADER_NOT_REMOVED, surplus[0]
    changed = _changed(expected, got)
    # Longer than it should be behind the headers: one is there, but a field in front of it made the
    # next pass take it for payload. That field is the difference.
    hidden = expected.rest is not None and len(got.rest) > len(expected.rest) and bool(changed)
    lacking = [name for name in names if name not in theirs]
    if lacking and not hidden:
        return HEADER_MISSING, lacking[0]
    # What is computed over other fields differs because of them: it counts only by itself.
    telling = [item for item in changed if "checksum" not in item[0]] or changed
    # A set of receivers or an address says most; of numbers, the one that is read first.
    telling.sort(key=lambda item: known.is_number(item[0]))
    for name, want, have in telling:
        if kind := known.unlike(name, want, have):
            return kind, name
    if expected.port != got.port:
        return WRONG_PORT, ""
    for name, want, have in telling:
        if name.rsplit(".", 1)[-1] in _TTLS and have == want + 1:
            return TTL, name
    if telling:
        name = telling[0][0]
        return (CHECKSUM if "checksum" in name else WRONG_FIELD), name
    return PAYLOAD, ""


def _changed(expected: Wanted, got: Out) -> list[tuple[str, int, int]]:
    """Fields of headers that both have and that differ: name, wanted, found."""
    theirs = {header.name: header.fields for header in got.headers}
    return [
        (f"{header.name}.{name}", number, theirs[header.name].get(name, 0))
        for header in expected.headers
        if header.name in theirs
        for name, number in header.fields.items()
        if theirs[header.name].get(name) != number
    ]
