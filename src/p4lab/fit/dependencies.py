"""Which tables wait for which: the dependencies of the chip's compiler, and the longest chain.

The rules are those of bf-p4c (backends/tofino/bf-p4c/mau/table_dependency_graph.h): a table must
lie in a later stage than another one that writes what it matches on (match), what its actions read
(action), or what they write (output). It must not lie in an earlier stage than one that decides
whether it runs (control), or that reads what it writes (anti). Tables of which a packet meets only
one do not wait for each other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from p4lab.fit.graph import Access, Action, Gress, Unit

# In this order of strength; how many stages later the second table lies at least
STEP = {"match": 1, "action": 1, "output": 1, "control": 0, "anti": 0}


@dataclass(frozen=True)
class Dependency:
    before: int
    after: int
    kind: str
    because: str  # the field, or the branch


def overlap(one: Access, other: Access) -> bool:
    return one[0] == other[0] and one[1] <= other[2] and other[1] <= one[2]


def exclusive(one: Unit, other: Unit) -> bool:
    """Whether no packet meets both: some unit decides for one of them only."""
    arms = dict(one.guards)
    return any(unit in arms and not (arms[unit] & own) for unit, own in other.guards)


def simplified(gress: Gress, shared_metadata: bool = False) -> tuple[Unit, ...]:
    """The units without what the compiler takes away before it looks at dependencies: writes that
    nobody reads, and zeros for metadata that is zero still. With `shared_metadata` (v1model) what
    ingress writes may be read elsewhere."""
    read = set(gress.deparsed)
    for unit in gress.units:
        read.update(access[0] for access in unit.crossbar | unit.alu_reads)
    kept: list[Unit] = []
    written: dict[int, list[Unit]] = defaultdict(list)
    for unit in gress.units:
        unit = replace(
            unit,
            actions=tuple(
                _without(action, gress, unit, read, written, shared_metadata)
                for action in unit.actions
            ),
        )
        kept.append(unit)
        for field in {access[0] for access in unit.writes}:
            written[field].append(unit)
    deciding = {guard for unit in kept for guard, _ in unit.guards}
    return tuple(unit for unit in kept if unit.index in deciding or _does_something(unit))


def _without(
    action: Action,
    gress: Gress,
    unit: Unit,
    read: set[int],
    written: dict[int, list[Unit]],
    shared_metadata: bool,
) -> Action:
    def needed(number: int, zero: bool) -> bool:
        field = gress.fields[number]
        if field.intrinsic:
            return True
        if number not in read and not shared_metadata:
            return False
        if not zero or field.header or number in gress.parsed:
            return True
        return any(not exclusive(other, unit) for other in written[number])

    writes = tuple(write for write in action.writes if needed(write.to[0], write.zero))
    return replace(action, writes=writes)


def _does_something(unit: Unit) -> bool:
    return unit.table is not None or bool(unit.writes) or bool(unit.resources)


def dependencies(gress: Gress, units: Iterable[Unit]) -> list[Dependency]:
    """All pairs that wait, each with its strongest reason, in the order of the program."""
    found: list[Dependency] = []
    writers: dict[int, list[Unit]] = defaultdict(list)
    readers: dict[int, list[Unit]] = defaultdict(list)
    for unit in units:
        reasons: dict[int, tuple[str, str]] = {}
        sides = (("match", unit.crossbar), ("action", unit.alu_reads), ("output", unit.writes))
        for kind, accesses in sides:
            for access in sorted(accesses):
                for before in writers[access[0]]:
                    if any(overlap(access, other) for other in before.writes):
                        _note(reasons, before, unit, kind, gress.fields[access[0]].name)
        for access in sorted(unit.writes):
            for before in readers[access[0]]:
                if any(overlap(access, other) for other in before.crossbar | before.alu_reads):
                    _note(reasons, before, unit, "anti", gress.fields[access[0]].name)
        for guard, _ in unit.guards:
            reasons.setdefault(guard, ("control", "runs only on a branch of it"))
        found += [
            Dependency(before, unit.index, kind, because)
            for before, (kind, because) in sorted(reasons.items())
        ]
        for field in {access[0] for access in unit.writes}:
            writers[field].append(unit)
        for field in {access[0] for access in unit.crossbar | unit.alu_reads}:
            readers[field].append(unit)
    return found


def _note(
    reasons: dict[int, tuple[str, str]], before: Unit, unit: Unit, kind: str, because: str
) -> None:
    """Keeps the strongest reason why `unit` waits for `before`."""
    known = reasons.get(before.index)
    if known and _rank(known[0]) <= _rank(kind):
        return
    if not exclusive(before, unit):
        reasons[before.index] = (kind, because)


def _rank(kind: str) -> int:
    return list(STEP).index(kind)


def earliest(units: Iterable[Unit], edges: Iterable[Dependency]) -> dict[int, int]:
    """By unit: the first stage in which it can lie if memory were no matter."""
    incoming: dict[int, list[Dependency]] = defaultdict(list)
    for edge in edges:
        incoming[edge.after].append(edge)
    stage: dict[int, int] = {}
    for unit in units:
        stage[unit.index] = max(
            (stage.get(edge.before, 0) + STEP[edge.kind] for edge in incoming[unit.index]),
            default=0,
        )
    return stage


def critical_path(
    units: Iterable[Unit], edges: Iterable[Dependency], stage: dict[int, int]
) -> list[tuple[int, Dependency | None]]:
    """One longest chain: units, each with the dependency that leads to it."""
    incoming: dict[int, list[Dependency]] = defaultdict(list)
    for edge in edges:
        incoming[edge.after].append(edge)
    last = max(stage, key=lambda index: stage[index], default=None)
    path: list[tuple[int, Dependency | None]] = []
    while last is not None:
        tight = [
            edge
            for edge in incoming[last]
            if stage[last] > 0 and stage.get(edge.before, 0) + STEP[edge.kind] == stage[last]
        ]
        best = min(tight, key=lambda edge: (_rank(edge.kind), -edge.before), default=None)
        path.append((last, best))
        last = best.before if best else None
    return path[::-1]
