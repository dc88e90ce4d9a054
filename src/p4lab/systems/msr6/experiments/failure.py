"""A link fails: what it costs to compute trees anew, beside BIER, with and without fast reroute.

A host at r1 sends to groups of which a host at r2 is the only listener, and the link between the
two routers is cut. Topologies, the failure, and how long detection, the way to the controller,
computation and rows take are those of the restoration experiment (docs/frr.md), which also carries
out what is about BIER.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from ipaddress import IPv6Address
from itertools import pairwise
from statistics import fmean
from typing import Literal

from p4lab import _engine
from p4lab.engine import load_program
from p4lab.model.run import Stream
from p4lab.network.virtual import VirtualNetwork
from p4lab.paths import ROOT
from p4lab.session.run import Session
from p4lab.spread.sweep import Sweep, Task
from p4lab.systems.frr.experiments import plan as frr
from p4lab.systems.frr.experiments import restoration
from p4lab.systems.frr.experiments.restoration import (
    BIER_ROWS,
    IP_ROWS,
    SPREAD,
    Setting,
    delays_for,
    network_of,
    testbed,
)
from p4lab.systems.frr.plane import Delays, LinkAgents, Step
from p4lab.systems.msr6 import Msr6
from p4lab.systems.msr6.entries import IPV6_BYTES, sources_of
from p4lab.systems.msr6.experiments.encodings import BIER_BYTES
from p4lab.systems.msr6.experiments.recomputing import Recomputing
from p4lab.systems.msr6.groups import Trees
from p4lab.systems.msr6.settings import Encoding, Msr6Settings
from p4lab.topology import NO_FAILURES, Failures, Topology

MS = 1_000_000
BEFORE = 10 * MS  # of the streams, before the failure
AFTER = 20 * MS  # of the streams, when all trees are written
TRAVEL = 100_000  # a packet is on its way for less
PROGRAM = ROOT / "p4" / "msr6" / "v1model.p4"
FIRST_GROUP = IPv6Address("ff3e::4:1")
ENDS = ("r1", "r2")
"""Of the link that fails"""

SIZES = (3, 5, 7, 10, 15, 20, 30)
GROUPS = (1, 2, 4, 8, 16, 32)
SWEEP_RUNS = 5

Part = Literal["ways", "size", "groups"]


@dataclass(frozen=True)
class Way:
    """A way to carry packets: by an encoding of MSR6, or by BIER as a mode of the restoration
    experiment."""

    name: str
    encoding: Encoding | None = None
    mode: str = ""


WAYS = (
    Way("BIER", mode="no FRR"),
    Way("BIER-FRR", mode="BIER-FRR and IP-FRR"),
    Way("MSR6 BE", "be"),
    Way("MSR6 TE", "te"),
    Way("MSR6 RLB", "rlb"),
)
BY_NAME = {way.name: way for way in WAYS}
WITH_GROUPS = tuple(way for way in WAYS if way.encoding)


@dataclass(frozen=True)
class Changed:
    """Rows that change: of unicast routes, of multicast, and backups for the next failure; of
    multicast also at the router with the most, and at how many routers."""

    routes: int
    multicast: int
    backups: int
    most: int
    routers: int


@dataclass(frozen=True)
class Outcome:
    """One run. `lost` and `outage_ns` are those of a group, in the mean of all; a group's outage is
    its longest silence less the interval of the stream. Header bytes are those in front of a packet
    at the ingress."""

    part: Part
    way: Way
    routers: int
    groups: int
    seed: int
    interval: int
    delays: Delays
    outage_ns: float
    sent: int
    lost: float
    duplicates: int
    changed: Changed
    header_before: int
    header_after: int

    @property
    def formula_ns(self) -> int | None:
        """What the outage must be; None where it depends on which routers the packets pass."""
        if self.part == "size" and self.way.name in ROWS:
            return None
        return formula(self.way, self.groups, self.delays)


ROWS = {"BIER": (IP_ROWS, BIER_ROWS), "MSR6 BE": (3, 3)}
"""That change in r1 of the testbed where bit strings follow unicast: of routes, then of bits"""


def formula(way: Way, groups: int, delays: Delays) -> int:
    """Nanoseconds without delivery, on the testbed."""
    if way.name == "BIER-FRR":
        return delays.detection
    total = delays.detection + delays.distance + delays.ip_computation + delays.distance
    if way.name not in ROWS:
        return total + groups * delays.row
    routes, bits = ROWS[way.name]
    total += routes * delays.row + delays.distance
    return total + delays.bier_computation + delays.distance + bits * delays.row


def run(part: Part, way: Way, topology: Topology, groups: int, interval: int, seed: int) -> Outcome:
    """The link is cut under load. Raises NetworkError, ProgramError."""
    routers = len(topology.routers)
    mean = delays_for(routers)
    delays = mean.varied(random.Random(f"delays {seed}"), SPREAD)
    silence: float
    lost: float
    steps: Sequence[Step]
    if way.encoding is None:
        found = restoration.run(Setting(way.mode, seed, topology, delays, interval))
        silence, sent, lost = found.outage, found.sent, found.lost
        duplicates, steps = found.duplicates, found.steps
        headers = (BIER_BYTES + frr.BSL // 8,) * 2
    else:
        settings = Msr6Settings(encoding=way.encoding)
        silence, sent, lost, duplicates, steps = _cut(
            topology, settings, groups, interval, delays, seed
        )
        headers = (_header(topology, settings, NO_FAILURES), _header(topology, settings, _failed()))
    return Outcome(
        part=part,
        way=way,
        routers=routers,
        groups=groups,
        seed=seed,
        interval=interval,
        delays=delays,
        outage_ns=silence,
        sent=sent,
        lost=lost,
        duplicates=duplicates,
        changed=changes(steps),
        header_before=headers[0],
        header_after=headers[1],
    )


def _cut(
    topology: Topology,
    settings: Msr6Settings,
    groups: int,
    interval: int,
    delays: Delays,
    seed: int,
) -> tuple[float, int, float, int, Sequence[Step]]:
    """Silence and packets lost of a group in the mean, packets sent for each, how many came twice,
    and the steps of the control plane."""
    plan = Msr6().plan(
        "experiment", PROGRAM, topology, settings, seed, streams(topology, groups, interval)
    )
    receiver = plan.streams[0].receivers[0]
    with VirtualNetwork(topology, program(), seed=seed) as net:
        plane = Recomputing(topology, net.driver, settings, sources_of(plan), delays)
        session = Session(
            plan, net, plane=plane, controller=lambda _: LinkAgents(plane, net.driver)
        )
        session.start()
        session.converge()
        net.watch(receiver)
        lasting = BEFORE + plane.until_trees(_failed()) + AFTER
        begin = session.begin(
            tuple(replace(stream, packets=lasting // interval) for stream in plan.streams)
        )
        phase = random.Random(f"phase {seed}").randrange(interval)
        net.run_until(begin + BEFORE + phase, session.controller)
        restoration.cut(session, topology.link(*ENDS))
        net.run_until(max(net.now, begin + lasting) + MS, session.controller)
        arrivals: dict[int, list[tuple[int, int]]] = {stream.flow: [] for stream in plan.streams}
        for time, probe in net.arrivals(receiver):
            arrivals[probe.flow].append((time, probe.sequence))
    seen = [_seen(own, interval) for own in arrivals.values()]
    silences, sent, lost, duplicates = zip(*seen, strict=True)
    return fmean(silences), sent[0], fmean(lost), sum(duplicates), tuple(plane.timeline)


def streams(topology: Topology, groups: int, interval: int) -> tuple[Stream, ...]:
    """From h1 to h2, one packet for each group so far."""
    source, receiver = topology.host("h1"), topology.host("h2")
    return tuple(
        Stream(flow, FIRST_GROUP + flow - 1, source, (receiver,), 1, interval)
        for flow in range(1, groups + 1)
    )


def _seen(arrivals: Sequence[tuple[int, int]], interval: int) -> tuple[int, int, int, int]:
    """Of one group: silence, sent, lost, come twice."""
    times = [time for time, _ in arrivals]
    numbers = {number for _, number in arrivals}
    silence = max(b - a for a, b in pairwise(times))
    sent = max(numbers) + 1
    return max(0, silence - interval), sent, sent - len(numbers), len(arrivals) - len(numbers)


@cache
def program() -> _engine.Program:
    """p4/msr6 for the engine."""
    return load_program(PROGRAM, [])


def _failed() -> Failures:
    return Failures.of([ENDS])


def _header(topology: Topology, settings: Msr6Settings, down: Failures) -> int:
    (packet,) = Trees(topology, settings, down).packets(ENDS[0], ["h2"])
    return IPV6_BYTES + packet.header_length


def changes(steps: Collection[Step]) -> Changed:
    """What a control plane has written."""
    rows = {
        family: [step.rows for step in steps if (step.stage, step.family) == ("update", family)]
        for family in ("ip", "bier", "backup")
    }
    multicast = rows["bier"]
    return Changed(
        sum(rows["ip"]),
        sum(multicast),
        sum(rows["backup"]),
        max(multicast, default=0),
        len(multicast),
    )


def first_back() -> dict[str, dict[str, int]]:
    """With up to how many groups TE and RLB are back before each of the others, by formula with
    mean delays; 0 for never."""
    delays = delays_for(len(testbed().routers))
    found: dict[str, dict[str, int]] = {}
    for way in (BY_NAME["MSR6 TE"], BY_NAME["MSR6 RLB"]):
        alone = formula(way, 0, delays)
        found[way.name] = {
            other.name: max(0, (formula(other, 1, delays) - alone - 1) // delays.row)
            for other in WAYS
            if other.encoding not in ("te", "rlb")
        }
    return found


# ---- All runs


@dataclass(frozen=True)
class _Runs:
    part: Part
    way: Way
    topology: Callable[[int], Topology]
    groups: int
    count: int


def _planned(runs: int, sweeps: bool) -> Iterator[_Runs]:
    for way in WAYS:
        yield _Runs("ways", way, lambda _: testbed(), 1, runs)
    if not sweeps:
        return
    few = min(runs, SWEEP_RUNS)
    for size in SIZES:
        for way in WAYS:
            yield _Runs("size", way, partial(network_of, size), 1, few)
    for groups in GROUPS:
        for way in WITH_GROUPS:
            yield _Runs("groups", way, lambda _: testbed(), groups, few)


def measure(runs: int, pps: int, seed: int, sweeps: bool, sweep: Sweep) -> list[Outcome]:
    """Every way so many times on the testbed; then in larger networks, and with more groups.
    Raises NetworkError, ProgramError, SweepError."""
    interval = 10**9 // pps
    tasks = []
    for one in _planned(runs, sweeps):
        for own in range(seed, seed + one.count):
            topology = one.topology(own)
            what = f"{len(topology.routers)} routers, {one.groups} groups"
            arguments = (one.part, one.way, topology, one.groups, interval, own)
            tasks.append(Task(f"{one.way.name}: {what}, seed {own}", run, arguments))
    return sweep.all(tasks)


def wrong(found: Sequence[Outcome]) -> list[str]:
    """Runs in which packets came twice, or the outage is off its formula by more than the interval
    of the stream and the way of a packet."""
    lines = []
    for one in found:
        where = f"{one.way.name}, {one.routers} routers, {one.groups} groups, seed {one.seed}"
        if one.duplicates:
            lines.append(f"{where}: {one.duplicates} packets came twice")
        if (
            one.formula_ns is not None
            and abs(one.outage_ns - one.formula_ns) > one.interval + TRAVEL
        ):
            lines.append(
                f"{where}: {one.outage_ns / MS:.2f} ms without delivery, and "
                f"{one.formula_ns / MS:.2f} ms by formula"
            )
    return lines
