"""1+1 protection (P4-Protect): every packet twice, over two paths; the program in `p4/protect`."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from p4lab.model.control import Driver, NumberError
from p4lab.model.layout import Layouts
from p4lab.model.notation import IPV4, Notation, plain
from p4lab.model.run import Plan
from p4lab.model.system import Carried, DriverOf, Rerun, Seen, Settings, System
from p4lab.systems.protect.connections import connections_of
from p4lab.systems.protect.counters import Collected, collect
from p4lab.systems.protect.drawing import draw
from p4lab.systems.protect.expected import excused
from p4lab.systems.protect.placement import placements
from p4lab.systems.protect.plane import ProtectControlPlane
from p4lab.systems.protect.report import ProtectReport, protect_report
from p4lab.systems.protect.settings import ProtectSettings
from p4lab.topology.tomls import FileError

DECIMAL = plain("decimal", lambda value, _: str(value))

COUNTED = ("cid", "sn", "last", "newest", "time", "now", "reset", "reset_time", "mtu", "total_len")
"""Fields, parameters and variables that are numbers of something, however large"""

ADDRESSES = ("ipv4_destination", "connection_src")

NOTATION = Notation(
    {**dict.fromkeys(COUNTED, DECIMAL), **dict.fromkeys(ADDRESSES, IPV4)},
    {
        ("protocol", 253): "protection",
        ("next_protocol", 4): "IPv4",
        ("next_protocol", 41): "IPv6",
        ("ether_type", 0xF1C1): "R-TAG",
    },
)


class Protect(System):
    """Protection on v1model."""

    name: ClassVar[str] = "protect"
    settings: ClassVar[type[Settings]] = ProtectSettings
    notation: ClassVar[Notation] = NOTATION
    followed: ClassVar[Mapping[str, str]] = {
        "protection.cid": "connection",
        "protection.sn": "sequence number",
        "last": "last accepted",
        "newest": "newest",
    }
    views: ClassVar[Mapping[str, str]] = {
        "circle_view": "p4lab.systems.protect.views.circle:CircleView",
        "time_view": "p4lab.systems.protect.views.times:TimeView",
    }
    answers: ClassVar[Mapping[str, str]] = {
        "numbers": "p4lab.systems.protect.views.copies:numbers",
        "outcome": "p4lab.systems.protect.views.copies:outcome",
    }
    experiments: ClassVar[Mapping[str, str]] = {
        name: f"p4lab.systems.protect.experiments.verbs:{name.replace('-', '_')}"
        for name in (
            "protection",
            "protection-cost",
            "protection-failure",
            "protection-goodput",
            "protection-jitter",
            "protection-skew",
        )
    }

    def defines(self, settings: Any) -> tuple[tuple[str, str], ...]:
        return settings.macros()

    def check(self, plan: Plan) -> None:
        if any(stream.destination.is_multicast for stream in plan.streams):
            raise ValueError("protection is for streams to one host: say `to`, not `group`.")
        try:
            placements(plan)
        except (NumberError, FileError) as error:
            raise ValueError(str(error)) from error

    def draw(self, plan: Plan, chance: random.Random, streams: int, packets: int) -> Plan:
        return draw(plan, chance, streams, packets)

    def describe(self, plan: Plan) -> str:
        return f"{super().describe(plan)}, with the policy {plan.settings.accept}"

    def control_plane(
        self, plan: Plan, driver_for_router: Callable[[str], Driver], layouts: Layouts | None = None
    ) -> ProtectControlPlane:
        return ProtectControlPlane(
            plan.topology, driver_for_router, connections_of(plan), plan.settings, layouts
        )

    def carried(self, plan: Plan, headers: Sequence[Mapping[str, Any]]) -> Carried | None:
        """The number of a copy, and of which connection it is."""
        for step in headers:
            fields = step["fields"]
            if {"cid", "sn"} <= fields.keys():
                cid, sn = int(fields["cid"], 0), int(fields["sn"], 0)
                return Carried(f"number {sn} of connection {cid}", f"{cid}:{sn}")
        return None

    def collect(self, plan: Plan, drivers: DriverOf, layouts: Layouts | None = None) -> Collected:
        return collect(plan, drivers, layouts)

    def excused(self, plan: Plan, rerun: Rerun) -> Mapping[tuple[str, int], str]:
        return excused(plan)

    def report(self, plan: Plan, seen: Seen) -> ProtectReport:
        base = self.deliveries(plan, seen, seen.collected.ports)
        return protect_report(plan, base, seen.collected)
