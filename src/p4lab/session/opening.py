"""Opens a plan on a target and a network, and carries it out: `p4lab run`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from p4lab import registry
from p4lab.engine import load_program
from p4lab.model.control import ControlPlane
from p4lab.model.report import Report
from p4lab.model.run import Plan
from p4lab.network import LinuxHosts, Network, NetworkError, open_network
from p4lab.session import pace
from p4lab.session.run import Session
from p4lab.targets import HARDWARE, NAMES, bmv2

if TYPE_CHECKING:
    from p4lab.targets.tofino.driver import TofinoDriver
    from p4lab.targets.tofino.plan import Hardware
    from p4lab.targets.tofino.rack import Rack

Say = Callable[[str], None]


def run(
    plan: Plan,
    network: str = "virtual",
    *,
    target: str = "engine",
    engine: str = "interpreter",
    pcap: Path | None = None,
    rack: Rack | None = None,
    say: Say = lambda _: None,
) -> Report:
    """Carry out the plan and compare what happened with what should have; `say` hears the stages.
    `engine` is what runs programs where the target is our own (`p4lab.network.base.ENGINES`).

    Raises NetworkError, ProgramError, RefusedError or NumberError if it cannot be carried out.
    """
    if target == "bmv2":
        check_bmv2(plan, network)
        plan = pace.for_bmv2(plan)
    for paced, notes in pace.plans(plan):
        if notes:
            say("packets were lost: again, more slowly")
        with open_session(
            paced, network, target=target, engine=engine, pcap=pcap, rack=rack, say=say
        ) as session:
            _carry_out(session, say)
            report = session.report(target, notes)
            timeless = session.net.name == "virtual"
            if report.ok or timeless or not pace.is_lossy(paced, session.net.observed()):
                break
    return report


def _carry_out(session: Session[Network], say: Say) -> None:
    session.start()
    say("subscribing")
    session.converge_or_go_on()
    session.fail()
    say("sending")
    session.send()


@contextmanager
def open_session(
    plan: Plan,
    network: str = "virtual",
    *,
    target: str = "engine",
    engine: str = "interpreter",
    pcap: Path | None = None,
    rack: Rack | None = None,
    say: Say = lambda _: None,
) -> Iterator[Session[Network]]:
    """A session of the plan, not started, its program on the target's switches; as for `run`."""
    if target in HARDWARE:
        from p4lab.targets.tofino.plan import prepare  # heavy: the SDE's side

        hardware = prepare(plan, target, rack)
        with _models(hardware, pcap, say) as net:
            yield hardware_session(hardware, net)
        return
    opened = (
        _open_engine(plan, network, engine, pcap, say)
        if target == "engine"
        else _open_bmv2(plan, network, target, pcap, say)
    )
    with opened as net:
        yield Session(plan, net)


def _open_engine(plan: Plan, network: str, engine: str, pcap: Path | None, say: Say) -> Network:
    """The plan's network with our own switches."""
    say(f"compiling {plan.program.name}")
    program = load_program(
        plan.program, plan.defines, bmv2_compat=plan.bmv2_compat, undefined=plan.undefined
    )
    say(f"building {plan.topology.name} ({network})")
    try:
        return open_network(
            network,
            plan.topology,
            program,
            cpu_port=cpu_port(plan, program.summary["package"]),
            seed=plan.seed,
            pcap=pcap,
            engine=engine,
            hosts=linux_hosts(plan),
            attachments=registry.find(plan.system).attachments(plan),
            takes_all=registry.find(plan.system).takes_all,
        )
    except ValueError as error:
        raise NetworkError(f"--engine {engine}: {error}") from error


def cpu_port(plan: Plan, package: str = "V1Switch") -> int:
    """The port by which the plan's program reaches its control plane."""
    return registry.find(plan.system).cpu_port(package)


def linux_hosts(plan: Plan) -> LinuxHosts:
    """What the plan's hosts need where they are real ones."""
    system = registry.find(plan.system)
    commands, programs = system.host_commands(plan), system.programs(plan)
    return LinuxHosts(system.speaks_ipv6(plan), commands, programs, system.takes_all)


def _open_bmv2(plan: Plan, network: str, target: str, pcap: Path | None, say: Say) -> Network:
    """The plan's network with the real bmv2."""
    if target != "bmv2":
        raise NetworkError(f"there is no target called {target!r}; choose from {', '.join(NAMES)}.")
    check_bmv2(plan, network)
    say(f"compiling {plan.program.name} ({bmv2.COMPILER})")
    compiled = bmv2.compile_program(plan.program, plan.defines)
    say(f"building {plan.topology.name} ({network}, bmv2)")
    return bmv2_network(plan, compiled, pcap)


def check_bmv2(plan: Plan, network: str) -> None:
    """Raises NetworkError if a plan is not for bmv2, or bmv2 is not there."""
    if network != "linux":
        raise NetworkError("the target bmv2 runs on real interfaces: add --net linux.")
    if plan.undefined is not None or plan.bmv2_compat:
        raise NetworkError("--undefined and --bmv2-compat are for the engine, not for bmv2 itself.")
    bmv2.tools()


def bmv2_network(plan: Plan, compiled: bmv2.Compiled, pcap: Path | None = None) -> Network:
    """A network of bmv2 for a plan. simple_switch does not survive an interface of its own that
    goes down, so where links fail cables are pulled."""
    from p4lab.network.mininet import MininetNetwork  # heavy: Mininet

    switches = bmv2.Bmv2Switches(compiled, cpu_port(plan))
    return MininetNetwork(
        plan.topology, switches, pcap=pcap, patched=bool(plan.down), hosts=linux_hosts(plan)
    )


def _models(hardware: Hardware, pcap: Path | None, say: Say) -> Network:
    """The plan's network with models of a Tofino, which hold their interfaces for themselves."""
    from p4lab.targets.tofino.simulators import simulator  # heavy: the SDE's side

    if pcap is not None:
        raise NetworkError("--pcap is not for the target tofino-model: use tcpdump in its hosts.")
    used = simulator()
    say(f"compiling {hardware.source.name} ({used.compiler})")
    say(f"starting {len(hardware.setups)} {used.starting}")
    return model_network(hardware)


def model_network(hardware: Hardware) -> Network:
    """A network of models for a plan."""
    from p4lab.network.mininet import MininetNetwork  # heavy: Mininet
    from p4lab.targets.tofino.model import ModelSwitches

    plan, switches = hardware.plan, ModelSwitches(hardware)
    return MininetNetwork(plan.topology, switches, patched=bool(plan.down), hosts=linux_hosts(plan))


def hardware_session(hardware: Hardware, net: Network) -> Session[Network]:
    """A session on chips: what hears of their ports stands in front of the control plane."""
    from p4lab.targets.tofino.agents import PortAgents  # heavy: the SDE's side

    def agents(plane: ControlPlane) -> PortAgents:
        drivers = {router: _driver_of(net, router) for router in hardware.setups}
        return PortAgents(hardware.plan.topology, plane, drivers)

    return Session(hardware.plan, net, layouts=hardware.layouts, controller=agents)


def _driver_of(net: Network, router: str) -> TofinoDriver:
    from p4lab.targets.tofino.driver import TofinoDriver  # heavy

    driver = net.driver(router)
    assert isinstance(driver, TofinoDriver)
    return driver
