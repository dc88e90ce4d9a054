"""BIER on TNA: loops of 100 Gb/s in turn, backups by loop-free alternates; `p4/bier/tna.p4`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from p4lab.model.control import Driver
from p4lab.model.layout import Layouts
from p4lab.model.run import Plan
from p4lab.model.system import DriverOf, Rerun, sent_by_port
from p4lab.systems.bier.base import BierSystem
from p4lab.systems.bier.membership import membership, unprepared
from p4lab.systems.bier_tna.entries import PORT_STATUS
from p4lab.systems.bier_tna.plane import TnaControlPlane, alike


class BierTna(BierSystem):
    """BIER laid out for a Tofino."""

    name: ClassVar[str] = "bier-tna"
    reroutes: ClassVar[bool] = True
    tna: ClassVar[str] = ""
    port_status: ClassVar[str] = PORT_STATUS
    views: ClassVar[Mapping[str, str]] = {
        **BierSystem.views,
        "saturate": "p4lab.systems.bier_tna.views.saturated:saturate",
    }

    def control_plane(
        self, plan: Plan, driver_for_router: Callable[[str], Driver], layouts: Layouts | None = None
    ) -> TnaControlPlane:
        return TnaControlPlane(plan.topology, plan.settings.bsl, driver_for_router, layouts=layouts)

    def assume(self, plan: Plan, plane: TnaControlPlane) -> None:
        plane.listen(membership(plan))

    def collect(self, plan: Plan, drivers: DriverOf, layouts: Layouts | None = None) -> Any:
        return sent_by_port(plan.topology, drivers, layouts or alike(plan.topology))

    def excused(self, plan: Plan, rerun: Rerun) -> Mapping[tuple[str, int], str]:
        return unprepared(plan, rerun)
