"""What is behind the server: tables that keep the rules of the real ones.

- an insert of what is there, and a change or deletion of what is not, are refused
- a key or a value has its field's bytes, and no bit beyond its field's bits
- a group needs its nodes, a node that a group has stays; sessions and nodes need ports of the chip
- a port needs speed and FEC from its birth, they do not change, and a loopback begins when it is
  enabled
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from bfrt_fake.messages import msg
from p4lab.targets.tofino.schema import FIXED, GROUP, MIRROR, NODE, PORT, PORT_STAT

INVALID, NOT_FOUND, EXISTS, FULL, UNKNOWN = 3, 5, 6, 8, 2
NUMBERS = ("uint8", "uint16", "uint32", "uint64", "bytes")
INTERNAL = {*range(68, 72), *range(192, 200)}


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
        return held | {"looped": set(self.looped)}

    # ---- Write

    def apply(self, updates: Any, together: bool) -> list[Refused | None]:
        """Carries updates out; with `together` all of them or none. One answer for each."""
        saved = self._copy() if together else None
        answers: list[Refused | None] = []
        for update in updates:
            try:
                self._one(update)
                answers.append(None)
            except Refused as error:
                answers.append(error)
                if saved is not None:
                    self._restore(saved)
                    break
        return answers

    def _copy(self) -> Any:
        rows = {
            number: ({k: Entry(e.action, dict(e.data)) for k, e in t.rows.items()}, t.default)
            for number, t in self.tables.items()
        }
        return rows, set(self.looped), list(self.log)

    def _restore(self, saved: Any) -> None:
        for number, (rows, default) in saved[0].items():
            self.tables[number].rows, self.tables[number].default = rows, default
        self.looped, self.log = saved[1], saved[2]

    def _one(self, update: Any) -> None:
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
        if entry.is_default_entry:
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

    def key(self, table: Table, key: Any) -> tuple[Any, ...]:
        """A key in a form that can be compared, checked."""
        told = {each["id"]: each for each in table.told["key"]}
        found = []
        for part in key.fields:
            if part.field_id not in told:
                raise Refused(INVALID, f"{table.name} has no key field {part.field_id}")
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
        if told and table.name not in FIXED:
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
            if part.field_id not in told:
                raise Refused(INVALID, f"{table.name} has no data field {part.field_id}")
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
        if key in table.rows:
            raise Refused(EXISTS, "Already exists")
        if len(table.rows) >= table.told["size"]:
            raise Refused(FULL, f"{table.name} is full")
        row = self._data(table, entry)
        wanted = {each for each in table.fields(row.action)}
        if table.name not in FIXED and row.data.keys() != wanted:
            raise Refused(INVALID, f"{table.name}: not all parameters are there")
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
        if not told.get("$PORT_ENABLE"):
            return
        held = table.rows.get(key)
        mode = (self._named(table, held.data) if held else told).get("$LOOPBACK_MODE")
        port = int.from_bytes(key[0][2], "big")
        (self.looped.add if mode == "BF_LPBK_MAC_NEAR" else self.looped.discard)(port)

    # ---- Read

    def read(self, entry: Any) -> list[Any]:
        """Messages for one entity of a read request."""
        table = self.tables.get(entry.table_id)
        if table is None:
            raise Refused(INVALID, f"no table {entry.table_id}")
        if table.name == PORT_STAT:
            return [self._stat(table, entry)]
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

    def _stat(self, table: Table, entry: Any) -> Any:
        made = msg.TableEntry(table_id=table.told["id"])
        made.key.CopyFrom(entry.key)
        for number in table.fields(0):
            made.data.fields.add(field_id=number, stream=(1000 + number).to_bytes(8, "big"))
        return made
