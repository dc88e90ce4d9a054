"""What a system is to the rest of the house: one class, found by name (p4lab.registry).

A system knows what its P4 program needs and what is to be expected of a run: its control plane, its
streams, its report, how its values are written, its views and experiments. Most of a plain system
is the defaults below; one table and a function from topology to entries make a router.

Those who use a run (notebooks, checks, experiments) get at a system's own views, verbs and
experiments by the names listed here; each is "module:object" and imported when it is asked for.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict

from p4lab.model.attachment import Attachment, Program
from p4lab.model.control import ControlPlane, Count, CountingDriver, Driver
from p4lab.model.layout import CPU_PORT, TNA_CPU_PORT, Layouts
from p4lab.model.notation import PLAIN, Notation
from p4lab.model.report import (
    CounterRow,
    DeliveryReport,
    Report,
    deliveries,
)
from p4lab.model.run import Address, Observed, Plan, Stream
from p4lab.topology import Topology

DriverOf = Callable[[str], CountingDriver]
"""The driver of a router, by name"""

Rerun = Callable[[Plan], Observed]
"""Carries a plan out in virtual time with the reference program, for what a report compares with"""

SENT = "sent"
"""The counter with a cell per port that a program may have: what left, in packets and bytes"""

FIRST_GROUPS: Mapping[int, Address] = {4: IPv4Address("239.1.1.1"), 6: IPv6Address("ff3e::4:1")}
"""The first group of those that are drawn, by version of IP"""


@dataclass(frozen=True)
class Seen:
    """What is left of a run when it is over."""

    network: str
    target: str
    observed: Observed
    collected: Any
    """What `System.collect` has read"""
    rerun: Rerun


class Settings(BaseModel):
    """What a lab's [run] and the command line may set of a system: `--name value`. Subclasses add
    fields; they can be compared and hashed."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class Carried:
    """What is told of a frame on a link: `said` in a sentence, as "bits 7 and 9", and `label` in a
    few characters on the frame, which are drawn as a text or each in a cell of its own."""

    said: str
    label: str
    kind: Literal["text", "digits"] = "text"


class System:
    """A system with the defaults of one that forwards packets and has nothing to add."""

    name: ClassVar[str] = ""
    """As lab.toml and the registry call it"""
    settings: ClassVar[type[Settings]] = Settings
    notation: ClassVar[Notation] = PLAIN
    followed: ClassVar[Mapping[str, str]] = {}
    """Fields, keys and variables that are worth following through a packet's steps, by name (with
    its header, or the last part alone), and what they are called there"""
    router_numbers: ClassVar[tuple[str, ...]] = ()
    """Keys of routers in topologies: numbers by which the system knows them"""
    hints: ClassVar[Mapping[str, str]] = {}
    """What to say of a kind of difference that only this system's values have, by its name"""
    views: ClassVar[Mapping[str, str]] = {}
    """Views that a notebook's lab offers beside the general ones, by the name of the method: called
    with the lab and its arguments"""
    answers: ClassVar[Mapping[str, str]] = {}
    """What a notebook may ask of packets that were sent beside what it may of all, by the name of
    the method: called with what was sent and its arguments"""
    experiments: ClassVar[Mapping[str, str]] = {}
    """Verbs below `p4lab experiment`"""
    verbs: ClassVar[Mapping[str, str]] = {}
    """Verbs of its own below `p4lab`"""
    probes: ClassVar[Mapping[str, str]] = {}
    """What `p4lab doctor` looks at for this system, beside what all need"""
    takes_all: ClassVar[bool] = False
    """Whether hosts take frames to any MAC address, since a switch may be no more than a cable"""
    measures: ClassVar[Mapping[str, str]] = {}
    """What checks may measure of policies that students write, by name: p4lab.model.measured"""
    reroutes: ClassVar[bool] = False
    """Whether a router that sees its link fail acts on it by itself"""
    port_status: ClassVar[str] = ""
    """The register with a cell for each port of a chip that says whether it is down, if the TNA
    program has one"""
    tna: ClassVar[str] = ""
    """The system that knows the TNA program of the same folder; empty where that is this one"""

    # ---- Before a run

    def plan(
        self,
        lab: str,
        program: Path,
        topology: Topology,
        settings: Any,
        seed: int,
        streams: tuple[Stream, ...],
    ) -> Plan:
        """A run of the reference program in a file, with the macros that the settings ask for."""
        macros = self.defines(settings)
        return Plan(lab, self.name, program, program, topology, settings, macros, seed, streams)

    def defines(self, settings: Any) -> tuple[tuple[str, str], ...]:
        """The macros that the program is compiled with."""
        return ()

    def check(self, plan: Plan) -> None:
        """Raises ValueError with a sentence if a plan cannot be carried out."""

    def draw(self, plan: Plan, chance: random.Random, streams: int, packets: int) -> Plan:
        """The plan with other streams, drawn: what a check of a whole network sends. One source
        each, to a group of some of the other hosts, or to one host where the plan's own do so, and
        of the same version of IP."""
        if not plan.streams[0].destination.is_multicast:
            return replace(plan, streams=tuple(_pairs(plan, chance, streams, packets)))
        hosts = plan.topology.hosts
        interval = plan.streams[0].interval_ns
        first = FIRST_GROUPS[plan.streams[0].destination.version]
        found = []
        for number in range(streams):
            source = chance.choice(hosts)
            others = [host for host in hosts if host.name != source.name]
            chosen = chance.sample(others, chance.randint(1, len(others)))
            receivers = tuple(sorted(chosen, key=lambda host: host.id))
            found.append(Stream(number + 1, first + number, source, receivers, packets, interval))
        return replace(plan, streams=tuple(found))

    def describe(self, plan: Plan) -> str:
        """How a run of the plan begins, as the first step of a story of it."""
        return f"the network {plan.topology.name} starts"

    def marks(self, plan: Plan) -> Mapping[str, str]:
        """What stands beside a router in a picture, by its name: how packets name it, if they do,
        in a few characters."""
        return {}

    def shows(self, file: str) -> Mapping[str, Any]:
        """The settings of a run that shows what a file of the student's does, as lab.toml names it:
        some labs have files of several programs."""
        return {}

    def cpu_port(self, package: str) -> int:
        """The port by which a program of a package (V1Switch, Switch) reaches its control plane."""
        return CPU_PORT if package == "V1Switch" else TNA_CPU_PORT

    def speaks_ipv6(self, plan: Plan) -> bool:
        """Whether the plan's hosts, where they are real ones, have IPv6 switched on: their kernels
        then send MLD of their own."""
        return any(stream.destination.version == 6 for stream in plan.streams)

    def host_commands(self, plan: Plan) -> Mapping[str, Sequence[Sequence[str]]]:
        """What is carried out, as root, in hosts that are real ones, by the host's name: programs
        with their arguments, in order, before anything is sent. The host has its addresses and
        routes by then, and its interface (`Host.interface`) is up."""
        return {}

    # ---- While it runs

    def control_plane(
        self, plan: Plan, driver_for_router: Callable[[str], Driver], layouts: Layouts | None = None
    ) -> ControlPlane:
        """The control plane of a plan, not started yet; `layouts` are those of chips, where the
        program runs on some. Raises NumberError."""
        raise NotImplementedError

    def assume(self, plan: Plan, plane: Any) -> None:
        """Tells the control plane what hosts would say that nobody can hear: behind the ports of a
        rack stand machines of which it knows nothing."""

    def attachments(self, plan: Plan) -> Mapping[str, Attachment]:
        """How hosts that do not speak plain Ethernet are attached where they are simulated, by
        name. Streams to and from the others cross their cables as they are."""
        return {}

    def programs(self, plan: Plan) -> Mapping[str, Program]:
        """What attaches these hosts where they are real ones, by name."""
        return {}

    def detached(self, plan: Plan, plane: Any) -> str:
        """Which hosts have still to be attached before anybody joins a group or sends, as a
        sentence without its full stop: "h1 never came online"; empty if none."""
        return ""

    def waiting(self, plan: Plan, plane: Any) -> str:
        """What the control plane has not heard yet and must before the streams begin, as the
        beginning of a sentence: "3 subscriptions"; empty if nothing."""
        return ""

    # ---- What is shown of it

    def notation_for(self, plan: Plan) -> Notation:
        """How values are written in a run of this plan, where that depends on its topology."""
        return self.notation

    def carried(self, plan: Plan, headers: Sequence[Mapping[str, Any]]) -> Carried | None:
        """What is to be told of a frame with these headers, each as a step of the engine's trace
        (`extracts` and `emits` of p4lab.steps); None if their names say enough."""
        return None

    # ---- After it

    def collect(self, plan: Plan, drivers: DriverOf, layouts: Layouts | None = None) -> Any:
        """Reads from the switches what the report needs, while they still run: here what each says
        it has sent, by port, if its program counts that."""
        return sent_by_port(plan.topology, drivers, layouts)

    def ideal(self, plan: Plan) -> Mapping[tuple[str, str], int] | None:
        """Copies that each directed link has to carry at the least, over the whole run; None where
        there is no such number."""
        return None

    def excused(self, plan: Plan, rerun: Rerun) -> Mapping[tuple[str, int], str]:
        """Receivers, by host and flow, that need not get anything, and why."""
        return {}

    def report(self, plan: Plan, seen: Seen) -> Report:
        """Compares what was seen with what the plan should lead to."""
        return self.deliveries(plan, seen, seen.collected)

    def problems(self, plan: Plan, seen: Seen) -> tuple[str, ...]:
        """What is not as it should be in what was seen: a report's problems, without those of what
        a report measures besides, with the plan's own program."""
        return self.report(plan, seen).problems

    def deliveries(self, plan: Plan, seen: Seen, counters: Sequence[CounterRow]) -> DeliveryReport:
        """Who got what, and what crossed the links."""
        return deliveries(
            plan,
            seen.network,
            seen.observed,
            seen.target,
            counters=tuple(counters),
            ideal=self.ideal(plan),
            excused=self.excused(plan, seen.rerun),
        )


def _pairs(plan: Plan, chance: random.Random, streams: int, packets: int) -> Iterator[Stream]:
    for number in range(1, streams + 1):
        source, target = chance.sample(plan.topology.hosts, 2)
        own = plan.streams[0]
        destination = target.ip_of(own.destination.version)
        yield Stream(number, destination, source, (target,), packets, own.interval_ns)


def sent_by_port(
    topology: Topology,
    drivers: DriverOf,
    layouts: Layouts | None = None,
    inner: Sequence[int] = (),
) -> tuple[CounterRow, ...]:
    """What every router's switch says it has sent, by port; nothing where the program has no
    counter `sent`, or the driver reads none. `inner` are ports without a cable that count as the
    router itself; `layouts` those of Tofinos, whose cells are called as their chip's ports."""
    rows = []
    for router in topology.routers:
        neighbours = topology.ports(router.name)
        if layouts is None:
            neighbours = {**neighbours, **dict.fromkeys(inner, router.name)}
            cells = {port: port for port in neighbours}
        else:
            cells = {layouts[router.name].port(port): port for port in neighbours}
        for cell, count in _read(drivers(router.name), list(cells)).items():
            port = cells[cell]
            rows.append(CounterRow(router.name, neighbours[port], port, count.packets, count.bytes))
    return tuple(rows)


def _read(driver: Driver, cells: list[int]) -> dict[int, Count]:
    if not isinstance(driver, CountingDriver):
        return {}
    try:
        return driver.counters(SENT, cells)
    except ValueError:  # programs of one's own need not count
        return {}
