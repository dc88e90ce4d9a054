"""When the copies of a packet reach their next hops: one router in virtual time.

The engine's switches take no time. What a pass through the chip's stages takes (`p4lab fit`) is
therefore put where it is spent: behind the recirculation port, for each pass that a copy waits for,
and on the cables to the next hops, for the pass in which a copy is made. All ports have 100 Gb/s.
Nothing is known of parsers, traffic manager, deparsers and MACs, so they take no time: delays are
too short by that, and the replication engine makes all copies at the same moment.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean, pvariance

from p4lab import _engine
from p4lab.systems.msr6.experiments.router import (
    FCS,
    LOOP,
    NEXT_HOPS,
    SOURCE_PORT,
    Task,
    frame,
    number_of,
    program,
    tree_bytes,
    updates,
)

LINE = 100_000_000_000
"""Bits per second of every port"""
GAP = 20
"""Bytes of preamble and gap"""
INTERNAL_BYTES = 5
"""In front of what goes round a loop (`internal_t` of p4/msr6/tna)"""
LOAD = 0.01
"""Of the line that packets come in on"""
PICOSECONDS = 1000


def packet_time(length: int, rate: int = LINE) -> float:
    """Nanoseconds that a frame of `length` bytes, its checksum counted, takes on a wire:
    (length + 20) x 8 bits."""
    return (length + GAP) * 8 * 1e9 / rate


def loop_time(way: str, length: int) -> float:
    """The same for one with its tree on the recirculation port."""
    return packet_time(length + tree_bytes(way) + INTERNAL_BYTES)


@dataclass(frozen=True)
class Copy:
    """Of all packets: the copy with this number, the first is 1."""

    task: Task
    length: int
    """Bytes of the frame at its sender, checksum included"""
    number: int
    packets: int
    delay: float
    """Nanoseconds on average from the moment at which the router has the packet to the one at which
    the next hop has the copy"""
    variance: float
    """Of the same, in square nanoseconds"""


def copies(task: Task, length: int, nanoseconds: float, packets: int, seed: int) -> list[Copy]:
    """Sends so many packets; a pass takes so many nanoseconds. One for each copy that arrived.

    Raises ProgramError, and ValueError if packets came back in other numbers than were sent.
    """
    net = _engine.Network(seed)
    switch = net.add_switch("r1", program(task.way), seed=seed)
    net.write(switch, updates(task))
    pass_time = round(nanoseconds * PICOSECONDS)
    overhead = GAP + FCS
    net.set_loop(switch, LOOP, rate=LINE, overhead=overhead, latency=pass_time)
    for port in NEXT_HOPS:
        host = net.add_host(f"n{port}", port)
        net.set_promiscuous(host, True)
        net.notify(host)
        cable = {"rate": LINE, "overhead": overhead, "delay": pass_time}
        net.connect((switch, port), (host, 0), **cable)
    source = net.add_host("source", 0x2FF)
    net.connect((source, 0), (switch, SOURCE_PORT), rate=LINE, overhead=overhead)

    arrivals: dict[int, int] = {}  # in picoseconds, by packet
    draw = random.Random(seed)
    begin = 0
    for number in range(packets):
        sent = frame(task, length, number)
        wire = round((len(sent) + overhead) * 8 * 1e12 / LINE)
        net.send_at(source, begin, sent)
        arrivals[number] = begin + wire
        begin += wire + round(draw.expovariate(LOAD / wire))
    end = begin + 1000 * pass_time
    waits: dict[int, list[int]] = defaultdict(list)  # by packet
    while (event := net.run_until(end)) is not None:
        _, _, now, received = event
        number = number_of(received)
        waits[number].append(now - arrivals[number])
    counts = {len(waits[number]) for number in arrivals}
    if len(counts) != 1:
        raise ValueError(f"packets have {min(counts)} to {max(counts)} copies: some were lost.")
    return [
        Copy(
            task,
            length,
            number,
            packets,
            fmean(column) / PICOSECONDS,
            pvariance(column) / PICOSECONDS**2,
        )
        for number, column in enumerate(zip(*waits.values(), strict=True), start=1)
    ]
