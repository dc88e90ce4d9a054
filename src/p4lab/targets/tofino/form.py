"""Rows in the form in which BFRT has them: fields by number, values by the schema's types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from p4lab.model.entries import Exact, Lpm, Match, Range, Ternary
from p4lab.plurals import count_of
from p4lab.targets.tofino.messages import msg
from p4lab.targets.tofino.rows import Row, Value, is_cell, row
from p4lab.targets.tofino.schema import FIXED

PIPES_APART = {"name": "$bfrt_field_class", "value": "register_data"}
"""The mark of fields that every pipe has for itself"""


class TableForm:
    """A table as bf-rt.json describes it."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.name: str = told["name"]
        self.number: int = told["id"]
        self._keys = {each["name"]: each for each in told["key"]}
        self._key_names = {each["id"]: name for name, each in self._keys.items()}
        self._actions = {each["name"]: each for each in told.get("action_specs", ())}
        self._action_names = {each["id"]: name for name, each in self._actions.items()}
        self._shared = [
            field
            for each in told.get("data", ())
            for field in each.get("oneof", [each.get("singleton")])
        ]

    def _fields(self, action: str | None) -> list[dict[str, Any]]:
        own = self._actions[action]["data"] if action in self._actions else []
        return [*own, *self._shared]

    # ---- Said to a switch. What does not fit is a ValueError, what is not there a KeyError

    def entry(self, key: Iterable[tuple[str, Match]] = (), *, default: bool = False) -> Any:
        """A table entry with a key, or of all keys."""
        made = msg.TableEntry(table_id=self.number, is_default_entry=default)
        for name, match in key:
            told = self._key(name)
            added = made.key.fields.add(field_id=told["id"])
            if isinstance(match, Ternary):
                added.ternary.value = _bytes(told, match.value)
                added.ternary.mask = _bytes(told, match.mask)
            elif isinstance(match, Lpm):
                added.lpm.value = _bytes(told, match.value)
                added.lpm.prefix_len = match.prefix_len
            elif isinstance(match, Range):
                added.range.low = _bytes(told, match.low)
                added.range.high = _bytes(told, match.high)
            else:
                assert isinstance(match, Exact)
                added.exact.value = _bytes(told, match.value)
        return made

    def _key(self, name: str) -> dict[str, Any]:
        if name not in self._keys:
            raise KeyError(f"{self.name} has no key {name}")
        key: dict[str, Any] = self._keys[name]
        return key

    def fill(self, entry: Any, data: Iterable[tuple[str, Value]], action: str | None) -> None:
        """Gives an entry its data."""
        if action is not None:
            if action not in self._actions:
                raise KeyError(f"{self.name} has no action {action}")
            entry.data.action_id = self._actions[action]["id"]
        entry.data.SetInParent()
        fields = {each["name"]: each for each in self._fields(action)}
        for name, value in data:
            if name not in fields:
                raise KeyError(f"{self.name} has no field {name}")
            _put(entry.data.fields.add(field_id=fields[name]["id"]), fields[name], value)

    def ask(self, entry: Any, names: Sequence[str]) -> None:
        """Only these fields of an entry's data are wanted."""
        numbers = {each["name"]: each["id"] for each in self._fields(None)}
        for name in names:
            if name not in numbers:
                raise KeyError(f"{self.name} has no field {name}")
            entry.data.fields.add(field_id=numbers[name])

    # ---- Told by a switch

    def key(self, entry: Any) -> list[tuple[str, Match]]:
        """An entry's key, by the names of its fields."""
        return [(self._key_names[part.field_id], _match(part)) for part in entry.key.fields]

    def fields(self, entry: Any) -> dict[str, Value]:
        """An entry's data by name; what every pipe has for itself is a tuple."""
        told = {each["id"]: each for each in self._fields(self._action(entry))}
        found: dict[str, Value] = {}
        apart: dict[str, list[int]] = {}
        for part in entry.data.fields:
            field = told[part.field_id]
            value = _value(part)
            if PIPES_APART in field["annotations"]:
                apart.setdefault(field["name"], []).append(value)
            elif value is not None:
                found[field["name"]] = value
        return found | {name: tuple(values) for name, values in apart.items()}

    def row(self, table: str, entry: Any) -> Row:
        """An entry as a row. Of the chip's own tables it has only the fields that can be written
        again, and what is alike in all pipes is one value."""
        key, values = self.key(entry), self.fields(entry)
        if table in FIXED:
            values = {name: value for name, value in values.items() if name in FIXED[table][1]}
        if is_cell(key):
            values = {name: _alike(value) for name, value in values.items()}
        return row(table, key, values.items(), self._action(entry))

    def _action(self, entry: Any) -> str | None:
        return self._action_names.get(entry.data.action_id)


def _bytes(told: dict[str, Any], value: int) -> bytes:
    kind = told["type"]
    bits = kind.get("width") or int(kind["type"].removeprefix("uint"))
    try:
        return value.to_bytes((bits + 7) // 8, "big")
    except OverflowError:
        raise ValueError(
            f"{told['name']} has {count_of(bits, 'bit')}: {value} does not fit"
        ) from None


def _put(part: Any, told: dict[str, Any], value: Value) -> None:
    if isinstance(value, bool):
        part.bool_val = value
    elif isinstance(value, str):
        part.str_val = value
    elif not isinstance(value, tuple):
        part.stream = _bytes(told, value)
    elif told["type"]["type"] == "bool":
        part.bool_arr_val.SetInParent()
        part.bool_arr_val.val.extend(bool(each) for each in value)
    else:
        part.int_arr_val.SetInParent()
        part.int_arr_val.val.extend(value)


def _match(part: Any) -> Match:
    kind = part.WhichOneof("match_type")
    match = getattr(part, kind)
    if kind == "ternary":
        return Ternary(_number(match.value), _number(match.mask))
    if kind == "lpm":
        return Lpm(_number(match.value), match.prefix_len)
    if kind == "range":
        return Range(_number(match.low), _number(match.high))
    return Exact(_number(match.value))


def _value(part: Any) -> Any:
    kind = part.WhichOneof("value")
    if kind is None:
        return None
    value = getattr(part, kind)
    if kind == "stream":
        return _number(value)
    return tuple(value.val) if kind.endswith("_arr_val") else value


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _alike(value: Value) -> Value:
    return value[0] if isinstance(value, tuple) and len(set(value)) == 1 else value
