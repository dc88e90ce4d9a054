"""What runtime APIs and scripts write into a switch of the engine besides what control planes
declare (entries.py): action profiles, counters, meters of entries, value sets, whole arrays.

Each class is one step of a write batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from p4lab.model.entries import Kind, Match, Matches, Params, Update


class Rates(NamedTuple):
    """Of a meter: bytes or packets per second, as the program has it, bursts bytes or packets."""

    committed_rate: int
    committed_burst: int
    peak_rate: int
    peak_burst: int


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an action profile, by its number, in the place of an action."""

    number: int


@dataclass(frozen=True, slots=True)
class Group:
    """A group of an action selector, by its number, in the place of an action."""

    number: int


@dataclass(frozen=True, slots=True)
class IndirectEntry:
    """A row of a table with an action profile."""

    table: str
    match: Matches
    target: Member | Group
    priority: int = 0


@dataclass(frozen=True, slots=True)
class IndirectUpdate:
    """Writes or removes a row of a table with an action profile."""

    kind: Kind
    entry: IndirectEntry


@dataclass(frozen=True, slots=True)
class SetIndirectDefault:
    """What a table with an action profile runs where no row fits."""

    table: str
    target: Member | Group


@dataclass(frozen=True, slots=True)
class Clear:
    """Removes all rows of a table but those of the program."""

    table: str


@dataclass(frozen=True, slots=True)
class ResetDefault:
    """Gives a table the default action of its program again."""

    table: str


@dataclass(frozen=True, slots=True)
class SetMember:
    """A member of an action profile; without an action it is removed."""

    profile: str
    number: int
    action: str | None
    params: Params = ()


@dataclass(frozen=True, slots=True)
class SetMemberGroup:
    """The members of a group of an action selector; None removes it. A member that is given several
    times is chosen as much more often."""

    profile: str
    number: int
    members: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class SetGroupSession:
    """A clone session whose copies a multicast group makes; a port gets one more."""

    session_id: int
    group_id: int
    port: int | None = None
    truncate: int = 0


@dataclass(frozen=True, slots=True)
class SetCounter:
    """A cell of a counter, or all without an index."""

    counter: str
    index: int | None
    packets: int
    bytes: int


@dataclass(frozen=True, slots=True)
class FillRegister:
    """All cells of a register."""

    register: str
    value: int


@dataclass(frozen=True, slots=True)
class FillMeter:
    """The rates of all cells of a meter; without them everything is green."""

    meter: str
    rates: Rates | None


@dataclass(frozen=True, slots=True)
class SetEntryCounter:
    """The direct counter of a row."""

    table: str
    match: Matches
    priority: int
    packets: int
    bytes: int


@dataclass(frozen=True, slots=True)
class SetEntryMeter:
    """The rates of a row's direct meter; without them everything is green."""

    table: str
    match: Matches
    priority: int
    rates: Rates | None


@dataclass(frozen=True, slots=True)
class SetIdleTimeout:
    """After how many picoseconds without a hit a row is idle; None: never."""

    table: str
    match: Matches
    priority: int
    picoseconds: int | None


@dataclass(frozen=True, slots=True)
class SetValueSet:
    """All members of a parser's value set, each with its fields in their order."""

    value_set: str
    members: tuple[tuple[Match, ...], ...]


Write = (
    Update
    | IndirectUpdate
    | SetIndirectDefault
    | Clear
    | ResetDefault
    | SetMember
    | SetMemberGroup
    | SetGroupSession
    | SetCounter
    | FillRegister
    | FillMeter
    | SetEntryCounter
    | SetEntryMeter
    | SetIdleTimeout
    | SetValueSet
)
"""A step of a write batch, as the engine's switches take it"""
