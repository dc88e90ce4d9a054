"""A runtime file's entries as entities; the program says how wide a key is and how it matches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from p4lab.exercise.files import ExerciseError, read_runtime
from p4lab.model.entries import (
    CloneSession,
    DefaultAction,
    Entity,
    Exact,
    Lpm,
    Match,
    MulticastGroup,
    Optional,
    Range,
    TableEntry,
    Ternary,
)
from p4lab.model.notation import read


def entities(file: Path, summary: Mapping[str, Any]) -> list[Entity]:
    """Everything that a runtime file asks for; `summary` is that of the engine's program. Raises
    ExerciseError."""
    data = read_runtime(file)
    return [
        *_each(file, data, "table_entries", lambda item: _entry(item, summary)),
        *_each(file, data, "multicast_group_entries", _group),
        *_each(file, data, "clone_session_entries", _session),
    ]


def _each(file: Path, data: Mapping[str, Any], name: str, make: Any) -> Iterator[Entity]:
    items = data.get(name, [])
    if not isinstance(items, list):
        raise ExerciseError(f"{file}: {name} must be a list.")
    for index, item in enumerate(items):
        try:
            yield make(item)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            told = f"{error} is missing" if isinstance(error, KeyError) else str(error).rstrip(".")
            raise ExerciseError(f"{file}: {name}[{index}]: {told}.") from error


def _entry(item: Mapping[str, Any], summary: Mapping[str, Any]) -> Entity:
    table = _named("table", item["table"], summary["tables"])
    offered = [action for action in summary["actions"] if action["name"] in table["actions"]]
    action = _named("action", item["action_name"], offered)
    widths = {param["name"]: param["width"] for param in action["params"]}
    given = item.get("action_params", {})
    if unknown := set(given) - set(widths):
        raise ValueError(f"{action['name']} has no parameter {sorted(unknown)[0]}")
    if missing := [name for name in widths if name not in given]:
        raise ValueError(f"{action['name']} needs the parameter {missing[0]}")
    params = tuple((name, _number(_single(given[name]), width)) for name, width in widths.items())
    if item.get("default_action"):
        return DefaultAction(table["name"], action["name"], params)
    keys = {key["name"]: key for key in table["keys"]}
    match = item.get("match", {})
    if unknown := set(match) - set(keys):
        raise ValueError(f"{table['name']} has no key {sorted(unknown)[0]}")
    matches = tuple(
        (name, _match(match.get(name), key["match_kind"], key["width"]))
        for name, key in keys.items()
    )
    return TableEntry(table["name"], matches, action["name"], params, int(item.get("priority", 0)))


def _named(what: str, name: str, items: list[dict[str, Any]]) -> dict[str, Any]:
    for item in items:
        if item["name"] == name:
            return item
    found = [item for item in items if item["name"].endswith(f".{name}")]
    if len(found) != 1:
        known = ", ".join(item["name"] for item in items)
        raise ValueError(f"the program has no {what} {name}; it has {known}")
    return found[0]


def _number(written: Any, width: int) -> int:
    """A number, or an address as one writes it. Raises ValueError."""
    if isinstance(written, bool) or not isinstance(written, int | str):
        raise ValueError(f"{written!r} is neither a number nor an address")
    return read("value", str(written), width)


def _single(value: Any) -> Any:
    """A value may be written as a list of one."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _match(value: Any, kind: str, width: int) -> Match:
    full = (1 << width) - 1
    if value is None:
        everything: dict[str, Match] = {
            "lpm": Lpm(0, 0),
            "ternary": Ternary(0, 0),
            "range": Range(0, full),
        }
        if kind not in everything:
            raise ValueError(f"an {kind} key needs a value")
        return everything[kind]
    if isinstance(value, list) and len(value) == 2:
        first = _number(value[0], width)
        if kind == "lpm":
            return Lpm(first, int(value[1]))
        second = _number(value[1], width)
        return Ternary(first, second) if kind == "ternary" else Range(first, second)
    single = _number(_single(value), width)
    if kind == "lpm":
        return Lpm(single, width)
    if kind == "ternary":
        return Ternary(single, full)
    if kind == "range":
        return Range(single, single)
    return Optional(single) if kind == "optional" else Exact(single)


def _replicas(item: Mapping[str, Any]) -> tuple[tuple[int, int], ...]:
    return tuple(
        (int(replica["egress_port"]), int(replica.get("instance", 0)))
        for replica in item["replicas"]
    )


def _group(item: Mapping[str, Any]) -> Entity:
    return MulticastGroup(int(item["multicast_group_id"]), _replicas(item))


def _session(item: Mapping[str, Any]) -> Entity:
    length = int(item.get("packet_length_bytes", 0))
    return CloneSession(int(item["clone_session_id"]), _replicas(item), length)
