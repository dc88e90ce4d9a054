"""The server-rack fabric in virtual time: how fast, and whether its cost grows with time alone."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator

from p4lab import _engine
from p4lab.bench import measure
from p4lab.bench.measure import Measure, Say

GROUP = "fabric, 640 ports of 100 Gb/s, broadcast at 99 Gb/s, 1,522 bytes"
LEAVES, PLACES, SERVERS, ONWARD = 128, 8, 5, 3
MICROSECOND = 1_000_000  # in picoseconds
LENGTHS = (50, 100)  # simulated microseconds
ROUNDS = 3
WHOLE = 1000
"""Microseconds that are promised within GOAL seconds"""
GOAL, LINEAR, MEMORY = 60.0, 1.3, 2.0


def broadcasting(seconds: float, say: Say) -> Iterator[Measure]:
    """Cells over crossbars per second of processor time, and what a millisecond takes."""
    rates: list[float] = []
    times: dict[int, list[float]] = {length: [] for length in LENGTHS}
    for number in range(ROUNDS):
        for length in LENGTHS:
            say(f"fabric, round {number + 1} of {ROUNDS}: {length} us")
            took, cells = _run(length)
            times[length].append(took)
        rates.append(cells / took)
    yield measure.of(GROUP, "packet transmissions", "cells/s", rates)
    short, long = LENGTHS
    whole = [took * WHOLE / long for took in times[long]]
    name = f"1 ms, from {long} us"
    yield measure.of(GROUP, name, "s", whole, GOAL, at_most=True)
    growth = [ratio * short / long for ratio in measure.ratios(times[long], times[short])]
    yield measure.of(GROUP, "cost of twice the time", "x", growth, LINEAR, at_most=True)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    yield measure.of(GROUP, "memory, with Python", "GB", [used], MEMORY, at_most=True)


def _run(micros: int) -> tuple[float, int]:
    """Processor seconds and cells of one run. Raises RuntimeError if its books are wrong."""
    fabric = _engine.Fabric(LEAVES)
    fabric.add(_tree(), 1522, 99_000)
    before = time.process_time()
    fabric.run(micros * MICROSECOND)
    took = time.process_time() - before
    fabric.audit()
    totals = fabric.totals()
    return took, totals["cells_local"] + totals["cells_up"] + totals["cells_down"]


def _tree() -> list[tuple[int, list[int]]]:
    """All servers from the first one: its own leaf, then three further leaves from each leaf."""
    rest = range(1, LEAVES)
    tree = [(0, [*range(1, SERVERS), *(leaf * PLACES + SERVERS for leaf in rest[:4])])]
    for place, leaf in enumerate(rest):
        begin = 4 + ONWARD * place
        onward = [other * PLACES + SERVERS for other in rest[begin : begin + ONWARD]]
        servers = [leaf * PLACES + server for server in range(SERVERS)]
        tree.append((leaf * PLACES + SERVERS, [*servers, *onward]))
    return tree
