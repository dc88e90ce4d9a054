"""The engine for the rest of the package: programs from files, entries in its own form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from p4lab import _engine
from p4lab.model.entries import (
    CloneSession,
    DefaultAction,
    Entity,
    Exact,
    Lpm,
    Match,
    MeterCell,
    MulticastGroup,
    Optional,
    Range,
    RegisterCell,
    TableEntry,
    Ternary,
    Update,
)


class ProgramError(Exception):
    """A program that does not compile. The message is what the compiler said, with the places."""

    def __init__(self, path: str, compilation: _engine.Compilation) -> None:
        self.path = path
        self.diagnostics = compilation.diagnostics
        text = compilation.render() or f"{path} has no package instance called main.\n"
        super().__init__(text)


def load_program(
    path: str | Path,
    defines: Sequence[tuple[str, str]] = (),
    include_dirs: Sequence[str] = (),
    *,
    bmv2_compat: bool = False,
    undefined: int | None = None,
) -> _engine.Program:
    """The program in a file, ready to run, undefined values as noise from the seed `undefined` if
    there is one. Raises ProgramError."""
    compilation = _engine.compile(
        str(path), list(include_dirs), list(defines), bmv2_compat=bmv2_compat
    )
    if compilation.program is None:
        raise ProgramError(str(path), compilation)
    if undefined is not None:
        return compilation.program.with_undefined(undefined)
    return compilation.program


def to_engine(updates: Iterable[Update]) -> list[_engine.Update]:
    """A write batch in the engine's form. Raises ValueError for a session of several replicas."""
    return [_update(update) for update in updates]


def _update(update: Update) -> tuple[Any, ...]:
    entity, gone = update.entity, update.kind == "delete"
    if isinstance(entity, TableEntry):
        matches = [(name, _match(match)) for name, match in entity.match]
        key = (update.kind, "entry", entity.table, matches, entity.priority)
        return key if gone else (*key, entity.action, list(entity.params))
    if isinstance(entity, DefaultAction):
        return ("default", entity.table, None if gone else entity.action, list(entity.params))
    if isinstance(entity, MulticastGroup):
        return ("group", entity.group_id, None if gone else list(entity.replicas))
    if isinstance(entity, RegisterCell):
        return ("register", entity.register, entity.index, 0 if gone else entity.value)
    if isinstance(entity, MeterCell):
        return ("meter", entity.meter, entity.index, None if gone else _rates(entity))
    return ("session", entity.session_id, None if gone else _port(entity), None, entity.truncate)


def _rates(cell: MeterCell) -> tuple[int, int, int, int]:
    return cell.committed_rate, cell.committed_burst, cell.peak_rate, cell.peak_burst


def _port(session: CloneSession) -> int:
    if len(session.replicas) != 1:
        raise ValueError(
            f"clone session {session.session_id} has {len(session.replicas)} replicas; "
            "the engine's sessions have one port, or the copies of a multicast group"
        )
    return session.replicas[0][0]


def _match(match: Match) -> tuple[Any, ...]:
    if isinstance(match, Exact):
        return ("exact", match.value)
    if isinstance(match, Lpm):
        return ("lpm", match.value, match.prefix_len)
    if isinstance(match, Ternary):
        return ("ternary", match.value, match.mask)
    if isinstance(match, Range):
        return ("range", match.low, match.high)
    assert isinstance(match, Optional)
    return ("optional", match.value)


def from_engine(update: _engine.Update) -> Entity:
    """The entity that an update in the engine's form writes: what `to_engine` makes of an insert,
    back. Raises ValueError for what is no entry, such as an update that removes."""
    if update[0] in ("insert", "modify"):
        _, _, table, matches, priority, action, params = update
        keys = tuple((name, _read_match(match)) for name, match in matches)
        return TableEntry(table, keys, action, tuple(params), priority)
    if update[0] == "default" and update[2] is not None:
        return DefaultAction(update[1], update[2], tuple(update[3]))
    if update[0] == "group" and update[2] is not None:
        return MulticastGroup(update[1], tuple(update[2]))
    if update[0] == "session" and update[2] is not None:
        return CloneSession(update[1], ((update[2], 0),), update[4])
    if update[0] == "register":
        return RegisterCell(update[1], update[2], update[3])
    if update[0] == "meter" and update[2] is not None and update[3] is not None:
        return MeterCell(update[1], update[2], *update[3])
    raise ValueError(f"the {update[0]} {update[1]} cannot be written from here")


def _read_match(match: tuple[Any, ...]) -> Match:
    kinds = {"exact": Exact, "lpm": Lpm, "ternary": Ternary, "range": Range, "optional": Optional}
    return Ternary(0, 0) if match[0] == "any" else kinds[match[0]](*match[1:])
