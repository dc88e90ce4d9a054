"""Chains of routers in virtual time: built, run, and measured in a process of its own.

Routers stand in chains of ten, or as many as asked, with a host at each end; all chains are one
network and busy at the same time.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from ipaddress import IPv4Address
from pathlib import Path

from p4lab import _engine
from p4lab.bench import programs
from p4lab.bench.programs import IN_PORT, NEXT_HOP, OUT_PORT, ROUTER, Subject, network
from p4lab.engine import load_program
from p4lab.model.entries import Lpm, TableEntry, Update
from p4lab.packets.ip import ETHERTYPE_IPV4, PROTOCOL_UDP, ethernet, ipv4, udp

LENGTH = 10  # routers of a chain, unless another number is asked
GAP_NS = 1000  # between two packets of a chain
PROBE = bytes(24)  # room for the trailer of a probe
PICOSECONDS = 1000  # per nanosecond


@dataclass(frozen=True)
class Cable:
    """What all cables of a chain are like."""

    rate: int  # bits per second
    delay_ns: int


CABLE = Cable(rate=10_000_000_000, delay_ns=1000)


@dataclass(frozen=True)
class Run:
    """What one process did. `hops`: packets that routers sent on. Bytes are of the whole process:
    before the network was there, after it was built, and at most."""

    routers: int
    packets: int
    received: int
    hops: int
    seconds: float  # while packets moved: of processor time, or by the clock with several threads
    building_seconds: float
    bytes_before: int
    bytes_built: int
    bytes_peak: int

    @property
    def hops_per_second(self) -> float:
        """Packet-hops per second of processor time, or of the clock with several threads."""
        return self.hops / self.seconds


@dataclass(frozen=True)
class Chains:
    """A network of chains; routers are its first nodes."""

    net: _engine.Network
    routers: int
    length: int  # routers of each chain but the last
    sources: Sequence[int]  # hosts at the beginnings
    ends: Sequence[int]  # cables of the hosts at the ends
    cable: Cable

    def run(self, frame: bytes, packets: int, threads: int = 1) -> tuple[int, int, float]:
        """Lets each chain have so many packets: how many arrived in all, how many the routers sent,
        and the seconds that it took, see `Run`."""
        for number, source in enumerate(self.sources):
            self.net.start_stream(
                source,
                frame,
                flow=number,
                sender=1,
                start=self.net.now,
                interval=GAP_NS * PICOSECONDS,
                count=packets,
            )
        last = (
            self.net.now + (packets * GAP_NS + self.length * 10 * self.cable.delay_ns) * PICOSECONDS
        )
        clock = time.process_time if threads == 1 else time.perf_counter
        start = clock()
        self.net.run_until(last, threads=threads)
        seconds = clock() - start
        received = sum(self.net.link_stats(link)[0]["delivered"]["probes"] for link in self.ends)
        hops = sum(self.net.switch_stats(node)["sent"] for node in range(self.routers))
        return received, hops, seconds


def in_process(
    what: str,
    engine: str,
    routers: int,
    packets: int,
    size: int = 0,
    threads: int = 1,
    length: int = LENGTH,
) -> Run:
    """A run in a process of its own; `packets` in all, shared among the chains of `length` routers.
    `what` is "router", whose packets have `size` bytes, or "bier". Raises RuntimeError with what it
    said if it fails."""
    call = f"chain.main({what!r}, {engine!r}, {routers}, {packets}, {size}, {threads}, {length})"
    command = [sys.executable, "-c", f"from p4lab.bench import chain; {call}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no reason given"])[-1])
    return Run(**json.loads(done.stdout))


def main(
    what: str, engine: str, routers: int, packets: int, size: int, threads: int, length: int
) -> None:
    """Prints what a `Run` holds, as JSON."""
    subject = router(size) if what == "router" else bier(64)
    print(json.dumps(asdict(measure(subject, engine, routers, packets, threads, length))))


def measure(
    subject: Subject,
    engine: str,
    routers: int,
    packets: int,
    threads: int = 1,
    length: int = LENGTH,
) -> Run:
    """A run in this process. Raises ValueError if there is no such engine."""
    # Compiles it to native code, which all switches share
    _engine.Switch(subject.program, engine=engine)
    before = resident()
    start = time.process_time()
    chains = build(subject, engine, routers, length=length)
    building = time.process_time() - start
    built = resident()
    each = packets // len(chains.sources)
    received, hops, seconds = chains.run(subject.frame, each, threads)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    sent = each * len(chains.sources)
    return Run(routers, sent, received, hops, seconds, building, before, built, peak)


def build(
    subject: Subject, engine: str, routers: int, cable: Cable = CABLE, length: int = LENGTH
) -> Chains:
    """Chains of so many routers in all; the last may be shorter."""
    net = _engine.Network(seed=1)
    for number in range(routers):
        net.add_switch(f"r{number}", subject.program, engine=engine)
        net.write(number, subject.updates)
    sources, ends = [], []
    link = {"rate": cable.rate, "delay": cable.delay_ns * PICOSECONDS}
    for first in range(0, routers, length):
        chain = range(first, min(first + length, routers))
        sources.append(net.add_host(f"from{first}", 0x020000000001))
        sink = net.add_host(f"to{first}", NEXT_HOP)
        net.connect((sources[-1], 0), (chain[0], IN_PORT), **link)
        for node in chain[:-1]:
            net.connect((node, OUT_PORT), (node + 1, IN_PORT), **link)
        ends.append(net.connect((chain[-1], OUT_PORT), (sink, 0), **link))
    return Chains(net, routers, length, sources, ends, cable)


def router(size: int) -> Subject:
    """An IPv4 router with one route, and probes of `size` bytes."""
    route = TableEntry(
        "routes",
        (("hdr.ipv4.dst", Lpm(network(1), 24)),),
        "forward",
        (("dst", NEXT_HOP), ("port", OUT_PORT)),
    )
    updates = [Update("insert", route)]
    return Subject("IPv4 router", load_program(ROUTER), updates, router_probe(size))


def router_probe(size: int) -> bytes:
    """UDP over IPv4 to a host of the one route, without a UDP checksum."""
    source, destination = IPv4Address("10.0.0.1"), IPv4Address(network(1) | 2)
    payload = bytes(size - 14 - 20 - 8)
    packet = ipv4(
        source, destination, PROTOCOL_UDP, datagram(source, destination, payload), ttl=255
    )
    return ethernet(0x020000000002, 0x020000000001, ETHERTYPE_IPV4, packet)


def bier(bsl: int) -> Subject:
    """A BIER router in the middle of a network, and probes to receivers behind one port."""
    subject = programs.bier(bsl, 1)
    return Subject(subject.name, subject.program, subject.updates, bier_probe(bsl, 1))


def bier_probe(bsl: int, hops: int) -> bytes:
    """A BIER frame as `programs.bier_frame`, with a UDP packet to a group in it."""
    group, source = IPv4Address("239.1.2.3"), IPv4Address("10.0.9.1")
    header = programs.bier_frame(bsl, hops)[: 14 + 12 + bsl // 8]
    return header + ipv4(source, group, PROTOCOL_UDP, datagram(source, group, PROBE), ttl=15)


def datagram(source: IPv4Address, destination: IPv4Address, payload: bytes) -> bytes:
    """UDP without a checksum, as a probe's payload changes on its way."""
    whole = udp(source, destination, (5004, 5004), payload)
    return whole[:6] + bytes(2) + whole[8:]


def resident() -> int:
    """Bytes of this process in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
