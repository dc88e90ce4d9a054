"""Heartbeats between the routers of `p4/bier-frr`: their limits as entries, and their frames.

The data plane decides by itself that a neighbour is silent (p4/bier-frr/heartbeat.p4). Each frame
tells it what we take the port for, and it gives back those that are mistaken.
"""

from __future__ import annotations

from dataclasses import dataclass

from p4lab.model.entries import Entries, Exact, TableEntry
from p4lab.packets.ip import ethernet
from p4lab.topology import Topology

ETHERTYPE_HEARTBEAT = 0x88B5
NUMBERS = 1 << 14
MICROSECOND = 1_000

End = tuple[str, int]
"""A router and one of its ports"""


@dataclass(frozen=True)
class Heartbeat:
    """One heartbeat every `interval` nanoseconds; a neighbour is silent when `misses` of them are
    missing."""

    interval: int
    misses: int = 3

    def __post_init__(self) -> None:
        if self.interval < MICROSECOND or self.misses < 2:
            raise ValueError(
                "heartbeats need at least a microsecond between two, and a neighbour may miss one."
            )

    @property
    def limit(self) -> int:
        """Nanoseconds of silence, in whole microseconds: the data plane counts them."""
        return self.interval * self.misses // MICROSECOND * MICROSECOND

    @property
    def detection(self) -> tuple[int, int]:
        """How long after a failure the data plane acts on it, at the least and at the most, in
        nanoseconds: the last heartbeat came up to an interval before the failure."""
        return self.limit - self.interval, self.limit


def watch_entries(topology: Topology, heartbeat: Heartbeat) -> dict[str, Entries]:
    """The ports to other routers and how long each may be silent, by router name."""
    limit = (("limit_us", heartbeat.limit // MICROSECOND),)
    rows: dict[str, set[TableEntry]] = {router.name: set() for router in topology.routers}
    for router, port in ends(topology):
        match = (("port", Exact(port)),)
        rows[router].add(TableEntry("watched", match, "watch", limit))
    return {router: frozenset(found) for router, found in rows.items()}


def ends(topology: Topology) -> list[End]:
    """Both ends of every link between routers."""
    links = [link for link in topology.links if not link.is_access]
    return [end for link in links for end in ((link.a, link.a_port), (link.b, link.b_port))]


def heartbeat_frame(topology: Topology, end: End, number: int, down: bool) -> bytes:
    """A heartbeat as the switch gets it; `down` is what the control plane takes the port for."""
    router, port = end
    neighbour = topology.neighbour(router, port)
    assert neighbour is not None
    there = topology.mac(neighbour, topology.port(neighbour, router))
    payload = ((number % NUMBERS) << 2 | down).to_bytes(2, "big")
    return ethernet(there, topology.mac(router, port), ETHERTYPE_HEARTBEAT, payload)


def found_down(frame: bytes) -> bool | None:
    """What the data plane takes a port for, from a heartbeat that it gave back; None for other
    frames."""
    if len(frame) < 16 or int.from_bytes(frame[12:14], "big") != ETHERTYPE_HEARTBEAT:
        return None
    return bool(frame[15] & 1)
