"""Random tables: declaration, entries for the program, for simple_switch_CLI and for the engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from differential.text import Function, Type, Writer
from p4lab.model.entries import (
    DontCare,
    Exact,
    Lpm,
    Match,
    Optional,
    Range,
    TableEntry,
    Ternary,
    Update,
)

KINDS = ("exact", "exact", "lpm", "ternary", "range", "optional")
HIGHEST = 10_000
"""bmv2's priorities go down as the engine's go up."""


@dataclass(frozen=True)
class Key:
    """A key of a table; `mask` if it is `field & constant`"""

    text: str
    kind: str
    width: int
    mask: int | None = None


@dataclass
class Table:
    """A table and what goes into it from the control plane"""

    name: str
    declaration: str
    actions: list[str]
    lines: list[str] = field(default_factory=list)
    """of simple_switch_CLI"""
    updates: list[Update] = field(default_factory=list)
    """the same for the engine"""


def table(name: str, path: str, writer: Writer, actions: list[Function], plain: bool) -> Table:
    """A table of 1 to 3 keys; `path` is the full name of its control."""
    random = writer.random
    keys = _keys(writer, plain)
    in_program = random.randrange(2) == 0
    made = Table(name, "", [action.name for action in actions])
    priorities = any(key.kind in ("ternary", "range", "optional") for key in keys)
    rows, seen = [], set()
    for priority in range(1, 1 + random.randrange(6)):
        matches = [_match(key, random, in_program, plain) for key in keys]
        effective = tuple(_effective(key, match) for key, match in zip(keys, matches, strict=True))
        if effective in seen:  # bmv2 refuses to start, or to take it
            continue
        seen.add(effective)
        action = random.choice(actions)
        values = [writer.value(wanted.width) for _, wanted in action.params]
        given = ", ".join(map(str, values))
        if in_program:
            shown = ", ".join(_text(key, match) for key, match in zip(keys, matches, strict=True))
            rows.append(f"{f'({shown})' if len(keys) > 1 else shown}: {action.name}({given});")
            continue
        row = " ".join(_shell(key, match) for key, match in zip(keys, matches, strict=True))
        tail = f" {priority}" if priorities else ""
        numbers = " ".join(map(str, values))
        made.lines.append(f"table_add {path}.{name} {path}.{action.name} {row} => {numbers}{tail}")
        named = tuple((f"k{i}", match) for i, match in enumerate(matches))
        arguments = tuple((f"d{i}", value) for i, value in enumerate(values))
        own = HIGHEST - priority if priorities else 0
        full = f"{path}.{action.name}"
        made.updates.append(
            Update("insert", TableEntry(f"{path}.{name}", named, full, arguments, own))
        )
    default = random.choice(actions)
    values = ", ".join(str(writer.value(wanted.width)) for _, wanted in default.params)
    shown = " ".join(f'{key.text}: {key.kind} @name("k{i}");' for i, key in enumerate(keys))
    entries = f" const entries = {{ {' '.join(rows)} }}" if rows else ""
    made.declaration = (
        f"table {name} {{ key = {{ {shown} }} actions = {{ {'; '.join(made.actions)}; }}"
        f" default_action = {default.name}({values});{entries} }}"
    )
    return made


def _keys(writer: Writer, plain: bool) -> list[Key]:
    random, keys = writer.random, []
    for _ in range(random.choice([1, 1, 2, 3])):
        var = random.choice([var for var in writer.vars if not var.type.signed])
        kind, width, text, mask = random.choice(KINDS), var.type.width, var.name, None
        if kind == "lpm" and any(key.kind == "lpm" for key in keys):
            kind = "ternary"
        way = random.randrange(6)
        if way == 0 and width > 4:
            width, text = 4, f"{text}[{width - 1}:{width - 4}]"
        elif way == 1:
            text = f"{text} ^ {writer.expression(Type(width), 1)}"
        elif way == 2 and not plain:
            mask = random.getrandbits(width) or 1
            text = f"{text} & {mask}"
        if kind == "lpm" and (width > 64 or (plain and width % 8)):
            kind = "ternary"
        keys.append(Key(text, kind, width, mask))
    return keys


def _match(key: Key, random: Random, in_program: bool, plain: bool) -> Match:
    top = (1 << key.width) - 1
    value = random.choice([random.randrange(4) & top, random.getrandbits(key.width), top])
    if key.kind == "exact":
        return Exact(value)
    if key.kind == "lpm":
        length = random.randrange(key.width + 1)
        return Lpm(value >> key.width - length << key.width - length, length)
    anything = random.randrange(4) == 0
    if key.kind == "optional":
        return DontCare() if anything else Optional(value)
    if key.kind == "ternary":
        mask = random.choice([0, 1, top, random.getrandbits(key.width)]) & top
        return Ternary(value & mask, mask)
    if anything and in_program and not plain:
        return DontCare()
    # As bmv2 refuses what is empty behind a mask, too.
    low = random.randrange(4) & top
    return Range(low, max(value, low))


def _effective(key: Key, match: Match) -> tuple[Any, ...]:
    """What bmv2 tells entries apart by."""
    own = (1 << key.width) - 1 if key.mask is None else key.mask
    match match:
        case Lpm(value, length):
            seen = max(0, length - (8 - key.width % 8) % 8)
            return (length, (value & own) >> key.width - seen)
        case Ternary(first, second) | Range(first, second):
            return (first & own, second)
        case Exact(value) | Optional(value):
            return ((value & own,), type(match))
        case DontCare():
            return ((), DontCare)


def _text(key: Key, match: Match) -> str:
    """As an entry of the program has it."""
    top = (1 << key.width) - 1
    match match:
        case DontCare():
            return "_"
        case Lpm(value, length):
            return f"{value:#x} &&& {top >> key.width - length << key.width - length:#x}"
        case Ternary(value, mask):
            return f"{value:#x} &&& {mask:#x}"
        case Range(low, high):
            return f"{low} .. {high}"
        case Exact(value) | Optional(value):
            return str(value)


def _shell(key: Key, match: Match) -> str:
    """As simple_switch_CLI has it."""
    top = (1 << key.width) - 1
    match match:
        case DontCare():
            return f"0x0->{top:#x}" if key.kind == "range" else "0x0&&&0x0"
        case Lpm(value, length):
            return f"{value:#x}/{length}"
        case Ternary(value, mask):
            return f"{value:#x}&&&{mask:#x}"
        case Range(low, high):
            return f"{low:#x}->{high:#x}"
        case Optional(value):
            return f"{value:#x}&&&{top:#x}"
        case Exact(value):
            return f"{value:#x}"
