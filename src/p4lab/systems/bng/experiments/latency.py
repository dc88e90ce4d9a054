"""Figure 7, tables II and III: latency, its deviation and loss, by load and number of subscribers.

Downstream, 532 bytes, 10 Gb/s, as in the paper. In virtual time a switch takes no time itself, so a
packet's latency is the way through the queue of its port and onto the cable: what every gateway has
at least. What the program costs is seen in the processor time that the engine needs for a packet.

Frames grow by 30 bytes, so the access port carries (532 + 24) / (562 + 24) of what comes in. Below
that, a steady load never waits, and one with Poisson arrivals waits as in an M/D/1 queue; beyond
it, the queue is full and the rest is lost.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, sqrt
from statistics import pstdev
from typing import Literal

from p4lab.model.entries import Update
from p4lab.network.virtual import PICOSECONDS
from p4lab.spread.sweep import Sweep, Task
from p4lab.systems.bng.api import Api
from p4lab.systems.bng.experiments.bench import (
    ACCESS_PORT,
    CORE_PORT,
    GROWTH,
    LINE_RATE,
    ON_THE_WIRE,
    SECOND,
    Bench,
    address,
    line,
    misplaced,
    ports,
    sessions,
    to_subscriber,
)

Pattern = Literal["constant", "poisson"]
LENGTH = 532
GIGABIT = 10**9
QUEUE = 256 << 10
"""Bytes that may wait at the access port"""
SUBSCRIBERS = (32, 128, 512, 2048, 4000, 35_000)
"""Those of table III, and the paper's goal"""
PAPER_SUBSCRIBERS = 512
"""In figure 7"""
LOADS = (0.01, 0.1, 1.0, 3.0, 5.0, 7.0, 9.0, 9.4, 10.0)
POISSON_LOADS = (1.0, 3.0, 5.0, 7.0, 8.0, 9.0)
"""Gb/s on the wire of the core"""
SHAPED = 9.4
"""The load of table III"""
WARM_UP = 0.5
"""Of the frames that are measured: so many are sent before, and no fewer than `settled` says"""
RELAXATIONS = 5
"""How many times a queue's relaxation time is waited for: what was at the beginning is forgotten"""
CHECKED = SECOND // 10_000
"""Nanoseconds at the end of a measurement in which every packet's session is looked at"""
FLOW = 1
QUANTILES = tuple((k + 0.5) / 20 for k in range(2000))
"""Percents: the engine tells no deviation, and that of so many quantiles is the same"""

SERVICE = (LENGTH + GROWTH + ON_THE_WIRE) * 8 / LINE_RATE
"""Seconds that a packet takes on the cable to the subscribers"""
BOUND = (LENGTH + ON_THE_WIRE) / (LENGTH + GROWTH + ON_THE_WIRE) * LINE_RATE / GIGABIT
"""Gb/s on the wire of the core that fit the cable to the subscribers"""


@dataclass(frozen=True)
class Outcome:
    """One run; `load` in Gb/s on the wire of the core, latencies in seconds, `loss` a fraction,
    `processor` seconds of the engine for a packet."""

    pattern: Pattern
    load: float
    subscribers: int
    seed: int
    packets: int
    mean: float
    deviation: float
    least: float
    most: float
    loss: float
    processor: float
    checked: int
    wrong_session: int


@dataclass(frozen=True)
class Formula:
    """The same from lengths and rates alone."""

    mean: float
    deviation: float
    loss: float


def by_formula(pattern: Pattern, load: float) -> Formula:
    """The mean latency, its deviation and the loss of a load. M/D/1: Pollaczek and Khinchine."""
    arrivals = load * GIGABIT / (8 * (LENGTH + ON_THE_WIRE))
    used = arrivals * SERVICE
    if used > 1:
        # Whoever finds a place comes at any moment of a gap after one has become free.
        waiting, gap = floor(QUEUE / (LENGTH + GROWTH)), 1 / arrivals
        return Formula((waiting + 1) * SERVICE - gap / 2, gap / sqrt(12), 1 - BOUND / load)
    if pattern == "constant":
        return Formula(SERVICE, 0.0, 0.0)
    wait = used * SERVICE / (2 * (1 - used))
    variance = arrivals * SERVICE**3 / (3 * (1 - used)) + wait**2
    return Formula(SERVICE + wait, sqrt(variance), 0.0)


def settled(pattern: Pattern, load: float) -> int:
    """Packets until the queue no longer shows that it was empty at the beginning: it is full, or
    has had several relaxation times (Morse, Queues, Inventories and Maintenance, 1958)."""
    used = load / BOUND
    if used > 1:
        return ceil(1.1 * QUEUE / (LENGTH + GROWTH) / (1 - 1 / used))
    return 0 if pattern == "constant" else ceil(RELAXATIONS / (1 - sqrt(used)) ** 2)


def chance(pattern: Pattern, load: float, packets: int) -> float:
    """The standard deviation of the mean latency of so many packets, in seconds: packets that wait
    in one queue are not independent of each other. In heavy traffic, for an M/D/1 queue: Whitt,
    Planning Queueing Simulations, 1989."""
    used = load / BOUND
    if used > 1 or pattern == "constant":
        return 0.0
    return SERVICE * used / (sqrt(2 * packets) * (1 - used) ** 2)


def points() -> Iterator[tuple[Pattern, float, int]]:
    """What is measured: pattern, load and number of subscribers."""
    for load in LOADS:
        yield "constant", load, PAPER_SUBSCRIBERS
    for load in POISSON_LOADS:
        yield "poisson", load, PAPER_SUBSCRIBERS
    for subscribers in SUBSCRIBERS:
        if subscribers != PAPER_SUBSCRIBERS:
            yield "constant", SHAPED, subscribers


def measure(
    runs: int,
    packets: int,
    seed: int,
    sweep: Sweep,
    chosen: Sequence[tuple[Pattern, float, int]] | None = None,
) -> list[Outcome]:
    """Every point so many times. Raises ProgramError, SweepError."""
    return sweep.all(
        [
            Task(
                f"{load:g} Gb/s, {pattern}, {subscribers} subscribers, seed {own}",
                run,
                (pattern, load, subscribers, packets, own),
            )
            for pattern, load, subscribers in chosen or list(points())
            for own in range(seed, seed + runs)
        ]
    )


def run(pattern: Pattern, load: float, subscribers: int, packets: int, seed: int) -> Outcome:
    """So many packets at a load, to subscribers by chance. Raises ProgramError."""
    bench = Bench(seed, queue=QUEUE)
    bench.driver.write(_rows(subscribers))
    numbers = range(1, subscribers + 1)
    mix = [(to_subscriber(address(number), FLOW, LENGTH), 1) for number in numbers]
    rate = round(load * GIGABIT)
    bench.engine.measure(bench.access)
    bench.engine.generate(
        bench.switch,
        mix,
        port=CORE_PORT,
        rate=rate,
        flow=FLOW,
        layer=1,
        overhead=ON_THE_WIRE,
        pattern=pattern,
    )
    gap = 8 * (LENGTH + ON_THE_WIRE) * SECOND * PICOSECONDS // rate
    lasts = packets * gap
    begin = max(int(WARM_UP * packets), settled(pattern, load)) * gap
    bench.engine.run_until(begin)
    before, _ = bench.engine.link_stats(bench.cables[ACCESS_PORT])
    bench.engine.measure(bench.access)
    since = time.process_time()
    bench.engine.run_until(begin + lasts)
    spent = time.process_time() - since
    after, _ = bench.engine.link_stats(bench.cables[ACCESS_PORT])
    seen = bench.engine.measured(bench.access, QUANTILES)
    assert seen is not None
    (flow,) = seen["flows"]
    latency = flow["latency"]
    checked, misled = _look(bench, begin + lasts)
    offered = after["offered"]["frames"] - before["offered"]["frames"]
    lost = after["drops"]["queue_full"] - before["drops"]["queue_full"]
    return Outcome(
        pattern=pattern,
        load=load,
        subscribers=subscribers,
        seed=seed,
        packets=offered,
        mean=latency["mean"] / PICOSECONDS / SECOND,
        deviation=pstdev(latency["percentiles"].values()) / PICOSECONDS / SECOND,
        least=latency["min"] / PICOSECONDS / SECOND,
        most=latency["max"] / PICOSECONDS / SECOND,
        loss=lost / offered,
        processor=spent / offered,
        checked=checked,
        wrong_session=misled,
    )


def _rows(subscribers: int) -> list[Update]:
    """Lines and sessions as the control API makes them."""
    api = Api()
    ports(api)
    for number in range(1, subscribers + 1):
        api.add_line(line(number))
    for session in sessions("", range(1, subscribers + 1)):
        api.add_session(session)
    return api.take()


def _look(bench: Bench, begin: int) -> tuple[int, int]:
    """Packets of a moment, and those in a wrong session."""
    bench.engine.capture(bench.cables[ACCESS_PORT])
    bench.engine.run_until(begin + CHECKED * PICOSECONDS)
    return misplaced(bench.engine.drain_capture(bench.cables[ACCESS_PORT]))
