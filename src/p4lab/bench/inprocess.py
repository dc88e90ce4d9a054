"""The engine by itself: compiling, packets through one switch, memory."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from p4lab import _engine
from p4lab.bench import measure, programs
from p4lab.bench.measure import Measure, Say
from p4lab.bench.programs import BSL_CODES, IN_PORT, OTHER_PORT, OUT_PORT, Subject
from p4lab.engine import load_program

COMPILING = "compiling"
PROCESSING = "one switch, in process"
MEMORY = "memory"
ROUNDS = 9
BIER_GOAL = 2000  # nanoseconds: half a million packets per second


def compiling(seconds: float, say: Say) -> Iterator[Measure]:
    """From the source of p4/bier to a switch that takes packets."""
    say("compiling")
    times = []
    for _ in range(ROUNDS):
        start = time.thread_time()
        _engine.Switch(load_program(programs.BIER))
        times.append((time.thread_time() - start) * 1e3)
    yield measure.of(COMPILING, "p4/bier", "ms", times, 50, at_most=True)


def processing(seconds: float, say: Say) -> Iterator[Measure]:
    """Processor time per packet of one switch."""
    subjects: list[tuple[Subject, set[int], float | None]] = [(programs.router(), {OUT_PORT}, None)]
    for bsl in BSL_CODES:
        subjects.append((programs.bier(bsl, 1), {OUT_PORT}, BIER_GOAL))
        subjects.append((programs.bier(bsl, 2), {OUT_PORT, OTHER_PORT}, None))
    for subject, ports, goal in subjects:
        say(f"processing: {subject.name}")
        times = nanoseconds(subject, ports, seconds)
        yield measure.of(PROCESSING, subject.name, "ns", times, goal, at_most=goal is not None)


def nanoseconds(subject: Subject, ports: set[int], seconds: float) -> list[float]:
    """Of several runs that take `seconds` together."""
    switch = _engine.Switch(subject.program)
    switch.write(subject.updates)
    sent = {port for port, _ in switch.process(IN_PORT, subject.frame)}
    if sent != ports:
        raise RuntimeError(f"the packet of {subject.name} went to ports {sorted(sent)}")

    def run(count: int) -> float:
        start = time.thread_time()
        switch.bench(IN_PORT, subject.frame, count)
        return (time.thread_time() - start) / count

    run(1000)
    count = max(1000, int(seconds / ROUNDS / run(1000)))
    return [run(count) * 1e9 for _ in range(ROUNDS)]


def memory(seconds: float, say: Say, number: int = 10) -> Iterator[Measure]:
    """Resident memory of this process with so many BIER routers in it."""
    say(f"{number} switches")
    subject = programs.bier(256, 1)
    switches = [_engine.Switch(subject.program) for _ in range(number)]
    for switch in switches:
        switch.write(subject.updates)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    megabytes = pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    yield measure.of(MEMORY, f"{number} BIER switches", "MB", [megabytes], 300, at_most=True)
