"""The gateway laid out for a Tofino: `p4/bng/tna.p4`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from p4lab.model.control import CountingDriver
from p4lab.model.layout import Layouts, TnaLayout
from p4lab.model.run import Plan
from p4lab.model.system import DriverOf
from p4lab.systems.bng import Bng
from p4lab.systems.bng.report import Collected
from p4lab.systems.bng_tna.chip import OnChip
from p4lab.topology import Topology


class BngTna(Bng):
    """The same gateway; its control plane speaks to the chip as to v1model."""

    name: ClassVar[str] = "bng-tna"
    tna: ClassVar[str] = ""

    def control_plane(
        self, plan: Plan, driver_for_router: Callable[[str], Any], layouts: Layouts | None = None
    ) -> Any:
        chips = _chips(plan.topology, driver_for_router, layouts)
        return super().control_plane(plan, chips, layouts)

    def collect(self, plan: Plan, drivers: DriverOf, layouts: Layouts | None = None) -> Collected:
        return super().collect(plan, _chips(plan.topology, drivers, layouts), layouts)


def _chips(
    topology: Topology, driver_for_router: Callable[[str], Any], layouts: Layouts | None
) -> Callable[[str], CountingDriver]:
    def chip(router: str) -> OnChip:
        layout = (layouts or {}).get(router, TnaLayout())
        numbers = {port: layout.port(port) for port in topology.ports(router)}
        return OnChip(driver_for_router(router), numbers)

    return chip
