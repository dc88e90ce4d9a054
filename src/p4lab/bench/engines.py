"""The interpreter and native code on the BIER program: how many times as fast, and packet-hops.

Both engines have the same architecture around them (queues, tables, packets in and out); what is
compared is the whole way of a packet through a switch. The two take turns, and a ratio is of runs
that follow each other.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from ipaddress import IPv4Address

from p4lab import _engine
from p4lab.bench import measure, programs
from p4lab.bench.measure import Measure, Say
from p4lab.bench.programs import IN_PORT, OUT_PORT, Subject
from p4lab.control.bier import BSL_CODES
from p4lab.packets.ip import PROTOCOL_UDP, ipv4, udp

RATIO = "BIER: interpreter / native code"
HOPS = "chain of 10 BIER routers"
ENGINES = ("interpreter", "jit")
ROUNDS = 9
RATIO_GOAL = 5
HOPS_GOAL = 3e6
PER_SECOND = "packet-hops/s"
LENGTH = 10  # routers of the chain
BSL = 64
GAP_NS = 1000  # between two packets of the chain
RATE = 100_000_000_000  # of all links, bits per second
DELAY_NS = 500
PICOSECONDS = 1000  # per nanosecond
PAYLOAD = bytes(24)  # room for the trailer of a probe
GUESS = 1e6  # packet-hops per second, to begin with


def whole_packets(seconds: float, say: Say) -> Iterator[Measure]:
    """The whole way of a packet, on both engines."""
    for bsl in BSL_CODES:
        for hops in (1, 2):
            subject = programs.bier(bsl, hops)
            say(f"engines: {subject.name}")
            yield measure.of(
                RATIO, subject.name, "", ratios(subject, frame(bsl, hops), seconds), RATIO_GOAL
            )


def packet_hops(seconds: float, say: Say) -> Iterator[Measure]:
    """Packets that the routers of a chain send, per second of processor time."""
    packets = max(1000, int(seconds * GUESS / LENGTH))
    rates: dict[str, list[float]] = {engine: [] for engine in ENGINES}
    for number in range(ROUNDS):
        for engine, values in rates.items():
            say(f"BIER chain, round {number + 1} of {ROUNDS}: {engine}")
            values.append(hops_per_second(engine, packets))
    yield measure.of(HOPS, "native code", PER_SECOND, rates["jit"], HOPS_GOAL)
    yield measure.of(HOPS, "interpreter", PER_SECOND, rates["interpreter"])
    both = measure.ratios(rates["jit"], rates["interpreter"])
    yield measure.of(HOPS, "native code / interpreter", "", both)


def frame(bsl: int, hops: int) -> bytes:
    """A BIER frame as `programs.bier_frame`, with a UDP packet to a group in it."""
    group, source = IPv4Address("239.1.2.3"), IPv4Address("10.0.9.1")
    datagram = udp(source, group, (5004, 5004), PAYLOAD)
    datagram = datagram[:6] + bytes(2) + datagram[8:]  # a probe's payload changes: no checksum
    header = programs.bier_frame(bsl, hops)[: 14 + 12 + bsl // 8]
    return header + ipv4(source, group, PROTOCOL_UDP, datagram, ttl=15)


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
    subject = programs.bier(BSL, 1)
    net = _engine.Network(seed=1)
    for number in range(LENGTH):
        net.add_switch(f"r{number}", subject.program, engine=engine)
        net.write(number, subject.updates)
    source, sink = net.add_host("from", 0x020000000001), net.add_host("to", 0x020000000002)
    net.set_promiscuous(sink, True)
    link = {"rate": RATE, "delay": DELAY_NS * PICOSECONDS}
    net.connect((source, 0), (0, IN_PORT), **link)
    for node in range(LENGTH - 1):
        net.connect((node, OUT_PORT), (node + 1, IN_PORT), **link)
    net.connect((LENGTH - 1, OUT_PORT), (sink, 0), **link)
    net.start_stream(
        source,
        frame(BSL, 1),
        flow=1,
        sender=1,
        start=0,
        interval=GAP_NS * PICOSECONDS,
        count=packets,
    )
    start = time.process_time()
    net.run_until((packets * GAP_NS + LENGTH * 10 * DELAY_NS) * PICOSECONDS)
    seconds = time.process_time() - start
    received = sum(row["received"] for row in net.report(sink))
    if received != packets:
        raise RuntimeError(f"{received} of {packets} packets went through the chain")
    return sum(net.switch_stats(node)["sent"] for node in range(LENGTH)) / seconds
