"""Updates as JSON, and back: for cases, proofs and the engine of pages (p4-wasm's `update.rs`).

An update is an object with one member, its kind, which has one member, what it writes:
`{"insert": {"table_entry": {"table": "bift", "match": {"bit": {"exact": 3}}, ...}}}`. Numbers that
not every reader holds exactly are texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_args

from p4lab.model import entries
from p4lab.model.entries import Entity, Kind, Match, Update

EXACT = 1 << 53
"""Numbers below are the same in JSON wherever it is read"""

_ENTITIES: dict[str, type[Entity]] = {
    "table_entry": entries.TableEntry,
    "default_action": entries.DefaultAction,
    "multicast_group": entries.MulticastGroup,
    "clone_session": entries.CloneSession,
    "register_cell": entries.RegisterCell,
    "meter_cell": entries.MeterCell,
}
_MATCHES: dict[str, type[Match]] = {
    "exact": entries.Exact,
    "lpm": entries.Lpm,
    "ternary": entries.Ternary,
    "range": entries.Range,
    "optional": entries.Optional,
    "dont_care": entries.DontCare,
}
_NAMES: dict[type, str] = {own: name for name, own in (_ENTITIES | _MATCHES).items()}
_KINDS: dict[str, Kind] = {kind: kind for kind in get_args(Kind)}


def to_json(update: Update) -> dict[str, Any]:
    """An update as plain data."""
    entity = update.entity
    data = {one.name: _plain(getattr(entity, one.name)) for one in fields(entity)}
    for pairs in data.keys() & {"match", "params"}:
        data[pairs] = dict(data[pairs])
    return {update.kind: {_NAMES[type(entity)]: data}}


def _plain(value: Any) -> Any:
    if isinstance(value, int):
        return value if value < EXACT else str(value)
    if type(value) in _NAMES:
        parts = [_plain(getattr(value, one.name)) for one in fields(value)]
        return {_NAMES[type(value)]: parts[0] if len(parts) == 1 else parts}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def from_json(data: Mapping[str, Any]) -> Update:
    """What `to_json` gave. Raises ValueError for anything else."""
    try:
        ((kind, written),) = data.items()
        ((name, given),) = written.items()
        values = {field: _value(field, value) for field, value in given.items()}
        return Update(_KINDS[kind], _ENTITIES[name](**values))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{data!r} is not an update: {error}") from error


def _value(field: str, value: Any) -> Any:
    """A field's value; texts are numbers where the field is not a name."""
    if field == "match":
        return tuple((name, _match(given)) for name, given in value.items())
    if field == "params":
        return tuple((name, int(number)) for name, number in value.items())
    if field == "replicas":
        return tuple((int(port), int(instance)) for port, instance in value)
    return value if field in ("table", "action", "register", "meter") else int(value)


def _match(given: Mapping[str, Any]) -> Match:
    ((name, parts),) = given.items()
    numbers = parts if isinstance(parts, list) else [parts]
    return _MATCHES[name](*(int(number) for number in numbers))
