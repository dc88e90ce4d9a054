"""The control plane of lab 00: whatever a level needs, written once."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from p4lab.control.plane import EntryPlane
from p4lab.model.control import Driver
from p4lab.model.entries import (
    CloneSession,
    Entity,
    Entries,
    Lpm,
    RegisterCell,
    TableEntry,
)
from p4lab.systems.levels.scenes import Scene
from p4lab.topology import Topology


class LevelPlane(EntryPlane):
    """Writes the entries of a scene to the only switch."""

    def __init__(
        self, topology: Topology, scene: Scene, driver_for_router: Callable[[str], Driver]
    ) -> None:
        self.scene = scene
        super().__init__(topology, driver_for_router)

    def compute(self) -> dict[str, Entries]:
        return {router.name: frozenset(self._entries()) for router in self.topology.routers}

    def _entries(self) -> Iterator[Entity]:
        for session, port in self.scene.sessions.items():
            yield CloneSession(session, ((port, 0),))
        for (register, index), value in self.scene.cells.items():
            yield RegisterCell(register, index, value)
        for host in self.topology.hosts if self.scene.routes else ():
            key = (("dst", Lpm(int(host.ip), 32)),)
            params = (("port", host.port), ("mac", host.mac))
            yield TableEntry("routes", key, "to_port", params)
