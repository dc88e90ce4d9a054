"""The restoration experiment on Linux hosts: real cables, and the kernel's own detection, or that
of the data plane by heartbeats.

The receiver's program keeps which packets came, not when. So the time without delivery is what the
longest run of missing packets would have filled.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from p4lab.model.control import Controller
from p4lab.network.base import NetworkError
from p4lab.network.mininet import MininetNetwork
from p4lab.network.switches import EngineSwitches
from p4lab.session.run import Session
from p4lab.systems.frr.experiments.plan import MS, program
from p4lab.systems.frr.experiments.restoration import Outcome, Setting, heard, session_of
from p4lab.systems.frr.heartbeat_agents import LinuxHeartbeatAgents
from p4lab.systems.frr.link_agents import LinuxLinkAgents
from p4lab.systems.frr.plane import FrrControlPlane, Step

PATIENCE = 20_000 * MS  # for ports to be up, and the host to send
BEFORE = 300 * MS  # of the stream, before the failure: the sender needs time to find its pace
REACTION = 1000 * MS  # of the stream, after the failure; the tables are written long before
DRAIN = 300 * MS
TRIES = 5


class _TooBusyError(Exception):
    """The stream was over before the cable could be pulled, or the tables written."""


def run(setting: Setting) -> Outcome:
    """Pull the cable between r1 and r2 under load. Raises NetworkError if it cannot be done."""
    for _ in range(TRIES):
        try:
            return _run(setting)
        except _TooBusyError:
            continue
    raise NetworkError("this machine is too busy to measure anything: end other programs.")


def _run(setting: Setting) -> Outcome:
    delays = setting.delays
    if setting.heartbeat is None:
        # The first way to the controller is not modelled by itself: it is part of what follows.
        delays = replace(delays, ip_computation=delays.ip_computation + delays.distance)
    packets = (BEFORE + REACTION) // setting.interval
    switches = EngineSwitches(program(), seed=setting.seed)
    with MininetNetwork(setting.topology, switches, patched=True) as net:
        session = session_of(
            setting, net, delays, packets, lambda plane: _agents(setting, plane, net)
        )
        plane, agents = session.plane, session.controller
        assert isinstance(plane, FrrControlPlane)
        assert isinstance(agents, LinuxLinkAgents | LinuxHeartbeatAgents)
        with agents:
            session.start()
            session.converge()
            _wait(net, agents, lambda: _all_up(agents), "the routers do not hear each other.")
            cut = _cut_under_load(setting, session, plane)
            net.run_until(net.now + REACTION + DRAIN, agents)
            seen = _detection(agents, cut)
            (receiver,) = session.plan.streams[0].receivers
            counts = net.observed().received.get((receiver.name, 1))
            outage = net.longest_gap(receiver, 1) * setting.interval
    if counts is None or not seen:
        raise NetworkError("nothing has arrived at all, or the failure was not seen.")
    lost = packets - counts.unique
    steps = (*seen, *plane.timeline)
    return Outcome(setting, outage, packets, lost, counts.duplicates, steps)


def _cut_under_load(
    setting: Setting, session: Session[MininetNetwork], plane: FrrControlPlane
) -> int:
    """The stream begins, the cable is pulled, and the controller writes its tables. Gives the
    moment of the failure, by the clock of the agents."""
    net, agents = session.net, session.controller
    (stream,) = session.plan.streams
    session.begin()
    before = BEFORE // setting.interval
    _wait(net, agents, lambda: net.entered(stream.source) >= before, "the host does not send.")
    link = setting.topology.link("r1", "r2")
    if isinstance(agents, LinuxHeartbeatAgents):
        cut = net.now
        net.set_middle(link, False)
    else:
        cut = time.monotonic_ns()
        net.set_link(link, False)
    while not (plane.failures.has(link) and plane.settled):
        if net.entered(stream.source) >= stream.packets:
            raise _TooBusyError
        net.run_until(net.now + 10 * MS, agents)
    return cut


def _wait(
    net: MininetNetwork, agents: Controller, done: Callable[[], bool], complaint: str
) -> None:
    deadline = net.now + PATIENCE
    while not done():
        if net.now >= deadline:
            raise NetworkError(complaint)
        net.run_until(net.now + 10 * MS, agents)


def _agents(
    setting: Setting, plane: FrrControlPlane, net: MininetNetwork
) -> LinuxLinkAgents | LinuxHeartbeatAgents:
    if setting.heartbeat is not None:
        return LinuxHeartbeatAgents(plane, net.driver, setting.heartbeat)
    return LinuxLinkAgents(plane, net.driver, net.interfaces)


def _all_up(agents: LinuxLinkAgents | LinuxHeartbeatAgents) -> bool:
    """Whether no port is down: heartbeats must have been heard before one can be missed."""
    return isinstance(agents, LinuxLinkAgents) or (agents.all_up and agents.settled)


def _detection(agents: LinuxLinkAgents | LinuxHeartbeatAgents, cut: int) -> list[Step]:
    """When the router in front of the failure knew of it; nothing if it does not."""
    if isinstance(agents, LinuxHeartbeatAgents):
        return heard(agents, cut)
    seen = [news.told - cut for news in agents.news if news.router == "r1"]
    return [Step("detection", None, 0, told, "r1") for told in seen[:1]]
