"""The way of each copy from router to router, with the times, from the engine's traces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from p4lab.steps import emits
from p4lab.systems.protect.entries import Placed
from p4lab.tracing import Hop
from p4lab.widgets.sent import Sent


@dataclass(frozen=True)
class Way:
    """A frame that the PTI put on path 1 or 2, and where it went on. `packet` counts those that
    were sent, from 0; `number` is its sequence number, if it has one. `points` are the routers
    that it came to, with the times in nanoseconds, the PTI first. `arrived` is its place among the
    arrivals at the PTE; None if it never got there, and `lost` then says where it ended: on a link
    ("r1-r2") or at a router ("r2")."""

    packet: int
    path: int
    number: int | None
    points: tuple[tuple[str, int], ...]
    arrived: int | None
    lost: str

    @property
    def left(self) -> int:
        """When the PTI sent it."""
        return self.points[0][1]

    @property
    def end(self) -> int:
        """When it came to the last router that it came to."""
        return self.points[-1][1]


def ways(sent: Sent, placed: Placed) -> list[Way]:
    """The ways of all copies, by packet and path."""
    found = []
    for packet in range(len(sent.hops)):
        first = sent.hop(placed.connection.ingress, packet)
        if first is not None:
            found += sorted(_of_packet(sent, placed, first, packet), key=lambda way: way.path)
    return found


def _of_packet(sent: Sent, placed: Placed, first: Hop, packet: int) -> Iterator[Way]:
    ingress = placed.connection.ingress
    for copy in first.packets:
        fate = copy["fate"]
        if not fate or fate["kind"] != "sent":
            continue
        neighbour = sent.topology.neighbour(ingress, fate["port"])
        for path, routers in enumerate(placed.pair, 1):
            if routers[1] == neighbour:
                number = _number(emits(copy))
                points = [(ingress, first.time)]
                arrived, lost = _follow(sent, placed, first, copy["id"], points)
                yield Way(packet, path, number, tuple(points), arrived, lost)


def _number(headers: list[dict[str, object]]) -> int | None:
    for step in headers:
        fields = step["fields"]
        assert isinstance(fields, dict)
        if {"cid", "sn"} <= fields.keys():
            return int(fields["sn"], 0)
    return None


def _follow(
    sent: Sent, placed: Placed, hop: Hop, packet: int, points: list[tuple[str, int]]
) -> tuple[int | None, str]:
    """Adds the routers that a frame comes to; gives its arrival at the PTE, or where it ended."""
    while True:
        if packet not in hop.next:
            port = next(one for one in hop.packets if one["id"] == packet)["fate"]["port"]
            target = sent.topology.neighbour(hop.router, port)
            return None, f"{hop.router}-{target}" if target else hop.router
        hop = hop.next[packet]
        points.append((hop.router, hop.time))
        if hop.router == placed.connection.egress:
            return hop.order, ""
        onward = [one["id"] for one in hop.packets if (one["fate"] or {}).get("kind") == "sent"]
        if not onward:
            return None, hop.router
        packet = onward[0]
