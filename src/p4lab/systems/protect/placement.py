"""Which numbers connections have on their routers, while they come and go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from p4lab.model.control import NumberError
from p4lab.model.run import Plan
from p4lab.systems.protect.addresses import MOST_TUNNELS
from p4lab.systems.protect.connections import Connection, connections_of, pair_of, same_cid
from p4lab.systems.protect.entries import FIRST_PRIORITY, PLACES, Placed
from p4lab.systems.protect.paths import Pair
from p4lab.topology import Topology


class Indices:
    """The places of one switch. One that was never taken comes first: nobody has to reset what its
    registers hold, which not every target can do."""

    def __init__(self) -> None:
        self._fresh = 0
        self._given_back: list[int] = []

    def take(self) -> tuple[int, bool] | None:
        """A free place and whether it has been another's; None if there is none."""
        if self._fresh < PLACES:
            self._fresh += 1
            return self._fresh - 1, False
        return (self._given_back.pop(0), True) if self._given_back else None

    def give_back(self, place: int) -> None:
        self._given_back.append(place)


class Placement:
    """All connections that there are, by name, with their numbers."""

    def __init__(self, topology: Topology, connections: Iterable[Connection] = ()) -> None:
        """Raises NumberError."""
        self.topology = topology
        self._placed: dict[str, Placed] = {}
        self._begins = {router.name: Indices() for router in topology.routers}
        self._ends = {router.name: Indices() for router in topology.routers}
        self._priority = FIRST_PRIORITY
        for connection in connections:
            self.add(connection)

    def __iter__(self) -> Iterator[Placed]:
        return iter(self._placed.values())

    def __getitem__(self, name: str) -> Placed:
        return self._placed[name]

    def add(self, connection: Connection) -> Placed:
        """Finds its paths and its places. Raises NumberError and changes nothing if it cannot
        be."""
        if connection.name in self._placed:
            raise NumberError(
                f"there is a connection {connection.name} already: choose another name."
            )
        for other in self._placed.values():
            first = other.connection
            if (first.egress, first.cid) == (connection.egress, connection.cid):
                said = same_cid(first.name, connection.name, first.egress, first.cid)
                raise NumberError(f"{said}.")
        pair = pair_of(self.topology, connection)
        tunnel = self._tunnel(pair)
        begin = self._begins[connection.ingress].take()
        if begin is None:
            raise NumberError(f"{connection.ingress} is the PTI of {PLACES} connections already.")
        end = self._ends[connection.egress].take()
        if end is None:
            self._begins[connection.ingress].give_back(begin[0])
            raise NumberError(f"{connection.egress} is the PTE of {PLACES} connections already.")
        placed = Placed(
            connection, pair, tunnel, begin[0], end[0], self._priority, begin[1], end[1]
        )
        self._priority -= 1
        self._placed[connection.name] = placed
        return placed

    def remove(self, name: str) -> Placed:
        """Its places are free again. Raises KeyError."""
        placed = self._placed.pop(name)
        self._begins[placed.connection.ingress].give_back(placed.pti_index)
        self._ends[placed.connection.egress].give_back(placed.pte_index)
        return placed

    def _tunnel(self, pair: Pair) -> int:
        """The tunnels of a pair of paths: those that are there, or the next free number."""
        used = {placed.tunnel: placed.pair for placed in self._placed.values()}
        for number, known in used.items():
            if known == pair:
                return number
        for number in range(1, MOST_TUNNELS):
            if number not in used:
                return number
        raise NumberError(f"there are {MOST_TUNNELS - 1} pairs of tunnels already.")


@lru_cache(maxsize=64)
def placements(plan: Plan) -> tuple[Placed, ...]:
    """The connections of a plan, as its control plane places them at the start. Raises NumberError,
    FileError."""
    return tuple(Placement(plan.topology, connections_of(plan)))
