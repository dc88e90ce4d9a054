"""What a program has for its control plane, in the form in which the runtime API asks for it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from p4lab import _engine, bmv2json


@dataclass(frozen=True)
class Key:
    """One key of a table."""

    name: str
    kind: str
    """exact, lpm, ternary, range or optional"""
    width: int
    """bits"""

    @property
    def bytes(self) -> int:
        """How long its values are on the wire."""
        return (self.width + 7) // 8


@dataclass(frozen=True)
class Table:
    """A table without what is in it."""

    name: str
    keys: tuple[Key, ...]
    actions: tuple[str, ...]
    profile: str | None
    selects: bool
    """Whether its action profile has groups"""
    has_priorities: bool
    is_const: bool
    has_const_default: bool
    keeps_time: bool


@dataclass(frozen=True)
class Digest:
    """A digest's number among the program's, and the widths of its fields in bits."""

    number: int
    widths: tuple[int, ...]


@dataclass(frozen=True)
class Facts:
    """All of it, by full names. `config` is the JSON that clients fetch."""

    config: str
    tables: Mapping[str, Table] = field(default_factory=dict)
    actions: Mapping[str, tuple[tuple[str, int], ...]] = field(default_factory=dict)
    """Parameters with their widths"""
    profiles: Mapping[str, bool] = field(default_factory=dict)
    """Whether they have groups"""
    counters: Mapping[str, int] = field(default_factory=dict)
    """Sizes"""
    meters: Mapping[str, int] = field(default_factory=dict)
    registers: Mapping[str, int] = field(default_factory=dict)
    """Widths in bits"""
    value_sets: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Widths of their fields"""
    digests: Mapping[str, Digest] = field(default_factory=dict)
    counted: frozenset[str] = frozenset()
    """Tables with a direct counter"""
    metered: frozenset[str] = frozenset()
    """Tables with a direct meter"""
    crcs: Mapping[str, int] = field(default_factory=dict)
    """Widths of the CRCs whose parameters can be set"""
    numbers: Mapping[tuple[int, str], int] = field(default_factory=dict)
    """Numbers of resources by kind, as `bm_get_id_from_name` counts kinds, and name"""

    @property
    def checksum(self) -> bytes:
        """Of the JSON: clients compare it with the file that they have."""
        return hashlib.md5(self.config.encode(), usedforsecurity=False).digest()


NOTHING = Facts("{}")
"""Of a switch that waits for its program"""


def facts(program: _engine.Program, config: str | None = None) -> Facts:
    """The facts of a program; `config` is the JSON that it was started from, if there was one."""
    own = bmv2json.description(program)
    const = {table["name"]: table["const_entries"] for table in program.summary["tables"]}
    keys = {table["name"]: _keys(table) for table in program.summary["tables"]}
    listed = [table for part in own["pipelines"] for table in part["tables"]]
    profiles = {
        profile["name"]: "selector" in profile
        for part in own["pipelines"]
        for profile in part["action_profiles"]
    }
    info = json.loads(program.p4info(json=True))
    return Facts(
        config if config is not None else bmv2json.text(program),
        tables={
            table["name"]: Table(
                table["name"],
                keys[table["name"]],
                tuple(table["actions"]),
                table.get("action_profile"),
                table["type"] == "indirect_ws",
                table["match_type"] in ("ternary", "range"),
                const[table["name"]],
                table.get("default_entry", {}).get("action_const", False),
                table["support_timeout"],
            )
            for table in listed
        },
        actions={
            action["name"]: tuple(
                (param["name"], param["bitwidth"]) for param in action["runtime_data"]
            )
            for action in own["actions"]
        },
        profiles=profiles,
        counters=_sizes(own["counter_arrays"]),
        meters=_sizes(own["meter_arrays"]),
        registers={item["name"]: item["bitwidth"] for item in own["register_arrays"]},
        value_sets={
            item["preamble"]["name"]: tuple(match["bitwidth"] for match in item["match"])
            for item in info.get("valueSets", [])
        },
        digests=_digests(own),
        counted=frozenset(table["name"] for table in listed if table["with_counters"]),
        metered=frozenset(table["name"] for table in listed if table["direct_meters"]),
        crcs=dict(program.summary["custom_crcs"]),
        numbers=_numbers(own, listed),
    )


def _keys(table: Mapping[str, Any]) -> tuple[Key, ...]:
    own = (key for key in table["keys"] if key["match_kind"] != "selector")
    return tuple(Key(key["name"], key["match_kind"], key["width"]) for key in own)


def _sizes(arrays: list[bmv2json.Json]) -> dict[str, int]:
    return {item["name"]: item["size"] for item in arrays if not item["is_direct"]}


def _digests(own: bmv2json.Json) -> dict[str, Digest]:
    widths = {
        name: width
        for kind in own["header_types"]
        if kind["name"] == "scalars"
        for name, width, _ in kind["fields"]
    }
    return {
        item["name"]: Digest(
            item["id"], tuple(widths[element["value"][1]] for element in item["elements"])
        )
        for item in own["learn_lists"]
    }


def _numbers(own: bmv2json.Json, tables: list[bmv2json.Json]) -> dict[tuple[int, str], int]:
    profiles = [profile for part in own["pipelines"] for profile in part["action_profiles"]]
    kinds = (
        tables,
        profiles,
        own["counter_arrays"],
        own["meter_arrays"],
        own["register_arrays"],
        own["learn_lists"],
    )
    return {(kind, item["name"]): item["id"] for kind, items in enumerate(kinds) for item in items}
