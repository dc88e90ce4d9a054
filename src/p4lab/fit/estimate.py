"""The whole estimate of a program: dependencies, placement, memories and latency, as plain data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from p4lab import _engine
from p4lab.fit import chip, latency
from p4lab.fit.dependencies import (
    Dependency,
    critical_path,
    dependencies,
    earliest,
    exclusive,
    overlap,
    simplified,
)
from p4lab.fit.graph import Access, Graph, Gress, Pipe, Unit, load
from p4lab.fit.latency import StageTiming
from p4lab.fit.memory import layout
from p4lab.fit.placement import Piece, Placement, Stage

ESTIMATE = "This is an estimate: only the chip's own compiler can say whether a program fits."
NOT_TNA = (
    "The program is for v1model, and no Tofino runs it unchanged. Its tables are placed as if they "
    "were TNA's;\nwhat v1model has and Tofino lacks, such as wide comparisons, counts as nothing."
)


@dataclass(frozen=True)
class Step:
    """One link of the longest chain."""

    unit: str
    line: int | None
    kind: str | None  # of the dependency on the link before
    because: str | None


@dataclass(frozen=True)
class Part:
    """What of a unit lies in one stage."""

    stage: int
    entries: int
    srams: int
    tcams: int


@dataclass(frozen=True)
class Placed:
    """A unit of the program and where it goes."""

    name: str
    kind: str  # table, statements, call, condition
    layout: str  # exact, ternary, hash action, no key, condition
    file: str | None
    line: int | None
    earliest: int  # by dependencies alone
    stages: tuple[int, ...]  # empty if it lies nowhere
    parts: tuple[Part, ...]
    entries: int
    key_bits: int
    srams: int
    tcams: int
    map_rams: int
    resources: tuple[str, ...]
    why_not: str | None = None


@dataclass(frozen=True)
class GressEstimate:
    gress: str
    control: str
    lower_bound: int  # stages, by dependencies alone
    stages: int | None  # as placed; None if something could not be placed
    cycles: int | None  # through all stages, corner turn included
    nanoseconds: float | None
    phv_bits: int  # of fields that stages touch
    timing: tuple[StageTiming, ...]
    cycles_by_stage: tuple[int, ...]
    units: tuple[Placed, ...]
    dependencies: tuple[Dependency, ...]
    critical_path: tuple[Step, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class StageUse:
    """What ingress and egress take of one stage together."""

    srams: int
    tcams: int
    map_rams: int
    logical_tables: int
    gateways: int
    meter_alus: int
    stats_alus: int
    exact_bytes: int  # of the crossbars; each table counts its own, shared fields several times
    ternary_bytes: int


@dataclass(frozen=True)
class PipeEstimate:
    name: str
    gresses: tuple[GressEstimate, ...]
    stages: tuple[StageUse, ...]

    @property
    def lower_bound(self) -> int:
        return max((gress.lower_bound for gress in self.gresses), default=0)

    @property
    def fits(self) -> bool:
        """Whether everything found a place in the stages that the chip has."""
        return all(g.stages is not None and g.stages <= chip.STAGES for g in self.gresses)


@dataclass(frozen=True)
class Estimate:
    program: str
    architecture: str
    pipes: tuple[PipeEstimate, ...]
    caveats: tuple[str, ...] = field(default=(ESTIMATE,))

    @property
    def fits(self) -> bool:
        return all(pipe.fits for pipe in self.pipes)

    def _repr_svg_(self) -> str:
        """What a notebook shows."""
        from p4lab.fit.svg import drawing  # heavy: rich

        return drawing(self)

    def to_dict(self) -> dict[str, Any]:
        """As for JSON: lists, dictionaries and scalars."""
        data = asdict(self)
        data["fits"] = self.fits
        for pipe, own in zip(data["pipes"], self.pipes, strict=True):
            pipe["lower_bound"], pipe["fits"] = own.lower_bound, own.fits
        return data


def estimate_file(
    program: Path | str,
    include_dirs: Sequence[str] = (),
    defines: Sequence[tuple[str, str]] = (),
) -> Estimate:
    """The estimate of a P4 file; ValueError, with the text to show, for one with errors."""
    text = _engine.stage_graph(str(program), list(include_dirs), list(defines))
    return estimate_graph(load(text), str(program))


def estimate_text(
    name: str,
    text: str,
    files: dict[str, str] | None = None,
    defines: Sequence[tuple[str, str]] = (),
) -> Estimate:
    """The estimate of a program given as text; `files` are what it may include."""
    return estimate_graph(
        load(_engine.stage_graph_of_text(name, text, files or {}, list(defines))), name
    )


def estimate_graph(graph: Graph, program: str) -> Estimate:
    tna = graph.architecture == "tna"
    pipes = tuple(_pipe(pipe, shared_metadata=not tna) for pipe in graph.pipes)
    caveats = (ESTIMATE,) if tna else (ESTIMATE, NOT_TNA)
    return Estimate(program, graph.architecture, pipes, caveats)


def _pipe(pipe: Pipe, shared_metadata: bool) -> PipeEstimate:
    placement = Placement()
    gresses = tuple(_gress(gress, placement, shared_metadata) for gress in pipe.gresses)
    used = max((g.stages or 0 for g in gresses), default=0)
    stages = tuple(_use(stage) for stage in placement.stages[: max(used, chip.STAGES)])
    return PipeEstimate(pipe.name, gresses, stages)


def _use(stage: Stage) -> StageUse:
    share = stage.share
    return StageUse(
        srams=stage.srams,
        tcams=stage.tcams,
        map_rams=stage.map_rams,
        logical_tables=share.logical_tables,
        gateways=share.gateways,
        meter_alus=share.meter_alus,
        stats_alus=share.stats_alus,
        exact_bytes=share.exact_bytes,
        ternary_bytes=share.ternary_bytes,
    )


def _gress(gress: Gress, placement: Placement, shared_metadata: bool) -> GressEstimate:
    units = simplified(gress, shared_metadata)
    edges = dependencies(gress, units)
    first = earliest(units, edges)
    pieces, unplaced = placement.place(gress, units, edges)
    pieces = _conditions_to_tables(units, pieces)
    why = {item.unit: item.why for item in unplaced}
    stages = None if unplaced else max((piece.stage for piece in pieces), default=-1) + 1
    timing = timings(gress, units, pieces)
    if gress.gress == "egress":
        timing = latency.padded(timing)
    fits = stages is not None and stages <= chip.STAGES
    cycles = latency.total(timing) if fits else None
    by_index = {unit.index: unit for unit in units}
    return GressEstimate(
        gress=gress.gress,
        control=gress.control,
        lower_bound=max(first.values(), default=-1) + 1,
        stages=stages,
        cycles=cycles,
        nanoseconds=latency.nanoseconds(cycles) if cycles is not None else None,
        phv_bits=phv_bits(gress, units),
        timing=tuple(timing),
        cycles_by_stage=tuple(latency.contributions(timing)),
        units=tuple(_placed(gress, unit, first[unit.index], pieces, why) for unit in units),
        dependencies=tuple(edges),
        critical_path=tuple(
            _step(by_index[index], edge) for index, edge in critical_path(units, edges, first)
        ),
        notes=gress.notes,
    )


def _conditions_to_tables(units: Sequence[Unit], pieces: Sequence[Piece]) -> list[Piece]:
    """A condition is read where the first table it decides about lies, not as soon as it could."""
    decides: dict[int, list[int]] = defaultdict(list)
    stage_of = {piece.unit: piece.stage for piece in reversed(pieces)}
    for unit in units:
        if unit.kind != "condition" and unit.index in stage_of:
            for guard, _ in unit.guards:
                decides[guard].append(stage_of[unit.index])
    conditions = {unit.index for unit in units if unit.kind == "condition"}
    return [
        replace(piece, stage=max(piece.stage, min(decides[piece.unit])))
        if piece.unit in conditions and decides[piece.unit]
        else piece
        for piece in pieces
    ]


def _step(unit: Unit, edge: Dependency | None) -> Step:
    line = unit.place.line if unit.place else None
    return Step(unit.name, line, edge.kind if edge else None, edge.because if edge else None)


def _placed(
    gress: Gress, unit: Unit, first: int, pieces: Iterable[Piece], why: dict[int, str]
) -> Placed:
    how = layout(gress, unit)
    own = [piece for piece in pieces if piece.unit == unit.index]
    return Placed(
        name=unit.name,
        kind=unit.kind,
        layout=how.kind,
        file=unit.place.file if unit.place else None,
        line=unit.place.line if unit.place else None,
        earliest=first,
        stages=tuple(piece.stage for piece in own),
        parts=tuple(
            Part(piece.stage, piece.entries, piece.blocks.srams, piece.blocks.tcams)
            for piece in own
        ),
        entries=how.entries if how.kind not in ("no key", "condition") else 0,
        key_bits=how.key_bits,
        srams=sum(piece.blocks.srams for piece in own),
        tcams=sum(piece.blocks.tcams for piece in own),
        map_rams=sum(piece.blocks.map_rams for piece in own),
        resources=tuple(
            f"{gress.resources[index].kind} {gress.resources[index].name}"
            for index in unit.resources
        ),
        why_not=why.get(unit.index),
    )


def phv_bits(gress: Gress, units: Iterable[Unit]) -> int:
    """Bits of all fields that a stage reads or writes: these need containers in the stages."""
    touched = {access[0] for unit in units for access in unit.crossbar | unit.alu_reads}
    touched |= {access[0] for unit in units for access in unit.writes}
    return sum(gress.fields[index].width for index in touched)


def timings(gress: Gress, units: Sequence[Unit], pieces: Sequence[Piece]) -> list[StageTiming]:
    """What the length of each of the twelve stages depends on."""
    by_index = {unit.index: unit for unit in units}
    inside: dict[int, list[Unit]] = defaultdict(list)
    for piece in pieces:
        inside[piece.stage].append(by_index[piece.unit])
    result = latency.empty_pipe()
    for number in range(chip.STAGES):
        kind = result[number].dependency
        if kind != "match":
            kind = _dependency(number, inside, result)
        result[number] = _timing(gress, kind, inside[number])
    return result


def _dependency(
    number: int, inside: dict[int, list[Unit]], earlier_stages: Sequence[StageTiming]
) -> str:
    """How a stage waits for those before it, up to the last one that waits itself."""
    worst = "concurrent"
    for before in range(number - 1, -1, -1):
        for one in inside[before]:
            for other in inside[number]:
                kind = _waits(one, other)
                if kind == "match":
                    return kind
                if kind == "action":
                    worst = kind
        if earlier_stages[before].dependency == "match":
            break
    return worst


def _waits(one: Unit, other: Unit) -> str:
    # Two parts of one table wait as well: the second one runs when nothing matched in the first.
    if exclusive(one, other):
        return "concurrent"

    def meet(accesses: frozenset[Access]) -> bool:
        return any(overlap(a, b) for a in one.writes for b in accesses)

    if meet(other.crossbar):
        return "match"
    return "action" if meet(other.alu_reads) or meet(other.writes) else "concurrent"


def _timing(gress: Gress, dependency: str, units: Iterable[Unit]) -> StageTiming:
    ternary = stateful = filtered = selector = False
    for unit in units:
        how = layout(gress, unit)
        kinds = {gress.resources[index].kind for index in unit.resources}
        hashed = any(by_hash for action in unit.actions for _, by_hash in action.uses)
        # A table without key goes the way of a ternary one, unless it needs a hash.
        ternary |= how.kind == "ternary" or (how.kind == "no key" and not hashed)
        stateful |= "register" in kinds
        filtered |= bool({"filter", "meter"} & set(kinds))
        selector |= "selector" in kinds
    return StageTiming(dependency, ternary, selector, False, filtered, stateful)
