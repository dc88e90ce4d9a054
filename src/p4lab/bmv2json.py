"""What tools around bmv2 look up in the JSON that bmv2 runs, for a program of ours.

bmv2's JSON carries a program as bmv2 executes it. This switch compiles the source itself, so its
JSON has no parser states, primitives or expressions: it has what control planes, command lines and
scripts read of it, in p4c's form (docs/JSON_format.md of behavioral-model, version 2.23).
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterable
from typing import Any

from p4lab import _engine

Json = dict[str, Any]

VERSION = [2, 23]
COMPILER = "p4lab"
_MATCH = {"EXACT": "exact", "LPM": "lpm", "TERNARY": "ternary", "RANGE": "range"}
# A table's own kind is that of its most general key. Optional keys are ternary to bmv2.
_GENERALITY = ("exact", "lpm", "ternary", "range")
_SCALARS = "scalars"
_STANDARD = "standard_metadata"
# Of v1model.p4, in its order: names and widths in bits.
_STANDARD_FIELDS = {
    "ingress_port": 9,
    "egress_spec": 9,
    "egress_port": 9,
    "instance_type": 32,
    "packet_length": 32,
    "enq_timestamp": 32,
    "enq_qdepth": 19,
    "deq_timedelta": 32,
    "deq_qdepth": 19,
    "ingress_global_timestamp": 48,
    "egress_global_timestamp": 48,
    "mcast_grp": 16,
    "egress_rid": 16,
    "checksum_error": 1,
    "parser_error": 32,
    "priority": 3,
}
_VALID = "$valid$"
_INGRESS, _EGRESS = 2, 3  # places of the blocks of a V1Switch


def description(program: _engine.Program, *, path: str = "") -> Json:
    """The JSON of a program of v1model; `path` is where its source is, as p4c records it.

    Raises ValueError for a program that P4Info cannot describe.
    """
    return _Writer(program).written(path)


def text(program: _engine.Program, *, path: str = "") -> str:
    """`description` as a file has it: the same for the same program, to the byte."""
    return json.dumps(description(program, path=path), indent=2) + "\n"


class _Writer:
    """One program on its way: its P4Info, and the fields that stand in no header."""

    def __init__(self, program: _engine.Program) -> None:
        self.info = json.loads(program.p4info(json=True))
        self.summary = program.summary
        self.names = {item["preamble"]["id"]: _name(item) for item in _preambled(self.info)}
        self.headers = {header["name"]: header for header in self.summary["headers"]}
        self.scalars: dict[str, int] = {}

    def written(self, path: str) -> Json:
        pipelines, learn_lists = self._pipelines(), self._learn_lists()  # they find the scalars
        types = self._header_types()
        return {
            "header_types": types,
            "headers": [_header(number, of) for number, of in enumerate(types)],
            "header_stacks": [],
            "parse_vsets": self._value_sets(),
            "meter_arrays": self._meters(),
            "counter_arrays": self._counters(),
            "register_arrays": self._registers(),
            "calculations": self._calculations(),
            "learn_lists": learn_lists,
            "actions": self._actions(),
            "pipelines": pipelines,
            "program": path,
            "__meta__": {"version": VERSION, "compiler": COMPILER},
        }

    def _header_types(self) -> list[Json]:
        scalars = [[name, width, False] for name, width in self.scalars.items()]
        standard = [[name, width, False] for name, width in _STANDARD_FIELDS.items()]
        types = [(_SCALARS, scalars), (_STANDARD, standard)]
        for name, header in self.headers.items():
            fields = [
                [field["name"], "*" if field["varbit"] else field["width"], False]
                for field in header["fields"]
            ]
            types.append((_short(name), fields))
        return [
            {"name": name, "id": number, "fields": fields}
            for number, (name, fields) in enumerate(types)
        ]

    def _pipelines(self) -> list[Json]:
        tables = self.info.get("tables", [])
        ids = {_name(table): number for number, table in enumerate(tables)}
        profiles = {_name(item): item for item in self.info.get("actionProfiles", [])}
        blocks = self.summary["blocks"]
        egress = blocks[_EGRESS]["name"]
        parts: dict[str, list[Json]] = {"ingress": [], "egress": []}
        for table in tables:
            part = "egress" if _name(table).startswith(f"{egress}.") else "ingress"
            parts[part].append(self._table(ids[_name(table)], table, profiles))
        users = {
            part: {table.get("action_profile") for table in own} for part, own in parts.items()
        }
        return [
            {
                "name": part,
                "id": number,
                "source_info": _source(blocks[block]),
                "init_table": own[0]["name"] if own else None,
                "tables": own,
                "action_profiles": [
                    _profile(place, profiles[name])
                    for place, name in enumerate(profiles)
                    if name in users[part]
                ],
                "conditionals": [],
            }
            for number, ((part, own), block) in enumerate(
                zip(parts.items(), (_INGRESS, _EGRESS), strict=True)
            )
        ]

    def _table(self, number: int, table: Json, profiles: dict[str, Json]) -> Json:
        keys = [self._key(field) for field in table.get("matchFields", [])]
        direct = [self.names[resource] for resource in table.get("directResourceIds", [])]
        meters = {_name(item) for item in self.info.get("directMeters", [])}
        actions = [self.names[ref["id"]] for ref in table.get("actionRefs", [])]
        written: Json = {
            "name": _name(table),
            "id": number,
            "key": keys,
            "match_type": max((key["match_type"] for key in keys), key=_general, default="exact"),
            "type": "simple",
            "max_size": int(table.get("size", 0)),
            "with_counters": any(name not in meters for name in direct),
            "support_timeout": "idleTimeoutBehavior" in table,
            "direct_meters": next((name for name in direct if name in meters), None),
            "action_ids": [self._action_ids()[name] for name in actions],
            "actions": actions,
        }
        profile = self.names.get(table.get("implementationId", 0))
        if profile is not None:
            selects = profiles[profile].get("withSelector", False)
            written["type"] = "indirect_ws" if selects else "indirect"
            # The second is the name of older JSON, which p4-utils asks for.
            written["action_profile"] = written["act_prof_name"] = profile
        elif "initialDefaultAction" in table:
            default = table["initialDefaultAction"]
            const = "constDefaultActionId" in table
            written["default_entry"] = {
                "action_id": self._action_ids()[self.names[default["actionId"]]],
                "action_const": const,
                "action_data": [_hex(given["value"]) for given in default.get("arguments", [])],
                "action_entry_const": const,
            }
        return written

    def _key(self, field: Json) -> Json:
        match = _MATCH.get(field.get("matchType", ""), "ternary")
        target = self._target(field["name"], field["bitwidth"])
        return {"match_type": match, "name": field["name"], "target": target, "mask": None}

    def _target(self, name: str, width: int) -> list[str]:
        """Header and field of a key; what is in no header is a scalar of the key's name."""
        path, _, field = name.rpartition(".")
        header = self.headers.get(path)
        if header and (field == _VALID or any(own["name"] == field for own in header["fields"])):
            return [_short(path), field]
        if "." not in path and _STANDARD_FIELDS.get(field) == width:
            return [_STANDARD, field]
        self.scalars[name] = width
        return [_SCALARS, name]

    def _action_ids(self) -> dict[str, int]:
        actions = self.info.get("actions", [])
        return {_name(action): number for number, action in enumerate(actions)}

    def _actions(self) -> list[Json]:
        return [
            {
                "name": _name(action),
                "id": number,
                "runtime_data": [
                    {"name": param["name"], "bitwidth": param["bitwidth"]}
                    for param in action.get("params", [])
                ],
                "primitives": [],
            }
            for number, action in enumerate(self.info.get("actions", []))
        ]

    def _plain_and_direct(self, plain: str, direct: str) -> list[tuple[Json, Json]]:
        """Objects with their size, then those of a table with its name."""
        own = [(item, {"size": int(item["size"])}) for item in self.info.get(plain, [])]
        return own + [
            (item, {"binding": self.names[item["directTableId"]]})
            for item in self.info.get(direct, [])
        ]

    def _meters(self) -> list[Json]:
        own = self._plain_and_direct("meters", "directMeters")
        return [
            {
                "name": _name(item),
                "id": number,
                "is_direct": "binding" in more,
                "rate_count": 2,
                "type": "bytes" if item["spec"].get("unit") == "BYTES" else "packets",
                **more,
            }
            for number, (item, more) in enumerate(own)
        ]

    def _counters(self) -> list[Json]:
        own = self._plain_and_direct("counters", "directCounters")
        return [
            {"name": _name(item), "id": number, "is_direct": "binding" in more, **more}
            for number, (item, more) in enumerate(own)
        ]

    def _registers(self) -> list[Json]:
        return [
            {
                "name": _name(item),
                "id": number,
                "size": int(item["size"]),
                "bitwidth": sum(self._widths(item["typeSpec"])),
            }
            for number, item in enumerate(self.info.get("registers", []))
        ]

    def _calculations(self) -> list[Json]:
        return [
            {"name": name, "id": number, "algo": f"crc{width}_custom", "input": []}
            for number, (name, width) in enumerate(self.summary["custom_crcs"])
        ]

    def _learn_lists(self) -> list[Json]:
        lists = []
        for number, item in enumerate(self.info.get("digests", []), start=1):
            widths = self._widths(item["typeSpec"])
            fields = {f"{_name(item)}.{place}": width for place, width in enumerate(widths)}
            self.scalars.update(fields)
            elements = [{"type": "field", "value": [_SCALARS, field]} for field in fields]
            lists.append({"id": number, "name": _name(item), "elements": elements})
        return lists

    def _value_sets(self) -> list[Json]:
        return [
            {
                "name": _name(item),
                "id": number,
                "compressed_bitwidth": sum(match["bitwidth"] for match in item["match"]),
                "max_size": item.get("size", 0),
            }
            for number, item in enumerate(self.info.get("valueSets", []))
        ]

    def _widths(self, spec: Json) -> list[int]:
        """Widths of the leaves of a type of P4Info."""
        types = self.info.get("typeInfo", {})
        if "bitstring" in spec:
            return [next(iter(spec["bitstring"].values()))["bitwidth"]]
        if "bool" in spec:
            return [1]
        if "tuple" in spec:
            return [width for part in spec["tuple"]["members"] for width in self._widths(part)]
        if "struct" in spec:
            members = types["structs"][spec["struct"]["name"]]["members"]
            return [width for part in members for width in self._widths(part["typeSpec"])]
        if "header" in spec:
            members = types["headers"][spec["header"]["name"]]["members"]
            strings = [{"bitstring": part["typeSpec"]} for part in members]
            return [width for part in strings for width in self._widths(part)]
        if "newType" in spec:
            new = types["newTypes"][spec["newType"]["name"]]
            if "originalType" in new:
                return self._widths(new["originalType"])
            # P4Info says what the controller sees, not what the switch has.
            return [new["translatedType"].get("sdnBitwidth", 32)]
        if "serializableEnum" in spec:
            enum = types["serializableEnums"][spec["serializableEnum"]["name"]]
            return [enum["underlyingType"]["bitwidth"]]
        return [32]  # an error or an enum: bmv2 numbers them


def _preambled(info: Json) -> Iterable[Json]:
    lists = (value for value in info.values() if isinstance(value, list))
    return (item for items in lists for item in items if "preamble" in item)


def _name(item: Json) -> str:
    name: str = item["preamble"]["name"]
    return name


def _short(name: str) -> str:
    """A header's name without the parameter that holds it: hdr.ipv4 is ipv4."""
    return name.partition(".")[2] or name


def _general(match: str) -> int:
    return _GENERALITY.index(match)


def _header(number: int, of: Json) -> Json:
    metadata = of["name"] in (_SCALARS, _STANDARD)
    return {"name": of["name"], "id": number, "header_type": of["name"], "metadata": metadata}


def _profile(number: int, item: Json) -> Json:
    written: Json = {"name": _name(item), "id": number, "max_size": int(item.get("size", 0))}
    if item.get("withSelector"):
        written["selector"] = {"algo": "crc16", "input": []}
    return written


def _source(block: Json) -> Json:
    return {
        "filename": block["file"],
        "line": block["line"],
        "column": block["column"],
        "source_fragment": block["name"],
    }


def _hex(value: str) -> str:
    """bmv2 writes data as hexadecimal numbers; protobuf's JSON has bytes in base 64."""
    return hex(int.from_bytes(b64decode(value), "big"))
