"""Protection against restoration: the same failure, and what it costs to be ready for it.

A host at r1 sends to a host at r2 of the testbed, and the link between the two routers is cut. With
IP-FRR and BIER-FRR the routers at its ends see that and go another way; with 1+1 protection every
packet goes both ways all the time, and nobody has to see anything. How long detection and the
controller take is what the restoration experiment takes for it (docs/frr.md).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache

from p4lab.model.entries import MulticastGroup, TableEntry
from p4lab.model.run import Stream
from p4lab.network.virtual import VirtualNetwork
from p4lab.session.run import Session
from p4lab.spread.sweep import Sweep, Task
from p4lab.systems.frr.experiments import plan as frr
from p4lab.systems.frr.experiments import restoration
from p4lab.systems.frr.experiments.restoration import (
    BIER_RESTORED,
    DETECTION,
    IP_RESTORED,
    SPREAD,
    Setting,
    delays_for,
    testbed,
)
from p4lab.systems.protect.experiments.setup import MS, opened, plan_of
from p4lab.systems.protect.settings import Accept, ProtectSettings
from p4lab.topology import Topology

BEFORE = 5 * MS  # of the stream, before the failure
AFTER = 20 * MS  # of the stream, when all tables are written
UNDISTURBED = 100  # packets by which the bandwidth is measured, while all is well
PATIENCE = 400 * MS
HISTORY = 64

PTE_CELLS: dict[Accept, int] = {"highest": 2, "slots": 2 * HISTORY}
"""Register cells of a connection at its PTE: number and time, of all or of each slot"""
PTI_CELLS = 1
PORT_CELLS = 1  # of each port of a router with fast reroute: whether it is down


@dataclass(frozen=True)
class Way:
    """A way to be ready for a failure. `mode` is one of the restoration experiment, for packets to
    a host or to a group, and `outage_ms` what that takes for the time without delivery; without a
    mode it is 1+1 with the policy `accept`."""

    name: str
    mode: str = ""
    outage_ms: float = 0.0
    to_group: bool = False
    accept: Accept = "highest"

    @property
    def settings(self) -> ProtectSettings:
        """Of 1+1 protection."""
        return ProtectSettings(accept=self.accept, history=HISTORY)


WAYS = (
    Way("IP, nothing prepared", "no FRR", IP_RESTORED / MS),
    Way("IP-FRR", "IP-FRR only", DETECTION / MS),
    Way("BIER, nothing prepared", "no FRR", BIER_RESTORED / MS, to_group=True),
    Way("BIER-FRR", "BIER-FRR and IP-FRR", DETECTION / MS, to_group=True),
    Way("1+1, highest number", accept="highest"),
    Way("1+1, slots", accept="slots"),
)


@dataclass(frozen=True)
class Outcome:
    """One run: packets `sent` around the failure, `lost` and come twice; frames and bytes that
    links between routers carry for each packet while all is well."""

    way: Way
    seed: int
    sent: int
    lost: int
    duplicates: int
    frames_per_packet: float
    bytes_per_packet: float


@dataclass(frozen=True)
class State:
    """What all routers together hold in order to be ready, beyond what they hold without."""

    entries: int
    groups: int
    cells: int


# ---- A run


def run(way: Way, pps: int, seed: int) -> Outcome:
    """The link between r1 and r2 is cut under load. Raises NetworkError, ProgramError."""
    topology = testbed()
    with _session(way, topology, seed) as session:
        net = session.net
        quiet, load = _streams(way, topology, 10**9 // pps)
        session.send((quiet,))
        frames, total = _carried(net)
        begin = session.begin((load,))
        phase = random.Random(f"phase {seed}").randrange(load.interval_ns)
        net.run_until(begin + BEFORE + phase, session.controller)
        link = topology.link("r1", "r2")
        if way.mode:
            restoration.cut(session, link)
        else:
            net.set_link(link, False)  # and nobody needs to know
        sent = (net.now + AFTER - begin) // load.interval_ns
        net.run_until(net.now + AFTER + 2 * MS, session.controller)
        (receiver,) = load.receivers
        came = [probe.sequence for _, probe in net.arrivals(receiver) if probe.flow == load.flow]
    counted = [number for number in came if number < sent]
    unique = len(set(counted))
    return Outcome(
        way,
        seed,
        sent,
        sent - unique,
        len(counted) - unique,
        frames / quiet.packets,
        total / quiet.packets,
    )


@contextmanager
def _session(way: Way, topology: Topology, seed: int) -> Iterator[Session[VirtualNetwork]]:
    """A session that is started, and whose receiver is watched."""
    receiver = topology.host("h2")
    if not way.mode:
        plan = plan_of(topology, seed, _streams(way, topology, MS)[:1], way.settings)
        with opened(plan) as session:
            session.net.watch(receiver)
            yield session
        return
    delays = delays_for(len(topology.routers)).varied(random.Random(f"delays {seed}"), SPREAD)
    session = restoration.opened(Setting(way.mode, seed, topology, delays, MS), 1)
    session.net.watch(receiver)
    yield session


def _streams(way: Way, topology: Topology, interval_ns: int) -> tuple[Stream, Stream]:
    """One while all is well, and one for the failure."""
    source, receiver = topology.host("h1"), topology.host("h2")
    address = frr.GROUP if way.to_group else receiver.ip
    quiet = Stream(1, address, source, (receiver,), UNDISTURBED, interval_ns)
    return quiet, replace(quiet, flow=2, packets=PATIENCE // interval_ns)


def _carried(net: VirtualNetwork) -> tuple[int, int]:
    """Frames and bytes of probes that links between routers have carried so far."""
    frames = total = 0
    for link in net.topology.links:
        if not link.is_access:
            for direction in net.link_stats(link):
                frames += direction["sent"]["probes"]
                total += direction["sent"]["bytes"]
    return frames, total


# ---- State


@cache
def state(way: Way) -> State:
    """What being ready takes: entries with it less entries without it."""
    ready = _held(way, prepared=True)
    bare = _held(way, prepared=False)
    cells = PTI_CELLS + PTE_CELLS[way.accept]
    if way.mode:
        ports = 2 * sum(not link.is_access for link in testbed().links)
        cells = 0 if way.mode == "no FRR" else ports * PORT_CELLS
    return State(ready[0] - bare[0], ready[1] - bare[1], cells)


def _held(way: Way, *, prepared: bool) -> tuple[int, int]:
    """Table entries and multicast groups of all routers."""
    topology = testbed()
    if way.mode:
        mode = way.mode if prepared else "no FRR"
        with _session(replace(way, mode=mode), topology, 1) as session:
            return _count(session)
    plan = plan_of(topology, 1, _streams(way, topology, MS)[:1], way.settings)
    with opened(plan, protected=prepared) as session:
        return _count(session)


def _count(session: Session[VirtualNetwork]) -> tuple[int, int]:
    entities = [
        entity
        for router in session.plan.topology.routers
        for entity in session.net.driver(router.name).entries()
    ]
    return (
        sum(isinstance(entity, TableEntry) for entity in entities),
        sum(isinstance(entity, MulticastGroup) for entity in entities),
    )


def measure(runs: int, pps: int, seed: int, sweep: Sweep) -> list[Outcome]:
    """Every way so many times. Raises NetworkError, ProgramError, SweepError."""
    return sweep.all(
        [
            Task(f"{way.name}, seed {own}", run, (way, pps, own))
            for way in WAYS
            for own in range(seed, seed + runs)
        ]
    )
