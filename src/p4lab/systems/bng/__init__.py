"""A broadband network gateway (P4-BNG): subscribers, their sessions, and the program in `p4/bng`."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from p4lab.model.attachment import Attachment
from p4lab.model.control import Driver
from p4lab.model.layout import Layouts
from p4lab.model.run import Plan
from p4lab.model.system import Settings, System
from p4lab.systems.bng.settings import GatewaySettings


class Bng(System):
    """The gateway on v1model."""

    name: ClassVar[str] = "bng"
    settings: ClassVar[type[Settings]] = GatewaySettings

    def check(self, plan: Plan) -> None:
        names = {host.name for host in plan.topology.hosts}
        for name in plan.settings.core_hosts:
            if name not in names:
                raise ValueError(f"core: there is no host {name} in {plan.topology.name}.")
        for stream in plan.streams:
            ends = [stream.source, *stream.receivers]
            if all(end.name not in plan.settings.core_hosts for end in ends):
                raise ValueError(
                    f"flow {stream.flow} stays among subscribers: here they talk to servers."
                )

    def control_plane(
        self, plan: Plan, driver_for_router: Callable[[str], Driver], layouts: Layouts | None = None
    ) -> Any:
        from p4lab.systems.bng.plane import GatewayControlPlane  # heavy: the store and RADIUS

        return GatewayControlPlane(plan.topology, driver_for_router, plan.settings, plan.seed)

    def attachments(self, plan: Plan) -> Mapping[str, Attachment]:
        from p4lab.systems.bng.attachment import DialUp
        from p4lab.systems.bng.lines import subscriptions

        return {
            one.host.name: DialUp(one, random.Random(f"{one.host.name} {plan.seed}"))
            for one in subscriptions(plan.topology, plan.settings)
        }

    def detached(self, plan: Plan, plane: Any) -> str:
        waiting = [
            one.host.name for one in plane.subscriptions if one.host.name not in plane.online
        ]
        return f"the sessions of {', '.join(waiting)}" if waiting else ""
