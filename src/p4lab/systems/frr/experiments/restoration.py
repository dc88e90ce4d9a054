"""Restoration after a link failure: section VI-A and figure 11 of the BIER paper on Tofino.

A stream of numbered probes goes from a host at r1 to a subscriber at r2. The link between the two
is cut, and the subscriber's cable tells for how long nothing arrived. Four ways to be prepared are
compared. The switches run the real program; what the controller's machine and its distance would
cost is a parameter.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TypeVar

from p4lab.model.control import Controller
from p4lab.model.run import Stream
from p4lab.network.base import Network, NetworkError
from p4lab.network.virtual import VirtualNetwork
from p4lab.packets.probe import Probe
from p4lab.session.run import Session
from p4lab.systems.frr.entries import Protection
from p4lab.systems.frr.experiments.plan import BSL, GROUP, MS, US, plan_of, program
from p4lab.systems.frr.heartbeat import Heartbeat
from p4lab.systems.frr.heartbeat_agents import HeartbeatAgents
from p4lab.systems.frr.plane import Delays, Family, FrrControlPlane, LinkAgents, Stage, Step
from p4lab.topology import Link, Topology

Net = TypeVar("Net", bound=Network)

BEFORE = 10 * MS  # of the stream, before the failure
AFTER = 20 * MS  # of the stream, when all tables are written
PATIENCE = 60_000 * MS
SETTLING = 1_000 * MS  # in which heartbeats must have come from everywhere

MODES = {
    "no FRR": Protection("none", ip=False),
    "IP-FRR only": Protection("none", ip=True),
    "BIER-FRR only": Protection("link", ip=False),
    "BIER-FRR and IP-FRR": Protection("link", ip=True),
}
PAPER_MS = {
    "no FRR": 76.0,
    "IP-FRR only": 76.0,  # section VI-A.3 says it in words, figure 11 does not show it
    "BIER-FRR only": 36.0,
    "BIER-FRR and IP-FRR": 0.6,
}

# The paper has sums only: unicast is back after 36 ms, BIER after 76 ms, and 0.6 ms where routers
# act on their own. How a sum is made up is our assumption, and moves none of the three.
IP_RESTORED = 36 * MS
BIER_RESTORED = 76 * MS
DETECTION = 600 * US
DISTANCE = 100 * US  # "directly connected"
ROW = 5 * MS  # one P4Runtime write in the logs published with the prototype
TESTBED_ROUTERS = 3
IP_ROWS, BIER_ROWS = 1, 2  # that change in a router of the testbed
HEARTBEATS = {"virtual": Heartbeat(200 * US), "linux": Heartbeat(20 * MS, 5)}
"""By network. In virtual time the longest silence is the paper's 0.6 ms; on Linux hosts a busy
machine must not pass for a failure."""
SPREAD = 0.1  # standard deviation of a delay over its mean


class ExperimentError(Exception):
    """Parameters that no controller could have; the message says which."""


@dataclass(frozen=True)
class Setting:
    """One run. Times in nanoseconds; `interval` between two probes; `delays` as they are drawn.

    On the network "linux" the kernel detects the failure, whatever `delays` says of it. With
    `heartbeat` the data plane does, on either network.
    """

    mode: str
    seed: int
    topology: Topology
    delays: Delays
    interval: int
    network: str = "virtual"
    heartbeat: Heartbeat | None = None


@dataclass(frozen=True)
class Outcome:
    """What the subscriber saw. `outage`: from the last packet before the longest silence to the
    first after it, in nanoseconds, less the interval of the stream."""

    setting: Setting
    outage: int
    sent: int
    lost: int
    duplicates: int
    steps: tuple[Step, ...]

    def duration(self, stage: Stage, family: Family | None) -> int:
        """How long a step took, in nanoseconds, from its first begin to its last end."""
        steps = [step for step in self.steps if (step.stage, step.family) == (stage, family)]
        if not steps:
            return 0
        return max(step.end for step in steps) - min(step.begin for step in steps)


def delays_for(
    routers: int,
    *,
    ip_restored: int = IP_RESTORED,
    bier_restored: int = BIER_RESTORED,
    distance: int = DISTANCE,
) -> Delays:
    """Mean delays in a network of so many routers, from the sums that the testbed of 3 shows.

    Computation grows with the network: by a twelfth per router for unicast and with the square of
    the number of routers for BIER. Both are fitted to the two sizes of which there are numbers,
    the testbed and a run with 7 routers in the prototype's logs (first unicast row changed after
    46 ms, first BIER row after 282 ms). Raises ExperimentError if the sums are too short.
    """
    ip = ip_restored - DETECTION - 2 * DISTANCE - IP_ROWS * ROW
    bier = bier_restored - ip_restored - 2 * DISTANCE - BIER_ROWS * ROW
    if ip < 0:
        least = (DETECTION + 2 * DISTANCE + IP_ROWS * ROW) / MS
        raise ExperimentError(
            f"unicast cannot be restored before {least:g} ms (detection, the way to the "
            f"controller and back, {IP_ROWS} row of {ROW / MS:g} ms): give --ip-ms more than "
            f"{ip_restored / MS:g}."
        )
    if bier < 0:
        later = 2 * DISTANCE + BIER_ROWS * ROW
        raise ExperimentError(
            f"BIER is restored {later / MS:g} ms after unicast at the earliest (the way to the "
            f"controller and back, {BIER_ROWS} rows of {ROW / MS:g} ms): with --ip-ms "
            f"{ip_restored / MS:g}, give --bier-ms at least {(ip_restored + later) / MS:g} instead "
            f"of {bier_restored / MS:g}."
        )
    growth = routers - TESTBED_ROUTERS
    return Delays(
        detection=DETECTION,
        distance=distance,
        ip_computation=round(ip * (1 + growth / 12)),
        bier_computation=round(bier * (routers / TESTBED_ROUTERS) ** 2),
        row=ROW,
    )


def settings(
    modes: Iterable[str],
    topology: Callable[[int], Topology],
    delays: Delays,
    *,
    runs: int,
    seed: int,
    interval: int,
    network: str = "virtual",
    heartbeat: Heartbeat | None = None,
) -> Iterator[Setting]:
    """`runs` runs of each mode. Run k has seed `seed` + k in all modes, so that they can be
    compared pair by pair: the same network, the same delays."""
    for k in range(runs):
        drawn = delays.varied(random.Random(f"delays {seed + k}"), SPREAD)
        for mode in modes:
            yield Setting(mode, seed + k, topology(seed + k), drawn, interval, network, heartbeat)


@cache
def testbed() -> Topology:
    """The network of figure 10."""
    return Topology.load("testbed")


@cache
def network_of(routers: int, seed: int) -> Topology:
    """The testbed made larger: a ring of so many routers with half as many chords, drawn."""
    draw = random.Random(f"network {routers} {seed}")
    ring = {tuple(sorted((n, n % routers + 1))) for n in range(1, routers + 1)}
    others = [(a, b) for a in range(1, routers + 1) for b in range(a + 1, routers + 1)]
    chords = draw.sample(sorted(set(others) - ring), min(routers // 2, len(others) - len(ring)))
    return Topology.from_data(
        {
            "name": f"ring{routers}",
            "description": f"{routers} routers in a ring with chords",
            "router": [{"number": number} for number in range(1, routers + 1)],
            "host": [{"name": "h1", "router": "r1"}, {"name": "h2", "router": "r2"}],
            "link": [
                {"a": f"r{a}", "b": f"r{b}", "delay": "1 us"} for a, b in sorted(ring) + chords
            ],
        }
    )


def session_of(
    setting: Setting,
    net: Net,
    delays: Delays,
    packets: int,
    agents: Callable[[FrrControlPlane], Controller],
) -> Session[Net]:
    """A network with the control plane of a setting, and a stream of so many packets from h1 to h2.
    `agents` are what stands in front of the control plane."""
    topology = setting.topology
    plane = FrrControlPlane(
        topology,
        BSL,
        net.driver,
        protection=MODES[setting.mode],
        delays=delays,
        heartbeat=setting.heartbeat,
    )
    source, receiver = topology.host("h1"), topology.host("h2")
    stream = Stream(1, GROUP, source, (receiver,), packets, setting.interval)
    plan = plan_of(topology, setting.seed, (stream,))
    return Session(plan, net, plane=plane, controller=lambda _: agents(plane))


def opened(setting: Setting, packets: int) -> Session[VirtualNetwork]:
    """A session in virtual time with a stream of so many packets, started; its control plane knows
    who listens. Raises NetworkError."""
    heartbeat = setting.heartbeat
    net = VirtualNetwork(setting.topology, program(), seed=setting.seed)

    def agents_of(plane: FrrControlPlane) -> LinkAgents | HeartbeatAgents:
        if heartbeat is None:
            return LinkAgents(plane, net.driver)
        return HeartbeatAgents(plane, net.driver, heartbeat)

    session = session_of(setting, net, setting.delays, packets, agents_of)
    session.start()
    session.converge()
    if isinstance(session.controller, HeartbeatAgents):
        _all_heard(net, session.controller)
    return session


def _all_heard(net: VirtualNetwork, agents: HeartbeatAgents) -> None:
    """Time passes until heartbeats come from everywhere. With short intervals the first ones are
    late, which passes for a failure: what that leads to must be over. Raises NetworkError."""
    end = net.now + SETTLING
    net.run_until(net.now + 2 * agents.heartbeat.limit, agents)
    while not (agents.all_up and agents.settled and not agents.plane.failures.links):
        if net.now >= end:
            raise _false_alarm(agents.heartbeat)
        net.run_until(net.now + MS, agents)
    agents.plane.timeline.clear()


def _false_alarm(heartbeat: Heartbeat) -> NetworkError:
    return NetworkError(
        f"with a heartbeat every {heartbeat.interval / MS:g} ms links pass for failed that are "
        "not: give --heartbeat-ms more."
    )


def cut(session: Session[VirtualNetwork], link: Link) -> int:
    """The link fails now, and time passes until the control plane has written what follows from
    that. Gives the moment of the failure."""
    net, agents = session.net, session.controller
    assert isinstance(agents, LinkAgents | HeartbeatAgents)
    moment = net.now
    net.set_link(link, False)
    if isinstance(agents, LinkAgents):
        agents.link_changed(moment, link, False)
    while not (agents.plane.failures.has(link) and agents.settled) and net.now < moment + PATIENCE:
        net.run_until(net.now + MS, agents)
    return moment


def run(setting: Setting) -> Outcome:
    """Cut the link between r1 and r2 under load, in virtual time. Raises NetworkError."""
    heartbeat = setting.heartbeat
    session = opened(setting, PATIENCE // setting.interval)
    net, plane, agents = session.net, session.plane, session.controller
    assert isinstance(plane, FrrControlPlane)
    (receiver,) = session.plan.streams[0].receivers
    net.watch(receiver)
    begin = session.begin()
    period = max(setting.interval, heartbeat.interval if heartbeat else 0)
    phase = random.Random(f"phase {setting.seed}").randrange(period)
    net.run_until(begin + BEFORE + phase, agents)
    if heartbeat is not None and plane.timeline:
        raise _false_alarm(heartbeat)
    moment = cut(session, setting.topology.link("r1", "r2"))
    net.run_until(net.now + AFTER, agents)
    if isinstance(agents, HeartbeatAgents):
        plane.timeline += heard(agents, moment)
    return _outcome(setting, net.arrivals(receiver), tuple(plane.timeline))


def heard(agents: HeartbeatAgents, cut: int) -> list[Step]:
    """When the router in front of the failure knew of it: its agent, by the first heartbeat that
    came back. The data plane acts before that, within `Heartbeat.detection`. Raises NetworkError.
    """
    told = [news.told for news in agents.news if news.router == "r1" and news.told >= cut]
    if not told:
        raise NetworkError("no heartbeat has reported the failure.")
    return [Step("detection", None, cut, told[0], "r1")]


def _outcome(
    setting: Setting, arrivals: Sequence[tuple[int, Probe]], steps: tuple[Step, ...]
) -> Outcome:
    if not arrivals:
        raise NetworkError("nothing has arrived at all.")
    times = [time for time, _ in arrivals]
    numbers = {probe.sequence for _, probe in arrivals}
    silence = max((b - a for a, b in pairwise(times)), default=0)
    sent = max(numbers) + 1
    return Outcome(
        setting,
        max(0, silence - setting.interval),
        sent,
        sent - len(numbers),
        len(arrivals) - len(numbers),
        steps,
    )
