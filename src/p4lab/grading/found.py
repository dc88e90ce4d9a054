"""A counterexample of a proof as a case of a check: a scenario in which everything is a number.

The prover's packet and entries become the form of docs/checks.md, so a student reads them as they
read every case, any submission can be given them, and an instructor can keep them with the lab.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from p4lab import _engine
from p4lab.grading import frames
from p4lab.grading.course import Check, Course, Defines, Judged, counted, inject
from p4lab.grading.frames import PAYLOAD
from p4lab.grading.judge import endless
from p4lab.grading.scenario import MICROSECOND, Kit, Scenario, in_words, make_case
from p4lab.grading.toml import MOST, brief, inline, key, quoted
from p4lab.model.entries import (
    CloneSession,
    DefaultAction,
    DontCare,
    Entity,
    Exact,
    Lpm,
    Match,
    MulticastGroup,
    Optional,
    Range,
    RegisterCell,
    TableEntry,
    Ternary,
    Update,
)
from p4lab.model.system import System

if TYPE_CHECKING:  # not everybody has the solver
    from p4lab.prove.compare import Example

SAY = "A proof has found entries and a packet that tell this program from the reference."
Data = dict[str, Any]
"""A scenario as plain data"""


@dataclass(frozen=True)
class Found:
    """A scenario that a proof has found for a check, and the cells of registers, as name and
    index, that shall hold afterwards what they hold with the reference."""

    check: str
    scenario: Data
    cells: tuple[tuple[str, int], ...] = ()

    def to_json(self) -> Data:
        return {"check": self.check, "scenario": self.scenario, "cells": list(self.cells)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Found:
        """What `to_json` gave. Raises KeyError for anything else."""
        cells = tuple((str(name), int(index)) for name, index in data["cells"])
        return cls(data["check"], data["scenario"], cells)


def found_for(course: Course, check: Check, example: Example, defines: Defines) -> Found:
    """The counterexample, of the programs with these macros, as a case of a check: what the check
    does not look at does not count."""
    return Found(check.id, _scenario(course, example, check, defines), example.cells)


def judged(course: Course, found: Found) -> Judged:
    """The case with what the reference makes of it. Raises ScenarioError and ValueError."""
    scenario = Scenario.model_validate(found.scenario)
    case = make_case(scenario, course.kit, course, found.check)
    switch = course.set_up(course.program(case.defines), case)
    outputs = tuple(tuple(sorted(inject(switch, sending))) for sending in case.sendings)
    return Judged(case, found.check, outputs, counted(switch, case))


def smallest(programs: Sequence[_engine.Program], course: Course, example: Example) -> Example:
    """The counterexample without what it does not need: entries without which the programs still
    differ, groups, sessions and cells without which they do the same as before."""
    before = [_done(course, program, example.updates, example) for program in programs]
    kept = list(example.updates)
    for update in example.updates:
        fewer = [item for item in kept if item is not update]
        done = [_done(course, program, fewer, example) for program in programs]
        if done[0] != done[1] if isinstance(update.entity, TableEntry) else done == before:
            kept, before = fewer, done
    return replace(example, updates=tuple(kept), sent=(before[0][0], before[1][0]))


_Done = tuple[list[tuple[int, bytes]], bool, list[int]]
"""What was sent, whether there was no end to it, and what the cells that matter hold afterwards"""


def _done(
    course: Course, program: _engine.Program, updates: Sequence[Update], example: Example
) -> _Done:
    if example.undefined is not None:
        program = program.with_undefined(example.undefined)
    switch = course.switch(program)
    switch.write(list(updates))
    for port, packet, times in example.before:
        for _ in range(times):
            switch.process(port, packet, example.now)
    sent = sorted(switch.process(example.port, example.packet, example.now))
    cells = [switch.read_register(*cell) for cell in example.cells]
    cells += [switch.read_counter(*count)[0] for count in example.counts]
    return sent, endless(switch), cells


def _scenario(course: Course, example: Example, check: Check, defines: Defines) -> Data:
    file = check.scenario
    assert file is not None
    lens = course.scenario(file)
    data: Data = {"say": SAY}
    if lens.ignore:
        data["ignore"] = list(lens.ignore)
    if lens.others != "forbid":
        data["others"] = lens.others
    program, layout = course.program(defines), course.headers(defines)
    data["defines"] = dict(defines)
    data |= fixed(example, program, layout)
    if example.undefined is not None:
        data["undefined"] = example.undefined
    counters = sorted({counter for counter, _ in example.counts})
    if counters and lens.count:
        data["count"] = [
            {"counter": counter, "cells": [i for name, i in example.counts if name == counter]}
            for counter in counters
        ]
    if not example.sent[0] and any(send.silent for send in lens.send):
        data["send"][-1]["silent"] = True
    return data


def fixed(example: Example, program: _engine.Program, layout: frames.Layout) -> Data:
    """What is written and sent, as tables of a scenario."""
    data: Data = {}
    tables = program.summary["tables"]
    for update in example.updates:
        kind, row = _row(update.entity, [table["name"] for table in tables])
        data.setdefault(kind, []).append(row)
    return {**data, "send": list(_sent(example, program, layout))}


def _sent(example: Example, program: _engine.Program, layout: frames.Layout) -> Iterator[Data]:
    """The packets in their order. All come at the same moment, so only the first one waits."""
    wait = {"wait": example.now // MICROSECOND} if example.now else {}
    for port, data, times in (*example.before, (example.port, example.packet, 1)):
        row = {"port": port, "packet": _packet(program, layout, data)}
        if wait:
            yield {**wait, **row}
            wait, times = {}, times - 1
        if times:
            yield {"each": f"n in range({times})", **row} if times > 1 else row


def _row(entity: Entity, tables: Iterable[str]) -> tuple[str, Data]:
    """What is written into a switch, as a row of a scenario."""
    match entity:
        case CloneSession(number, ((port, _),)):
            return "session", {"id": number, "port": port}
        case MulticastGroup(number, replicas):
            ports, instances = (list(column) for column in zip(*replicas, strict=True))
            return "group", {"id": number, "ports": ports, "instances": instances}
        case RegisterCell(register, index, value):
            return "cell", {"register": register, "index": index, "value": _written(value)}
        case DefaultAction():
            return "default", {"table": brief(entity.table, tables), **_action(entity)}
        case TableEntry(table, matches):
            row: Data = {"table": brief(table, tables)}
            row["match"] = {name: _match(match) for name, match in matches}
            if entity.priority:
                row["priority"] = entity.priority
            return "entry", {**row, **_action(entity)}
    raise ValueError(f"no proof writes {entity}")


def _action(row: TableEntry | DefaultAction) -> Data:
    params = {name: _written(value) for name, value in row.params}
    return {"action": row.action.rsplit(".", 1)[-1], "params": params}


def _match(match: Match) -> Any:
    match match:
        case DontCare():
            return "*"
        case Ternary(value, mask):
            return f"{value:#x} &&& {mask:#x}"
        case Lpm(value, length):
            return f"{value:#x}/{length}"
        case Range(low, high):
            return f"{low}..{high}"
        case Exact(value) | Optional(value):
            return _written(value)


def _written(value: int) -> int | str:
    return value if value < MOST else f"{value:#x}"


def _packet(program: _engine.Program, layout: frames.Layout, data: bytes) -> Data:
    """The packet by the headers that the program's parser finds, as far as they say all of it; the
    rest is payload."""
    headers = [
        (header.name, {name: header.fields.get(name, 0) for name in layout[header.name]})
        for header in frames.dissect(program, data)
        if header.name in layout
    ]
    for count in range(len(headers), 0, -1):
        front = dict(headers[:count])
        built = frames.build(front, layout)
        if len(front) == count and data.startswith(built):
            told = {name: _all(fields) for name, fields in front.items()}
            rest = data[len(built) :]
            return {**told, PAYLOAD: f"hex:{rest.hex()}"} if rest else told
    return {PAYLOAD: f"hex:{data.hex()}"}


def _all(fields: Mapping[str, int]) -> Data:
    """Each field, since one that nobody names may be anything in a hidden case."""
    return {name: _written(value) for name, value in fields.items()}


# ---- Of two programs without a lab ------------------------------------------------------------


@dataclass(frozen=True)
class _Layouts:
    """A program that is the same for all macros."""

    compiled: _engine.Program

    def program(self, defines: object) -> _engine.Program:
        return self.compiled

    def headers(self, defines: object) -> dict[str, dict[str, int]]:
        return frames.layout_of(self.compiled)


def steps(program: _engine.Program, example: Example) -> tuple[str, ...]:
    """What is written into a switch with a program, and sent, in words. Raises ScenarioError."""
    layouts = _Layouts(program)
    data = {"say": "", **fixed(example, program, layouts.headers(()))}
    case = make_case(Scenario.model_validate(data), Kit({}, {}, {}), layouts, "")
    return case.told(1)[1:]


def packets(program: _engine.Program, sent: Sequence[tuple[int, bytes]]) -> list[str]:
    """What a program has sent, in words: by headers as far as its own parser finds them."""
    layout = frames.layout_of(program)
    known = frames.Headers(layout, System().notation)
    return [f"port {port}: {in_words(_packet(program, layout, data), known)}"
            for port, data in sent]  # fmt: skip


# ---- As a file ----------------------------------------------------------------------------------


def as_toml(found: Found) -> str:
    """The scenario as a file of the lab."""
    plain = [name for name, value in found.scenario.items() if not _is_rows(value)]
    lines = [f"{name} = {_toml(found.scenario[name])}" for name in plain]
    for name, index in found.cells:
        lines.append(f"# Afterwards {name}[{index}] should be as with the reference.")
    for kind in ("session", "group", "cell", "default", "entry", "send", "count"):
        for row in found.scenario.get(kind, []):
            lines += ["", f"[[{kind}]]", *_rows(row)]
    return "\n".join(lines) + "\n"


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)


def _rows(row: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"{name} = {_toml(value)}" for name, value in row.items() if name != "packet")
    if "packet" in row:  # a table of its own, so the last
        yield "[send.packet]"
        yield from (f"{key(header)} = {_toml(fields)}" for header, fields in row["packet"].items())


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Mapping):
        return inline((name, _toml(item)) for name, item in value.items())
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return str(value)
