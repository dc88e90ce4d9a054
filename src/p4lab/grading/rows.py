"""What a scenario writes into a switch: rows, default actions, registers, meters, groups, sessions.

Each becomes an update and a step in words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv6Address
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from p4lab.grading import drawing, frames
from p4lab.model.entries import (
    CloneSession,
    DefaultAction,
    DontCare,
    Entity,
    Exact,
    Lpm,
    Match,
    MeterCell,
    MulticastGroup,
    Optional,
    Params,
    Range,
    RegisterCell,
    TableEntry,
    Ternary,
)
from p4lab.model.notation import Notation, bits_named, set_bits
from p4lab.plurals import count_of

IPV6_BITS = 128

Written = Any
"""A value of the file, or an expression"""


class ScenarioError(ValueError):
    """A scenario that cannot be used; the message says where and why."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid")


At = Annotated[int, Field(ge=1)]
"""The number of the packet before which something is written"""


class Entry(_Table):
    """A row of a table. A ternary match is "VALUE &&& MASK" or "*", an LPM match "VALUE/LENGTH",
    a range "LOW..HIGH"; everything else is exact."""

    each: str | None = None
    table: str
    match: dict[str, Written] = {}
    priority: Written = 0
    action: str
    params: dict[str, Written] = {}
    at: At = 1


class Default(_Table):
    """The default action of a table."""

    table: str
    action: str
    params: dict[str, Written] = {}
    at: At = 1


class Cell(_Table):
    """A cell of a register."""

    register_: Annotated[str, Field(alias="register")]
    index: Written
    value: Written
    at: At = 1


class Meter(_Table):
    """The rates of a cell of a meter: bytes or packets per second, as the program has it. Without
    `peak` there is one rate: what is not green is red."""

    each: str | None = None
    meter: str
    index: Written
    rate: Written
    burst: Written
    peak_rate: Written = None
    peak_burst: Written = None
    at: At = 1


class Group(_Table):
    """A multicast group: one copy for each port. `instances` are the numbers by which egress knows
    the copies (v1model: egress_rid), 0, 1, 2 and so on unless told."""

    each: str | None = None
    id: Written
    ports: Written
    instances: Written = None


class Session(_Table):
    """A clone session (on TNA: a mirror session) that leads to a port. `say` reads in place of what
    it is, with `{...}` computed."""

    each: str | None = None
    id: Written
    port: Written
    say: str = ""


class Configuration(_Table):
    """All of it."""

    entry: list[Entry] = []
    default: list[Default] = []
    cell: list[Cell] = []
    meter: list[Meter] = []
    group: list[Group] = []
    session: list[Session] = []


@dataclass(frozen=True)
class Step:
    """What is written into a switch, in words: `head` and `tail`, and between them the number of
    the `bit` if it is a row that asks for one bit of a set."""

    head: str
    bit: int | None = None
    tail: str = ""

    @property
    def text(self) -> str:
        return f"{self.head}{'' if self.bit is None else self.bit}{self.tail}"


def merged(steps: Iterable[Step]) -> tuple[str, ...]:
    """The steps in words. Rows that follow each other and differ in their bit only become one."""
    found: list[list[Step]] = []
    for step in steps:
        row = step.bit is not None
        if row and found and (found[-1][0].head, found[-1][0].tail) == (step.head, step.tail):
            found[-1].append(step)
        else:
            found.append([step])
    return tuple(_any_of(rows) for rows in found)


def _any_of(rows: list[Step]) -> str:
    """Rows that differ in their bit, as one."""
    first, *others = rows
    if not others:
        return first.text
    *most, last = (str(bit) for bit in sorted(row.bit or 0 for row in rows))
    return f"{first.head}{', '.join(most)} or {last}{first.tail}"


def configure(
    wanted: Configuration,
    notation: Notation,
    names: Mapping[str, Any],
    summary: Mapping[str, Any],
    sessions: Sequence[Session] = (),
) -> Iterator[tuple[int, Entity, Step]]:
    """Before which packet something is written, what, and how it reads. `names` are those
    of expressions, `summary` is that of the program; `sessions` are there unless another has their
    number. Raises ScenarioError, ValueError."""
    for entity, step in _sessions((*wanted.session, *sessions), names, summary):
        yield 1, entity, step
    for group in wanted.group:
        for inner in drawing.rounds(group.each, names):
            number = int(drawing.value(group.id, inner))
            replicas = _replicas(group, inner)
            listed = ", ".join(
                str(port) if group.instances is None else f"{port} (copy {instance})"
                for port, instance in replicas
            )
            step = Step(f"multicast group {number} has ports {listed}")
            yield 1, MulticastGroup(number, replicas), step
    for cell in wanted.cell:
        index, value = (int(drawing.value(item, names)) for item in (cell.index, cell.value))
        step = Step(f"register {cell.register_}[{index}] = {value}")
        yield cell.at, RegisterCell(cell.register_, index, value), step
    for meter in wanted.meter:
        for inner in drawing.rounds(meter.each, names):
            yield (meter.at, *_meter(meter, inner))
    for default in wanted.default:
        table = _named("table", default.table, summary["tables"])
        params = _params_of(default, table, summary)
        values, told = _values(default.params, params, names, notation)
        step = Step(f"table {default.table}: default {default.action}({told})")
        yield default.at, DefaultAction(default.table, default.action, values), step
    for entry in wanted.entry:
        table = _named("table", entry.table, summary["tables"])
        keys = {key["name"]: key for key in table["keys"]}
        params = _params_of(entry, table, summary)
        _known(f"the table {entry.table}", "key", entry.match, keys)
        for inner in drawing.rounds(entry.each, names):
            yield (entry.at, *_entry(entry, keys, params, inner, notation))


def _sessions(
    sessions: Iterable[Session], names: Mapping[str, Any], summary: Mapping[str, Any]
) -> Iterator[tuple[Entity, Step]]:
    """The sessions, of each number the first, and how they read."""
    kind = "clone" if summary["package"] == "V1Switch" else "mirror"
    seen = set()
    for session in sessions:
        for inner in drawing.rounds(session.each, names):
            number, port = (int(drawing.value(item, inner)) for item in (session.id, session.port))
            if number in seen:
                continue
            seen.add(number)
            plain = f"{kind} session {number} leads to port {port}"
            said = drawing.filled(session.say, inner) if session.say else plain
            yield CloneSession(number, ((port, 0),)), Step(said)


def _meter(meter: Meter, names: Mapping[str, Any]) -> tuple[Entity, Step]:
    """The rates of a meter's cell, and how they read."""
    index, rate, burst = (
        int(drawing.value(item, names)) for item in (meter.index, meter.rate, meter.burst)
    )
    told = f"{rate} per second, {burst} at once"
    peak_rate, peak_burst = rate, burst
    if meter.peak_rate is not None or meter.peak_burst is not None:
        peak_rate = int(drawing.value(meter.peak_rate or rate, names))
        peak_burst = int(drawing.value(meter.peak_burst or burst, names))
        told = f"{told}, at most {peak_rate} and {peak_burst}"
    cell = MeterCell(meter.meter, index, rate, burst, peak_rate, peak_burst)
    return cell, Step(f"meter {meter.meter}[{index}]: {told}")


def _replicas(group: Group, names: Mapping[str, Any]) -> tuple[tuple[int, int], ...]:
    """Port and instance of each copy. Raises ScenarioError."""
    ports = [int(port) for port in drawing.value(group.ports, names)]
    if group.instances is None:
        return tuple((port, index) for index, port in enumerate(ports))
    instances = [int(instance) for instance in drawing.value(group.instances, names)]
    if len(ports) != len(instances):
        raise ScenarioError(
            f"group: {count_of(len(ports), 'port')} and {count_of(len(instances), 'instance')}"
        )
    return tuple(zip(ports, instances, strict=True))


def _params_of(
    row: Entry | Default, table: Mapping[str, Any], summary: Mapping[str, Any]
) -> dict[str, int]:
    """The parameters of a row's action with their widths. Raises ScenarioError."""
    offered = [item for item in summary["actions"] if item["name"] in table["actions"]]
    action = _named("action", row.action, offered)
    params = {param["name"]: param["width"] for param in action["params"]}
    _known(f"the action {row.action}", "parameter", row.params, params)
    return params


def _values(
    written: Mapping[str, Written],
    widths: Mapping[str, int],
    names: Mapping[str, Any],
    notation: Notation,
) -> tuple[Params, str]:
    """The arguments of an action, and how they read."""
    params = tuple(
        (name, frames.number(drawing.value(item, names), widths[name]))
        for name, item in written.items()
    )
    told = ", ".join(f"{n}={notation.said(n, item, widths[n])}" for n, item in params)
    return params, told


def _named(what: str, name: str, items: list[dict[str, Any]]) -> dict[str, Any]:
    """The one of `items` whose name is or ends in `name`."""
    found = [item for item in items if item["name"] == name or item["name"].endswith(f".{name}")]
    if len(found) != 1:
        known = ", ".join(item["name"].rsplit(".", 1)[-1] for item in items)
        raise ScenarioError(f"entry: there is no single {what} {name}; choose from {known}")
    return found[0]


def _known(owner: str, what: str, given: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    for name in given:
        if name not in known:
            raise ScenarioError(f"entry: {owner} has no {what} {name}; it has {', '.join(known)}")


def _entry(
    entry: Entry,
    keys: Mapping[str, Mapping[str, Any]],
    widths: Mapping[str, int],
    names: Mapping[str, Any],
    notation: Notation,
) -> tuple[Entity, Step]:
    matches = []
    told = []
    for name, written in entry.match.items():
        key = keys[name]
        match = _match(drawing.value(written, names), key["match_kind"], key["width"])
        matches.append((name, match))
        told.append(_key_told(name, match, key["width"], notation))
    params, arguments = _values(entry.params, widths, names, notation)
    priority = int(drawing.value(entry.priority, names))
    made = TableEntry(entry.table, tuple(matches), entry.action, params, priority)
    row = _joined_keys(told)
    head = f"table {entry.table}: {row.head if told else 'any packet'}"
    tail = f"{row.tail} -> {entry.action}({arguments})"
    return made, Step(head, row.bit, tail)


def _joined_keys(keys: list[Step]) -> Step:
    """The keys of a row in one line, around the bit if just one of them asks for one."""
    bits = [place for place, key in enumerate(keys) if key.bit is not None]
    texts = [key.text for key in keys]
    if len(bits) != 1:
        return Step(", ".join(texts))
    (place,) = bits
    own = keys[place]
    before, after = [*texts[:place], own.head], [own.tail, *texts[place + 1 :]]
    return Step(", ".join(before), own.bit, ", ".join(after))


def _match(written: Any, kind: str, width: int) -> Match:
    if written == "*":
        return DontCare()
    match kind:
        case "ternary":
            return Ternary(*_pair(written, "&&&", width, (1 << width) - 1))
        case "lpm":
            return Lpm(*_pair(written, "/", width, width))
        case "range":
            return Range(*_pair(written, "..", width, None))
    number = frames.number(written, width)
    return Optional(number) if kind == "optional" else Exact(number)


def _pair(written: Any, between: str, width: int, alone: int | None) -> tuple[int, int]:
    """The two numbers of a match. Of one that is written alone the second is `alone`, or the same
    again."""
    if isinstance(written, list | tuple):  # an expression may give value and mask
        low, high = written
        return low, high
    if isinstance(written, str) and between in written:
        low, high = written.split(between)
        length = between == "/"
        return frames.number(low, width), int(high) if length else frames.number(high, width)
    number = frames.number(written, width)
    return number, number if alone is None else alone


def _key_told(name: str, match: Match, width: int, notation: Notation) -> Step:
    """How a key of a row reads."""
    match match:
        case DontCare():
            return Step(f"{name}=*")
        case Range(low, high):
            return Step(f"{name}={low}..{high}")
        case Lpm(value, length) if width == IPV6_BITS and length < width:
            # What a notation says of a whole address, such as a SID, may not hold of its beginning.
            return Step(f"{name}={IPv6Address(value)}/{length}")
        case Lpm(value, length):
            return Step(f"{name}={notation.said(name, value, width)}/{length}")
        case Ternary(value, mask) if mask != (1 << width) - 1:
            if value != mask or not notation.style(name, width).is_set:
                return Step(f"{name}={value:#x} &&& {mask:#x}")
            bits = set_bits(value)
            if len(bits) == 1:
                return Step(f"{name}=bit ", bits[0], " set")
            return Step(f"{name}={bits_named(value)} set")
        case _:
            return Step(f"{name}={notation.said(name, match.value, width)}")
