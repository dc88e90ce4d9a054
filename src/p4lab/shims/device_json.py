"""The JSON that `p4c-bm2-ss` writes: the program for our switch, and what control planes read.

Control planes for bmv2 read names, numbers, widths and sizes of tables, actions and arrays from
this file (bmv2's docs/JSON_format.md, version 2.23), so these are true. What only bmv2 itself would
read (parsers, deparsers, primitives, conditions) is left empty: bmv2 cannot run this file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from p4lab.p4runtime.carried import KEY, carried

VERSION = [2, 23]
MATCH_KINDS = ("range", "ternary", "optional", "lpm", "exact")
"""The match kind of a table is the first of these that a key of it has"""

Json = dict[str, Any]


def device_json(
    name: str, source: str, recorded: str, summary: Mapping[str, Any], info: Mapping[str, Any]
) -> str:
    """The text of the file. `name` and `source` are the program's, `recorded` is the path that it
    was compiled from; `info` is P4Info as JSON."""
    tables = [_table(number, table, info) for number, table in enumerate(info.get("tables", []))]
    types, headers = _headers(summary["headers"], tables)
    blocks = {block["name"] for block in summary["blocks"]}
    fragment = next((name.split(".")[0] for name in _names(tables)), "")
    place = {"filename": recorded, "line": 1, "column": 0}
    config = {
        "header_types": types,
        "headers": headers,
        "header_stacks": [],
        "header_union_types": [],
        "header_unions": [],
        "header_union_stacks": [],
        "field_lists": [],
        "errors": [],
        "enums": [],
        "parsers": [],
        "parse_vsets": [_value_set(number, item) for number, item in _all(info, "valueSets")],
        "deparsers": [],
        "meter_arrays": [*_meters(info)],
        "counter_arrays": [*_counters(info)],
        "register_arrays": [_register(number, item) for number, item in _all(info, "registers")],
        "calculations": [],
        "learn_lists": [
            {"id": number + 1, "name": _name(item), "elements": []}
            for number, item in _all(info, "digests")
        ],
        "actions": [_action(number, item) for number, item in _all(info, "actions")],
        "pipelines": [
            {
                "name": pipeline,
                "id": number,
                "source_info": {**place, "source_fragment": block},
                "init_table": None,
                "tables": [table for table in tables if _is_of(table, block, blocks, number == 0)],
                "action_profiles": [*_profiles(info)] if number == 0 else [],
                "conditionals": [],
            }
            for number, (pipeline, block) in enumerate(
                zip(("ingress", "egress"), _controls(summary, fragment), strict=True)
            )
        ],
        "checksums": [],
        "force_arith": [],
        "extern_instances": [],
        "field_aliases": [],
        "program": recorded,
        "__meta__": {"version": VERSION, "compiler": "p4lab"},
        KEY: carried(name, source),
    }
    return _unlike_text(json.dumps(config, indent=1) + "\n")


def _controls(summary: Mapping[str, Any], fragment: str) -> tuple[str, str]:
    """The names of ingress and egress: third and fourth of the six blocks of V1Switch."""
    names = [block["name"] for block in summary["blocks"]]
    return (names[2], names[3]) if len(names) == 6 else (fragment, "")


def _is_of(table: Json, block: str, blocks: set[str], first: bool) -> bool:
    owner = table["name"].split(".")[0]
    return owner == block or (first and owner not in blocks)


def _all(info: Mapping[str, Any], kind: str) -> Iterator[tuple[int, Json]]:
    return enumerate(info.get(kind, []))


def _name(item: Mapping[str, Any]) -> str:
    return item["preamble"]["name"]


def _names(tables: Sequence[Json]) -> list[str]:
    return [table["name"] for table in tables]


def _action(number: int, item: Json) -> Json:
    data = [
        {"name": param["name"], "bitwidth": param.get("bitwidth", 0)}
        for param in item.get("params", [])
    ]
    return {"name": _name(item), "id": number, "runtime_data": data, "primitives": []}


def _table(number: int, item: Json, info: Mapping[str, Any]) -> Json:
    actions = {action["preamble"]["id"]: at for at, action in _all(info, "actions")}
    used = [actions[ref["id"]] for ref in item.get("actionRefs", [])]
    keys = [_key(field) for field in item.get("matchFields", [])]
    kinds = {key["match_type"] for key in keys}
    table = {
        "name": _name(item),
        "id": number,
        "key": keys,
        "match_type": next((kind for kind in MATCH_KINDS if kind in kinds), "exact"),
        "type": "simple",
        "max_size": int(item.get("size", 0)),
        "with_counters": any(_direct(info, "directCounters", item)),
        "support_timeout": item.get("idleTimeoutBehavior") == "NOTIFY_CONTROL",
        "direct_meters": next(_direct(info, "directMeters", item), None),
        "action_ids": used,
        "actions": [_name(info["actions"][at]) for at in used],
        "base_default_next": None,
        "next_tables": {_name(info["actions"][at]): None for at in used},
    }
    for profile in info.get("actionProfiles", []):
        if item["preamble"]["id"] in profile.get("tableIds", []):
            table["type"] = "indirect_ws" if profile.get("withSelector") else "indirect"
            table["action_profile"] = _name(profile)
    return table


def _key(field: Json) -> Json:
    name = field["name"]
    owner, _, last = name.rpartition(".")
    target = [owner.removeprefix("hdr."), last] if owner else ["scalars", name]
    kind = field.get("matchType", field.get("otherMatchType", "exact")).lower()
    width = field.get("bitwidth", 0)
    return {"match_type": kind, "name": name, "target": target, "mask": None, "bitwidth": width}


def _headers(known: Sequence[Json], tables: Sequence[Json]) -> tuple[list[Json], list[Json]]:
    """Header types and headers: the program's, and what keys need that are of none of them."""
    fields = {
        header["name"].removeprefix("hdr."): {
            field["name"]: field["width"] for field in header["fields"]
        }
        for header in known
    }
    fields.setdefault("scalars", {})
    for key in (key for table in tables for key in table["key"]):
        owner, name = key["target"]
        fields.setdefault(owner, {}).setdefault(name, key["bitwidth"])
    types = [
        {
            "name": f"{name}_t",
            "id": number,
            "fields": [[field, width, False] for field, width in items.items()],
        }
        for number, (name, items) in enumerate(fields.items())
    ]
    ours = {header["name"].removeprefix("hdr.") for header in known}
    headers = [
        {
            "name": name,
            "id": number,
            "header_type": f"{name}_t",
            "metadata": name not in ours,
            "pi_omit": True,
        }
        for number, name in enumerate(fields)
    ]
    return types, headers


def _direct(info: Mapping[str, Any], kind: str, table: Json) -> Iterator[str]:
    """The names of a table's own counters or meters."""
    for item in info.get(kind, []):
        if item.get("directTableId") == table["preamble"]["id"]:
            yield _name(item)


def _table_of(info: Mapping[str, Any], item: Json) -> str:
    wanted = item.get("directTableId")
    return next(_name(t) for t in info["tables"] if t["preamble"]["id"] == wanted)


def _counters(info: Mapping[str, Any]) -> Iterator[Json]:
    number = -1
    for number, item in _all(info, "counters"):
        yield {
            "name": _name(item),
            "id": number,
            "size": int(item.get("size", 0)),
            "is_direct": False,
        }
    for direct, item in enumerate(info.get("directCounters", []), number + 1):
        yield {
            "name": _name(item),
            "id": direct,
            "is_direct": True,
            "binding": _table_of(info, item),
        }


def _meters(info: Mapping[str, Any]) -> Iterator[Json]:
    number = -1
    for number, item in _all(info, "meters"):
        yield {
            **_rates(number, item),
            "is_direct": False,
            "size": int(item.get("size", 0)),
        }
    for direct, item in enumerate(info.get("directMeters", []), number + 1):
        yield {**_rates(direct, item), "is_direct": True, "binding": _table_of(info, item)}


def _rates(number: int, item: Json) -> Json:
    unit = item.get("spec", {}).get("unit", "BYTES").lower()
    return {"name": _name(item), "id": number, "rate_count": 2, "type": unit}


def _register(number: int, item: Json) -> Json:
    bits = item["typeSpec"].get("bitstring", {})
    width = next((kind.get("bitwidth", 0) for kind in bits.values()), 0)
    return {
        "name": _name(item),
        "id": number,
        "size": int(item.get("size", 0)),
        "bitwidth": width,
    }


def _value_set(number: int, item: Json) -> Json:
    width = sum(match.get("bitwidth", 0) for match in item.get("match", []))
    return {
        "name": _name(item),
        "id": number,
        "compressed_bitwidth": width,
        "max_size": int(item.get("size", 0)),
    }


def _profiles(info: Mapping[str, Any]) -> Iterator[Json]:
    for number, item in _all(info, "actionProfiles"):
        profile = {"name": _name(item), "id": number, "max_size": int(item.get("size", 0))}
        yield {**profile, "selector": {}} if item.get("withSelector") else profile


def _unlike_text(text: str) -> str:
    """The same JSON, as long as it must be. Controllers wrap it in a message (P4DeviceConfig). Its
    bytes are no UTF-8 if the first byte of the length is from 0x80 to 0xbf, and only then the
    switch cannot take the whole for P4 source."""
    while len(text.encode()) & 0x40:
        text += "\n"
    return text
