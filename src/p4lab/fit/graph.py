"""The stage graph of a program, as the engine gives it (`_engine.stage_graph`)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

# Field, lowest and highest bit
Access = tuple[int, int, int]


@dataclass(frozen=True)
class Place:
    file: str
    line: int

    @classmethod
    def load(cls, data: dict[str, Any] | None) -> Place | None:
        return cls(data["file"], data["line"]) if data else None


@dataclass(frozen=True)
class Field:
    name: str
    width: int
    header: bool
    intrinsic: bool


@dataclass(frozen=True)
class Write:
    to: Access
    zero: bool


@dataclass(frozen=True)
class Action:
    name: str
    reads: frozenset[Access]
    crossbar: frozenset[Access]
    writes: tuple[Write, ...]
    data: tuple[int, ...]  # widths of the parameters, in bits
    uses: tuple[tuple[int, bool], ...]  # resource, whether its index comes from fields
    default_only: bool


@dataclass(frozen=True)
class Key:
    name: str
    kind: str
    width: int


@dataclass(frozen=True)
class Table:
    keys: tuple[Key, ...]
    size: int | None
    const_entries: int | None
    resources: tuple[int, ...]
    idle_timeout: bool


@dataclass(frozen=True)
class Unit:
    """A table, a condition, or statements that run together: what takes a place in a stage."""

    index: int
    kind: str  # table, statements, call, condition
    own_name: str
    place: Place | None
    guards: tuple[tuple[int, frozenset[int]], ...]
    reads: frozenset[Access]  # through the match crossbar
    actions: tuple[Action, ...]
    table: Table | None

    @cached_property
    def name(self) -> str:
        line = self.place.line if self.place else 0
        match self.kind:
            case "statements":
                return f"line {line}"
            case "condition":
                return f"if (line {line})"
            case "call":
                return f"{self.own_name}()"
        return self.own_name

    @cached_property
    def crossbar(self) -> frozenset[Access]:
        return self.reads.union(*(action.crossbar for action in self.actions))

    @cached_property
    def alu_reads(self) -> frozenset[Access]:
        return frozenset().union(*(action.reads for action in self.actions))

    @cached_property
    def writes(self) -> frozenset[Access]:
        return frozenset(write.to for action in self.actions for write in action.writes)

    @cached_property
    def resources(self) -> tuple[int, ...]:
        named = self.table.resources if self.table else ()
        used = (resource for action in self.actions for resource, _ in action.uses)
        return tuple(dict.fromkeys((*named, *used)))


@dataclass(frozen=True)
class Resource:
    kind: str
    name: str
    size: int | None
    width: int
    both: bool  # a counter of packets and bytes


@dataclass(frozen=True)
class Gress:
    gress: str  # ingress or egress
    control: str
    fields: tuple[Field, ...]
    units: tuple[Unit, ...]
    resources: tuple[Resource, ...]
    parsed: frozenset[int]
    deparsed: frozenset[int]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Pipe:
    name: str
    gresses: tuple[Gress, ...]


@dataclass(frozen=True)
class Graph:
    architecture: str
    pipes: tuple[Pipe, ...]


def load(text: str) -> Graph:
    """The graph that the engine wrote as JSON."""
    data = json.loads(text)
    pipes = tuple(
        Pipe(pipe["name"], tuple(_gress(gress) for gress in pipe["gresses"]))
        for pipe in data["pipes"]
    )
    return Graph(data["architecture"], pipes)


def _gress(data: dict[str, Any]) -> Gress:
    return Gress(
        gress=data["gress"],
        control=data["control"],
        fields=tuple(
            Field(f["name"], f["width"], f["header"], f["intrinsic"]) for f in data["fields"]
        ),
        units=tuple(_unit(index, unit) for index, unit in enumerate(data["units"])),
        resources=tuple(
            Resource(r["kind"], r["name"], r["size"], r["width"], r["both"])
            for r in data["resources"]
        ),
        parsed=frozenset(data["parsed"]),
        deparsed=frozenset(data["deparsed"]),
        notes=tuple(data["notes"]),
    )


def _unit(index: int, data: dict[str, Any]) -> Unit:
    return Unit(
        index=index,
        kind=data["kind"],
        own_name=data["name"],
        place=Place.load(data["place"]),
        guards=tuple((unit, frozenset(arms)) for unit, arms in data["guards"]),
        reads=_accesses(data["reads"]),
        actions=tuple(_action(action) for action in data["actions"]),
        table=_table(data["table"]) if data["table"] else None,
    )


def _action(data: dict[str, Any]) -> Action:
    return Action(
        name=data["name"],
        reads=_accesses(data["reads"]),
        crossbar=_accesses(data["crossbar"]),
        writes=tuple(Write(tuple(w["to"]), w["value"] == "zero") for w in data["writes"]),
        data=tuple(data["data"]),
        uses=tuple((use["resource"], use["by_hash"]) for use in data["uses"]),
        default_only=data["default_only"],
    )


def _table(data: dict[str, Any]) -> Table:
    return Table(
        keys=tuple(Key(k["name"], k["match_kind"], k["width"]) for k in data["keys"]),
        size=data["size"],
        const_entries=data["const_entries"],
        resources=tuple(data["resources"]),
        idle_timeout=data["idle_timeout"],
    )


def _accesses(data: list[list[int]]) -> frozenset[Access]:
    return frozenset((field, lo, hi) for field, lo, hi in data)
