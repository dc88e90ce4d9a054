"""A leaf, recorded slot by slot: its state after each slot, and what has happened in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from p4lab import _engine
from p4lab.plurals import count_of
from p4lab.systems.fabric.parameters import in_force
from p4lab.systems.fabric.runs import MICROSECOND, Scenario, prepared
from p4lab.systems.fabric.trees import Tree
from p4lab.systems.fabric.views.words import Waiting, port, voq

SUSPENDED, EVICTED = "suspended", "evicted"
JUMPS = (SUSPENDED, EVICTED)
"""Kinds of happenings that one can jump to"""
COUNTED = {
    "head_dropped": "dropped from the head of a VOQ (in the whole fabric)",
    "tail_dropped": "dropped at the end of a VOQ (in the whole fabric)",
    "no_header": "not made: no header is left (in the whole fabric)",
    "no_payload": "lost: no payload buffer is left (in the whole fabric)",
}
"""Of the engine's totals, those that make a sentence"""


@dataclass(frozen=True)
class Happening:
    """Something worth a sentence; `kind` is what it is."""

    kind: str
    text: str


@dataclass(frozen=True)
class Moment:
    """A leaf after a slot. `leaf` is the engine's snapshot; `crossed` has, for each VOQ that sent
    in this slot, cells from the cache and from the payload interface."""

    time: int
    leaf: Mapping[str, Any]
    crossed: Mapping[int, tuple[int, int]]
    happenings: tuple[Happening, ...]
    waits: tuple[Waiting, ...] = ()

    def has(self, kind: str) -> bool:
        return any(one.kind == kind for one in self.happenings)


@dataclass
class Film:
    """What was recorded of one leaf. `values` are the parameters in force, `circle` is who waits
    for whom in a deadlock, `ending` what became of it all. `decided` says that a table suspends
    VOQs, and not the parameters' thresholds."""

    leaf: int
    trees: Sequence[Tree]
    values: Mapping[str, Any]
    moments: list[Moment] = field(default_factory=list)
    circle: tuple[Waiting, ...] = ()
    ending: str = ""
    decided: bool = False


class Recorder:
    """Lets a fabric's time pass and films one leaf. `every` is the time between two moments, in ps;
    without it, a slot. `closely` films each frame that begins to be sent, too, and who waits for
    whom."""

    def __init__(
        self,
        fabric: _engine.Fabric,
        film: Film,
        *,
        every: int | None = None,
        closely: bool = False,
    ) -> None:
        self.fabric = fabric
        self.film = film
        self._every = every or int(film.values["cell.slot_ps"])
        self._closely = closely
        self._said: list[Happening] = []
        self._before = fabric.snapshot(film.leaf)
        self._totals = fabric.totals()

    def say(self, kind: str, text: str) -> None:
        """Something that belongs to the next moment."""
        self._said.append(Happening(kind, text))

    def step(self) -> bool:
        """Records one moment more. False, with nothing recorded, if the fabric is stuck."""
        if self.fabric.run(self.fabric.now + self._every) == "deadlock":
            self.film.circle = tuple(self.fabric.circle())
            return False
        self.film.moments.append(self._moment())
        return True

    def until(self, kind: str, end: int) -> bool:
        """Lets time pass, up to `end` in ps, until something of a kind happens, and records only
        that. False if it does not."""
        while self.fabric.now < end:
            if self.fabric.run(self.fabric.now + self._every) == "deadlock":
                return False
            moment = self._moment()
            if moment.has(kind):
                self.film.moments.append(moment)
                return True
        return False

    def _moment(self) -> Moment:
        before, totals = self._before, self._totals
        self._before, self._totals = self.fabric.snapshot(self.film.leaf), self.fabric.totals()
        said, self._said = self._said, []
        found = (
            *said,
            *(_of_frames(before, self._before) if self._closely else ()),
            *_of_voqs(before, self._before),
            *_of_cache(before, self._before),
            *_of_ports(self.film.leaf, before, self._before),
            *_of_totals(totals, self._totals),
        )
        waits = tuple(self.fabric.waits()) if self._closely else ()
        crossed = dict(_crossed(before, self._before))
        return Moment(self.fabric.now, self._before, crossed, found, waits)


def _by_number(leaf: Mapping[str, Any]) -> dict[int, Mapping[str, Any]]:
    return {one["number"]: one for one in leaf["voqs"]}


def _of_voqs(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Happening]:
    old = _by_number(before)
    for number, one in _by_number(now).items():
        was = old.pop(number, {"suspended": False})["suspended"]
        name = voq(one["from"], one["to"])
        if one["suspended"] and not was:
            yield Happening(SUSPENDED, f"{name} is suspended, now {one['ahead']} cells ahead")
        elif was and not one["suspended"]:
            ahead = one["ahead"] or 0
            yield Happening("resumed", f"{name} goes on, now {ahead} cells ahead")
    for one in old.values():
        if one["suspended"]:
            yield Happening(
                "resumed", f"{voq(one['from'], one['to'])} goes on, level with its siblings"
            )


def _of_frames(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Happening]:
    old = _by_number(before)
    for number, _ in _crossed(before, now):
        was = old[number]
        if was["sent"] == 0 and was["first"]:
            flow, frame = was["first"]
            name = voq(was["from"], was["to"])
            yield Happening("begun", f"{name} begins to send frame {frame} of flow {flow}")


def _of_cache(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Happening]:
    """Lines that were lost although copies were to come: the least recently used ones."""
    evicted = now["evicted"] - before["evicted"]
    for flow, _, number, cell, left in before["cache"][:evicted]:
        copies = count_of(left, "copy", "copies")
        text = f"the cache evicts cell {cell} of frame {number} of flow {flow}: {copies} to come"
        yield Happening(EVICTED, text)


def _of_ports(leaf: int, before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Happening]:
    for place, (old, new) in enumerate(zip(before["ports"], now["ports"], strict=True)):
        if old["stopping"] != new["stopping"]:
            word = "STOP" if new["stopping"] else "GO"
            yield Happening("paused", f"port {port(leaf * 8 + place)} says {word}")


def _of_totals(before: Mapping[str, int], now: Mapping[str, int]) -> Iterator[Happening]:
    for name, words in COUNTED.items():
        if more := now[name] - before[name]:
            what = ("frame", "") if name == "no_payload" else ("copy", "copies")
            yield Happening("dropped", f"{count_of(more, *what)} {words}")
    if more := now["timeouts"] - before["timeouts"]:
        text = f"{count_of(more, 'suspension')} ended by the timeout (in the whole fabric)"
        yield Happening("timeout", text)
    if more := now["entries_evicted"] - before["entries_evicted"]:
        text = f"a sync CAM is full: {count_of(more, 'VOQ')} lost its entry"
        yield Happening("forgotten", text)


def _crossed(
    before: Mapping[str, Any], now: Mapping[str, Any]
) -> Iterator[tuple[int, tuple[int, int]]]:
    old = _by_number(before)
    for number, one in _by_number(now).items():
        was = old.get(number)
        cached, direct = (was["cached"], was["direct"]) if was else (0, 0)
        if was and (one["cached"], one["direct"]) != (cached, direct):
            yield number, (one["cached"] - cached, one["direct"] - direct)


def recorded(
    scenario: Scenario, *, leaf: int = 0, start: float = 0, slots: int = 200, seed: int = 1
) -> tuple[Film, Recorder]:
    """A scenario's leaf, filmed for so many slots from `start` microseconds on. Raises ValueError
    for what the engine refuses, and for a leaf that there is not."""
    fabric = prepared(scenario, seed)
    fabric.snapshot(leaf)
    values = in_force(scenario.settings, scenario.extra)
    trees = [flow.tree for flow in scenario.flows]
    film = Film(leaf, trees, values, decided="suspend" in scenario.tables)
    fabric.run(round(start * MICROSECOND))
    recorder = Recorder(fabric, film)
    for _ in range(slots):
        if not recorder.step():
            break
    return film, recorder
