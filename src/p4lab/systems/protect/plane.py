"""The running control plane of 1+1 protection.

    plane = ProtectControlPlane(topology, driver_for_router, connections)
    plane.start(now)
    plane.connect(Connection("silver", "r1", "r5", cid=2, flows=(Flow(src=prefix),)))
    plane.disconnect("silver")

When a link fails, protection has nothing to do: that is its point. Only plain routes change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from p4lab.control.limit import TokenBucket
from p4lab.control.plane import EntryPlane
from p4lab.control.rows import PortOf, same_port
from p4lab.model.control import Driver, PacketIn
from p4lab.model.entries import Entity, Entries
from p4lab.model.layout import Layouts
from p4lab.systems.protect.answers import BURST, PER_SECOND, too_long
from p4lab.systems.protect.connections import Connection
from p4lab.systems.protect.entries import (
    Placed,
    connection_entries,
    route_entries,
)
from p4lab.systems.protect.placement import Placement
from p4lab.systems.protect.settings import ProtectSettings
from p4lab.topology import Topology

LIMITED = "too long, and answered often enough"


class ProtectControlPlane(EntryPlane):
    """Routes, connections, and answers to packets that are too long; `answered` counts those."""

    def __init__(
        self,
        topology: Topology,
        driver_for_router: Callable[[str], Driver],
        connections: Iterable[Connection] = (),
        settings: ProtectSettings | None = None,
        layouts: Layouts | None = None,
    ) -> None:
        """`settings` are those that the program is compiled with, `layouts` those of chips. Raises
        NumberError."""
        self.settings = settings or ProtectSettings()
        self.placement = Placement(topology, connections)
        self.answered = 0
        self._port_of = _on_chips(layouts) if layouts else same_port
        self._limits = {router.name: TokenBucket(PER_SECOND, BURST) for router in topology.routers}
        super().__init__(topology, driver_for_router)

    def compute(self) -> dict[str, Entries]:
        """Routes around what is known to be down, and connections, which do not care."""
        rows: dict[str, set[Entity]] = {router.name: set() for router in self.topology.routers}
        for placed in self.placement:
            found = connection_entries(self.topology, placed, self.settings, self._port_of)
            for router, entity in found:
                rows[router].add(entity)
        routes = route_entries(self.topology, self.failures, self._port_of)
        return {router: routes[router] | own for router, own in rows.items()}

    def connect(self, connection: Connection) -> Placed:
        """Makes a connection; no other one notices. Raises NumberError and writes nothing if it
        cannot be, RefusedError if a router refuses it."""
        placed = self.placement.add(connection)
        self._recompute()
        return placed

    def disconnect(self, name: str) -> None:
        """Takes a connection away; its flows are routed as all others. Raises KeyError."""
        self.placement.remove(name)
        self._recompute()

    def packet_in(self, now: int, router: str, packet: PacketIn) -> None:
        """A packet that is too long for the paths of its connection, on its way in."""
        number = self._number_of(router, packet.port)
        if number is None:
            self.ignored["no cable there"] += 1
            return
        answer = too_long(self.topology.router(router), number, packet.frame, self.placement)
        if isinstance(answer, str):
            self.ignored[answer] += 1
        elif not self._limits[router].allows(now):
            self.ignored[LIMITED] += 1
        else:
            self.answered += 1
            self._drivers[router].packet_out(packet.port, answer)

    def _number_of(self, router: str, port: int) -> int | None:
        """What the topology calls a port of a switch."""
        for number in self.topology.ports(router):
            if self._port_of(router, number) == port:
                return number
        return None


def _on_chips(layouts: Layouts) -> PortOf:
    return lambda router, port: layouts[router].port(port)
