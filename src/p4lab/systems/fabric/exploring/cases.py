"""Small fabrics to be searched: right ones, wrong variants, and what is between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from p4lab import _engine
from p4lab.systems.fabric.parameters import Settings, fabric
from p4lab.systems.fabric.ports import surrogate
from p4lab.systems.fabric.trees import Tree, direct

BYTES = 1522
STEP = 121_760
"""Servers decide once in the time of a frame on a line, in ps"""

SMALL: Settings = {
    "line.frame_most": BYTES,
    "latency.request_remote_ps": 244_000,
    "link.count": 8,
    "link.cable_ps": 20_000,
    "voq.window": 6,
    "sync.block": 8,
    "sync.resume": 2,
    "sync.timeout_ps": 0,
}
"""Two steps from leaf to leaf, one frame asked for at a time, and no timeout that would hide a
deadlock"""


@dataclass(frozen=True)
class Case:
    """A small fabric. Up to `frames` are tried unless told, `runs` makes it a random search of so
    many schedules, `leaf` is filmed, and `stuck` says whether a deadlock is expected."""

    name: str
    what: str
    trees: tuple[Tree, ...]
    frames: int
    leaves: int = 2
    leaf: int = 0
    runs: int = 0
    stuck: bool = False
    lossless: bool = False
    settings: Settings = field(default_factory=dict)

    @property
    def values(self) -> Settings:
        """All settings, those of every small fabric included."""
        return {**SMALL, **self.settings}

    def fabric(self, extra: str = "") -> _engine.Fabric:
        """One in which frames come only when they are offered. `extra` is TOML of a user. Raises
        ValueError for what the engine refuses."""
        made = fabric(self.leaves, self.values, extra)
        for tree in self.trees:
            made.add(tree, BYTES, 99_000, lossless=self.lossless, stop=0)
        return made


def _crossing(sender: int, first: int, second: int) -> Tree:
    """Over the surrogates of two leaves, to a server of the second."""
    one, two = surrogate(first), surrogate(second)
    return [(sender, [one]), (one, [two]), (two, [second * 8 + sender])]


_SIBLINGS = (direct(0, [1, 8]),)
_CROSS = (direct(0, [1, 9]), direct(8, [9, 1]))
_TREES = tuple(_crossing(n, *((1, 2) if n < 2 else (2, 1))) for n in range(4))
_TIGHT: Settings = {
    "sync.block": 5,
    "sync.resume": 0,
    "voq.window": 12,
    "egress.buffer": 6,
}
_POOLS: Settings = {
    "lossless.payload": 30,
    "lossless.stop": 6,
    "lossless.go": 0,
    "egress.buffer": 6,
}

_ALL = (
    Case("siblings", "a local and a remote copy, VOQs in the order of arrival", _SIBLINGS, 6),
    Case(
        "newest",
        "a local and a remote copy, but VOQs send their newest frame first: a wrong variant",
        _SIBLINGS,
        6,
        stuck=True,
        settings={"voq.order": "newest"},
    ),
    Case(
        "triangle",
        "three flows of one server, each to two of three receivers, as in figure 3b",
        (direct(0, [1, 2]), direct(0, [2, 8]), direct(0, [8, 1])),
        4,
    ),
    Case(
        "credits",
        "two servers whose VOQs keep credits while they wait for siblings, without a timeout",
        _CROSS,
        4,
        stuck=True,
        settings=_TIGHT,
    ),
    Case(
        "timeout",
        "two servers whose VOQs keep credits while they wait for siblings, for up to 3 us",
        _CROSS,
        4,
        settings={**_TIGHT, "sync.timeout_ps": 3_000_000},
    ),
    Case(
        "lanes",
        "two trees over the same surrogates in opposite directions",
        _TREES,
        12,
        leaves=3,
        leaf=1,
        runs=300,
        lossless=True,
        settings=_POOLS,
    ),
    Case(
        "one-lane",
        "two trees over the same surrogates, but lanes do not rise: a wrong variant",
        _TREES,
        12,
        leaves=3,
        leaf=1,
        runs=300,
        stuck=True,
        lossless=True,
        settings={**_POOLS, "lanes.increment": False},
    ),
    Case(
        "thrash",
        "a local and a remote copy, a cache of 8 lines, no synchronisation",
        _SIBLINGS,
        4,
        settings={"cache.lines": 8, "cache.spare": 1, "sync.on": False},
    ),
    Case(
        "in-step",
        "a cache of 8 lines, and nobody may be more than a frame ahead",
        _SIBLINGS,
        5,
        settings={"cache.lines": 8, "cache.spare": 1, "sync.block": 1, "sync.resume": 0},
    ),
)

CASES: Mapping[str, Case] = {case.name: case for case in _ALL}
