"""bf-rt.json, as a server would tell it: of a program, made from P4Info, and of the chip."""

from __future__ import annotations

import json
import re
from typing import Any

from p4lab.paths import ROOT
from p4lab.targets.tofino.schema import (
    BYTES,
    CELL,
    CHOICES,
    COUNTER_CELL,
    DROPPED,
    FIXED,
    MIRROR,
    MIRROR_ACTION,
    PACKETS,
    PORT,
    PORT_METADATA,
    PORT_STAT,
    PORT_UP,
    PRIORITY,
    QUEUED,
    Program,
)

PRIORITY_ID = (1 << 16) + 1
FIRST_FIXED_ID = 0xFF000001
COUNTERS = (
    "$FramesReceivedOK",
    "$FramesTransmittedOK",
    "$OctetsReceived",
    "$OctetsTransmittedTotal",
)


def _type(kind: str, name: str = "") -> dict[str, Any]:
    kind = kind.removesuffix("[]")
    if kind.startswith("bytes"):
        return {"type": "bytes", "width": int(kind[5:])}
    found: dict[str, Any] = {"type": kind}
    if name in CHOICES:
        found["choices"] = list(CHOICES[name])
    return found


def _table(name: str, number: int, kind: str, size: int) -> dict[str, Any]:
    return {
        "name": name,
        "id": number,
        "table_type": kind,
        "size": size,
        "annotations": [],
        "depends_on": [],
        "attributes": [],
        "supported_operations": [],
        "key": [],
        "data": [],
    }


def _key(name: str, number: int, kind: str, type_: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": number,
        "name": name,
        "repeated": False,
        "annotations": [],
        "mandatory": False,
        "match_type": kind,
        "type": type_,
    }


def _field(
    name: str, number: int, type_: dict[str, Any], repeated: bool, *annotations: dict[str, str]
) -> dict[str, Any]:
    return {
        "id": number,
        "name": name,
        "repeated": repeated,
        "annotations": list(annotations),
        "mandatory": False,
        "read_only": False,
        "type": type_,
    }


def cells(program: Program, registers: dict[str, tuple[int, int]], first: int) -> list[Any]:
    """Registers, by name with how many cells of how many bits, and the program's counters. These
    have 512 cells here."""
    tables = []
    for name in program.registers:
        size, bits = registers[name.rpartition(".")[2]]
        told = _table(f"pipe.{name}", first + len(tables), "Register", size)
        told["key"] = [_key(CELL, 65557, "Exact", {"type": "uint32"}) | {"mandatory": True}]
        mark = {"name": "$bfrt_field_class", "value": "register_data"}
        value = _field(f"{name}.f1", 1, {"type": "bytes", "width": bits}, False, mark)
        told["data"] = [_single(value) | {"mandatory": True}]
        tables.append(told)
    for name in program.counters:
        told = _table(f"pipe.{name}", first + len(tables), "Counter", 512)
        told["key"] = [_key(COUNTER_CELL, 65556, "Exact", {"type": "uint32"})]
        told["data"] = [
            _single(_field(field, 65553 + i, {"type": "uint64"}, False))
            for i, field in enumerate((BYTES, PACKETS))
        ]
        tables.append(told)
    return tables


def registers_of(text: str) -> dict[str, tuple[int, int]]:
    """How many cells of how many bits the registers of a program have, by their own names."""
    declared = re.findall(r"Register<bit<(\d+)>, *bit<\d+>> *\((\d+)[^)]*\) *(\w+);", text)
    return {name: (int(size), int(bits)) for bits, size, name in declared}


def of_program(program: Program, parser: str, text: str | None = None) -> str:
    """Of a program whose ingress parser unpacks port metadata; `text` is its source, else that of
    p4/bier/tna.p4."""
    tables: list[Any] = []
    for number, table in enumerate(program.tables, 1):
        told = _table(table.bfrt, number, "MatchAction_Direct", table.size)
        told["has_const_default_action"] = table.const_default
        kinds = {"EXACT": "Exact", "TERNARY": "Ternary", "LPM": "LPM", "RANGE": "Range"}
        for i, field in enumerate(table.key, 1):
            type_ = {"type": "bytes", "width": field.bits}
            told["key"].append(_key(field.name, i, kinds[field.kind], type_))
        if table.has_priorities:
            told["key"].append(_key(PRIORITY, PRIORITY_ID, "Exact", {"type": "uint32"}))
        told["action_specs"] = [
            {
                "id": number * 100 + i,
                "name": action.name,
                "action_scope": "TableAndDefault",
                "annotations": [],
                "data": [
                    _field(param.name, j, {"type": "bytes", "width": param.bits}, False)
                    for j, param in enumerate(action.params, 1)
                ],
            }
            for i, action in enumerate(table.actions, 1)
        ]
        tables.append(told)
    text = (ROOT / "p4/bier/tna.p4").read_text() if text is None else text
    tables += cells(program, registers_of(text), len(tables) + 1)
    tables.append(_fixed(PORT_METADATA, 0x90000001) | {"name": f"pipe.{parser}.{PORT_METADATA}"})
    return json.dumps({"schema_version": "1.0.0", "tables": tables, "learn_filters": []})


def of_chip() -> str:
    """Of what every chip has."""
    names = [name for name in FIXED if name != PORT_METADATA]
    tables = [_fixed(name, FIRST_FIXED_ID + i) for i, name in enumerate(names)]
    stat = _table(PORT_STAT, FIRST_FIXED_ID + len(names), "PortStat", 288)
    stat["key"] = [_key("$DEV_PORT", 1, "Exact", {"type": "uint32"})]
    stat["data"] = [
        _single(_field(name, i, {"type": "uint64"}, False)) for i, name in enumerate(COUNTERS, 1)
    ]
    queued = _table(QUEUED, FIRST_FIXED_ID + len(names) + 1, "TmCounterEgPort", 288)
    queued["key"] = [_key("dev_port", 1, "Exact", {"type": "uint32"})]
    queued["data"] = [
        _single(_field(name, i, {"type": "uint64"}, False))
        for i, name in enumerate((DROPPED, "usage_cells", "watermark_cells"), 1)
    ]
    told = [*tables, stat, queued]
    return json.dumps({"schema_version": "1.0.0", "tables": told, "learn_filters": []})


def _fixed(name: str, number: int) -> dict[str, Any]:
    keys, data = FIXED[name]
    told = _table(name, number, "Port" if name == PORT else "Fixed", 1 << 16)
    told["key"] = [_key(n, i, "Exact", _type(kind)) for i, (n, kind) in enumerate(keys.items(), 1)]
    told["data"] = [
        _single(_field(n, i, _type(kind, n), kind.endswith("[]")))
        for i, (n, kind) in enumerate(data.items(), 1)
    ]
    if name == PORT:  # what can be read and not written
        up = _field(PORT_UP, 90, {"type": "bool"}, False)
        told["data"].append(_single(up) | {"read_only": True})
    if name == MIRROR:
        spec = {"id": 2, "name": MIRROR_ACTION, "action_scope": "TableOnly"}
        told["action_specs"] = [spec | {"annotations": [], "data": []}]
    return told


def _single(field: dict[str, Any]) -> dict[str, Any]:
    return {"mandatory": False, "read_only": False, "singleton": field}
