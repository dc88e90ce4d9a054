"""How fast the engine is on this machine, next to what the project promises.

A group of measures is a function of the seconds that a measurement may take and of who hears what
is under way. To add one, write it in a module of its own and name it in GROUPS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from p4lab.bench import (
    bfrt,
    engines,
    fabric,
    forwarding,
    grading,
    inprocess,
    layers,
    p4runtime,
    scale,
    tables,
    tree,
)
from p4lab.bench.machine import Machine, describe
from p4lab.bench.measure import Measure, Say

Group = Callable[[float, Say], Iterator[Measure]]

# In the order in which they run and are printed. Memory comes first: it is that of this process.
GROUPS: dict[str, tuple[Group, ...]] = {
    "engine": (
        inprocess.memory,
        inprocess.compiling,
        inprocess.processing,
        tables.inserting,
        tables.looking_up,
        tables.compiling,
        forwarding.forwarding,
        forwarding.on_tna,
        forwarding.side_by_side,
        p4runtime.writing,
        bfrt.writing,
    ),
    "engines": (engines.whole_packets, engines.packet_hops),
    "grade": (grading.grading,),
    "scale": (scale.speed, scale.growth, tree.sharing, layers.layers),
    "fabric": (fabric.broadcasting,),
}

__all__ = ["GROUPS", "Group", "Machine", "Measure", "Say", "describe", "measure_all"]


def measure_all(what: str, seconds: float, say: Say = lambda _: None) -> Iterator[Measure]:
    """The measures of one of GROUPS, one after the other; `say` hears what is under way."""
    for group in GROUPS[what]:
        yield from group(seconds, say)
