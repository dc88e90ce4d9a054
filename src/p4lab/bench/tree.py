"""A fat tree (Al-Fares et al., SIGCOMM 2008) of IPv4 routers under load, by one thread and by two.

With k ports a switch there are k pods of k/2 edge and k/2 aggregation switches, (k/2)² core
switches and k³/4 hosts. Every host sends to one other, and each receives from one. On its way up a
packet takes the cables that the number of its receiver says.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Address

from p4lab import _engine
from p4lab.bench import measure
from p4lab.bench.chain import PICOSECONDS, datagram
from p4lab.bench.measure import Measure, Say
from p4lab.bench.programs import ROUTER
from p4lab.engine import load_program
from p4lab.model.entries import Lpm, TableEntry, Update
from p4lab.packets.ip import ETHERTYPE_IPV4, PROTOCOL_UDP, ethernet, ipv4

K = 16
FRAME_BYTES = 1000
RATE = 100_000_000_000  # bits per second of a cable
DELAY_NS = 500
GAP_NS = 200  # between two frames of a host: 40 Gb/s
STAGGER = 997  # picoseconds between the first frames of two hosts
NETWORK = 0x0A000000
MAC = 0x020000000000
ROUNDS = 3
GOAL = 1.7  # two threads over one
GUESS = 1e6  # packet-hops per second of ours, to choose the length of a run


@dataclass(frozen=True)
class Tree:
    """A network with its hosts; switches are its first nodes."""

    net: _engine.Network
    k: int
    links: Sequence[int]

    @property
    def hosts(self) -> int:
        return self.k**3 // 4

    def run(self, end_ns: int, threads: int) -> float:
        """Lets time pass up to `end_ns`; seconds of the clock."""
        start = time.perf_counter()
        self.net.run_until(end_ns * PICOSECONDS, threads=threads)
        return time.perf_counter() - start

    def crossed(self) -> list[int]:
        """Frames that came out of each cable, both ways."""
        stats = [one for link in self.links for one in self.net.link_stats(link)]
        return [one["delivered"]["frames"] for one in stats]


def sharing(seconds: float, say: Say) -> Iterator[Measure]:
    """The same tree by one thread and by two, in turns."""
    name = f"fat tree of {5 * K * K // 4} routers and {K**3 // 4:,} hosts"
    # Six cables from host to host, for most pairs
    end_ns = int(max(20_000, seconds * GUESS * GAP_NS / (K**3 // 4) / 6))
    rates: dict[int, list[float]] = {1: [], 2: []}
    for number in range(ROUNDS):
        counts = []
        for threads, values in rates.items():
            say(f"{name}, round {number + 1} of {ROUNDS}: threads: {threads}")
            tree = build(K)
            took = tree.run(end_ns, threads)
            counts.append(tree.crossed())
            values.append(sum(counts[-1]) / took)
        if counts[0] != counts[1]:
            raise RuntimeError("two threads carried other frames than one")
    for threads, values in rates.items():
        words = "one thread" if threads == 1 else "two threads"
        yield measure.of(name, words, "packet-hops/s of the clock", values)
    yield measure.of(name, "two threads / one", "", measure.ratios(rates[2], rates[1]), GOAL)


def build(k: int, engine: str = "jit", seed: int = 1) -> Tree:
    """A fat tree whose switches have `k` ports, an even number, with a stream from each host."""
    net, half, program = _engine.Network(seed=seed), k // 2, load_program(ROUTER)
    hosts = k**3 // 4
    switches = 5 * k * k // 4
    for number in range(switches):
        net.add_switch(f"s{number}", program, engine=engine)
    for number in range(hosts):
        net.add_host(f"h{number}", MAC | number)
    # Edges come first, then aggregation switches, then core switches.
    for edge in range(k * half):
        net.write(edge, _routes(hosts, partial(_from_edge, edge=edge, half=half)))
    for pod in range(k):
        routes = _routes(hosts, partial(_from_upper, pod=pod, half=half))
        for number in range(half):
            net.write(k * half + pod * half + number, routes)
    routes = _routes(hosts, lambda to: to // (half * half))
    for number in range(half * half):
        net.write(k * k + number, routes)
    delay = DELAY_NS * PICOSECONDS
    links = [net.connect(a, b, rate=RATE, delay=delay) for a, b in _cables(k)]
    for number in range(hosts):
        net.start_stream(
            switches + number,
            _frame(number, (number * 37 + hosts // 3) % hosts),
            flow=number,
            sender=1,
            start=STAGGER * number,
            interval=GAP_NS * PICOSECONDS,
            count=1 << 40,
        )
    return Tree(net, k, links)


def _from_edge(to: int, edge: int, half: int) -> int:
    """The port of an edge switch for a receiver: down from 0, up from k/2 on."""
    return to % half if to // half == edge else half + to % half


def _from_upper(to: int, pod: int, half: int) -> int:
    """The same of an aggregation switch."""
    return to // half % half if to // (half * half) == pod else half + to // half % half


def _cables(k: int) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Two ends of each cable, as node and port: hosts, then edges to aggregation, then to cores."""
    half = k // 2
    for host in range(k**3 // 4):
        yield (5 * k * k // 4 + host, 0), (host // half, host % half)
    for pod in range(k):
        for low in range(half):
            for high in range(half):
                upper = k * half + pod * half + high
                yield (pod * half + low, half + high), (upper, low)
    for pod in range(k):
        for high in range(half):
            for up in range(half):
                yield (k * half + pod * half + high, half + up), (k * k + high * half + up, pod)


def _routes(hosts: int, port: Callable[[int], int]) -> list[Update]:
    """A route for each host."""
    return [
        Update(
            "insert",
            TableEntry(
                "routes",
                (("hdr.ipv4.dst", Lpm(NETWORK + to, 32)),),
                "forward",
                (("dst", MAC | to), ("port", port(to))),
            ),
        )
        for to in range(hosts)
    ]


def _frame(sender: int, receiver: int) -> bytes:
    """UDP over IPv4 without a UDP checksum."""
    source, destination = IPv4Address(NETWORK + sender), IPv4Address(NETWORK + receiver)
    payload = datagram(source, destination, bytes(FRAME_BYTES - 14 - 20 - 8))
    packet = ipv4(source, destination, PROTOCOL_UDP, payload, ttl=64)
    return ethernet(MAC | receiver, MAC | sender, ETHERTYPE_IPV4, packet)
