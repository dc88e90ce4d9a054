"""Chains of IPv4 routers in virtual time, measured in a process of its own, which tells its memory.

Routers stand in chains of ten with a host at each end; all chains are one network and busy at the
same time.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from ipaddress import IPv4Address
from pathlib import Path

from p4lab import _engine
from p4lab.bench.programs import IN_PORT, NEXT_HOP, OUT_PORT, ROUTER, network
from p4lab.control.entries import Lpm, TableEntry, Update
from p4lab.engine import load_program, to_engine
from p4lab.packets.ip import ETHERTYPE_IPV4, PROTOCOL_UDP, ethernet, ipv4, udp

LENGTH = 10  # routers of a chain
GAP_NS = 1000  # between two packets of a chain
RATE = 10_000_000_000  # of all links
DELAY_NS = 1000
PICOSECONDS = 1000  # per nanosecond


@dataclass(frozen=True)
class Run:
    """What one process did. `hops`: packets that routers sent on. Bytes are of the whole process:
    before the network was there, after it was built, and at most."""

    routers: int
    packets: int
    received: int
    hops: int
    seconds: float  # of processor time while packets moved
    building_seconds: float
    bytes_before: int
    bytes_built: int
    bytes_peak: int

    @property
    def hops_per_second(self) -> float:
        """Packet-hops per second of processor time."""
        return self.hops / self.seconds


def in_process(engine: str, routers: int, packets: int, length: int) -> Run:
    """A run in a process of its own; `packets` of `length` bytes in all, shared among the chains.
    Raises RuntimeError with what it said if it fails."""
    call = f"chain.main({engine!r}, {routers}, {packets}, {length})"
    command = [sys.executable, "-c", f"from p4lab.bench import chain; {call}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no reason given"])[-1])
    return Run(**json.loads(done.stdout))


def main(engine: str, routers: int, packets: int, length: int) -> None:
    """Prints what a `Run` holds, as JSON."""
    print(json.dumps(asdict(measure(engine, routers, packets, length))))


def measure(engine: str, routers: int, packets: int, length: int) -> Run:
    """A run in this process. Raises ValueError if there is no such engine."""
    program = load_program(ROUTER)
    _engine.Switch(program, engine=engine)  # compiles it to native code, which all switches share
    before = resident()
    start = time.process_time()
    net, sources, ends = build(program, engine, routers)
    building = time.process_time() - start
    built = resident()
    each = packets // len(sources)
    frame = probe_frame(length)
    for flow, source in enumerate(sources):
        rate = length * 8 * 10**9 // GAP_NS
        net.generate(source, frame, rate=rate, flow=flow, count=each)
    last = (each * GAP_NS + LENGTH * 10 * DELAY_NS) * PICOSECONDS
    start = time.process_time()
    net.run_until(last)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    received = sum(net.link_stats(link)[0]["delivered"]["probes"] for link in ends)
    hops = sum(net.switch_stats(node)["sent"] for node in range(routers))
    return Run(routers, each * len(sources), received, hops, seconds, building, before, built, peak)


def build(
    program: _engine.Program, engine: str, routers: int
) -> tuple[_engine.Network, list[int], list[int]]:
    """The network, its sending hosts and the cables of the receiving ones; routers are the first
    nodes."""
    net = _engine.Network(seed=1)
    route = TableEntry(
        "routes",
        (("hdr.ipv4.dst", Lpm(network(1), 24)),),
        "forward",
        (("dst", NEXT_HOP), ("port", OUT_PORT)),
    )
    updates = to_engine([Update("insert", route)])
    for number in range(routers):
        net.add_switch(f"r{number}", program, engine=engine)
        net.write(number, updates)
    sources, ends = [], []
    link = {"rate": RATE, "delay": DELAY_NS * PICOSECONDS}
    for first in range(0, routers, LENGTH):
        chain = range(first, min(first + LENGTH, routers))
        sources.append(net.add_host(f"from{first}", 0x020000000001))
        sink = net.add_host(f"to{first}", NEXT_HOP)
        net.connect((sources[-1], 0), (chain[0], IN_PORT), **link)
        for node in chain[:-1]:
            net.connect((node, OUT_PORT), (node + 1, IN_PORT), **link)
        ends.append(net.connect((chain[-1], OUT_PORT), (sink, 0), **link))
    return net, sources, ends


def probe_frame(length: int) -> bytes:
    """UDP over IPv4 to a host of the one route, without a UDP checksum."""
    source, destination = IPv4Address("10.0.0.1"), IPv4Address(network(1) | 2)
    payload = bytes(length - 14 - 20 - 8)
    datagram = bytearray(udp(source, destination, (5004, 5004), payload))
    datagram[6:8] = bytes(2)
    packet = ipv4(source, destination, PROTOCOL_UDP, bytes(datagram), ttl=64)
    return ethernet(0x020000000002, 0x020000000001, ETHERTYPE_IPV4, packet)


def resident() -> int:
    """Bytes of this process in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
