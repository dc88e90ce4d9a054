"""The interpreter and native code on BIER (v1model and TNA), MSR6, protection and the gateway: how
many times as fast, and packet-hops.

Both engines have the same architecture around them (queues, tables, packets in and out); what is
compared is the whole way of a packet through a switch. The two take turns, and a ratio is of runs
that follow each other.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from p4lab import _engine
from p4lab.bench import chain, measure, msr6, programs, stateful
from p4lab.bench.chain import Cable
from p4lab.bench.measure import Measure, Say
from p4lab.bench.programs import BSL_CODES, IN_PORT, Subject

RATIO = "BIER: interpreter / native code"
TNA_RATIO = "BIER on TNA: interpreter / native code"
MSR6_RATIO = "MSR6: interpreter / native code"
STATEFUL_RATIO = "Registers, meters, counters: interpreter / native code"
HOPS = "chain of 10 BIER routers"
ENGINES = ("interpreter", "jit")
ROUNDS = 9
RATIO_GOAL = 5
BIER_GOAL = 8
HOPS_GOAL = 3e6
PER_SECOND = "packet-hops/s"
BSL = 64
CABLE = Cable(rate=100_000_000_000, delay_ns=500)
GUESS = 1e6  # packet-hops per second, to begin with


def whole_packets(seconds: float, say: Say) -> Iterator[Measure]:
    """The whole way of a packet, on both engines."""
    for bsl in BSL_CODES:
        for hops in (1, 2):
            subject = programs.bier(bsl, hops)
            say(f"engines: {subject.name}")
            values = ratios(subject, chain.bier_probe(bsl, hops), seconds)
            yield measure.of(RATIO, subject.name, "", values, BIER_GOAL)
    for hops in (1, 2):
        subject = programs.bier_tna(hops)
        say(f"engines: {subject.name}")
        values = ratios(subject, subject.frame, seconds)
        yield measure.of(TNA_RATIO, subject.name, "", values, RATIO_GOAL)
    for subject in msr6.subjects():
        say(f"engines: MSR6, {subject.name}")
        values = ratios(subject, subject.frame, seconds)
        yield measure.of(MSR6_RATIO, subject.name, "", values, RATIO_GOAL)
    for subject in stateful.subjects():
        say(f"engines: {subject.name}")
        values = ratios(subject, subject.frame, seconds)
        yield measure.of(STATEFUL_RATIO, subject.name, "", values, RATIO_GOAL)


def packet_hops(seconds: float, say: Say) -> Iterator[Measure]:
    """Packets that the routers of a chain send, per second of processor time."""
    packets = max(1000, int(seconds * GUESS / chain.LENGTH))
    rates: dict[str, list[float]] = {engine: [] for engine in ENGINES}
    for number in range(ROUNDS):
        for engine, values in rates.items():
            say(f"BIER chain, round {number + 1} of {ROUNDS}: {engine}")
            values.append(hops_per_second(engine, packets))
    yield measure.of(HOPS, "native code", PER_SECOND, rates["jit"], HOPS_GOAL)
    yield measure.of(HOPS, "interpreter", PER_SECOND, rates["interpreter"])
    both = measure.ratios(rates["jit"], rates["interpreter"])
    yield measure.of(HOPS, "native code / interpreter", "", both)


def ratios(subject: Subject, data: bytes, seconds: float) -> list[float]:
    """Time of a packet on the interpreter by that on native code, in runs of `seconds` together.
    Raises RuntimeError if the engines send different packets."""
    switches = [_engine.Switch(subject.program, engine=engine) for engine in ENGINES]
    for switch in switches:
        switch.write(subject.updates)
    sent = [switch.process(IN_PORT, data) for switch in switches]
    if sent[0] != sent[1] or not sent[0]:
        raise RuntimeError(f"the engines differ in what they send of {subject.name}")

    def run(switch: _engine.Switch, count: int) -> float:
        start = time.thread_time()
        switch.bench(IN_PORT, data, count)
        return (time.thread_time() - start) / count

    each = sum(run(switch, 1000) for switch in switches)
    count = max(1000, int(seconds / ROUNDS / each))
    rounds = [[run(switch, count) for switch in switches] for _ in range(ROUNDS)]
    slow, fast = zip(*rounds, strict=True)
    return measure.ratios(slow, fast)


def hops_per_second(engine: str, packets: int) -> float:
    """Of a chain of BIER routers through which so many packets go from end to end. Raises
    RuntimeError if some are lost."""
    chains = chain.build(chain.bier(BSL), engine, chain.LENGTH, CABLE)
    received, hops, seconds = chains.run(chain.bier_probe(BSL, 1), packets)
    if received != packets:
        raise RuntimeError(f"{received} of {packets} packets went through the chain")
    return hops / seconds
