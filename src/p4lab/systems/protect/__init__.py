"""1+1 protection (P4-Protect): every packet twice, over two paths; the program in `p4/protect`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from p4lab.model.control import Driver, NumberError
from p4lab.model.layout import Layouts
from p4lab.model.run import Plan
from p4lab.model.system import Settings, System
from p4lab.systems.protect.connections import connections_of
from p4lab.systems.protect.placement import placement
from p4lab.systems.protect.plane import ProtectControlPlane
from p4lab.systems.protect.settings import ProtectSettings
from p4lab.topology.tomls import FileError


class Protect(System):
    """Protection on v1model."""

    name: ClassVar[str] = "protect"
    settings: ClassVar[type[Settings]] = ProtectSettings

    def defines(self, settings: Any) -> tuple[tuple[str, str], ...]:
        return settings.macros()

    def check(self, plan: Plan) -> None:
        if any(stream.destination.is_multicast for stream in plan.streams):
            raise ValueError("protection is for streams to one host: say `to`, not `group`.")
        try:
            placement(plan)
        except (NumberError, FileError) as error:
            raise ValueError(str(error)) from error

    def control_plane(
        self, plan: Plan, driver_for_router: Callable[[str], Driver], layouts: Layouts | None = None
    ) -> ProtectControlPlane:
        return ProtectControlPlane(
            plan.topology, driver_for_router, connections_of(plan), plan.settings, layouts
        )
