"""The eight levels and the puzzles of lab 00: one switch, its hosts, and a program of 40 lines; the
programs are in `p4/levels`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field

from p4lab.model.control import CountingDriver, Driver
from p4lab.model.layout import Layouts
from p4lab.model.run import Plan, Stream
from p4lab.model.system import DriverOf, Seen, Settings, System
from p4lab.systems.levels.plane import LevelPlane
from p4lab.systems.levels.report import LevelReport, report_of
from p4lab.systems.levels.scenes import LEVELS, SCENES, Scene, Sends
from p4lab.topology import Host, Topology


class LevelSettings(Settings):
    """`level` is the macro LEVEL of the program."""

    level: Annotated[
        int,
        Field(ge=LEVELS[0], le=LEVELS[-1], description="level, or puzzle from 9 on"),
    ] = 1


class Levels(System):
    """Each level has packets of its own, and hosts that should get them."""

    name: ClassVar[str] = "levels"
    settings: ClassVar[type[Settings]] = LevelSettings
    takes_all: ClassVar[bool] = True
    followed: ClassVar[Mapping[str, str]] = {
        "ipv4.src_addr": "source",
        "ipv4.dst_addr": "destination",
        "ipv4.ttl": "TTL",
        "egress_spec": "egress port",
    }
    views: ClassVar[Mapping[str, str]] = {"cell_view": "p4lab.systems.levels.cells:CellView"}
    answers: ClassVar[Mapping[str, str]] = {
        "field": "p4lab.systems.levels.answers:field",
        "arrived": "p4lab.systems.levels.answers:arrived",
    }

    def defines(self, settings: Any) -> tuple[tuple[str, str], ...]:
        return (("LEVEL", str(settings.level)),)

    def shows(self, file: str) -> Mapping[str, Any]:
        """The level that the file's name begins with, as in levels/3-ttl.p4."""
        number = Path(file).name.split("-")[0]
        return {"level": int(number)} if number.isdigit() else {}

    def plan(
        self,
        lab: str,
        program: Path,
        topology: Topology,
        settings: Any,
        seed: int,
        streams: tuple[Stream, ...],
    ) -> Plan:
        """The streams of the level; of those that lab.toml has only the numbers count."""
        plan = super().plan(lab, program, topology, settings, seed, streams)
        self.check(plan)
        like, sends = streams[0], scene_of(plan).sends
        own = (_stream(plan, like, number, one) for number, one in enumerate(sends, 1))
        return replace(plan, streams=tuple(own))

    def check(self, plan: Plan) -> None:
        ports = [host.port for host in plan.topology.hosts]
        if len(plan.topology.routers) != 1 or ports[:4] != [1, 2, 3, 4]:
            raise ValueError(
                f"the topology {plan.topology.name!r} does not fit: the levels are about one "
                "switch with hosts at its ports 1 to 4, such as the topology levels."
            )

    def describe(self, plan: Plan) -> str:
        return f"level {plan.settings.level} starts on one switch with four hosts"

    def host_commands(self, plan: Plan) -> Mapping[str, Sequence[Sequence[str]]]:
        """These switches leave MAC addresses as they are, so a host writes that of the host that it
        sends to: a kernel takes nothing that is addressed to another."""
        hosts = plan.topology.hosts
        return {
            host.name: [_neighbour(host, peer) for peer in hosts if peer != host] for host in hosts
        }

    def control_plane(
        self, plan: Plan, driver_for_router: Callable[[str], Driver], layouts: Layouts | None = None
    ) -> LevelPlane:
        return LevelPlane(plan.topology, scene_of(plan), driver_for_router)

    def collect(self, plan: Plan, drivers: DriverOf, layouts: Layouts | None = None) -> Any:
        """Packets in the level's counter, by the ports where some come in."""
        name, driver = scene_of(plan).counter, drivers(plan.topology.routers[0].name)
        if not name or not isinstance(driver, CountingDriver):
            return {}
        ports = sorted({stream.source.port for stream in plan.streams})
        return {cell: count.packets for cell, count in driver.counters(name, ports).items()}

    def report(self, plan: Plan, seen: Seen) -> LevelReport:
        scene = scene_of(plan)
        return report_of(plan, scene, seen.network, seen.target, seen.observed, seen.collected)


def scene_of(plan: Plan) -> Scene:
    """What is sent in the level of a plan."""
    return SCENES[plan.settings.level]


def _stream(plan: Plan, like: Stream, number: int, sends: Sends) -> Stream:
    def host(place: int) -> Host:
        return plan.topology.hosts[place - 1]

    to = sends.to if isinstance(sends.to, IPv4Address) else host(sends.to).ip
    receivers = tuple(host(place) for place in sends.got)
    return Stream(
        number,
        to,
        host(sends.source),
        receivers,
        like.packets,
        like.interval_ns,
        sends.ttl,
        sends.vlan,
    )


def _neighbour(host: Host, peer: Host) -> list[str]:
    """What tells a Linux host another one's MAC address."""
    text = f"{peer.mac:012x}"
    mac = ":".join(text[at : at + 2] for at in range(0, 12, 2))
    where = ["lladdr", mac, "nud", "permanent", "dev", host.interface]
    return ["ip", "neigh", "replace", str(peer.ip), *where]
