"""The routing underlay: deterministic shortest paths between routers.

Among paths of equal cost every router picks the neighbour with the lowest number. That makes
the path between two routers the lexicographically smallest of the shortest ones, so that the
paths from one router always form a tree.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import lru_cache

from p4lab.topology import NO_FAILURES, Failures, Topology


@dataclass(frozen=True)
class Igp:
    """Next hops and distances by router name. Unreachable destinations have no row."""

    next_hops: dict[str, dict[str, str]]
    distances: dict[str, dict[str, int]]
    parts: dict[str, int]

    def part(self, router: str) -> int:
        """A number that a working router shares with all routers it reaches and no other."""
        return self.parts[router]

    def next_hop(self, router: str, destination: str) -> str | None:
        """The neighbour of `router` towards `destination`; None if unreachable or `router`."""
        return self.next_hops[router].get(destination)

    def reaches(self, router: str, destination: str) -> bool:
        """Whether a path exists; a working router reaches itself, a failed one nothing."""
        return destination in self.distances[router]

    def reached(self, router: str) -> dict[str, str | None]:
        """The next hop towards every router that `router` reaches; None for itself."""
        hops = self.next_hops[router]
        return {name: hops.get(name) for name in self.distances[router]}

    def path(self, router: str, destination: str) -> tuple[str, ...]:
        """The routers on the way, both ends included; empty if there is no way."""
        if not self.reaches(router, destination):
            return ()
        hops = [router]
        while hops[-1] != destination:
            hops.append(self.next_hops[hops[-1]][destination])
        return tuple(hops)


@lru_cache(maxsize=64)
def underlay(topology: Topology, down: Failures = NO_FAILURES) -> Igp:
    """`shortest_paths`, kept for those who ask again: many tables follow from the same paths."""
    return shortest_paths(topology, down)


def shortest_paths(topology: Topology, down: Failures = NO_FAILURES) -> Igp:
    """Shortest paths by link cost between all routers, without what is down."""
    working = {
        router.name: [
            (neighbour.name, link.cost)
            for neighbour, link in topology.neighbours(router.name)
            if not down.has(link)
        ]
        for router in topology.routers
    }
    alive = [router.name for router in topology.routers if router.name not in down.nodes]
    distances: dict[str, dict[str, int]] = {router.name: {} for router in topology.routers}
    distances |= {name: _distances(name, working) for name in alive}
    next_hops: dict[str, dict[str, str]] = {router.name: {} for router in topology.routers}
    for name in alive:
        for destination, distance in distances[name].items():
            for neighbour, cost in working[name]:  # in order of router number: lowest wins
                if distances[neighbour].get(destination, distance) + cost == distance:
                    next_hops[name][destination] = neighbour
                    break
    parts: dict[str, int] = {}
    for number, name in enumerate(alive):
        for member in distances[name]:
            parts.setdefault(member, number)
    return Igp(next_hops, distances, parts)


def _distances(source: str, adjacent: dict[str, list[tuple[str, int]]]) -> dict[str, int]:
    """Dijkstra's algorithm: the cost from `source` to every router it reaches."""
    done: dict[str, int] = {}
    heap = [(0, source)]
    while heap:
        distance, router = heapq.heappop(heap)
        if router in done:
            continue
        done[router] = distance
        for neighbour, cost in adjacent[router]:
            if neighbour not in done:
                heapq.heappush(heap, (distance + cost, neighbour))
    return done
