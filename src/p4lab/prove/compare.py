"""Two programs of one architecture, compared for all packets within bounds. What the prover finds
is believed only if the engine does the same.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from p4lab import _engine
from p4lab.prove.assume import Expression
from p4lab.prove.solver import Solver

Numbers = tuple[tuple[str, int], ...]

MAX_PASSES = 128
"""How often a packet may go around where a counterexample is replayed"""
MAX_PACKETS = 2048

SHARE = 0.4
"""Of the time, what is for single packets tried on both programs for a chip"""
MOST_PASSES_TRIED = 3
MOST_TRIED = 60
PICOSECONDS = 1_000_000
"""In a microsecond"""

Sent = list[tuple[int, bytes]]


@dataclass(frozen=True)
class Bounds:
    """What is covered: entries per table, passes of a packet and what becomes of it, lengths tried
    of each varbit field, bytes of the longest packet, copies of the one multicast group; clone
    sessions as (number, port), None for any; the first and the last port with a cable, where
    packets arrive and the group's copies leave (None: any but 511); other ports where packets
    arrive."""

    entries: int = 2
    passes: int = 4
    varbits: int = 1
    bytes: int = 1514
    copies: int = 2
    sessions: tuple[tuple[int | None, int | None], ...] = ((None, None),)
    cables: tuple[int, int] | None = None
    ports: tuple[int, ...] = ()
    promises: tuple[tuple[str, str | None, Expression], ...] = ()
    """What entries keep to: table, action (None: any), condition"""
    registers: tuple[tuple[str, Expression], ...] = ()
    """What cells keep to: register, condition on `value` and `now` (microseconds)"""
    defaults: tuple[str, ...] = ()
    """Tables without keys whose default action the control plane sets"""
    fixed: tuple[tuple[str, Numbers, str, Numbers], ...] = ()
    """Entries that are always there: table, exact keys, action, parameters; a table with such
    entries has no others"""
    derived: tuple[tuple[str, str, tuple[str, ...], tuple[tuple[str, str], ...]], ...] = ()
    """Tables whose entries follow those of others: table, action, the others, and own keys and
    parameters with the others' parameters that they are equal to"""
    wiring: tuple[int | None, tuple[tuple[int, int], ...], tuple[str, ...], bool] | None = None
    """For TNA: the port to the CPU; front ports in loopback, with their port metadata; registers
    that are a program's own business; whether programs differ if one takes more passes"""


@dataclass(frozen=True)
class Example:
    """A packet, with the state it meets, that two programs treat differently. `registers` are
    (name, leaf, index, value); `sent` is what the engine's two switches sent, by port."""

    port: int
    packet: bytes
    updates: tuple[_engine.Update, ...]
    registers: tuple[tuple[str, int, int], ...]
    sent: tuple[Sent, Sent]
    is_endless: bool = False
    """The student's program sends it around for ever"""
    cells: tuple[tuple[str, int], ...] = ()
    """Registers and indices where the programs leave something else behind"""
    now: int = 0
    """When the packet arrives, in picoseconds"""
    passes: tuple[int, int] = (0, 0)
    """How often packets came back in either, where that counts"""
    before: tuple[tuple[int, bytes, int], ...] = ()
    """Packets that come before it: port, bytes, and how often"""


@dataclass(frozen=True)
class Stage:
    """What was compared: "first pass" and "later pass" of any packet, or whole journeys within
    these bounds. `beyond` are paths that were given up, by the bound."""

    leg: Literal["first pass", "later pass", "journey"]
    entries: int
    passes: int
    is_whole: bool
    paths: int
    beyond: dict[str, int]
    questions: int


@dataclass(frozen=True)
class Outcome:
    """The answer. `example` belongs to "different", `why` to "undecided"."""

    verdict: Literal["equal", "different", "undecided"]
    bounds: Bounds
    stages: tuple[Stage, ...] = ()
    example: Example | None = None
    why: str = ""
    unreplayed: dict[str, Any] = field(default_factory=dict)
    """A counterexample that the engine does not confirm: a mistake in the prover"""

    @property
    def is_for_all_journeys(self) -> bool:
        """Equal in each single pass, so the number of passes has no bound."""
        return self.verdict == "equal" and all(stage.leg != "journey" for stage in self.stages)


def compare(
    reference: _engine.Program,
    student: _engine.Program,
    bounds: Bounds | None = None,
    seconds: float = 10.0,
) -> Outcome:
    """Whether the programs send the same. Raises ValueError if they cannot be compared."""
    bounds = bounds or Bounds()
    if bounds.wiring is not None:
        start = time.thread_time()
        if example := _tried(reference, student, bounds, seconds * SHARE):
            return Outcome("different", bounds, example=example)
        seconds -= time.thread_time() - start
    found = _engine.prove(reference, student, Solver(), bounds, seconds)
    stages = tuple(
        Stage(
            stage["leg"],
            stage["entries"],
            stage["passes"],
            stage["is_whole"],
            stage["paths"],
            stage["beyond"],
            stage["questions"],
        )
        for stage in found["stages"]
    )
    outcome = Outcome(found["verdict"], bounds, stages, why=found.get("why", ""))
    if outcome.verdict == "equal" and _registers(reference) != _registers(student):
        why = "the programs keep other registers, which the next packet would meet"
        return replace(outcome, verdict="undecided", why=why)
    if outcome.verdict != "different":
        return outcome
    claimed = found["example"]
    replayed = replay(reference, student, claimed, bounds)
    if replayed is None:
        if claimed["is_endless"]:
            why = "the other program takes far more passes than the bounds allow"
            return replace(outcome, verdict="undecided", why=why)
        why = "what was found does not replay on the engine: a mistake in the prover"
        return replace(outcome, verdict="undecided", why=why, unreplayed=claimed)
    return replace(outcome, example=replayed)


def _tried(
    reference: _engine.Program, student: _engine.Program, bounds: Bounds, seconds: float
) -> Example | None:
    """A packet for each of some paths of either program, the student's first, that the engine's
    switches treat differently. On a chip mistakes show passes later, and this finds most of them
    before it is known of each pass that it is the same."""
    for program in (student, reference):
        for passes in range(2, min(bounds.passes, MOST_PASSES_TRIED) + 1):
            tried = replace(bounds, passes=passes)
            for claimed in _engine.follow(program, Solver(), tried, seconds / 4, MOST_TRIED):
                if example := replay(reference, student, claimed, bounds, is_claimed=False):
                    return example
    return None


def replay(
    reference: _engine.Program,
    student: _engine.Program,
    claimed: dict[str, Any],
    bounds: Bounds,
    *,
    is_claimed: bool = True,
) -> Example | None:
    """The counterexample as the engine sees it; None if it does not do what the prover says of
    both programs (unless that is not claimed), or if there is no difference."""
    registers = tuple((name, index, value) for name, index, value in claimed["registers"])
    updates = (*claimed["updates"], *(cell(*register) for register in registers))
    shared = set(_registers(reference)) & set(_registers(student))
    cells = [(name, index) for name, index in claimed["after"] if name in shared]
    now = claimed["now"] * PICOSECONDS
    sent, kept, passes = [], [], []
    for program, expected in zip((reference, student), claimed["sent"], strict=True):
        switch = switch_of(program, bounds)
        switch.write(list(updates))
        out = sorted(switch.process(claimed["port"], claimed["packet"], now))
        runs_on = switch.stats["too_many_passes"] + switch.stats["too_many_packets"] > 0
        # What a program sends that goes beyond the bound of passes, the engine alone can say.
        is_beyond = bool(sent) and claimed["is_endless"]
        if is_claimed and not is_beyond and out != sorted(expected):
            return None
        sent.append(out)
        counts = bounds.wiring is not None and bounds.wiring[3]
        passes.append(switch.stats["recirculated"] if counts else 0)
        kept.append([_read(switch, *cell, bounds) for cell in cells])
    if (sent[0], kept[0], passes[0]) == (sent[1], kept[1], passes[1]) and not runs_on:
        return None
    return Example(
        claimed["port"],
        claimed["packet"],
        updates,
        registers,
        (sent[0], sent[1]),
        runs_on,
        tuple(cell for at, cell in enumerate(cells) if kept[0][at] != kept[1][at]),
        now,
        (passes[0], passes[1]),
    )


def switch_of(program: _engine.Program, bounds: Bounds) -> _engine.Switch:
    """A switch to replay on, wired as the bounds say."""
    switch = _engine.Switch(program, max_passes=MAX_PASSES, max_packets=MAX_PACKETS)
    if bounds.wiring is not None:
        cpu, loops, *_ = bounds.wiring
        switch.set_cpu_port(cpu)
        for port, metadata in loops:
            switch.set_loop(port)
            switch.set_port_metadata(port, metadata)
    return switch


def _read(switch: _engine.Switch, register: str, index: int, bounds: Bounds) -> int:
    """A register's cell; for TNA the number of its pipe stands before the index."""
    if bounds.wiring is None:
        return switch.read_register(register, index)
    return switch.read_register(register, index & (1 << 30) - 1, index >> 30)


def _registers(program: _engine.Program) -> list[str]:
    instances = program.summary["instances"]
    return sorted(i["name"] for i in instances if i["type"] in ("register", "Register"))


def cell(name: str, index: int, value: int) -> _engine.Update:
    """The update that gives a register's cell its value; `name` ends with the leaf's number."""
    return ("register", name.partition("#")[0], index, value)


def describe_bounds(bounds: Bounds, stages: Sequence[Stage] = ()) -> str:
    """The bounds in one sentence, for people."""
    journeys = [stage for stage in stages if stage.leg == "journey" and stage.is_whole]
    entries = f"{bounds.entries} entries per table"
    if journeys:
        entries = ", ".join(f"{s.entries} entries with {s.passes} passes" for s in journeys)
    return (
        f"{entries}; packets of up to {bounds.bytes} bytes; {bounds.varbits} length(s) of each "
        f"varbit field; one multicast group of up to {bounds.copies} copies"
    )
