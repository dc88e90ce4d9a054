"""Lets a plan happen on a network: subscribe, send, count."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Union

from p4lab.control.frr_plane import FrrControlPlane
from p4lab.control.plane import ControlPlane, Driver
from p4lab.control.tna_plane import TnaControlPlane, alike
from p4lab.engine import load_program
from p4lab.lab.counted import counted
from p4lab.lab.plan import Plan
from p4lab.lab.report import CounterRow, Report, make_report
from p4lab.lab.unserved import unserved
from p4lab.network import Network, NetworkError, open_network
from p4lab.targets import HARDWARE, NAMES

if TYPE_CHECKING:
    from p4lab.control.bier_tna import Layouts
    from p4lab.targets.tofino.agents import PortAgents
    from p4lab.targets.tofino.plan import Hardware
    from p4lab.targets.tofino.rack import Rack

MILLISECOND = 1_000_000
STEP = 50 * MILLISECOND  # how often memberships are looked at while they come in
PATIENCE = 20_000 * MILLISECOND  # for all memberships to come in
DRAIN = 500 * MILLISECOND  # for the last packets to arrive
NOTICED = 500 * MILLISECOND  # for real switches to hear of their ports


Running = Union[ControlPlane, "PortAgents"]
"""What a network tells of its frames, and a run of its failures"""


class UnheardError(NetworkError):
    """What hosts say of their groups does not come to the control plane."""


def run(
    plan: Plan,
    network: str = "virtual",
    *,
    target: str = "engine",
    engine: str = "interpreter",
    pcap: Path | None = None,
    rack: Rack | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Report:
    """Carry out the plan and compare what happened with what should have; `say` hears the stages.
    `engine` is what runs programs where the target is our own (`p4lab.network.base.ENGINES`).

    Raises NetworkError, ProgramError or BierNumberError if it cannot be carried out.
    """
    hardware = None
    if target in HARDWARE:
        from p4lab.targets.tofino.plan import prepare

        hardware = prepare(plan, target, rack)
        plan = hardware.plan
    with _open(plan, network, target, engine, pcap, hardware, say) as net:
        plane = start(plan, net, hardware)
        say("subscribing")
        unheard = _subscribed(plan, net, plane)
        cut(plan, net, plane)
        say("sending")
        send(plan, net, plane)
        observed, sent = net.observed(), _counted(plan, net, hardware)
        report = make_report(plan, network, observed, target, sent, unserved(plan))
        return replace(report, problems=(*unheard, *report.problems))


def _counted(plan: Plan, net: Network, hardware: Hardware | None) -> tuple[CounterRow, ...]:
    layouts = hardware.layouts if hardware else None
    if layouts is None and plan.control == "tna":
        layouts = alike(plan.topology)
    return counted(plan.topology, net.driver, layouts)


def start(plan: Plan, net: Network, hardware: Hardware | None = None) -> Running:
    """The plan's control plane, started; on chips with what hears of their ports."""
    layouts = hardware.layouts if hardware else None
    plane = control_plane(plan, net.driver, layouts)
    agents: Running = plane
    if hardware:
        from p4lab.targets.tofino.agents import PortAgents

        assert isinstance(plane, TnaControlPlane)
        agents = PortAgents(plane, {router: net.driver(router) for router in hardware.setups})
    plane.start(net.now)
    return agents


def trial(plan: Plan, net: Network, target: str, hardware: Hardware | None = None) -> str:
    """Lets the plan happen on a network that is up, and says what goes wrong, as `verdict`. Raises
    NetworkError, ValueError for entries that do not fit."""
    plane = start(plan, net, hardware)
    subscribe(plan, net, plane)
    cut(plan, net, plane)
    send(plan, net, plane)
    return verdict(plan, net, target)


def verdict(plan: Plan, net: Network, target: str = "engine") -> str:
    """The first problem of what a network has carried; empty if there is none."""
    report = make_report(plan, net.name, net.observed(), target, unserved=unserved(plan))
    return report.problems[0] if report.problems else ""


def _subscribed(plan: Plan, net: Network, plane: Running) -> tuple[str, ...]:
    """Lets every receiver join: what went wrong with that, after which the run goes on."""
    try:
        subscribe(plan, net, plane)
    except UnheardError as error:
        return (str(error),)
    return ()


def _open(
    plan: Plan,
    network: str,
    target: str,
    engine: str,
    pcap: Path | None,
    hardware: Hardware | None,
    say: Callable[[str], None],
) -> Network:
    """The plan's network, with its program on the target's switches."""
    defines = [("BSL", str(plan.bsl))]
    if target == "engine":
        say(f"compiling {plan.program.name}")
        program = load_program(
            plan.program, defines, bmv2_compat=plan.bmv2_compat, undefined=plan.undefined
        )
        say(f"building {plan.topology.name} ({network})")
        try:
            return open_network(
                network, plan.topology, program, seed=plan.seed, pcap=pcap, engine=engine
            )
        except ValueError as error:
            raise NetworkError(f"--engine {engine}: {error}") from error
    if target == "tofino-model":
        assert hardware is not None
        return _models(hardware, pcap, say)
    if target != "bmv2":
        raise NetworkError(f"there is no target called {target!r}; there is {', '.join(NAMES)}.")
    if network != "mininet":
        raise NetworkError("the target bmv2 runs on real interfaces: add --net mininet.")
    if plan.undefined is not None or plan.bmv2_compat:
        raise NetworkError("--undefined and --bmv2-compat are for the engine, not for bmv2 itself.")
    from p4lab.network.mininet import MininetNetwork
    from p4lab.targets import bmv2

    bmv2.tools()
    say(f"compiling {plan.program.name} ({bmv2.COMPILER})")
    compiled = bmv2.compile_program(plan.program, defines)
    say(f"building {plan.topology.name} ({network}, bmv2)")
    # simple_switch does not survive an interface of its own that goes down: cables are pulled.
    patched = bool(plan.down)
    switches = bmv2.Bmv2Switches(compiled)
    return MininetNetwork(plan.topology, switches, pcap=pcap, patched=patched)


_PLANES = {"bier": ControlPlane, "frr": FrrControlPlane, "tna": TnaControlPlane}


def _models(hardware: Hardware, pcap: Path | None, say: Callable[[str], None]) -> Network:
    """The plan's network with models of a Tofino, which hold their interfaces for themselves."""
    from p4lab.network.mininet import MininetNetwork
    from p4lab.targets.tofino import tools
    from p4lab.targets.tofino.model import ModelSwitches

    if pcap is not None:
        raise NetworkError("--pcap is not for the target tofino-model: use tcpdump in its hosts.")
    tools.find("tofino-model")
    say(f"compiling {hardware.source.name} ({tools.COMPILER})")
    switches = ModelSwitches(hardware)
    say(f"starting {len(hardware.setups)} models, which takes minutes")
    return MininetNetwork(hardware.plan.topology, switches, patched=bool(hardware.plan.down))


def control_plane(
    plan: Plan, driver_for_router: Callable[[str], Driver], layouts: Layouts | None = None
) -> ControlPlane:
    """The control plane of the plan's lab, not started yet; `layouts` are those of chips. Raises
    BierNumberError."""
    if layouts is not None:
        return TnaControlPlane(plan.topology, plan.bsl, driver_for_router, layouts=layouts)
    return _PLANES[plan.control](plan.topology, plan.bsl, driver_for_router)


def cut(plan: Plan, net: Network, plane: Running) -> None:
    """The plan's links fail. Routers that can see it do, the controller hears nothing."""
    for link in plan.down:
        net.set_link(link, False)
        plane.link_seen(link, False)
    if plan.down:
        net.run_until(net.now + NOTICED, plane)


def subscribe(plan: Plan, net: Network, plane: Running) -> None:
    """Every receiver joins, and the control plane comes to know it. Raises NetworkError."""
    for stream in plan.streams:
        for host in stream.receivers:
            net.join(host, stream.group)
    deadline = net.now + PATIENCE
    while plane.membership != plan.membership:
        if net.now >= deadline:
            missing = len(plan.membership - plane.membership)
            raise UnheardError(f"{missing} subscriptions did not reach the control plane.")
        net.run_until(net.now + STEP, plane)


def send(plan: Plan, net: Network, plane: Running) -> None:
    """All streams at once, and time for the last packet to arrive."""
    start = net.now + MILLISECOND
    for stream in plan.streams:
        net.start(stream, start)
    longest = max(stream.packets * stream.interval_ns for stream in plan.streams)
    travel = sum(link.delay_ns for link in plan.topology.links)
    net.run_until(start + longest + travel + DRAIN, plane)
