"""A submission is compared with the reference for all packets: the programs, and the promises.

The table [prove] of lab.toml says what of the switch's state is fixed or promised:

    [prove]
    sessions = { 1 = 509 }       # clone sessions and their ports
    cables = [1, 508]            # first and last port with a cable
    ports = [510]                # where packets arrive besides
    entries = 2                  # per table
    passes = 4

    [[prove.promise]]
    table = "bift"
    holds = ["fbm & remaining.mask == remaining.mask"]

    [[prove.promise]]
    register = "pte_last_time"
    holds = ["value <= now"]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from p4lab import _engine
from p4lab.course.labs import LabError, read_lab
from p4lab.grading.course import Course, compile_files
from p4lab.grading.nearest import Rule
from p4lab.prove.assume import Expression, PromiseError, parse
from p4lab.prove.compare import Bounds, Outcome, compare
from p4lab.prove.cover import SHARE, Branch, cover


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
class Compared:
    """What the prover says, and which branches in the student's own files packets have taken."""

    outcome: Outcome
    branches: tuple[Branch, ...]


def compared(
    course: Course, student: _engine.Program, seconds: float, bounds: Bounds | None = None
) -> Compared:
    """What the prover says of a student's program, within the lab's bounds unless told: first of
    packets for all branches, then of all packets. A program that compiles to the reference's code
    is equal, and nothing else is asked. Raises ProofError if it can say nothing, and LabError."""
    bounds = bounds or bounds_of(course.name)
    reference = course.program(course.defines)
    if reference.is_same_code(student):
        return Compared(Outcome("equal", bounds), ())
    try:
        covered = cover(reference, student, bounds, seconds * SHARE)
        if covered.example is not None:
            outcome = Outcome("different", bounds, example=covered.example)
        else:
            outcome = compare(reference, student, bounds, max(0.0, seconds - covered.seconds))
    except ValueError as error:
        raise ProofError(f"the programs cannot be compared: {error}") from error
    own = (one for one in covered.branches if one.file in course.student.edit)
    return Compared(outcome, tuple(own))


def student_program(course: Course, files: Mapping[str, str]) -> _engine.Program:
    """The submission's program, with the lab's own files. Raises ProofError."""
    own = {name: text for name, text in files.items() if name in course.student.edit}
    if missing := [name for name in course.student.edit if name not in own]:
        raise ProofError(f"there is no {missing[0]} in the submission")
    compilation = compile_files(course.student.program, {**course.sources, **own}, course.defines)
    if compilation.program is None:
        raise ProofError(f"the submission does not compile:\n{compilation.render()}")
    return compilation.program
