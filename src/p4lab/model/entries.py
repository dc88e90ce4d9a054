"""Table entries, multicast groups and clone sessions as values that no target owns.

All numbers are unsigned integers; names are those of P4Info, or any unique dotted suffix.
Priorities are P4Runtime's: the larger number wins, 0 where the table has no ternary,
range or optional key.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Exact:
    value: int


@dataclass(frozen=True, slots=True)
class Lpm:
    value: int
    prefix_len: int


@dataclass(frozen=True, slots=True)
class Ternary:
    value: int
    mask: int


@dataclass(frozen=True, slots=True)
class Range:
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Optional:
    value: int


@dataclass(frozen=True, slots=True)
class DontCare:
    """Any value, of a key of any kind but exact."""


Match = Exact | Lpm | Ternary | Range | Optional | DontCare
Matches = tuple[tuple[str, Match], ...]
Params = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class TableEntry:
    """A row of a table: its key fields and its action's parameters, in the program's order."""

    table: str
    match: Matches
    action: str
    params: Params
    priority: int = 0


@dataclass(frozen=True, slots=True)
class DefaultAction:
    """What a table runs where no row fits. It is always there: it changes, and without one of ours
    it is the program's."""

    table: str
    action: str
    params: Params


@dataclass(frozen=True, slots=True)
class MulticastGroup:
    """What the packet replication engine makes of a group: one copy per (port, instance)."""

    group_id: int
    replicas: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class CloneSession:
    """Where clones of a session go, as (port, instance); `truncate` in bytes, 0 for whole."""

    session_id: int
    replicas: tuple[tuple[int, int], ...]
    truncate: int = 0


@dataclass(frozen=True, slots=True)
class RegisterCell:
    """What a cell of a register is to hold, in all pipes; without one of ours it is 0."""

    register: str
    index: int
    value: int


@dataclass(frozen=True, slots=True)
class MeterCell:
    """The rates of a cell of a meter; without one of ours everything that it measures is green.
    Rates are bytes or packets per second, as the program has it, bursts bytes or packets."""

    meter: str
    index: int
    committed_rate: int
    committed_burst: int
    peak_rate: int
    peak_burst: int


Entity = TableEntry | DefaultAction | MulticastGroup | CloneSession | RegisterCell | MeterCell
Entries = frozenset[Entity]
Kind = Literal["insert", "modify", "delete"]


@dataclass(frozen=True, slots=True)
class Update:
    """One step of a write batch."""

    kind: Kind
    entity: Entity


def key(entity: Entity) -> tuple[object, ...]:
    """What identifies an entity on its switch: an entity with the same key replaces it."""
    if isinstance(entity, TableEntry):
        return (entity.table, entity.match, entity.priority)
    if isinstance(entity, DefaultAction):
        return ("default_action", entity.table)
    if isinstance(entity, MulticastGroup):
        return ("multicast_group", entity.group_id)
    if isinstance(entity, RegisterCell):
        return ("register_cell", entity.register, entity.index)
    if isinstance(entity, MeterCell):
        return ("meter_cell", entity.meter, entity.index)
    return ("clone_session", entity.session_id)


def diff(old: Set[Entity], new: Set[Entity]) -> list[Update]:
    """The shortest batch that turns `old` into `new`; the same for the same sets.

    Groups and sessions are made before the rows that use them and removed after those, and cells
    come behind all rows, so that the batch is sound even where a target applies it step by step.
    """
    if not old:  # A first fill, of millions of rows in the largest networks: nothing to compare.
        return sorted((Update("insert", entity) for entity in new), key=_order)
    gone = {key(entity): entity for entity in old - new}
    fresh = {key(entity): entity for entity in new - old}
    inserts = [Update("insert", entity) for name, entity in fresh.items() if name not in gone]
    modifies = [Update("modify", entity) for name, entity in fresh.items() if name in gone]
    deletes = [Update("delete", entity) for name, entity in gone.items() if name not in fresh]
    return sorted(inserts + modifies + deletes, key=_order)


# By kind of change: groups and sessions, rows, cells
_PHASES = {"insert": (0, 2, 4), "modify": (1, 3, 4), "delete": (7, 6, 5)}


def _order(update: Update) -> tuple[object, ...]:
    """Numbers and names, so that large batches are sorted quickly."""
    entity = update.entity
    phases = _PHASES[update.kind]
    if isinstance(entity, TableEntry):  # most are
        numbers = tuple([_numbers(match) for _, match in entity.match])
        return (phases[1], (entity.table, numbers, entity.priority))
    match entity:
        case DefaultAction(table):
            return (phases[1], (table, (), -1))
        case RegisterCell(register, index):
            return (phases[2], (register, (), index))
        case MeterCell(meter, index):
            return (phases[2], (meter, (), index))
        case MulticastGroup(number):
            return (phases[0], ("multicast_group", (), number))
        case CloneSession(number):
            return (phases[0], ("clone_session", (), number))


def _numbers(match: Match) -> tuple[int, ...]:
    if isinstance(match, Exact | Optional):
        return (match.value,)
    if isinstance(match, Ternary):
        return (match.value, match.mask)
    if isinstance(match, Lpm):
        return (match.value, match.prefix_len)
    if isinstance(match, Range):
        return (match.low, match.high)
    return ()
