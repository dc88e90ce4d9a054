"""A router with one table: what `p4/router/router.p4` needs to run in a network."""

from p4lab.control.igp import underlay
from p4lab.control.plane import EntryPlane
from p4lab.model.entries import Entries, Lpm, TableEntry
from p4lab.model.system import System


class RouterPlane(EntryPlane):
    """Shortest paths to every host."""

    def compute(self) -> dict[str, Entries]:
        return {router.name: self.routes(router.name) for router in self.topology.routers}

    def routes(self, here: str) -> Entries:
        topology, igp = self.topology, underlay(self.topology, self.failures)
        rows = set()
        for host in topology.hosts:
            if not igp.reaches(here, host.router):
                continue
            near = host.name if host.router == here else igp.next_hop(here, host.router)
            port = topology.port(here, near)
            far = 0 if near == host.name else topology.port(near, here)
            params = (
                ("port", port),
                ("src", topology.mac(here, port)),
                ("dst", topology.mac(near, far)),
            )
            key = (("destination", Lpm(int(host.ip), 32)),)
            rows.add(TableEntry("routes", key, "forward", params))
        return frozenset(rows)


class Router(System):
    """The system that lab.toml names."""

    name = "toy-router"

    def control_plane(self, plan, driver_for_router, layouts=None):
        return RouterPlane(plan.topology, driver_for_router)
