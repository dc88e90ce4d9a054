"""A submission is compared with the reference for all packets: the programs, and the promises.

The table [prove] of lab.toml says what of the switch's state is fixed or promised:

    [prove]
    sessions = { 1 = 509 }       # clone sessions and their ports
    cables = [1, 508]            # first and last port with a cable
    ports = [510]                # where packets arrive besides
    instances = [1, 2]           # numbers that the copies of the multicast group may have
    entries = 2                  # per table
    passes = 4

    [[prove.promise]]
    table = "bift"
    holds = ["fbm & remaining.mask == remaining.mask"]

    [[prove.promise]]
    register = "pte_last_time"
    holds = ["value <= now"]

A lab may offer several sets of macros to compile its program with (`Course.offered`): a submission
is compared with each of them, and equal if it is with all. What the table names that is not part of
a program with some macros, such as a counter, holds for the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from p4lab import _engine
from p4lab.course.labs import LabError, read_lab
from p4lab.grading.course import Course, Defines, compile_files
from p4lab.grading.nearest import Rule
from p4lab.grading.toml import is_named
from p4lab.prove.assume import Expression, PromiseError, parse
from p4lab.prove.compare import Bounds, Outcome, compare
from p4lab.prove.cover import SHARE, Branch, cover
from p4lab.prove.told import bounds_told, covered


class ProofError(Exception):
    """A submission that cannot be compared; the message says why."""


_Port = Annotated[int, Field(ge=0, le=510)]


class _Promise(BaseModel):
    """Of each entry of a table, or of each cell of a register."""

    model_config = ConfigDict(extra="forbid")
    table: str | None = None
    action: str | None = None
    cells: Annotated[str | None, Field(alias="register")] = None
    holds: Annotated[list[str], Field(min_length=1)]

    @model_validator(mode="after")
    def _has_one_subject(self) -> _Promise:
        if (self.table is None) == (self.cells is None):
            raise ValueError("a promise is about a table or about a register")
        if self.action is not None and self.table is None:
            raise ValueError("only entries of a table have an action")
        return self


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid")
    table: str
    match: dict[str, int]
    action: str
    params: dict[str, int] = {}


class _Derived(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)
    table: str
    action: str
    sources: Annotated[list[str], Field(alias="from", min_length=1)]
    same: dict[str, str]


class _Loop(BaseModel):
    model_config = ConfigDict(extra="forbid")
    port: _Port
    metadata: int = 0


class _Prove(BaseModel):
    model_config = ConfigDict(extra="forbid")
    sessions: dict[int, int] = {}
    cables: tuple[_Port, _Port] | None = None
    ports: list[_Port] = []
    instances: list[Annotated[int, Field(ge=0, le=0xFFFF)]] = []
    entries: Annotated[int, Field(ge=1, le=16)] = 2
    passes: Annotated[int, Field(ge=1, le=64)] = 4
    promise: list[_Promise] = []
    blame: list[Rule] = []
    cpu: _Port | None = None
    counters: list[str] = []
    defaults: list[str] = []
    notes: list[str] = []
    counts_passes: bool = False
    entry: list[_Entry] = []
    derived: list[_Derived] = []
    loop: list[_Loop] = []


class _LabFile(BaseModel):
    model_config = ConfigDict(extra="ignore")
    prove: _Prove = _Prove()


def bounds_of(lab: str) -> Bounds:
    """The bounds of a lab, with what it promises. Raises LabError."""
    own = read_lab(lab, _LabFile).prove
    loops = tuple((loop.port, loop.metadata) for loop in own.loop)
    wiring = None if own.cpu is None else (own.cpu, loops, tuple(own.notes), own.counts_passes)
    promises: list[tuple[str, str | None, Expression]] = []
    registers: list[tuple[str, Expression]] = []
    for promise in own.promise:
        for text in promise.holds:
            try:
                holds = parse(text)
            except PromiseError as error:
                raise LabError(f"labs/{lab}/lab.toml: prove: {error}") from error
            if promise.cells is not None:
                registers.append((promise.cells, holds))
            elif promise.table is not None:
                promises.append((promise.table, promise.action, holds))
    return Bounds(
        entries=own.entries,
        passes=own.passes,
        sessions=tuple(own.sessions.items()) or Bounds.sessions,
        cables=own.cables,
        ports=tuple(own.ports),
        instances=tuple(own.instances),
        promises=tuple(promises),
        registers=tuple(registers),
        counters=tuple(own.counters),
        defaults=tuple(own.defaults),
        fixed=tuple(
            (e.table, tuple(e.match.items()), e.action, tuple(e.params.items())) for e in own.entry
        ),
        derived=tuple(
            (d.table, d.action, tuple(d.sources), tuple(d.same.items())) for d in own.derived
        ),
        wiring=wiring,
    )


def is_provable(lab: str) -> bool:
    """Whether a lab says what its submissions may rely on. Without that a right one may differ from
    the reference with entries that nobody writes. Raises LabError."""
    return "prove" in read_lab(lab, _LabFile).model_fields_set


def rules_of(lab: str) -> list[Rule]:
    """What a lab says of which check a counterexample belongs to. Raises LabError."""
    return read_lab(lab, _LabFile).prove.blame


@dataclass(frozen=True)
class Setting:
    """What the prover says of the programs with one set of macros."""

    defines: Defines
    outcome: Outcome

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.defines)


@dataclass(frozen=True)
class Compared:
    """What the prover says, with every set of macros that was looked at, and which branches in the
    student's own files packets have taken."""

    settings: tuple[Setting, ...]
    branches: tuple[Branch, ...]

    @property
    def decisive(self) -> Setting:
        """The one that decides: a difference, else what is not decided, else the first."""
        rank = {"different": 0, "undecided": 1, "equal": 2}
        return min(self.settings, key=lambda one: rank[one.outcome.verdict])

    @property
    def outcome(self) -> Outcome:
        return self.decisive.outcome

    @property
    def why(self) -> str:
        """Why it is undecided, and with which macros where there are several."""
        where = f" (with {self.decisive})" if len(self.settings) > 1 else ""
        return f"{self.outcome.why}{where}" if self.outcome.why else ""

    @property
    def bounds(self) -> str:
        """Within which bounds the programs are equal, each with the macros that it is about."""
        told: dict[str, list[str]] = {}
        for one in self.settings:
            told.setdefault(bounds_told(one.outcome), []).append(str(one))
        if len(told) == 1:
            ((bounds, macros),) = told.items()
            return f"{bounds}; with {_row(macros)}" if any(macros) else bounds
        return "; ".join(f"with {_row(macros)}: {bounds}" for bounds, macros in told.items())

    def covered(self) -> Iterator[str]:
        """A line for each stage: what was compared, and with which macros where there are
        several."""
        for one in self.settings:
            front = f"{one}: " if len(self.settings) > 1 else ""
            yield from (f"{front}{line}" for line in covered(one.outcome))


def _row(macros: Sequence[str]) -> str:
    """Sets of macros in a row, as in "BSL=64, 128 and 256" if they are sets of one macro."""
    named = [one.partition("=") for one in macros]
    if len({name for name, _, _ in named}) == 1 and not any(" " in one for one in macros):
        macros = [macros[0], *(value for _, _, value in named[1:])]
    *most, last = macros
    return f"{', '.join(most)} and {last}" if most else last


NOTES = "what the register {} holds is each program's own business, and shows in what follows"


def compared(
    course: Course, files: Mapping[str, str], seconds: float, bounds: Bounds | None = None
) -> Compared:
    """What the prover says of a student's files, within the lab's bounds unless told: of each set
    of macros first of packets for all branches, then of all packets, up to the first difference.
    The first set has half of the time, since it shows most mistakes; what is left is shared among
    the others. A program that compiles to the reference's code is equal, and nothing else is asked.
    Raises ProofError if it can say nothing, and LabError."""
    bounds = bounds or bounds_of(course.name)
    programs = [(one, student_program(course, files, one)) for one in course.offered]
    _all_known(course, bounds)
    settings: list[Setting] = []
    branches: dict[tuple[str | None, int | None, str], Branch] = {}
    for left, (defines, student) in zip(range(len(programs), 0, -1), programs, strict=True):
        share = seconds / (left if settings else min(left, 2))
        outcome, seen = _compared(course, defines, student, share, bounds)
        seconds = max(0.0, seconds - outcome.seconds)
        settings.append(Setting(defines, outcome))
        for branch in seen:
            place = branch.file, branch.line, branch.what
            if place not in branches or branch.fate == "taken":
                branches[place] = branch
        if outcome.verdict == "different":
            break
    return Compared(tuple(settings), tuple(branches.values()))


def _compared(
    course: Course, defines: Defines, student: _engine.Program, seconds: float, bounds: Bounds
) -> tuple[Outcome, list[Branch]]:
    """The same with one set of macros."""
    reference = course.program(defines)
    own = bounds_in(bounds, reference)
    if reference.is_same_code(student):
        return Outcome("equal", own), []
    try:
        seen = cover(reference, student, own, seconds * SHARE)
        if seen.example is not None:
            outcome = Outcome("different", own, example=seen.example)
        else:
            outcome = compare(reference, student, own, max(0.0, seconds - seen.seconds))
    except ValueError as error:
        raise ProofError(f"the programs cannot be compared: {error}") from error
    outcome = replace(outcome, seconds=outcome.seconds + seen.seconds)
    outcome = unnoted(outcome, notes_of(course.name, reference))
    return outcome, [one for one in seen.branches if one.file in course.student.edit]


def unnoted(outcome: Outcome, notes: str) -> Outcome:
    """The outcome, if a register is a program's own business: then a difference is one only if
    packets alone lead to it, and something else comes out."""
    example = outcome.example
    if not notes or example is None:
        return outcome
    begins = not any(value for _, _, value in example.registers)
    if begins and (example.sent[0] != example.sent[1] or example.is_endless):
        return outcome
    return replace(outcome, verdict="undecided", example=None, why=NOTES.format(notes))


def notes_of(lab: str, program: _engine.Program) -> str:
    """The register of a v1model program that the lab leaves to each program's own ways, empty if
    there is none: one that keeps other numbers there may well do the same. Raises LabError."""
    own = read_lab(lab, _LabFile).prove
    known = _names(program, "instances")
    return next((one for one in own.notes if own.cpu is None and _has(known, one)), "")


def bounds_in(bounds: Bounds, program: _engine.Program) -> Bounds:
    """The bounds without what is said of tables, counters and registers that a program has not."""
    tables, instances = _names(program, "tables"), _names(program, "instances")
    return replace(
        bounds,
        promises=tuple(one for one in bounds.promises if _has(tables, one[0])),
        registers=tuple(one for one in bounds.registers if _has(instances, one[0])),
        counters=tuple(one for one in bounds.counters if _has(instances, one)),
        defaults=tuple(one for one in bounds.defaults if _has(tables, one)),
        fixed=tuple(one for one in bounds.fixed if _has(tables, one[0])),
        derived=tuple(
            one for one in bounds.derived if all(_has(tables, table) for table in (one[0], *one[2]))
        ),
    )


def _all_known(course: Course, bounds: Bounds) -> None:
    """Raises ProofError if the bounds name what no reference has, whatever the macros."""
    kept = [bounds_in(bounds, course.program(defines)) for defines in course.offered]
    for part in ("promises", "registers", "counters", "defaults", "fixed", "derived"):
        for one in getattr(bounds, part):
            if not any(one in getattr(some, part) for some in kept):
                name = one if isinstance(one, str) else one[0]
                raise ProofError(f"the lab's [prove] is about {name}, which no program has")


def _names(program: _engine.Program, kind: str) -> list[str]:
    return [one["name"] for one in program.summary[kind]]


def _has(names: Sequence[str], wanted: str) -> bool:
    return any(is_named(name, wanted) for name in names)


def student_program(
    course: Course, files: Mapping[str, str], defines: Defines | None = None
) -> _engine.Program:
    """The submission's program, with the lab's own files and macros, its first unless told. Raises
    ProofError."""
    own = {name: text for name, text in files.items() if name in course.student.edit}
    if missing := [name for name in course.student.edit if name not in own]:
        raise ProofError(f"there is no {missing[0]} in the submission")
    macros = course.defines if defines is None else defines
    compilation = compile_files(course.student.program, {**course.sources, **own}, macros)
    if compilation.program is None:
        raise ProofError(f"the submission does not compile:\n{compilation.render()}")
    return compilation.program
