"""The entries of `p4/msr6/tna.p4`: the same as those of v1model, laid out for a Tofino.

Ports are those of the chip. A list has eight entries there, which stand in two tables, four in a
row. The recirculation port becomes k of them, which take turns, and what is refused goes to the
control plane by a mirror session.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from p4lab.control.loops import loop_entries
from p4lab.model.control import NumberError
from p4lab.model.entries import CloneSession, Entity, Entries, Exact, MulticastGroup, TableEntry
from p4lab.model.layout import TNA_CPU_PORT, TnaLayout

SEGMENTS = 8
"""Entries of a list that the program reads and writes"""
REFUSED_SESSION = 100
LIST_TABLES = (0, 4)
"""Indices of the first entries of a list that the tables `tree_sids_0` and `tree_sids_4` hold"""

_PARTS = 16  # packets of a tree: the low bits of its number


def on_chip(entries: Entries, layout: TnaLayout) -> Entries:
    """What a router holds if it is a Tofino. Raises NumberError if a tree takes more packets than
    its number has room for, or if there are more groups."""
    return frozenset(_translated(entries, layout))


def _translated(entries: Entries, layout: TnaLayout) -> Iterator[Entity]:
    numbers = _tree_numbers(entries)
    yield CloneSession(REFUSED_SESSION, ((TNA_CPU_PORT, 0),))
    for entity in entries:
        if isinstance(entity, CloneSession):
            yield from loop_entries(layout.loops)
        elif isinstance(entity, MulticastGroup):
            copies = tuple((layout.port(port), rid) for port, rid in entity.replicas)
            yield MulticastGroup(entity.group_id, copies)
        elif isinstance(entity, TableEntry) and entity.table == "trees":
            yield from _tree(entity, numbers[entity.match])
        elif isinstance(entity, TableEntry):
            yield _with_ports(entity, layout)
        else:
            yield entity


def _with_ports(row: TableEntry, layout: TnaLayout) -> TableEntry:
    match = tuple(
        (name, Exact(layout.port(key.value)) if name == "port" and isinstance(key, Exact) else key)
        for name, key in row.match
    )
    params = tuple(
        (name, layout.port(value) if name == "port" and _is_cabled(row) else value)
        for name, value in row.params
    )
    return replace(row, match=match, params=params)


def _is_cabled(row: TableEntry) -> bool:
    """Whether the port of a row is one of the topology; listeners of the router itself have 0."""
    return dict(row.params).get("port") != 0


def _tree(row: TableEntry, number: int) -> Iterator[TableEntry]:
    params = dict(row.params)
    own = ("source", "destination", "last_entry", "mtu", "more")
    values = (("tree", number), *((name, params[name]) for name in own))
    yield replace(row, params=values)
    for first in LIST_TABLES:
        names = [f"sid_{index}" for index in range(first, first + 4)]
        sids = tuple((name, params[name]) for name in names)
        if first <= params["last_entry"]:
            key = (("tree", Exact(number)),)
            yield TableEntry(f"tree_sids_{first}", key, f"sids_{first}", sids)


def _tree_numbers(entries: Entries) -> dict[object, int]:
    """The number of each row of `trees`: from its group's low bits, or the next that is free, so
    that other groups keep theirs when one comes or goes; and from its part."""
    rows = [row for row in entries if isinstance(row, TableEntry) and row.table == "trees"]
    parts = {row.match: (dict(row.match)["group"], dict(row.match)["part"]) for row in rows}
    found: dict[object, int] = {}
    groups: dict[object, int] = {}
    taken: set[int] = set()
    for match, (group, part) in sorted(parts.items(), key=lambda item: _order(item[1])):
        assert isinstance(group, Exact) and isinstance(part, Exact)
        if part.value >= _PARTS:
            raise NumberError(
                f"a tree takes more than {_PARTS} packets, which is all that a Tofino has numbers "
                "for: use another encoding, or fewer receivers"
            )
        if group not in groups:
            if len(groups) == 0x10000 // _PARTS:
                raise NumberError(f"a Tofino has numbers for {len(groups)} trees, and not for more")
            place = group.value & 0xFFF
            while place in taken:
                place = (place + 1) & 0xFFF
            taken.add(place)
            groups[group] = place
        found[match] = groups[group] * _PARTS + part.value
    return found


def _order(key: tuple[object, object]) -> tuple[int, int]:
    group, part = key
    assert isinstance(group, Exact) and isinstance(part, Exact)
    return group.value, part.value
