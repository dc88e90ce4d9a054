"""The fabric's parameters, each with its unit, source, and whether it is assumed."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from p4lab import _engine
from p4lab.topology.tomls import FileError, parse_data, read_bytes

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Value = int | float | str | bool
Settings = Mapping[str, Value]
"""What differs, by "section.name\""""


@dataclass(frozen=True)
class Parameter:
    """A line of crates/p4-fabric/parameters.toml."""

    name: str
    value: Value
    unit: str
    source: str
    origin: str
    """"paper", "assumed" or "calibrated\""""


def parameters() -> list[Parameter]:
    """All of them, in the order of the file."""
    found = []
    for section, entries in tomllib.loads(_engine.fabric_parameters()).items():
        for name, entry in entries.items():
            origin = next((word for word in ("assumed", "calibrated") if entry.get(word)), "paper")
            source = entry.get("source", "")
            found.append(
                Parameter(f"{section}.{name}", entry["value"], entry["unit"], source, origin)
            )
    return found


def written(settings: Settings) -> str:
    """Settings as TOML, for the engine."""
    lines = []
    for name, value in settings.items():
        section, key = name.split(".")
        text = str(value).lower() if isinstance(value, bool) else repr(value).replace("'", '"')
        lines += [f"[{section}]", f"{key} = {text}"]
    return "\n".join(lines) + "\n"


def in_force(settings: Settings, extra: str = "") -> dict[str, Value]:
    """The value of every parameter in a run: the file's, the settings', and those of a user's TOML,
    which come last."""
    return {**{one.name: one.value for one in parameters()}, **settings, **_named(extra)}


def _named(extra: str) -> dict[str, Value]:
    return {
        f"{section}.{name}": value["value"] if isinstance(value, dict) else value
        for section, entries in tomllib.loads(extra).items()
        for name, value in entries.items()
    }


def named(extra: str) -> list[str]:
    """The parameters that a user's TOML gives, even if they are as they were."""
    return list(_named(extra))


def differing(extra: str) -> dict[str, Value]:
    """What a user's TOML makes other than it is in the file of all parameters."""
    usual = {one.name: one.value for one in parameters()}
    return {name: value for name, value in _named(extra).items() if value != usual.get(name)}


def fabric(leaves: int, settings: Settings, extra: str = "", **more: int) -> _engine.Fabric:
    """A fabric with these settings, and those of a user's TOML. Raises ValueError for what the
    engine refuses."""
    try:
        return _engine.Fabric(leaves, parameters=extra, scenario=written(settings), **more)
    except ValueError as error:
        raise ValueError(f"your parameters, {error}" if extra else str(error)) from None


def condensed(text: str) -> str:
    """All parameters of a run as one short word: the engine's file and what differs."""
    whole = _engine.fabric_parameters() + text
    return f"sha256:{hashlib.sha256(whole.encode()).hexdigest()[:16]}"


def read(path: Path) -> str:
    """A file of parameters, as text that the engine accepts. Raises ValueError that begins with the
    file and the line."""
    try:
        raw = read_bytes(path)
        parse_data(raw, str(path))
        text = raw.decode("utf-8-sig")
        _engine.Fabric(1, parameters=text)
    except FileError as error:
        first = error.problems[0]
        place = f"{path}, line {first.line}: " if first.line else ""
        raise ValueError(f"{place}{first.text}") from None
    except ValueError as error:
        raise ValueError(f"{path}, {error}") from None
    return text
