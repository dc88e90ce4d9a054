"""Two programs of one architecture, compared for all packets within bounds. What the prover finds
is believed only if the engine does the same.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from p4lab import _engine
from p4lab.model.entries import RegisterCell, Update
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

NOISES = range(1, 65)
"""Seeds of noise that is tried where programs differ in what P4 leaves undefined: a bit more or
less in one of them shows at once, one value of eight bits with one seed of four"""

UNDEFINED = "a difference in what P4 leaves undefined was found, and no noise shows it"

Sent = list[tuple[int, bytes]]


@dataclass(frozen=True)
class Bounds:
    """What is covered: entries per table, passes of a packet and what becomes of it, lengths tried
    of each varbit field, bytes of the longest packet, copies of the one multicast group and the
    numbers that these may have (none: any); clone sessions as (number, port), None for any; the
    first and the last port with a cable, where packets arrive and the group's copies leave (None:
    any but 511); other ports where packets arrive."""

    entries: int = 2
    passes: int = 4
    varbits: int = 1
    bytes: int = 1514
    copies: int = 2
    instances: tuple[int, ...] = ()
    sessions: tuple[tuple[int | None, int | None], ...] = ((None, None),)
    cables: tuple[int, int] | None = None
    ports: tuple[int, ...] = ()
    promises: tuple[tuple[str, str | None, Expression], ...] = ()
    """What entries keep to: table, action (None: any), condition"""
    registers: tuple[tuple[str, Expression], ...] = ()
    """What cells keep to: register, condition on `value` and `now` (microseconds)"""
    counters: tuple[str, ...] = ()
    """Counters of v1model whose packets are compared"""
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
    undefined: bool = True
    """Whether what P4 leaves undefined is unknown; else it is zero"""


@dataclass(frozen=True)
class Example:
    """A packet, with the state it meets, that two programs treat differently. `registers` are
    (name, leaf, index, value); `sent` is what the engine's two switches sent, by port."""

    port: int
    packet: bytes
    updates: tuple[Update, ...]
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
    counts: tuple[tuple[str, int], ...] = ()
    """Counters and indices that have counted other packets"""
    undefined: int | None = None
    """The seed of the noise in what P4 leaves undefined, if the programs differ only with noise"""
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
    seconds: float = field(default=0.0, compare=False)
    """What it took, by the solver's clock"""
    has_meters: bool = False

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
    solver = Solver()
    outcome = _proved(reference, student, solver, bounds, seconds)
    if outcome.why != UNDEFINED:
        return outcome
    # Another difference may be behind the one that noise does not show.
    zeros = replace(bounds, undefined=False)
    other = _proved(reference, student, Solver(), zeros, seconds - solver.clock())
    seconds = solver.clock() + other.seconds
    outcome = replace(other, bounds=bounds) if other.example is not None else outcome
    return replace(outcome, seconds=seconds)


def _proved(
    reference: _engine.Program,
    student: _engine.Program,
    solver: Solver,
    bounds: Bounds,
    seconds: float,
) -> Outcome:
    """What the prover says, and a counterexample only if the engine confirms it."""
    found = _engine.prove(reference, student, solver, bounds, seconds)
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
    why = found.get("why", "")
    outcome = Outcome(
        found["verdict"],
        bounds,
        stages,
        why=why,
        seconds=solver.clock(),
        has_meters=_has_meters(reference),
    )
    if outcome.verdict == "equal" and registers_of(reference) != registers_of(student):
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
        if claimed["is_undefined"]:
            return replace(outcome, verdict="undecided", why=UNDEFINED)
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
    both programs (unless that is not claimed), or if there is no difference. What depends on
    undefined values is tried with noise in them; the reference must not depend on any."""
    registers = tuple((name, index, value) for name, index, value in claimed["registers"])
    updates = (*claimed["updates"], *(cell(*register) for register in registers))
    shared = {name for name, _ in registers_of(reference) & registers_of(student)}
    cells = [(name, index) for name, index in claimed["after"] if name in shared]
    replaying = _Replaying(claimed, updates, cells, bounds)
    own, other = replaying.of(reference), replaying.of(student)
    if is_claimed and not claimed["is_undefined"]:
        # What a program sends that goes beyond the bound of passes, the engine alone can say.
        known = [own] if claimed["is_endless"] else [own, other]
        claims = [sorted(sent) for sent in claimed["sent"]]
        if any(done.sent != sent for done, sent in zip(known, claims, strict=False)):
            return None
    seed = None
    if not other.differs_from(own) and claimed["is_undefined"]:
        seed = next((s for s in NOISES if replaying.of(student, s).differs_from(own)), None)
        if seed is None or replaying.of(reference, seed).differs_from(own):
            return None
        other = replaying.of(student, seed)
    if not other.differs_from(own):
        return None
    return Example(
        claimed["port"],
        claimed["packet"],
        updates,
        registers,
        (own.sent, other.sent),
        other.runs_on,
        tuple(cell for at, cell in enumerate(cells) if own.kept[at] != other.kept[at]),
        replaying.now,
        (own.passes, other.passes),
        tuple(
            tuple(count)
            for at, count in enumerate(claimed["counts"])
            if own.counts[at] != other.counts[at]
        ),
        seed,
    )


@dataclass(frozen=True)
class _Done:
    """What a switch has sent, what its registers and counters hold then, how often packets came
    back, where that counts, and whether there was no end to it."""

    sent: Sent
    kept: list[int]
    counts: list[int]
    passes: int
    runs_on: bool

    def differs_from(self, reference: _Done) -> bool:
        return self.runs_on or replace(reference, runs_on=False) != self


@dataclass(frozen=True)
class _Replaying:
    """A packet, and what is written before it and read after it."""

    claimed: dict[str, Any]
    updates: tuple[Update, ...]
    cells: list[tuple[str, int]]
    bounds: Bounds

    @property
    def now(self) -> int:
        return int(self.claimed["now"] * PICOSECONDS)

    def of(self, program: _engine.Program, noise: int | None = None) -> _Done:
        """What a program makes of the packet, with noise from a seed in what is undefined."""
        if noise is not None:
            program = program.with_undefined(noise)
        switch = switch_of(program, self.bounds)
        switch.write(list(self.updates))
        sent = sorted(switch.process(self.claimed["port"], self.claimed["packet"], self.now))
        stats = switch.stats
        does_count = self.bounds.wiring is not None and self.bounds.wiring[3]
        return _Done(
            sent,
            [_read(switch, *cell, self.bounds) for cell in self.cells],
            [switch.read_counter(*count)[0] for count in self.claimed["counts"]],
            stats["recirculated"] if does_count else 0,
            stats["too_many_passes"] + stats["too_many_packets"] > 0,
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


def registers_of(program: _engine.Program) -> set[tuple[str, tuple[int, ...]]]:
    """The names of a program's registers, with the widths (in bits) of what a cell holds."""
    kept = (i for i in program.summary["instances"] if i["type"] in ("register", "Register"))
    return {(one["name"], tuple(one["widths"])) for one in kept}


def _has_meters(program: _engine.Program) -> bool:
    return any(i["type"].lower().endswith("meter") for i in program.summary["instances"])


def cell(name: str, index: int, value: int) -> Update:
    """The update that gives a register's cell its value; `name` ends with the leaf's number."""
    return Update("insert", RegisterCell(name.partition("#")[0], index, value))


def describe_bounds(bounds: Bounds, stages: Sequence[Stage] = ()) -> str:
    """The bounds in one sentence, for people."""
    journeys = [stage for stage in stages if stage.leg == "journey" and stage.is_whole]
    entries = f"{bounds.entries} entries per table"
    if journeys:
        entries = ", ".join(f"{s.entries} entries with {s.passes} passes" for s in journeys)
    return (
        f"{entries}; packets of up to {bounds.bytes} bytes; {bounds.varbits} length(s) of each "
        f"varbit field; one multicast group of up to {bounds.copies} copies; a switch that started "
        "less than 12 days ago"
    )
