"""The server-rack fabric in virtual time: how fast, and whether its cost grows with time alone."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass

from p4lab import _engine
from p4lab.bench import measure
from p4lab.bench.measure import Measure, Say
from p4lab.plurals import count_of

GROUP = "fabric, 640 ports of 100 Gb/s, broadcast at 99 Gb/s, 1,522 bytes"
LEAVES, PLACES, SERVERS, ONWARD = 128, 8, 5, 3
MICROSECOND = 1_000_000  # in picoseconds
LENGTHS = (50, 100)  # simulated microseconds
THREADS = (1, 2)
ROUNDS = 3
WHOLE = 1000
"""Microseconds that are promised within GOAL seconds"""
GOAL, LINEAR, MEMORY = 60.0, 1.3, 2.0


def broadcasting(seconds: float, say: Say) -> Iterator[Measure]:
    """Cells and frames per second of the clock, by threads, and the processor time of a
    millisecond: other programs change that least, and it is a bound for any number of cores."""
    short, long = LENGTHS
    kinds = [(short, 1), *((long, threads) for threads in THREADS)]
    seen: dict[tuple[int, int], list[Run]] = {}
    for number in range(ROUNDS):
        for length, threads in kinds:
            say(f"fabric, round {number + 1} of {ROUNDS}: {length} us, {threads} threads")
            seen.setdefault((length, threads), []).append(_run(length, threads))
    for threads in THREADS:
        runs = seen[long, threads]
        how = count_of(threads, "thread")
        cells = [run.cells / run.seconds for run in runs]
        frames = [run.frames / run.seconds for run in runs]
        yield measure.of(GROUP, f"cells over crossbars, {how}", "cells/s", cells)
        yield measure.of(GROUP, f"frames over lines, {how}", "frames/s", frames)
    one, two = (seen[long, threads] for threads in THREADS)
    faster = measure.ratios([run.seconds for run in one], [run.seconds for run in two])
    yield measure.of(GROUP, f"{THREADS[1]} threads over 1", "x", faster)
    for runs, many in ((one, "1 thread"), (two, f"{THREADS[1]} threads")):
        whole = [run.processor * WHOLE / long for run in runs]
        name = f"processor time of 1 ms, {many}"
        yield measure.of(GROUP, name, "s", whole, GOAL, at_most=True)
    less = [run.processor for run in seen[short, 1]]
    growth = measure.ratios([run.processor for run in one], less)
    growth = [ratio * short / long for ratio in growth]
    yield measure.of(GROUP, "cost of twice the time", "x", growth, LINEAR, at_most=True)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    yield measure.of(GROUP, "memory, with Python", "GB", [used], MEMORY, at_most=True)


@dataclass(frozen=True)
class Run:
    """What a run took, by the clock and of all processors, and what it was: cells over crossbars,
    frames over lines and loops."""

    seconds: float
    processor: float
    cells: int
    frames: int


def _run(micros: int, threads: int) -> Run:
    """Raises RuntimeError if the books of a run are wrong."""
    fabric = _engine.Fabric(LEAVES)
    fabric.add(_tree(), 1522, 99_000)
    before = time.perf_counter(), time.process_time()
    fabric.run(micros * MICROSECOND, threads=threads)
    took = time.perf_counter() - before[0], time.process_time() - before[1]
    fabric.audit()
    totals = fabric.totals()
    cells = totals["cells_local"] + totals["cells_up"] + totals["cells_down"]
    return Run(*took, cells, totals["delivered"] + totals["looped"])


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
