"""What a run should lead to: which way each stream takes, and what each connection should count.

The reference is a network that loses nothing but what the links that are down lose, and a PTE that
accepts the first copy of every packet.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from p4lab.control.igp import underlay
from p4lab.model.run import Plan, Stream
from p4lab.packets.ip import PROTOCOL_UDP
from p4lab.packets.probe import UDP_PORT
from p4lab.systems.protect.answers import Packet, protecting
from p4lab.systems.protect.entries import Placed
from p4lab.systems.protect.paths import path_links
from p4lab.systems.protect.placement import placements
from p4lab.topology import Link, Topology

MOST_STEPS = 64  # the TTL of a host's packets

Step = Link | Placed
"""A link, or a connection from end to end"""


@dataclass(frozen=True)
class Counted:
    """Packets of one path of a connection. `lost` are those that the PTI sent and that did not
    come."""

    received: int
    accepted: int
    discarded: int
    rogue: int
    lost: int


def probe_of(stream: Stream) -> Packet:
    """What flows are told apart by in the packets of a stream."""
    ports = (UDP_PORT, UDP_PORT)
    addresses = int(stream.source.ip), int(stream.destination)
    return Packet(*addresses, stream.destination.version, PROTOCOL_UDP, *ports)


@lru_cache(maxsize=256)
def journey(topology: Topology, placed: tuple[Placed, ...], stream: Stream) -> tuple[Step, ...]:
    """The way of a stream when nobody has heard of failures; empty if there is none."""
    (receiver,) = stream.receivers
    packet, igp = probe_of(stream), underlay(topology)
    at = stream.source.router
    steps: list[Step] = [topology.link(stream.source.name, at)]
    while len(steps) < MOST_STEPS:
        connection = protecting(packet, at, placed)
        if connection is not None:
            steps.append(connection)
            at = connection.connection.egress
            continue
        if at == receiver.router:
            return (*steps, topology.link(receiver.name, at))
        hop = igp.next_hop(at, receiver.router)
        if hop is None:
            return ()
        steps.append(topology.link(at, hop))
        at = hop
    return ()


def works(topology: Topology, step: Step, down: Iterable[Link]) -> bool:
    """Whether packets get over a step."""
    broken = set(down)
    if isinstance(step, Link):
        return step not in broken
    return any(broken.isdisjoint(path_links(topology, path)) for path in step.pair)


def excused(plan: Plan) -> dict[tuple[str, int], str]:
    """Receivers, by host and flow, for whom links that are down leave nothing."""
    found = {}
    for stream in plan.streams:
        (receiver,) = stream.receivers
        steps = journey(plan.topology, placements(plan), stream)
        if not steps or not all(works(plan.topology, step, plan.down) for step in steps):
            near = plan.topology.reached(stream.source.name, plan.down)
            reason = "unprepared" if receiver.name in near else "cut off"
            found[receiver.name, stream.flow] = reason
    return found


def sent(plan: Plan, placed: Placed) -> int:
    """Packets that should get a number of a connection: those of the streams that reach its PTI."""
    total = 0
    for stream in plan.streams:
        for step in journey(plan.topology, placements(plan), stream):
            if step == placed:
                total += stream.packets
            if not works(plan.topology, step, plan.down):
                break
    return total


def counted(plan: Plan, placed: Placed) -> tuple[Counted, Counted]:
    """What the PTE should count on either path. The first copy comes by the path that works; if
    both do, by the one with less delay (path 1, if they have the same)."""
    packets = sent(plan, placed)
    broken = set(plan.down)
    delays = {}
    for path, routers in enumerate(placed.pair):
        links = path_links(plan.topology, routers)
        if broken.isdisjoint(links):
            delays[path] = sum(link.delay_ns for link in links)
    first = min(delays, key=lambda path: (delays[path], path), default=None)
    rows = []
    for path in range(2):
        received = packets if path in delays else 0
        accepted = packets if path == first else 0
        rows.append(Counted(received, accepted, received - accepted, 0, packets - received))
    return rows[0], rows[1]
