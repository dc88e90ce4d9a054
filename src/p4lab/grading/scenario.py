"""A scenario: what is written into a switch, what is sent, and what shall come out.

The form of the file is described in docs/checks.md. A scenario with drawn values stands for many
cases; a seed makes one of them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from p4lab.grading import drawing, frames
from p4lab.grading.drawing import DrawError

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


class Loop(_Table):
    """A front port of a TNA switch that leads back to its own ingress. `metadata` are the 64 bits
    that stand in front of its packets."""

    each: str | None = None
    port: Written
    metadata: Written = 0


class Carried(_Table):
    """What the looped ports carry, counted over the packets number `since` (from 1) to `until`, or
    to the last: in all as much as with the reference, each of `ports` as much as the others, give
    or take `spread`, and nobody else more than `late` packets."""

    ports: Written
    since: Annotated[int, Field(ge=1)] = 1
    until: Annotated[int, Field(ge=1)] | None = None
    spread: Annotated[int, Field(ge=0)] = 1
    late: Annotated[int, Field(ge=0)] = 0


class Group(_Table):
    """A multicast group: one copy for each port."""

    each: str | None = None
    id: Written
    ports: Written


class Session(_Table):
    """A clone session (on TNA: a mirror session) that leads to a port."""

    each: str | None = None
    id: Written
    port: Written


class Send(_Table):
    """A packet that is sent into a port: header to fields in the order of the wire."""

    each: str | None = None
    port: Written
    like: str | None = None
    packet: dict[str, Written] = {}


class Expect(_Table):
    """A packet that shall come out for the packet number `send`. Its headers are exactly those
    that `packet` names; fields that are left out do not matter."""

    each: str | None = None
    send: Annotated[int, Field(ge=1)] = 1
    port: Written
    packet: dict[str, dict[str, Written]]


class Network(_Table):
    """A lab's run on a network: who subscribes is drawn from the case's seed. The links of `down`,
    names such as "r1-r2" or numbers from 1, fail before the streams begin."""

    topology: Written
    bsl: Written = 64
    streams: Annotated[int, Field(ge=1, le=16)] = 2
    down: Written = []


class Scenario(_Table):
    """The file as it is. `say` tells the student what is tried. Without `expect` the reference
    program says what comes out; `ignore` lists fields that may hold anything all the same, and
    `others = "ignore"` allows packets that nobody expects."""

    say: str
    defines: dict[str, Written] = {}
    draw: dict[str, Any] = {}
    loop: list[Loop] = []
    entry: list[Entry] = []
    default: list[Default] = []
    cell: list[Cell] = []
    group: list[Group] = []
    session: list[Session] = []
    carried: list[Carried] = []
    send: list[Send] = []
    expect: list[Expect] | None = None
    ignore: list[str] = []
    others: Literal["forbid", "ignore"] = "forbid"
    network: Network | None = None


@dataclass(frozen=True)
class Sending:
    """A packet on its way in, and what is written into the switch before it comes."""

    port: int
    data: bytes
    text: str
    updates: tuple[Any, ...] = ()
    steps: tuple[str, ...] = ()


@dataclass(frozen=True)
class Share:
    """What looped ports shall carry (see `Carried`)."""

    ports: tuple[int, ...]
    since: int
    until: int
    spread: int
    late: int


@dataclass(frozen=True)
class Expected:
    """A packet that shall come out of `port`; only the fields that are named matter."""

    send: int
    port: int
    headers: tuple[frames.Header, ...]


@dataclass(frozen=True)
class NetworkCase:
    """A run on a network."""

    topology: str
    bsl: int
    streams: int
    seed: int
    down: tuple[int | str, ...] = ()


@dataclass(frozen=True)
class Case:
    """One case of a scenario: everything is a number now. `updates` are in the engine's form."""

    say: str
    defines: tuple[tuple[str, str], ...]
    updates: tuple[Any, ...]
    steps: tuple[str, ...]
    sendings: tuple[Sending, ...]
    expected: tuple[Expected, ...] | None
    ignore: frozenset[str]
    others: bool
    """Whether packets that nobody expects are allowed"""
    network: NetworkCase | None = None
    loops: tuple[tuple[int, int], ...] = ()
    """Front ports in loopback, each with its port metadata"""
    shares: tuple[Share, ...] = ()

    def told(self, upto: int) -> tuple[str, ...]:
        """What is done up to the packet number `upto`, in words."""
        steps = [self.say, *shortened(merged(self.steps))]
        for sending in self.sendings[:upto]:
            steps += [*sending.steps, sending.text]
        return tuple(steps)


SHOWN_STEPS = 12
_OF_A_BIT = re.compile(r"(.*=bit )(\d+)( set -> .*)")


def merged(steps: tuple[str, ...]) -> tuple[str, ...]:
    """Rows of a table that follow each other and differ in their bit only become one step."""
    found: list[tuple[str, list[str], str]] = []
    for step in steps:
        parts = _OF_A_BIT.fullmatch(step)
        head, bit, tail = parts.groups() if parts else (step, "", "")
        if bit and found and found[-1][::2] == (head, tail):
            found[-1][1].append(bit)
        else:
            found.append((head, [bit], tail))
    return tuple(head + _any_of(bits) + tail for head, bits, tail in found)


def _any_of(bits: list[str]) -> str:
    bits = sorted(bits, key=int) if bits[1:] else bits
    return f"{', '.join(bits[:-1])} or {bits[-1]}" if bits[1:] else bits[0]


def shortened(steps: tuple[str, ...]) -> tuple[str, ...]:
    """The first of many steps."""
    if len(steps) <= SHOWN_STEPS:
        return steps
    return (*steps[:SHOWN_STEPS], f"... and {len(steps) - SHOWN_STEPS} more entries")


@dataclass(frozen=True)
class Kit:
    """What scenarios build on: header defaults and packets of the lab."""

    defaults: Mapping[str, Mapping[str, Any]]
    packets: Mapping[str, Mapping[str, Any]]
    defines: Mapping[str, Any]
    lints: tuple[str, ...] = ()
    """Targets whose refusals are warnings for the student"""


def make_case(scenario: Scenario, kit: Kit, layouts: Layouts, seed: str) -> Case:
    """The case that a seed makes of a scenario. Raises ScenarioError."""
    try:
        return _make(scenario, kit, layouts, seed)
    except (DrawError, frames.FrameError, ValueError, TypeError, KeyError) as error:
        raise ScenarioError(str(error)) from error


class Layouts(Protocol):
    """The reference program for each set of macros: headers, tables and their keys."""

    def program(self, defines: tuple[tuple[str, str], ...]) -> Any:
        """The reference, compiled."""

    def headers(self, defines: tuple[tuple[str, str], ...]) -> dict[str, dict[str, int]]:
        """Header to field to width."""


def _make(scenario: Scenario, kit: Kit, layouts: Layouts, seed: str) -> Case:
    chance = random.Random(seed)
    names = drawing.draw(scenario.draw, chance)
    given = {**kit.defines, **scenario.defines}
    defines = tuple((name, str(drawing.value(item, names))) for name, item in given.items())
    network = scenario.network
    if network is not None:
        case = NetworkCase(
            str(drawing.value(network.topology, names)),
            int(drawing.value(network.bsl, names)),
            network.streams,
            chance.getrandbits(32),
            tuple(drawing.value(network.down, names)),
        )
        return Case(scenario.say, defines, (), (), (), None, frozenset(), False, case)
    layout = layouts.headers(defines)
    summary = layouts.program(defines).summary
    loops = [
        (int(drawing.value(item.port, inner)), int(drawing.value(item.metadata, inner)))
        for item in scenario.loop
        for inner in drawing.rounds(item.each, names)
    ]
    steps = [f"port {port} is in loopback: what is sent there comes in again" for port, _ in loops]
    updates: list[tuple[Any, ...]] = []
    later: dict[int, list[tuple[tuple[Any, ...], str]]] = {}
    for at, update, text in _configuration(scenario, names, summary):
        if at > 1:
            later.setdefault(at, []).append((update, text))
            continue
        updates.append(update)
        steps.append(text)
    sendings = _sendings(scenario, kit, names, layout, later)
    expected = None
    if scenario.expect is not None:
        expected = tuple(
            _expected(item, kit, inner, layout)
            for item in scenario.expect
            for inner in drawing.rounds(item.each, names)
        )
    return Case(
        scenario.say,
        defines,
        tuple(updates),
        tuple(steps),
        sendings,
        expected,
        frozenset(scenario.ignore),
        scenario.others == "ignore",
        loops=tuple(loops),
        shares=tuple(_share(item, names, len(sendings)) for item in scenario.carried),
    )


def _share(carried: Carried, names: Mapping[str, Any], sent: int) -> Share:
    ports = tuple(int(port) for port in drawing.value(carried.ports, names))
    until = carried.until or sent
    if not ports or not carried.since <= until <= sent:
        raise ScenarioError(
            f"carried: packets {carried.since} to {until} of {sent} by ports {list(ports)}"
        )
    return Share(ports, carried.since, until, carried.spread, carried.late)


def _sendings(
    scenario: Scenario,
    kit: Kit,
    names: Mapping[str, Any],
    layout: frames.Layout,
    later: Mapping[int, list[tuple[tuple[Any, ...], str]]],
) -> tuple[Sending, ...]:
    sendings = [
        _sending(item, kit, inner, layout)
        for item in scenario.send
        for inner in drawing.rounds(item.each, names)
    ]
    for at, written in later.items():
        if at > len(sendings):
            raise ScenarioError(f"at = {at}: only {len(sendings)} packets are sent")
        updates, steps = zip(*written, strict=True)
        sendings[at - 1] = replace(sendings[at - 1], updates=updates, steps=steps)
    return tuple(sendings)


def _configuration(
    scenario: Scenario, names: Mapping[str, Any], summary: Mapping[str, Any]
) -> Iterator[tuple[int, tuple[Any, ...], str]]:
    """Before which packet, updates, and how they read."""
    for session in scenario.session:
        for inner in drawing.rounds(session.each, names):
            number, port = (int(drawing.value(item, inner)) for item in (session.id, session.port))
            kind = "clone" if summary["package"] == "V1Switch" else "mirror"
            yield (
                1,
                ("session", number, port, None, 0),
                f"{kind} session {number} leads to port {port}",
            )
    for group in scenario.group:
        for inner in drawing.rounds(group.each, names):
            number = int(drawing.value(group.id, inner))
            ports = [int(port) for port in drawing.value(group.ports, inner)]
            replicas = [(port, index) for index, port in enumerate(ports)]
            listed = ", ".join(map(str, ports))
            yield 1, ("group", number, replicas), f"multicast group {number} has ports {listed}"
    for cell in scenario.cell:
        index, value = (int(drawing.value(item, names)) for item in (cell.index, cell.value))
        update = ("register", cell.register_, index, value)
        yield cell.at, update, f"register {cell.register_}[{index}] = {value}"
    for default in scenario.default:
        table = _named("table", default.table, summary["tables"])
        params = _params_of(default, table, summary)
        values, told = _values(default.params, params, names)
        update = ("default", default.table, default.action, values)
        yield default.at, update, f"table {default.table}: default {default.action}({told})"
    for entry in scenario.entry:
        table = _named("table", entry.table, summary["tables"])
        keys = {key["name"]: key for key in table["keys"]}
        params = _params_of(entry, table, summary)
        _known(f"the table {entry.table}", "key", entry.match, keys)
        for inner in drawing.rounds(entry.each, names):
            yield (entry.at, *_entry(entry, keys, params, inner))


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
    written: Mapping[str, Written], widths: Mapping[str, int], names: Mapping[str, Any]
) -> tuple[list[tuple[str, int]], str]:
    """The arguments of an action, and how they read."""
    params = [
        (name, frames.number(drawing.value(item, names), widths[name]))
        for name, item in written.items()
    ]
    told = ", ".join(f"{n}={frames.shown(n, item, widths[n])}" for n, item in params)
    return params, told


def _named(what: str, name: str, items: list[dict[str, Any]]) -> dict[str, Any]:
    """The one of `items` whose name is or ends in `name`."""
    found = [item for item in items if item["name"] == name or item["name"].endswith(f".{name}")]
    if len(found) != 1:
        known = ", ".join(item["name"].rsplit(".", 1)[-1] for item in items)
        raise ScenarioError(f"entry: there is no single {what} {name}; there is {known}")
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
) -> tuple[tuple[Any, ...], str]:
    matches, told = [], []
    for name, written in entry.match.items():
        key = keys[name]
        match, text = _match(drawing.value(written, names), key["match_kind"], key["width"], name)
        matches.append((name, match))
        told.append(f"{name}={text}")
    params, arguments = _values(entry.params, widths, names)
    priority = int(drawing.value(entry.priority, names))
    update = ("insert", "entry", entry.table, matches, priority, entry.action, params)
    return update, f"table {entry.table}: {', '.join(told)} -> {entry.action}({arguments})"


def _match(written: Any, kind: str, width: int, name: str) -> tuple[tuple[Any, ...], str]:
    """A match in the engine's form, and how it reads."""
    full = (1 << width) - 1
    if isinstance(written, list | tuple):  # an expression may give value and mask
        low, high = written
    elif isinstance(written, str) and kind == "ternary" and "&&&" in written:
        low, high = (frames.number(part, width) for part in written.split("&&&"))
    elif isinstance(written, str) and kind == "lpm" and "/" in written:
        value, length = written.split("/")
        low, high = frames.number(value, width), int(length)
    elif isinstance(written, str) and kind == "range" and ".." in written:
        low, high = (frames.number(part, width) for part in written.split(".."))
    elif written == "*":
        return ("any",), "*"
    else:
        low = frames.number(written, width)
        high = {"ternary": full, "lpm": width, "range": low}.get(kind, 0)
    text = frames.shown(name, low, width)
    if kind == "ternary":
        if high == full:
            return ("ternary", low, high), text
        if low == high:
            return ("ternary", low, high), f"{frames.bits_named(low)} set"
        return ("ternary", low, high), f"{low:#x} &&& {high:#x}"
    if kind == "lpm":
        return ("lpm", low, high), f"{text}/{high}"
    if kind == "range":
        return ("range", low, high), f"{low}..{high}"
    return ("optional" if kind == "optional" else "exact", low), text


def _sending(send: Send, kit: Kit, names: Mapping[str, Any], layout: frames.Layout) -> Sending:
    port = int(drawing.value(send.port, names))
    base: Mapping[str, Any] = {}
    if send.like is not None:
        if send.like not in kit.packets:
            known = ", ".join(kit.packets) or "none"
            raise ScenarioError(f"send: there is no packet called {send.like}; there is {known}")
        base = kit.packets[send.like]
    packet = _completed(_joined(base, send.packet), kit, names)
    data = frames.build(packet, layout)
    return Sending(port, data, f"a packet comes in on port {port}: {_told(packet, layout)}")


def _joined(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """The packet `base` with the fields of `own`; headers that only `own` has come behind."""
    joined = dict(base)
    for name, fields in own.items():
        both = isinstance(fields, Mapping) and isinstance(joined.get(name), Mapping)
        joined[name] = {**joined[name], **fields} if both else fields
    if frames.PAYLOAD in joined:
        joined[frames.PAYLOAD] = joined.pop(frames.PAYLOAD)
    return joined


def _completed(packet: Mapping[str, Any], kit: Kit, names: Mapping[str, Any]) -> dict[str, Any]:
    complete: dict[str, Any] = {}
    for name, fields in packet.items():
        if name == frames.PAYLOAD:
            complete[name] = drawing.value(fields, names)
        elif isinstance(fields, Mapping):
            given = {**kit.defaults.get(name, {}), **fields}
            complete[name] = {key: drawing.value(item, names) for key, item in given.items()}
        else:
            raise ScenarioError(f"packet.{name}: write its fields as {{ field = value }}")
    return complete


def _told(packet: Mapping[str, Any], layout: frames.Layout) -> str:
    """The packet in a line: of every header what is not 0 and not computed."""
    parts = []
    for name, fields in packet.items():
        if name == frames.PAYLOAD:
            parts.append(f"{len(frames.payload(fields))} bytes")
            continue
        told = []
        for field, width in layout.get(name, {}).items():
            written = fields.get(field, 0)
            if written in ("checksum", "length", 0):
                continue
            told.append(f"{field}={frames.shown(field, frames.number(written, width), width)}")
        parts.append(f"{name}({', '.join(told)})")
    return " ".join(parts)


def _expected(
    expect: Expect, kit: Kit, names: Mapping[str, Any], layout: frames.Layout
) -> Expected:
    headers = []
    for name, fields in expect.packet.items():
        if name not in layout:
            raise ScenarioError(f"expect: there is no header {name}; there is {', '.join(layout)}")
        values = {}
        for field, written in fields.items():
            if field not in layout[name]:
                raise ScenarioError(f"expect: {name} has no field {field}")
            values[field] = frames.number(drawing.value(written, names), layout[name][field])
        headers.append(frames.Header(name, values))
    return Expected(expect.send, int(drawing.value(expect.port, names)), tuple(headers))


def read(path: Path) -> dict[str, Any]:
    """A scenario file as plain data. Raises ScenarioError."""
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise ScenarioError(f"{path.name}: {error}") from error
