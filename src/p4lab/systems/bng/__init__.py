"""A broadband network gateway (P4-BNG): subscribers and sessions; the program in `p4/bng`."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from p4lab.model.attachment import Attachment, Program
from p4lab.model.layout import Layouts
from p4lab.model.notation import Notation
from p4lab.model.run import Plan, Stream
from p4lab.model.system import FIRST_GROUPS, Carried, DriverOf, Seen, Settings, System
from p4lab.plurals import count_of
from p4lab.systems.bng.notation import NOTATION, carried
from p4lab.systems.bng.report import Collected, GatewayReport, collect, gateway_report, missing
from p4lab.systems.bng.settings import GatewaySettings
from p4lab.topology import Topology


class Bng(System):
    """The gateway on v1model."""

    name: ClassVar[str] = "bng"
    tna: ClassVar[str] = "bng-tna"
    settings: ClassVar[type[Settings]] = GatewaySettings
    notation: ClassVar[Notation] = NOTATION
    followed: ClassVar[Mapping[str, str]] = {
        "pppoe.session_id": "session id",
        "decision.line": "line",
        "decision.session": "session",
        "owner": "owner of the address",
        "decision.class": "class",
        "colour": "colour",
    }
    views: ClassVar[Mapping[str, str]] = {
        "dial_view": "p4lab.systems.bng.views.dial:DialView",
        "speed_view": "p4lab.systems.bng.views.speed:SpeedView",
        "spoof_view": "p4lab.systems.bng.views.spoof:SpoofView",
        "counted": "p4lab.systems.bng.views.questions:counted",
    }
    answers: ClassVar[Mapping[str, str]] = {
        "pppoe_length": "p4lab.systems.bng.views.questions:pppoe_length",
    }
    experiments: ClassVar[Mapping[str, str]] = {
        name: f"p4lab.systems.bng.experiments.verbs:{name.replace('-', '_')}"
        for name in ("bng-latency", "bng-policing", "bng-setup", "bng-tables")
    }

    verbs: ClassVar[Mapping[str, str]] = {"gateway": "p4lab.systems.bng.verbs:gateway"}

    def plan(
        self,
        lab: str,
        program: Path,
        topology: Topology,
        settings: Any,
        seed: int,
        streams: tuple[Stream, ...],
    ) -> Plan:
        """Only subscribers watch television: a server joins no group."""
        watched = tuple(_for_subscribers(stream, settings) for stream in streams)
        return super().plan(lab, program, topology, settings, seed, watched)

    def check(self, plan: Plan) -> None:
        shape = plan.topology
        if len(shape.routers) != 1:
            raise ValueError(
                f"topology: the gateway is one router, and {shape.name} has {len(shape.routers)}: "
                "choose one like topologies/bng.toml."
            )
        names = [host.name for host in shape.hosts]
        for name in plan.settings.core_hosts:
            if name not in names:
                shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
                raise ValueError(
                    f"core: {shape.name} has no host {name}; its hosts are {shown}. Name those "
                    "that are servers."
                )
        for stream in plan.streams:
            if not stream.receivers:
                raise ValueError(
                    f"flow {stream.flow}: no subscriber watches {stream.destination}: let all do."
                )
            ends = [stream.source, *stream.receivers]
            if all(end.name not in plan.settings.core_hosts for end in ends):
                raise ValueError(
                    f"core: flow {stream.flow} comes from {stream.source.name} and reaches no "
                    f"server ({', '.join(plan.settings.core_hosts)}): subscribers talk to servers "
                    "here."
                )

    def draw(self, plan: Plan, chance: random.Random, streams: int, packets: int) -> Plan:
        """Between a subscriber and a server, either way, or from a server to a group."""
        core = [h for h in plan.topology.hosts if h.name in plan.settings.core_hosts]
        homes = [h for h in plan.topology.hosts if h.name not in plan.settings.core_hosts]
        interval, found = plan.streams[0].interval_ns, []
        for flow in range(1, streams + 1):
            home, server = chance.choice(homes), chance.choice(core)
            kind = (flow + chance.randrange(3)) % 3
            if kind == 0:
                group = FIRST_GROUPS[4] + flow
                viewers = chance.sample(homes, chance.randint(1, len(homes)))
                receivers = tuple(sorted(viewers, key=lambda host: host.id))
                found.append(Stream(flow, group, server, receivers, packets, interval))
            else:
                ends = (home, server) if kind == 1 else (server, home)
                found.append(Stream(flow, ends[1].ip, ends[0], ends[1:], packets, interval))
        return replace(plan, streams=tuple(found))

    def control_plane(
        self, plan: Plan, driver_for_router: Callable[[str], Any], layouts: Layouts | None = None
    ) -> Any:
        """Its driver has to count, or nobody could be billed."""
        from p4lab.systems.bng.plane import GatewayControlPlane  # heavy: the store and RADIUS

        return GatewayControlPlane(plan.topology, driver_for_router, plan.settings, plan.seed)

    def attachments(self, plan: Plan) -> Mapping[str, Attachment]:
        from p4lab.systems.bng.attachment import DialUp
        from p4lab.systems.bng.lines import subscriptions

        return {
            one.host.name: DialUp(one, random.Random(f"{one.host.name} {plan.seed}"))
            for one in subscriptions(plan.topology, plan.settings)
        }

    def programs(self, plan: Plan) -> Mapping[str, Program]:
        from p4lab.systems.bng.lines import subscriptions

        found = subscriptions(plan.topology, plan.settings)
        return {one.host.name: Program(one.command, one.interface) for one in found}

    def detached(self, plan: Plan, plane: Any) -> str:
        return missing(plane)

    def waiting(self, plan: Plan, plane: Any) -> str:
        wanted = {
            (int(stream.destination), plane.session_of(host.name))
            for stream in plan.streams
            if stream.destination.is_multicast
            for host in stream.receivers
        }
        watched = plane.gateway.api.known.watched
        missing = [one for one in wanted if one[1] not in watched.get(one[0], ())]
        return count_of(len(missing), "subscription") if missing else ""

    def carried(self, plan: Plan, headers: Sequence[Mapping[str, Any]]) -> Carried | None:
        """Whose session a frame is in."""
        return carried(headers)

    def collect(self, plan: Plan, drivers: DriverOf, layouts: Layouts | None = None) -> Collected:
        return collect(plan, drivers)

    def report(self, plan: Plan, seen: Seen) -> GatewayReport:
        return gateway_report(plan, self.deliveries(plan, seen, ()), seen.collected)


def _for_subscribers(stream: Stream, settings: GatewaySettings) -> Stream:
    """The stream; one to a group without the servers that were drawn among its receivers."""
    if not stream.destination.is_multicast:
        return stream
    servers = settings.core_hosts
    return replace(
        stream, receivers=tuple(host for host in stream.receivers if host.name not in servers)
    )
