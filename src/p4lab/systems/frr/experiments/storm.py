"""A storm: links fail and come back at random under load, and the network must get over each.

After every event, when the control plane has done its work, every subscriber to whom a way is
left gets every packet once, and nobody else gets any. Nothing comes twice at any time. When the
last link is back, the tables are those of a network in which nothing ever happened.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

from p4lab.control.listeners import Member
from p4lab.model.control import Controller
from p4lab.model.entries import Entries
from p4lab.model.run import Received, Stream
from p4lab.network.base import Network, NetworkError
from p4lab.network.mininet import MininetNetwork
from p4lab.network.switches import EngineSwitches
from p4lab.network.virtual import VirtualNetwork
from p4lab.session.run import Session
from p4lab.systems.frr.entries import FULL, Protection
from p4lab.systems.frr.experiments.plan import BSL, GROUP, MS, US, plan_of, program
from p4lab.systems.frr.heartbeat import Heartbeat
from p4lab.systems.frr.heartbeat_agents import HeartbeatAgents, LinuxHeartbeatAgents
from p4lab.systems.frr.link_agents import LinuxLinkAgents
from p4lab.systems.frr.plane import AT_ONCE, Delays, FrrControlPlane, LinkAgents
from p4lab.topology import Host, Link, Topology

DELAYS = Delays(500 * US, 100 * US, 2 * MS, 3 * MS, 50 * US)
MOST_DOWN = 4  # links at a time
PATIENCE = 30_000 * MS  # a host whose cable is back answers a query within ten seconds
HEARTBEATS = {"virtual": Heartbeat(1 * MS), "linux": Heartbeat(20 * MS, 5)}  # by network


@dataclass(frozen=True)
class Event:
    """One event and what came of it. `missed` and `wrong` are hosts that did not get what they
    should, or got what they should not; `duplicates` and `lost` count packets of the load."""

    number: int
    link: Link
    up: bool
    broken: int
    reachable: int
    missed: tuple[str, ...]
    wrong: tuple[str, ...]
    duplicates: int
    lost: int

    @property
    def ok(self) -> bool:
        """Whether all is as it must be; packets of the load may be lost."""
        return not (self.missed or self.wrong or self.duplicates)


@dataclass(frozen=True)
class Pace:
    """What differs between virtual and real time. Times in nanoseconds."""

    interval: int  # between two packets
    load: int  # packets per event: the load lasts longer than the reaction
    probes: int  # packets per event that must all arrive, when the tables are written
    drain: int  # for the last packet to arrive, besides the delays of links
    tries: int  # with fresh probes: a busy machine loses packets that no link has lost


PACES = {
    "virtual": Pace(100 * US, 200, 5, 5 * MS, 1),
    "linux": Pace(1 * MS, 300, 20, 200 * MS, 5),
}


class Storm:
    """A network under load whose links come and go; a context manager. In the virtual network the
    same seed gives the same storm; on Linux hosts the same events."""

    def __init__(
        self,
        topology: Topology,
        seed: int,
        network: str = "virtual",
        protection: Protection = FULL,
        heartbeat: Heartbeat | None = None,
    ) -> None:
        """The first host sends, every other of the rest subscribes. Without a heartbeat, links are
        down where their ends lose the carrier. On Linux hosts, and where heartbeats detect, only
        links between routers fail. Raises NetworkError."""
        self.topology = topology
        self._heartbeat = heartbeat
        self.seed = seed
        self.source: Host = topology.hosts[0]
        self.subscribers = topology.hosts[1::2]
        everything = network == "virtual" and heartbeat is None
        self._links = [link for link in topology.links if everything or not link.is_access]
        if not self._links:
            raise NetworkError(
                f"the topology {topology.name!r} has no link between routers, and no other may "
                "fail here."
            )
        self._pace = PACES[network]
        # No way through the network is longer than all of its links together.
        self._drain = self._pace.drain + sum(link.delay_ns for link in topology.links)
        self._draw = random.Random(seed)
        self._down: set[Link] = set()
        self._flow = 0
        self._protection = protection
        self._open = ExitStack()
        try:
            self._session = self._open_session(network)
            self.net: Network = self._session.net
            self._session.start()
            self._session.converge()
            self._wait()
        except BaseException:
            self._open.close()
            raise

    def __enter__(self) -> Storm:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def _open_session(self, network: str) -> Session[Network]:
        if network == "linux":
            switches = EngineSwitches(program(), seed=self.seed)
            linux = self._open.enter_context(MininetNetwork(self.topology, switches, patched=True))
            return self._session_on(linux, AT_ONCE, lambda plane: self._on_linux(plane, linux))
        net = VirtualNetwork(self.topology, program(), seed=self.seed)
        return self._session_on(net, DELAYS, lambda plane: self._in_virtual_time(plane, net))

    def _session_on(
        self, net: Network, delays: Delays, agents: Callable[[FrrControlPlane], Controller]
    ) -> Session[Network]:
        plan = plan_of(self.topology, self.seed, (self._stream(1),))
        self.plane = FrrControlPlane(
            self.topology,
            BSL,
            net.driver,
            protection=self._protection,
            delays=delays,
            heartbeat=self._heartbeat,
        )
        return Session(plan, net, plane=self.plane, controller=lambda _: agents(self.plane))

    def _on_linux(
        self, plane: FrrControlPlane, net: MininetNetwork
    ) -> LinuxLinkAgents | LinuxHeartbeatAgents:
        """They work until the storm is over."""
        if self._heartbeat is None:
            return self._open.enter_context(LinuxLinkAgents(plane, net.driver, net.interfaces))
        agents = LinuxHeartbeatAgents(plane, net.driver, self._heartbeat)
        return self._open.enter_context(agents)

    def _in_virtual_time(
        self, plane: FrrControlPlane, net: VirtualNetwork
    ) -> LinkAgents | HeartbeatAgents:
        if self._heartbeat is None:
            return LinkAgents(plane, net.driver)
        return HeartbeatAgents(plane, net.driver, self._heartbeat)

    def events(self, count: int) -> Iterator[Event]:
        """So many events, and then repairs until no link is down, with numbers from `count` on."""
        for number in range(count):
            working = [link for link in self._links if link not in self._down]
            broken = sorted(self._down, key=lambda link: (link.a, link.b))
            may_fail = bool(working) and len(broken) < MOST_DOWN
            fail = may_fail and (not broken or self._draw.random() < 0.6)
            yield self._event(number, self._draw.choice(working if fail else broken), not fail)
        for number, link in enumerate(sorted(self._down, key=lambda link: (link.a, link.b))):
            yield self._event(count + number, link, True)

    def _event(self, number: int, link: Link, up: bool) -> Event:
        pace = self._pace
        load, begin = self._send(pace.load)
        self._run(begin + self._draw.randrange(10 * pace.interval))
        (self._down.discard if up else self._down.add)(link)
        self._set_link(link, up)
        self._run(self.net.now + pace.load * pace.interval + self._drain)
        self._wait()
        for _ in range(pace.tries):
            probes, begin = self._send(pace.probes)
            self._run(begin + pace.probes * pace.interval + self._drain)
            event = self._judge(number, link, up, load, probes)
            if not event.missed:
                break
        return event

    def _set_link(self, link: Link, up: bool) -> None:
        """With heartbeats, cables of Linux hosts fail in the middle: their ends see nothing."""
        if isinstance(self.net, MininetNetwork) and self._heartbeat is not None:
            self.net.set_middle(link, up)
        else:
            self.net.set_link(link, up)
        if isinstance(self._session.controller, LinkAgents):
            self._session.controller.link_changed(self.net.now, link, up)

    def _judge(self, number: int, link: Link, up: bool, sent: Stream, tried: Stream) -> Event:
        received = self.net.observed((sent, tried)).received
        load, probes = sent.flow, tried.flow
        nothing = Received(0, 0)

        def of(host: str, flow: int) -> Received:
            return received.get((host, flow), nothing)

        served = Received(self._pace.probes, 0)
        reachable = self._reachable()
        subscribed = {host.name for host in self.subscribers}
        strangers = [host.name for host in self.topology.hosts if host.name not in subscribed]
        wrong = {name for name in strangers for flow in (load, probes) if of(name, flow) != nothing}
        wrong |= {name for name in subscribed - set(reachable) if of(name, probes) != nothing}
        return Event(
            number,
            link,
            up,
            len(self._down),
            len(reachable),
            tuple(name for name in reachable if of(name, probes) != served),
            tuple(sorted(wrong)),
            sum(of(name, flow).duplicates for name in subscribed for flow in (load, probes)),
            sum(self._pace.load - of(name, load).unique for name in reachable),
        )

    def _run(self, end: int) -> None:
        self.net.run_until(end, self._session.controller)

    def _stream(self, packets: int) -> Stream:
        self._flow += 1
        interval = self._pace.interval
        return Stream(self._flow, GROUP, self.source, self.subscribers, packets, interval)

    def _send(self, packets: int) -> tuple[Stream, int]:
        """Starts a stream; gives it and the moment of its first packet."""
        stream = self._stream(packets)
        return stream, self._session.begin((stream,))

    def _wait(self) -> None:
        """Until the control plane has done its work, and knows every subscriber with a cable."""
        end = self.net.now + PATIENCE
        members = {
            Member(host.router, host.port, int(GROUP))
            for host in self.subscribers
            if self.topology.link(host.name, host.router) not in self._down
        }
        failures = {link.ends for link in self._down}
        while self.net.now < end:
            self._run(self.net.now + 10 * MS)
            known = self.plane.failures.links == failures and self.plane.membership == members
            if known and self.plane.settled:
                return

    def _reachable(self) -> list[str]:
        near = self.topology.reached(self.source.name, self._down)
        return [host.name for host in self.subscribers if host.name in near]

    def tables(self) -> dict[str, Entries]:
        """What the switches hold, by router name."""
        return {
            router.name: self.net.driver(router.name).entries() for router in self.topology.routers
        }

    def fresh_tables(self) -> dict[str, Entries]:
        """What they would hold if nothing had happened: from a virtual network, just started."""
        with Storm(
            self.topology, self.seed, protection=self._protection, heartbeat=self._heartbeat
        ) as fresh:
            return fresh.tables()
