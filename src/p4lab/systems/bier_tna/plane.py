"""The control plane of a network of Tofinos: the usual one, laid out for p4/bier/tna.p4."""

from __future__ import annotations

from collections.abc import Callable

from p4lab.control.igmp import IgmpTimers
from p4lab.control.listeners import Membership
from p4lab.model.control import Driver
from p4lab.model.entries import Entries
from p4lab.model.layout import Layouts, TnaLayout
from p4lab.systems.bier.plane import BierControlPlane
from p4lab.systems.bier_tna.entries import port_status, tna_entries
from p4lab.topology import Link, Topology

LAYOUT = TnaLayout(loops=(68, 69, 70, 71))
"""The recirculation ports of the first pipe take turns"""


def alike(topology: Topology) -> Layouts:
    """The layouts of switches that nobody has set up by hand."""
    return dict.fromkeys((router.name for router in topology.routers), LAYOUT)


class TnaControlPlane(BierControlPlane):
    """BIER, IGMP, and loops in turn; backups by loop-free alternates.

    What a switch knows of its own ports is an entry like all others (`port_status`): it is written
    as soon as the switch sees a port go, long before routes are computed around it.
    """

    def __init__(
        self,
        topology: Topology,
        bsl: int,
        driver_for_router: Callable[[str], Driver],
        timers: IgmpTimers | None = None,
        *,
        layouts: Layouts | None = None,
    ) -> None:
        """`layouts` say how each switch is set up, where they are not all alike. Raises
        NumberError."""
        self._layouts = layouts or alike(topology)
        self._down: dict[str, frozenset[int]] = {}
        super().__init__(topology, bsl, driver_for_router, timers)

    def listen(self, members: Membership) -> None:
        """Somebody listens there who cannot say so by IGMP."""
        self.membership |= members
        self._recompute()

    def port_seen(self, router: str, port: int, up: bool) -> None:
        """A router sees one of its ports go down or come back: from now on it takes its backups,
        or no longer. This is not news to the routes: that is `link_changed`."""
        known = self._down.get(router, frozenset())
        self._down[router] = known - {port} if up else known | {port}
        if self._down[router] != known:
            self._wanted = {
                **self._wanted,
                router: self._wanted[router] ^ self._status(router, port),
            }
            self._push()

    def link_seen(self, link: Link, up: bool) -> None:
        """Both ends of a link see it fail or come back."""
        self.port_seen(link.a, link.a_port, up)
        if not link.is_access:
            self.port_seen(link.b, link.b_port, up)

    def compute(self) -> dict[str, Entries]:
        found = tna_entries(self.topology, self.membership, self.bsl, self.failures, self._layouts)
        for router, ports in self._down.items():
            for port in ports:
                found[router] |= self._status(router, port)
        return found

    def _status(self, router: str, port: int) -> Entries:
        return frozenset([port_status(self._layouts[router].port(port))])
