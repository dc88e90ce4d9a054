"""What is behind the server: tables that keep the rules of the real ones.

- an insert of what is there, and a change or deletion of what is not, are refused
- a key or a value has its field's bytes, and no bit beyond its field's bits
- a group needs its nodes, a node that a group has stays; sessions and nodes need ports of the chip
- a port needs speed and FEC from its birth, they do not change, and a loopback begins when it is
  enabled; ports tell whether they have a link
- the packet generator's ports are always there: they can be changed, and the chip itself cannot be
  asked for them; session 0 is the chip's
- no transactions but for tables of the program
- cells of registers are always there, too, and every pipe has its own
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from bfrt_fake.messages import msg
from p4lab.targets.tofino.schema import (
    FIXED,
    GROUP,
    MIRROR,
    NODE,
    PORT,
    PORT_STAT,
    PORT_UP,
    QUEUED,
    RECIRCULATION,
)

INVALID, NOT_FOUND, EXISTS, FULL, UNIMPLEMENTED, UNKNOWN = 3, 5, 6, 8, 12, 2
NUMBERS = ("uint8", "uint16", "uint32", "uint64", "bytes")
INTERNAL = {*range(68, 72), *range(192, 200)}
GENERATORS = (*range(68, 72), *range(196, 200))
COUNTED = ("Counter", "PortStat", "TmCounterEgPort")
PIPES = 2
ALL_PIPES = 0xFFFF


class Refused(Exception):
    """One update: code and message."""

    def __init__(self, code: int, text: str) -> None:
        self.code, self.text = code, text
        super().__init__(text)


@dataclass
class Entry:
    """A row: bytes, bools and strings by field id."""

    action: int
    data: dict[int, Any]


@dataclass
class Table:
    told: dict[str, Any]
    rows: dict[tuple[Any, ...], Entry] = field(default_factory=dict)
    default: Entry | None = None

    @property
    def name(self) -> str:
        return self.told["name"]

    @property
    def kind(self) -> str:
        return self.told["table_type"]

    def fields(self, action: int) -> dict[int, dict[str, Any]]:
        """Data fields by id: those of an action, or of the table."""
        for spec in self.told.get("action_specs", ()):
            if spec["id"] == action and spec["data"]:
                return {each["id"]: each for each in spec["data"]}
        return {each["singleton"]["id"]: each["singleton"] for each in self.told["data"]}


def _size(type_: dict[str, Any]) -> tuple[int, int]:
    bits = type_.get("width") or int(type_["type"].removeprefix("uint"))
    return (bits + 7) // 8, bits


def _nothing(type_: dict[str, Any]) -> Any:
    if type_["type"] == "bool":
        return False
    return type_.get("choices", [""])[0] if type_["type"] == "string" else bytes(_size(type_)[0])


def _check(value: bytes, told: dict[str, Any]) -> bytes:
    size, bits = _size(told["type"])
    if len(value) != size:
        raise Refused(INVALID, f"{told['name']}: {len(value)} bytes instead of {size}")
    if int.from_bytes(value, "big") >> bits:
        raise Refused(INVALID, f"{told['name']}: more than {bits} bits")
    return value


def _initial(table: Table) -> Entry | None:
    """The default entry that the program has, of which the fake knows that it is something."""
    specs = table.told.get("action_specs")
    if not specs:
        return None
    data = {field_["id"]: bytes(_size(field_["type"])[0]) for field_ in specs[0]["data"]}
    return Entry(specs[0]["id"], data)


class Switch:
    """One chip with one program."""

    def __init__(self, program: str, p4: str, chip: str) -> None:
        self.program, self.p4, self.chip = program, p4, chip
        told = json.loads(p4)["tables"] + json.loads(chip)["tables"]
        self.tables = {table["id"]: Table(table) for table in told}
        for table in self.tables.values():
            table.default = _initial(table)
        self._generators()
        self.told_of_ports: list[Any] = []  # called with port and state, for whom it may concern
        self.cells: dict[tuple[str, int, int], int] = {}  # of registers, by name, index and pipe
        self.dead: set[int] = set()  # ports whose cable is cut
        self.looped: set[int] = set()  # ports whose loopback is in force
        self.log: list[tuple[str, str]] = []  # verb and table of every update that was carried out
        self.fail_at: int | None = None  # which update from now on is refused, from 0

    def table(self, name: str) -> Table:
        (found,) = [t for t in self.tables.values() if f".{t.name}".endswith(f".{name}")]
        return found

    def state(self) -> dict[str, Any]:
        """All that it holds, to be compared."""
        held: dict[str, Any] = {}
        for table in self.tables.values():
            rows = {key: (row.action, row.data) for key, row in table.rows.items()}
            held[table.name] = rows, repr(table.default)
        cells = {cell: value for cell, value in self.cells.items() if value}
        return held | {"looped": set(self.looped), "cells": cells}

    def _generators(self) -> None:
        table = self.table(RECIRCULATION)
        (key,) = table.told["key"]
        fields = table.fields(0).values()
        off = {told["id"]: told["name"] == "recirculation_enable" for told in fields}
        for port in GENERATORS:
            name = ((key["id"], "exact", port.to_bytes(4, "big")),)
            table.rows[name] = Entry(0, dict(off))

    # ---- Links

    def links(self) -> set[int]:
        """The ports that have a link: enabled, and their cable is whole."""
        table = self.table(PORT)
        rows = ((key, self._named(table, row.data)) for key, row in table.rows.items())
        up = {int.from_bytes(key[0][2], "big") for key, data in rows if data.get("$PORT_ENABLE")}
        return up - self.dead

    def cable(self, port: int, whole: bool) -> None:
        """A cable is cut, or whole again: those who want to know are told."""
        before = self.links()
        (self.dead.discard if whole else self.dead.add)(port)
        self._tell_links(before)

    def _tell_links(self, before: set[int]) -> None:
        now = self.links()
        for port in sorted(before ^ now):
            for told in self.told_of_ports:
                told(port, port in now)

    # ---- Write

    def apply(self, updates: Any, together: bool, pipe: int = ALL_PIPES) -> list[Refused | None]:
        """Carries updates out; with `together` all of them or none. One answer for each."""
        saved = self._copy() if together else None
        links = self.links()
        answers: list[Refused | None] = []
        for update in updates:
            try:
                self._one(update, together, pipe)
                answers.append(None)
            except Refused as error:
                answers.append(error)
                if saved is not None:
                    self._restore(saved)
                    break
        self._tell_links(links)
        return answers

    def _copy(self) -> Any:
        rows = {
            number: ({k: Entry(e.action, dict(e.data)) for k, e in t.rows.items()}, t.default)
            for number, t in self.tables.items()
        }
        return rows, set(self.looped), list(self.log), dict(self.cells)

    def _restore(self, saved: Any) -> None:
        for number, (rows, default) in saved[0].items():
            self.tables[number].rows, self.tables[number].default = rows, default
        self.looped, self.log, self.cells = saved[1:]

    def _one(self, update: Any, together: bool, pipe: int) -> None:
        if self.fail_at is not None:
            self.fail_at -= 1
            if self.fail_at < 0:
                self.fail_at = None
                raise Refused(UNKNOWN, "Hardware access failed")
        entry = update.entity.table_entry
        table = self.tables.get(entry.table_id)
        if table is None:
            raise Refused(INVALID, f"no table {entry.table_id}")
        kinds = msg.Update.Type
        verb = kinds.Name(update.type).lower()
        if together and (table.name in FIXED or table.kind == "Register"):
            raise Refused(UNIMPLEMENTED, f"{table.name}: Transaction not supported")
        if verb == "delete" and not entry.HasField("key") and not entry.is_default_entry:
            self._clear(table)
        elif table.kind == "Register":
            self._cell(table, verb, entry, pipe)
        elif table.kind in COUNTED:
            raise Refused(INVALID, f"{verb} in {table.name} is not for the fake")
        elif entry.is_default_entry:
            self._default(table, verb, entry)
        elif verb == "insert":
            self._insert(table, self.key(table, entry.key), entry)
        elif verb == "modify":
            self._modify(table, self.key(table, entry.key), entry)
        elif verb == "delete":
            self._delete(table, self.key(table, entry.key))
        else:
            raise Refused(INVALID, f"{verb} is not for the fake")
        self.log.append((verb, table.name))

    def _clear(self, table: Table) -> None:
        if table.kind == "Register":
            self.cells = {cell: v for cell, v in self.cells.items() if cell[0] != table.name}
        elif table.kind != "Counter":
            raise Refused(INVALID, f"the fake does not clear {table.name}")

    def _cell(self, table: Table, verb: str, entry: Any, pipe: int) -> None:
        if verb == "delete":
            raise Refused(UNIMPLEMENTED, f"{table.name}: cells stay")
        if pipe != ALL_PIPES and pipe >= PIPES:
            raise Refused(INVALID, f"no pipe {pipe}")
        index = self._index(table, entry.key)
        data = self._data(table, entry).data
        if data.keys() != table.fields(0).keys():
            raise Refused(INVALID, f"{table.name}: not all fields are there")
        (value,) = data.values()
        for own in range(PIPES) if pipe == ALL_PIPES else (pipe,):
            self.cells[table.name, index, own] = int.from_bytes(value, "big")

    def _index(self, table: Table, key: Any) -> int:
        (part,) = self.key(table, key)
        index = int.from_bytes(part[2], "big")
        if index >= table.told["size"]:
            raise Refused(INVALID, f"{table.name} has no cell {index}")
        return index

    def cell(self, table: Table, index: int, pipe: int) -> int:
        """What a register holds."""
        return self.cells.get((table.name, index, pipe), 0)

    def count(self, table: Table, index: int) -> tuple[int, int]:
        """Packets and bytes of a cell of a counter."""
        return 7 * index, 700 * index

    def key(self, table: Table, key: Any) -> tuple[Any, ...]:
        """A key in a form that can be compared, checked."""
        told = {each["id"]: each for each in table.told["key"]}
        found = []
        for part in key.fields:
            if part.field_id not in told:
                raise Refused(INVALID, f"{table.name} has no such key field, or had it before")
            field_ = told.pop(part.field_id)
            kind = part.WhichOneof("match_type")
            if kind != field_["match_type"].lower():
                raise Refused(INVALID, f"{field_['name']} is {field_['match_type']}")
            match = getattr(part, kind)
            if kind == "ternary":
                value, mask = _check(match.value, field_), _check(match.mask, field_)
                if int.from_bytes(value, "big") & ~int.from_bytes(mask, "big"):
                    raise Refused(INVALID, f"{field_['name']}: bits outside of the mask")
                found.append((part.field_id, kind, value, mask))
            else:
                found.append((part.field_id, kind, _check(match.value, field_)))
        if told:
            missing = ", ".join(each["name"] for each in told.values())
            raise Refused(INVALID, f"{table.name}: keys are missing: {missing}")
        return tuple(sorted(found))

    def _data(self, table: Table, entry: Any) -> Entry:
        action = entry.data.action_id
        specs = {spec["id"]: spec for spec in table.told.get("action_specs", ())}
        if specs and action not in specs:
            raise Refused(INVALID, f"{table.name} has no action {action}")
        told = table.fields(action)
        found: dict[int, Any] = {}
        for part in entry.data.fields:
            if part.field_id not in told or part.field_id in found:
                raise Refused(INVALID, f"{table.name} has no such data field, or had it before")
            found[part.field_id] = self._value(told[part.field_id], part)
        return Entry(action, found)

    def _value(self, told: dict[str, Any], part: Any) -> Any:
        kind, type_ = part.WhichOneof("value"), told["type"]["type"]
        if told["repeated"]:
            wanted = "bool_arr_val" if type_ == "bool" else "int_arr_val"
            if kind not in (wanted, None):
                raise Refused(INVALID, f"{told['name']} is a list, not {kind}")
            return tuple(getattr(part, kind).val) if kind else ()
        wanted = {"bool": "bool_val", "string": "str_val"}.get(type_, "stream")
        if kind != wanted:
            raise Refused(INVALID, f"{told['name']} is {type_}, not {kind}")
        value = getattr(part, kind)
        if type_ in NUMBERS:
            return _check(value, told)
        if type_ == "string" and value not in told["type"].get("choices", [value]):
            raise Refused(INVALID, f"{told['name']} cannot be {value}")
        return value

    def _default(self, table: Table, verb: str, entry: Any) -> None:
        if table.told.get("has_const_default_action"):
            raise Refused(INVALID, f"{table.name} has a constant default action")
        if verb == "insert":
            raise Refused(INVALID, "a default entry is there already")
        table.default = self._data(table, entry) if verb == "modify" else _initial(table)

    def _insert(self, table: Table, key: tuple[Any, ...], entry: Any) -> None:
        if table.name == RECIRCULATION:
            raise Refused(UNIMPLEMENTED, f"{table.name}: ports are there, or are not")
        if table.name == MIRROR and not int.from_bytes(key[0][2], "big"):
            raise Refused(INVALID, "session 0 is reserved")
        if key in table.rows:
            raise Refused(EXISTS, "Already exists")
        if len(table.rows) >= table.told["size"]:
            raise Refused(FULL, f"{table.name} is full")
        row = self._data(table, entry)
        wanted = {each for each in table.fields(row.action)}
        whole = table.name not in FIXED or table.name == NODE
        if whole and row.data.keys() != wanted:
            raise Refused(INVALID, f"{table.name}: not all fields are there")
        self._consistent(table, row)
        if table.name == PORT:
            self._born(table, key, row)
        if table.name in FIXED:  # what nobody said is told all the same
            for number, told in table.fields(row.action).items():
                if not told["repeated"]:
                    row.data.setdefault(number, _nothing(told["type"]))
        table.rows[key] = row

    def _modify(self, table: Table, key: tuple[Any, ...], entry: Any) -> None:
        if key not in table.rows:
            raise Refused(NOT_FOUND, "Object not found")
        row, old = self._data(table, entry), table.rows[key]
        self._consistent(table, row)
        if table.name == PORT:
            names = {number: told["name"] for number, told in table.fields(0).items()}
            for number, value in row.data.items():
                if names[number] in ("$SPEED", "$FEC") and old.data[number] != value:
                    raise Refused(INVALID, f"{names[number]} of a port does not change")
        fixed = table.name in FIXED
        table.rows[key] = Entry(row.action, {**old.data, **row.data} if fixed else row.data)
        if table.name == PORT:
            self._enable(table, key, {**row.data})

    def _delete(self, table: Table, key: tuple[Any, ...]) -> None:
        if table.name == RECIRCULATION:
            raise Refused(UNIMPLEMENTED, f"{table.name}: ports stay")
        if key not in table.rows:
            raise Refused(NOT_FOUND, "Object not found")
        if table.name == NODE:
            number = int.from_bytes(key[0][2], "big")
            if any(number in row.data.get(1, ()) for row in self.table(GROUP).rows.values()):
                raise Refused(INVALID, "the node is in a group")
        del table.rows[key]
        if table.name == PORT:
            self.looped.discard(int.from_bytes(key[0][2], "big"))

    def _consistent(self, table: Table, row: Entry) -> None:
        if table.name == GROUP:
            there = {int.from_bytes(key[0][2], "big") for key in self.table(NODE).rows}
            if not set(row.data.get(1, ())) <= there:
                raise Refused(INVALID, "no such node")
            if len({len(row.data.get(number, ())) for number in (1, 2, 3)}) != 1:
                raise Refused(INVALID, "lists of different length")
        ports: list[int] = []
        if table.name == NODE:
            ports = list(row.data.get(3, ()))
        elif table.name == MIRROR and 3 in row.data:
            ports = [int.from_bytes(row.data[3], "big")]
        for port in ports:
            if port & 0x7F >= 72 or port >> 7 > 1:
                raise Refused(INVALID, f"no port {port}")

    # ---- Ports

    def _named(self, table: Table, data: dict[int, Any]) -> dict[str, Any]:
        names = {number: told["name"] for number, told in table.fields(0).items()}
        return {names[number]: value for number, value in data.items()}

    def _born(self, table: Table, key: tuple[Any, ...], row: Entry) -> None:
        port, data = int.from_bytes(key[0][2], "big"), self._named(table, row.data)
        if port in INTERNAL or port & 0x7F >= 72 or port >> 7 > 1:
            raise Refused(INVALID, f"no port {port}")
        if not {"$SPEED", "$FEC"} <= data.keys():
            raise Refused(INVALID, "a port needs $SPEED and $FEC")
        self._enable(table, key, row.data)

    def _enable(self, table: Table, key: tuple[Any, ...], data: dict[int, Any]) -> None:
        told = self._named(table, data)
        port = int.from_bytes(key[0][2], "big")
        if not told.get("$PORT_ENABLE"):
            if "$PORT_ENABLE" in told:
                self.looped.discard(port)
            return
        held = table.rows.get(key)
        mode = (self._named(table, held.data) if held else told).get("$LOOPBACK_MODE")
        (self.looped.add if mode == "BF_LPBK_MAC_NEAR" else self.looped.discard)(port)

    # ---- Read

    def read(self, entry: Any) -> list[Any]:
        """Messages for one entity of a read request."""
        table = self.tables.get(entry.table_id)
        if table is None:
            raise Refused(INVALID, f"no table {entry.table_id}")
        if table.name in (PORT_STAT, QUEUED):
            return [self._stat(table, entry)]
        if table.kind in ("Register", "Counter"):
            if not entry.table_flags.from_hw:
                raise Refused(INVALID, f"the driver does not know what {table.name} holds now")
            return self._state(table, entry)
        if table.name == RECIRCULATION and entry.table_flags.from_hw:
            raise Refused(UNIMPLEMENTED, f"{table.name}: Read from hardware not supported")
        if entry.is_default_entry:
            made = msg.TableEntry(table_id=entry.table_id, is_default_entry=True)
            if table.default is not None:
                self._tell(made, table, table.default)
            return [made]
        if entry.HasField("key"):
            key = self.key(table, entry.key)
            if key not in table.rows:
                raise Refused(NOT_FOUND, "Object not found")
            return [self._row(table, key)]
        return [self._row(table, key) for key in table.rows]

    def _state(self, table: Table, entry: Any) -> list[Any]:
        """Cells of a register, a field for every pipe, or of a counter."""
        (told,) = table.told["key"]
        one = entry.HasField("key")
        indices = [self._index(table, entry.key)] if one else range(table.told["size"])
        made = []
        for index in indices:
            row = msg.TableEntry(table_id=table.told["id"])
            row.key.fields.add(field_id=told["id"]).exact.value = index.to_bytes(4, "big")
            if table.kind == "Register":
                ((number, field_),) = table.fields(0).items()
                size, _ = _size(field_["type"])
                for pipe in range(PIPES):
                    value = self.cell(table, index, pipe).to_bytes(size, "big")
                    row.data.fields.add(field_id=number, stream=value)
            else:
                packets, octets = self.count(table, index)
                for number, value in zip(table.fields(0), (octets, packets), strict=True):
                    row.data.fields.add(field_id=number, stream=value.to_bytes(8, "big"))
            made.append(row)
        return made

    def _row(self, table: Table, key: tuple[Any, ...]) -> Any:
        made = msg.TableEntry(table_id=table.told["id"])
        for number, kind, *values in key:
            part = made.key.fields.add(field_id=number)
            match = getattr(part, kind)
            match.value = values[0]
            if kind == "ternary":
                match.mask = values[1]
        self._tell(made, table, table.rows[key])
        return made

    def _tell(self, made: Any, table: Table, row: Entry) -> None:
        made.data.action_id = row.action
        told = table.fields(row.action)
        for number, value in row.data.items():
            part = made.data.fields.add(field_id=number)
            if isinstance(value, bool):
                part.bool_val = value
            elif isinstance(value, str):
                part.str_val = value
            elif isinstance(value, tuple):
                kind = "bool_arr_val" if told[number]["type"]["type"] == "bool" else "int_arr_val"
                getattr(part, kind).val.extend(value)
            else:
                part.stream = value
        if table.name == PORT:
            (up,) = [number for number, field_ in told.items() if field_["name"] == PORT_UP]
            port = int.from_bytes(made.key.fields[0].exact.value, "big")
            del made.data.fields[len(row.data) :]
            for part in [part for part in made.data.fields if part.field_id == up]:
                made.data.fields.remove(part)
            made.data.fields.add(field_id=up, bool_val=port in self.links())

    def _stat(self, table: Table, entry: Any) -> Any:
        made = msg.TableEntry(table_id=table.told["id"])
        made.key.CopyFrom(entry.key)
        port = int.from_bytes(entry.key.fields[0].exact.value, "big")
        if table.name == PORT_STAT and not any(
            int.from_bytes(key[0][2], "big") == port for key in self.table(PORT).rows
        ):
            raise Refused(INVALID, f"no port {port} has been added")
        for number in table.fields(0):
            made.data.fields.add(field_id=number, stream=(1000 + number).to_bytes(8, "big"))
        return made
