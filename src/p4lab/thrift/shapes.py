"""Thrift classes out of short tables: what the Thrift compiler makes of an IDL file.

A line of a table is a name and its fields in the order of their numbers, from 1. A type is
`bool`, `i16`, `i32`, `i64`, `double`, `text`, `bytes`, the name of a struct, `[type]`, or `{text}`
for a map of texts. On the wire there are numbers and types alone: the names are our own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from thrift.protocol.TBase import TBase, TExceptionBase
from thrift.Thrift import TType

_SIMPLE = {
    "bool": (TType.BOOL, None),
    "i16": (TType.I16, None),
    "i32": (TType.I32, None),
    "i64": (TType.I64, None),
    "double": (TType.DOUBLE, None),
    "text": (TType.STRING, "UTF8"),
    "bytes": (TType.STRING, "BINARY"),
    "{text}": (TType.MAP, (TType.STRING, "UTF8", TType.STRING, "UTF8", False)),
}

Struct: TypeAlias = type[Any]
# Number, Thrift's type, name, what the type is made of, default; as the library wants it.
_Field: TypeAlias = tuple[int, int, str, Any, None]


@dataclass(frozen=True)
class Method:
    """A call: its arguments, and a result with `success` and `refusal`, one of which is set."""

    name: str
    arguments: Struct
    result: Struct
    given: tuple[str, ...]
    """The arguments' names, in their order"""
    refuses: Struct | None


def structs(table: str, known: Mapping[str, Struct] | None = None) -> dict[str, Struct]:
    """The structs of a table, each of which may use those before it."""
    made = dict(known or {})
    for line in filter(None, map(str.strip, table.splitlines())):
        name, _, fields = line.partition(":")
        made[name] = _struct(name, _fields(fields, made), TBase)
    return made


def refusal(name: str) -> Struct:
    """An exception that is a number."""
    return _struct(name, _fields("code i32", {}), TExceptionBase)


def methods(table: str, known: Mapping[str, Struct]) -> dict[str, Method]:
    """The calls of a table: `name: arguments -> result`, the last of which may be missing. Before
    each call's name, behind a line `! NAME`, stands which exception it may raise."""
    made: dict[str, Method] = {}
    refuses: Struct | None = None
    for line in filter(None, map(str.strip, table.splitlines())):
        if line.startswith("!"):
            refuses = known.get(line[1:].strip())
            continue
        head, _, result = line.partition("->")
        name, _, arguments = head.partition(":")
        given = _fields(arguments, known)
        made[name] = Method(
            name,
            _struct(f"{name}_args", given, TBase),
            _struct(f"{name}_result", _result(result.strip(), refuses, known), TBase),
            tuple(field[2] for field in given),
            refuses,
        )
    return made


def _result(text: str, refuses: Struct | None, known: Mapping[str, Struct]) -> list[_Field]:
    fields: list[_Field] = []
    if text:
        fields.append((0, *_named_type("success", text, known), None))
    if refuses is not None:
        fields.append((1, TType.STRUCT, "refusal", [refuses, refuses.thrift_spec], None))
    return fields


def _fields(text: str, known: Mapping[str, Struct]) -> list[_Field]:
    pairs = (pair.split() for pair in text.split(",") if pair.strip())
    return [
        (number, *_named_type(name, kind, known), None)
        for number, (name, kind) in enumerate(pairs, start=1)
    ]


def _named_type(name: str, kind: str, known: Mapping[str, Struct]) -> tuple[int, str, Any]:
    number, made_of = _type(kind, known)
    return number, name, made_of


def _type(kind: str, known: Mapping[str, Struct]) -> tuple[int, Any]:
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if kind.startswith("["):
        number, made_of = _type(kind[1:-1], known)
        return TType.LIST, (number, made_of, False)
    own = known[kind]
    return TType.STRUCT, [own, own.thrift_spec]


def _struct(name: str, fields: list[_Field], base: type) -> Struct:
    """A class whose instances take their fields by name or in order; None is not sent."""
    names = tuple(field[2] for field in fields)

    def __init__(self: Any, *values: Any, **named: Any) -> None:
        given = {**dict(zip(names, values, strict=False)), **named}
        for own in names:
            setattr(self, own, given.get(own))

    size = max((field[0] for field in fields), default=-1) + 1
    spec: list[_Field | None] = [None] * size
    for field in fields:
        spec[field[0]] = field
    body = {"__slots__": names, "__init__": __init__, "thrift_spec": tuple(spec)}
    return type(name, (base,), body)
