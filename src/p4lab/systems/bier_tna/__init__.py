"""BIER on TNA: loops of 100 Gb/s in turn, backups by loop-free alternates; `p4/bier/tna.p4`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pkgutil import resolve_name
from typing import Annotated, Any, ClassVar

from pydantic import Field

from p4lab.control.listeners import membership
from p4lab.model.control import Driver
from p4lab.model.layout import Layouts
from p4lab.model.report import Report
from p4lab.model.run import Plan
from p4lab.model.system import DriverOf, Rerun, Seen, sent_by_port
from p4lab.systems.bier.base import BierSettings, BierSystem
from p4lab.systems.bier.membership import unprepared
from p4lab.systems.bier_tna.entries import PORT_STATUS
from p4lab.systems.bier_tna.plane import TnaControlPlane, alike

SATURATED = "p4lab.systems.bier_tna.report:saturated"
"""What a run reports of a full line, which it simulates: imported when it is asked for"""


class BierTnaSettings(BierSettings):
    """Of a full line: for how many next hops, and through how many recirculation ports."""

    next_hops: Annotated[int, Field(ge=1, le=16, description="next hops of a full line")] = 3
    loops: Annotated[int, Field(ge=1, le=16, description="recirculation ports of a full line")] = 1


class BierTna(BierSystem):
    """BIER laid out for a Tofino."""

    name: ClassVar[str] = "bier-tna"
    reroutes: ClassVar[bool] = True
    tna: ClassVar[str] = ""
    settings: ClassVar[type[BierTnaSettings]] = BierTnaSettings
    port_status: ClassVar[str] = PORT_STATUS
    views: ClassVar[Mapping[str, str]] = {
        **BierSystem.views,
        "saturate": "p4lab.systems.bier_tna.views.saturated:saturate",
    }
    experiments: ClassVar[Mapping[str, str]] = {
        "recirculation": "p4lab.systems.bier_tna.recirculation.verbs:recirculation",
        "provisioning": "p4lab.systems.bier_tna.recirculation.verbs:provisioning",
    }
    verbs: ClassVar[Mapping[str, str]] = {"plan-ports": "p4lab.systems.bier_tna.verbs:plan_ports"}

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

    def report(self, plan: Plan, seen: Seen) -> Report:
        found = self.deliveries(plan, seen, seen.collected)
        if seen.network != "virtual":  # nothing else has a line of 100 Gb/s
            return found
        return resolve_name(SATURATED)(plan, found)

    def problems(self, plan: Plan, seen: Seen) -> tuple[str, ...]:
        return self.deliveries(plan, seen, seen.collected).problems
