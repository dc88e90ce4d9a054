"""A scenario: what is written into a switch, what is sent, and what shall come out.

The form of the file is described in docs/checks.md. A scenario with drawn values stands for many
cases; a seed makes one of them.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from p4lab.course.words import TextError, text_of
from p4lab.grading import drawing, frames
from p4lab.grading.anything import ANY, Anything
from p4lab.grading.drawing import DrawError
from p4lab.grading.rows import (
    Configuration,
    ScenarioError,
    Session,
    Step,
    Written,
    configure,
    merged,
)
from p4lab.model.entries import Update
from p4lab.model.system import System
from p4lab.plurals import count_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MICROSECOND = 10**6  # picoseconds

Made = TypeVar("Made")


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid")


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


class Send(_Table):
    """A packet that is sent into a port, `wait` microseconds after the one before it: header to
    fields in the order of the wire. A field may be "any" (see `Anything`), or drawn. `say` tells it
    in a few words, with `{...}` computed: for students who read of many packets before the one that
    counts. Nothing may come out for one that is `silent`, whatever the scenario allows others.
    """

    each: str | None = None
    port: Written
    wait: Written = 0
    say: str = ""
    silent: bool = False
    like: str | None = None
    packet: dict[str, Written] = {}


class Count(_Table):
    """Cells of a counter that must hold as many packets in the end as the reference's."""

    counter: str
    cells: Written


class Expect(_Table):
    """A packet that shall come out for the packet number `send`. Its headers are exactly those
    that `packet` names; fields that are left out do not matter."""

    each: str | None = None
    send: Written = 1
    port: Written
    packet: dict[str, dict[str, Written]]


class Network(_Table):
    """A lab's run on a network: who sends to whom is drawn from the case's seed. The links of
    `down`, names such as "r1-r2" or numbers from 1, fail before the streams begin. Other keys are
    settings of the lab's system."""

    model_config = ConfigDict(extra="allow")
    topology: Written
    streams: Annotated[int, Field(ge=1, le=16)] = 2
    down: Written = []


class Scenario(Configuration, _Table):
    """The file as it is. `say` tells the student what is tried, with `{...}` computed. Without
    `expect` the reference program says what comes out; `ignore` lists fields that may hold anything
    all the same (`bier.tc`, or all of a header: `bier.*`) and headers that may be there or not
    (`bier`), and `others = "ignore"` allows packets that nobody expects. Noise stands for what P4
    leaves undefined, such as a field that was never written, in hidden cases always, and with
    `undefined` in those that students read, too; a number is the seed of that noise, and an
    expression says which of the two."""

    say: str
    defines: dict[str, Written] = {}
    draw: dict[str, Any] = {}
    loop: list[Loop] = []
    carried: list[Carried] = []
    send: list[Send] = []
    count: list[Count] = []
    expect: list[Expect] | None = None
    ignore: list[str] = []
    others: Literal["forbid", "ignore"] = "forbid"
    undefined: bool | int | str = False
    network: Network | None = None


@dataclass(frozen=True)
class Told:
    """What is said of a packet: an opening, and what it holds. It is put into words only when a
    story tells it, since that takes as long as to build the packet."""

    opening: str
    packet: Mapping[str, Any]
    known: frames.Headers
    own: Mapping[str, Any] = field(default_factory=dict)
    """What the scenario says of the packet itself, as it is written there"""

    def __str__(self) -> str:
        return self.opening + in_words(self.packet, self.known, self.own)


@dataclass(frozen=True)
class Sending:
    """A packet on its way in at a moment in picoseconds, and what is written into the switch before
    it comes. `brief` is what is said of it before others, if not the whole `text`."""

    port: int
    data: bytes
    told: Told | str = field(default="", compare=False)  # it says what `data` holds
    brief: str = ""
    now: int = 0
    silent: bool = False
    updates: tuple[Update, ...] = ()
    steps: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The packet in words; empty if nothing is said of it."""
        return str(self.told)


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
    streams: int
    seed: int
    settings: tuple[tuple[str, Any], ...] = ()
    """Of the lab's system, in place of those of the lab"""
    down: tuple[int | str, ...] = ()


@dataclass(frozen=True)
class Case:
    """One case of a scenario: everything is a number now."""

    say: str
    defines: tuple[tuple[str, str], ...]
    updates: tuple[Update, ...]
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
    counts: tuple[tuple[str, int], ...] = ()
    """Cells of counters, as name and index"""
    undefined: int | None = None
    """The seed of the noise that fills what P4 leaves undefined; None: no noise"""
    is_long: bool = False
    """Whether a packet goes around in the reference more often than most do"""

    def forbids_others(self, number: int) -> bool:
        """Whether packets that nobody expects are wrong for the packet `number` (from 1)."""
        return not self.others or self.sendings[number - 1].silent

    def told(self, upto: int, rank: Callable[[str], int] = lambda _: 0) -> tuple[str, ...]:
        """What is done up to the packet number `upto`, in words: what is tried, the packets, and
        what the switch held before. Where that changes in between, or several packets come in, it
        stands in front. Of much that it held the first is told with the least `rank`."""
        packets: list[str] = []
        for number, sending in enumerate(self.sendings[:upto], 1):
            brief = sending.brief if number < upto else ""
            packets += [*sending.steps, brief or sending.text]
        changes = any(sending.steps for sending in self.sendings[:upto])
        counted = list(_counted(packets))
        many = len(counted) > SHOWN_PACKETS and not changes
        packets = _gathered(packets[:-1]) + packets[-1:] if many else counted
        held = shortened(self.steps, rank)
        if changes or upto > 1:
            return (self.say, *held, *packets)
        return (self.say, *packets, *held)


def _counted(steps: list[str]) -> Iterator[str]:
    """Steps that are said many times in a row are said once."""
    for step, same in groupby(steps):
        times = len(list(same))
        yield from [step] * times if times < MANY_TIMES else [f"{step} ({times} times)"]


def _gathered(steps: list[str]) -> list[str]:
    """Steps that are said again and again, among others, are said where they come first."""
    times = Counter(steps)
    return [step if count == 1 else f"{step} ({count} times)" for step, count in times.items()]


MANY_TIMES = 3
SHOWN_PACKETS = 6
"""Lines about packets before those that are alike are told together"""


SHOWN_STEPS = 12


def shortened(steps: tuple[str, ...], rank: Callable[[str], int] = lambda _: 0) -> tuple[str, ...]:
    """The first of many steps, those with the least `rank`; in the order that they have."""
    left = len(steps) - SHOWN_STEPS
    if left <= 0:
        return steps
    chosen = sorted(sorted(range(len(steps)), key=lambda at: rank(steps[at]))[:SHOWN_STEPS])
    more = count_of(left, "more entry", "more entries")
    return (*(steps[at] for at in chosen), f"... and {more}")


@dataclass(frozen=True)
class Kit:
    """What scenarios build on: header defaults and packets of the lab, and its system."""

    defaults: Mapping[str, Mapping[str, Any]]
    packets: Mapping[str, Mapping[str, Any]]
    defines: Mapping[str, Any]
    lints: tuple[str, ...] = ()
    """Targets whose refusals are warnings for the student"""
    system: System = field(default_factory=System)
    vary: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Macros of which hidden cases draw the value"""
    draw: Mapping[str, Any] = field(default_factory=dict)
    """What is drawn for every scenario, before its own"""
    sessions: Sequence[Session] = ()
    """The clone sessions of every scenario, but where it has another of the same number"""


def make_case(
    scenario: Scenario, kit: Kit, layouts: Layouts, seed: str, *, hidden: bool = False
) -> Case:
    """The case that a seed makes of a scenario. What is drawn sees as `hidden` whether students
    will never read it. Raises ScenarioError."""
    try:
        return _make(scenario, kit, layouts, seed, hidden)
    except (DrawError, frames.FrameError, ValueError, TypeError, KeyError) as error:
        raise ScenarioError(str(error)) from error


class Layouts(Protocol):
    """The reference program for each set of macros: headers, tables and their keys."""

    def program(self, defines: tuple[tuple[str, str], ...]) -> Any:
        """The reference, compiled."""

    def headers(self, defines: tuple[tuple[str, str], ...]) -> dict[str, dict[str, int]]:
        """Header to field to width."""


def _noise(scenario: Scenario, seed: str, hidden: bool, names: Mapping[str, Any]) -> int | None:
    """The seed of a case's noise, None if it has none."""
    said = drawing.value(scenario.undefined, names)
    if not isinstance(said, bool):
        return int(said)
    if hidden or said:
        return random.Random(f"{seed}/undefined").getrandbits(32)
    return None


def _make(scenario: Scenario, kit: Kit, layouts: Layouts, seed: str, hidden: bool) -> Case:
    chance = random.Random(seed)
    macros = _macros(kit, chance, hidden)
    names = drawing.draw({**kit.draw, **scenario.draw}, chance, {**macros, drawing.HIDDEN: hidden})
    say = drawing.filled(scenario.say, names)
    given = {**macros, **scenario.defines}
    defines = tuple((name, str(drawing.value(item, names))) for name, item in given.items())
    undefined = _noise(scenario, seed, hidden, names)
    network = scenario.network
    if network is not None:
        case = NetworkCase(
            str(drawing.value(network.topology, names)),
            network.streams,
            chance.getrandbits(32),
            tuple(_settings(network, kit.system, names)),
            tuple(drawing.value(network.down, names)),
        )
        ignore = frozenset(scenario.ignore)
        return Case(say, defines, (), (), (), None, ignore, False, case, undefined=undefined)
    layout = layouts.headers(defines)
    summary = layouts.program(defines).summary
    loops = [
        (int(drawing.value(item.port, inner)), int(drawing.value(item.metadata, inner)))
        for item in scenario.loop
        for inner in drawing.rounds(item.each, names)
    ]
    steps = [
        Step(f"port {port} is in loopback: what is sent there comes in again") for port, _ in loops
    ]
    updates: list[Update] = []
    later: dict[int, list[tuple[Update, Step]]] = {}
    written = configure(scenario, kit.system.notation, names, summary, kit.sessions)
    for at, entity, step in _numbered("update", written):
        update = Update("insert", entity)
        if at > 1:
            later.setdefault(at, []).append((update, step))
            continue
        updates.append(update)
        steps.append(step)
    anything = Anything(chance, hidden)
    sendings = _sendings(scenario, kit, names, layout, later, anything)
    expected = None
    if scenario.expect is not None:
        expected = tuple(
            _expected(item, kit, inner, layout)
            for item in scenario.expect
            for inner in drawing.rounds(item.each, names)
        )
    return Case(
        say,
        defines,
        tuple(updates),
        merged(steps),
        sendings,
        expected,
        frozenset(scenario.ignore),
        scenario.others == "ignore",
        loops=tuple(loops),
        shares=tuple(_share(item, names, len(sendings)) for item in scenario.carried),
        counts=tuple(
            (item.counter, int(cell))
            for item in scenario.count
            for cell in drawing.value(item.cells, names)
        ),
        undefined=undefined,
    )


def _numbered(what: str, made: Iterable[Made]) -> Iterator[Made]:
    """The same; an error that does not say where says which of them could not be made."""
    number = 1
    try:
        for item in made:
            yield item
            number += 1
    except ScenarioError:
        raise
    except (DrawError, ValueError, TypeError) as error:
        raise ScenarioError(f"{what} {number}: {error}") from error


def _macros(kit: Kit, chance: random.Random, hidden: bool) -> dict[str, Any]:
    """The macros of the lab by name."""
    varied = {name: chance.choice(list(offered)) for name, offered in kit.vary.items() if hidden}
    return {**kit.defines, **varied}


def _settings(
    network: Network, system: System, names: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    """The settings of the system that [network] names. Raises ScenarioError for what is none."""
    for name, written in (network.model_extra or {}).items():
        if name not in system.settings.model_fields:
            own = ", ".join([*Network.model_fields, *system.settings.model_fields])
            raise ScenarioError(f"network: unknown key {name}; choose from {own}")
        yield name, drawing.value(written, names)


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
    later: Mapping[int, list[tuple[Update, Step]]],
    anything: Anything,
) -> tuple[Sending, ...]:
    sendings: list[Sending] = []

    def sent() -> Iterator[Sending]:
        for item in scenario.send:
            for inner in drawing.rounds(item.each, names):
                last = sendings[-1].now if sendings else 0
                yield _sending(item, kit, inner, layout, anything, last)

    for sending in _numbered("packet", sent()):
        sendings.append(sending)
    for at, written in later.items():
        if at > len(sendings):
            raise ScenarioError(
                f"at = {at}: {count_of(len(sendings), 'packet is', 'packets are')} sent"
            )
        updates, steps = zip(*written, strict=True)
        sendings[at - 1] = replace(sendings[at - 1], updates=updates, steps=merged(steps))
    return tuple(sendings)


def _sending(
    send: Send,
    kit: Kit,
    names: Mapping[str, Any],
    layout: frames.Layout,
    anything: Anything,
    last: int,
) -> Sending:
    """A packet that comes in after one at the moment `last`."""
    port = int(drawing.value(send.port, names))
    base: Mapping[str, Any] = {}
    if send.like is not None:
        if send.like not in kit.packets:
            known = ", ".join(kit.packets) or "none"
            raise ScenarioError(f"send: there is no packet called {send.like}; choose from {known}")
        base = kit.packets[send.like]
    joined = _joined(base, send.packet)
    complete = frames.unstacked(_completed(joined, kit, names, anything), layout)
    packet = anything.filled(complete, layout)
    data = frames.build(packet, layout)
    wait = int(drawing.value(send.wait, names))
    if wait < 0:
        raise ScenarioError(f"send: wait = {wait}: time does not run backwards")
    later = f"{wait:,} microseconds later " if wait else ""
    opening = f"{later}a packet comes in on port {port}: "
    brief = later + drawing.filled(send.say, names) if send.say else ""
    if brief:
        opening = f"{brief}: " if f"port {port}" in brief else f"{brief}, on port {port}: "
    told = Told(opening, packet, frames.Headers(layout, kit.system.notation), send.packet)
    return Sending(port, data, told, brief, last + wait * MICROSECOND, send.silent)


def _joined(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """The packet `base` with the fields of `own`; headers that only `own` has come behind."""
    joined = dict(base)
    for name, fields in own.items():
        both = isinstance(fields, Mapping) and isinstance(joined.get(name), Mapping)
        joined[name] = {**joined[name], **fields} if both else fields
    if frames.PAYLOAD in joined:
        joined[frames.PAYLOAD] = joined.pop(frames.PAYLOAD)
    return joined


def _completed(
    packet: Mapping[str, Any], kit: Kit, names: Mapping[str, Any], anything: Anything
) -> dict[str, Any]:
    complete: dict[str, Any] = {}
    for name, fields in packet.items():
        if name == frames.PAYLOAD:
            complete[name] = anything.payload(fields, names)
        elif isinstance(fields, Mapping):
            given = {**kit.defaults.get(name, {}), **fields}
            complete[name] = {key: anything.value(item, names) for key, item in given.items()}
        elif isinstance(stack := drawing.value(fields, names), list):
            complete[name] = stack
        else:
            raise ScenarioError(f"packet.{name}: write its fields as {{ field = value }}")
    return complete


def in_words(
    packet: Mapping[str, Any], known: frames.Headers, own: Mapping[str, Any] | None = None
) -> str:
    """The packet in a line. Fields that are computed are left out, and so are those that are 0,
    unless the scenario's `own` text sets them to 0: then the case is likely to be about that."""
    parts = []
    for name, fields in packet.items():
        if name == frames.PAYLOAD:
            size = len(frames.payload(fields))
            parts += [f"{count_of(size, 'byte')} of payload"] if size else []
            continue
        told = []
        for item, width in known.layout.get(name, {}).items():
            written = fields.get(item, 0)
            if written in frames.COMPUTED or (written == 0 and not _asked_for(own, name, item)):
                continue
            value = known.said(f"{name}.{item}", frames.number(written, width))
            told.append(f"{item}={value}")
        parts.append(f"{name}({', '.join(told)})")
    return " ".join(parts)


def _asked_for(own: Mapping[str, Any] | None, header: str, item: str) -> bool:
    """Whether a scenario itself says what a field holds, and not that it may hold anything."""
    fields = (own or {}).get(header)
    return isinstance(fields, Mapping) and fields.get(item, ANY) != ANY


def _expected(
    expect: Expect, kit: Kit, names: Mapping[str, Any], layout: frames.Layout
) -> Expected:
    headers = []
    for name, fields in expect.packet.items():
        if name not in layout:
            raise ScenarioError(
                f"expect: no header is named {name}; choose from {', '.join(layout)}"
            )
        values = {}
        for item, written in fields.items():
            if item not in layout[name]:
                raise ScenarioError(f"expect: {name} has no field {item}")
            values[item] = frames.number(drawing.value(written, names), layout[name][item])
        headers.append(frames.Header(name, values))
    send = int(drawing.value(expect.send, names))
    return Expected(send, int(drawing.value(expect.port, names)), tuple(headers))


def read(path: Path) -> dict[str, Any]:
    """A scenario file as plain data. Raises ScenarioError."""
    try:
        return tomllib.loads(text_of(path))
    except OSError as error:
        raise ScenarioError(f"{error.strerror}") from error
    except (TextError, tomllib.TOMLDecodeError) as error:
        raise ScenarioError(str(error)) from error
