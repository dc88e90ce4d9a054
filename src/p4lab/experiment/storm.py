"""A storm: links fail and come back at random under load, and the network must get over each.

After every event, when the control plane has done its work, every subscriber to whom a way is
left gets every packet once, and nobody else gets any. Nothing comes twice at any time. When the
last link is back, the tables are those of a network in which nothing ever happened.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address

import networkx

from p4lab.control.bier import Member
from p4lab.control.entries import Entries
from p4lab.control.frr import FULL, Protection
from p4lab.control.frr_plane import Delays, FrrControlPlane, LinkAgents
from p4lab.engine import load_program
from p4lab.experiment.restoration import BSL, MS, PROGRAM, US
from p4lab.lab.plan import Stream
from p4lab.network.virtual import VirtualNetwork
from p4lab.topology import Host, Link, Topology

GROUP = IPv4Address("239.1.1.1")
DELAYS = Delays(500 * US, 100 * US, 2 * MS, 3 * MS, 50 * US)
INTERVAL = 100 * US  # between two packets of the load
LOAD = 200  # packets per event: the load lasts longer than the reaction
PROBES = 5  # packets per event that must all arrive, when the tables are written
MOST_DOWN = 4  # links at a time
DRAIN = 5 * MS
PATIENCE = 30_000 * MS  # a host whose cable is back answers a query within ten seconds


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


class Storm:
    """A network under load whose links come and go. The same seed gives the same storm."""

    def __init__(self, topology: Topology, seed: int, protection: Protection = FULL) -> None:
        """The first host sends, every other of the rest subscribes."""
        self.topology = topology
        self.seed = seed
        self.source: Host = topology.hosts[0]
        self.subscribers = topology.hosts[1::2]
        self._draw = random.Random(seed)
        self._down: set[Link] = set()
        self._flow = 0
        self._protection = protection
        self.net, self.plane = self._start()
        self._agents = LinkAgents(self.plane, self.net.driver)
        self._seen = self._counts()

    def _start(self) -> tuple[VirtualNetwork, FrrControlPlane]:
        net = VirtualNetwork(
            self.topology, load_program(PROGRAM, [("BSL", str(BSL))]), seed=self.seed
        )
        plane = FrrControlPlane(
            self.topology, BSL, net.driver, protection=self._protection, delays=DELAYS
        )
        plane.start(net.now)
        for host in self.subscribers:
            net.join(host, GROUP)
        net.run_until(net.now + 100 * MS, plane)
        return net, plane

    def events(self, count: int) -> Iterator[Event]:
        """So many events, and then repairs until no link is down."""
        for number in range(count):
            working = [link for link in self.topology.links if link not in self._down]
            broken = sorted(self._down, key=lambda link: (link.a, link.b))
            fail = len(broken) < MOST_DOWN and (not broken or self._draw.random() < 0.6)
            yield self._event(number, self._draw.choice(working if fail else broken), not fail)
        for number, link in enumerate(sorted(self._down, key=lambda link: (link.a, link.b))):
            yield self._event(count + number, link, True)

    def _event(self, number: int, link: Link, up: bool) -> Event:
        net = self.net
        self._send(LOAD, INTERVAL)
        net.run_until(net.now + self._draw.randrange(MS), self._agents)
        (self._down.discard if up else self._down.add)(link)
        net.set_link(link, up)
        self._agents.link_changed(net.now, link, up)
        net.run_until(net.now + LOAD * INTERVAL + DRAIN, self._agents)
        self._wait()
        load = self._news()
        self._send(PROBES, INTERVAL)
        net.run_until(net.now + PROBES * INTERVAL + DRAIN, self._agents)
        probes = self._news()
        reachable = self._reachable()
        served = {name: (PROBES, 0, 0) for name in reachable}
        missed = [name for name in reachable if probes.get(name) != served[name]]
        strangers = {host.name for host in self.topology.hosts} - {
            host.name for host in self.subscribers
        }
        wrong = [name for name in probes if name not in reachable]
        wrong += [name for name in load if name in strangers]
        return Event(
            number,
            link,
            up,
            len(self._down),
            len(reachable),
            tuple(missed),
            tuple(wrong),
            sum(duplicates for _, duplicates, _ in load.values()),
            sum(LOAD - load.get(name, (0, 0, 0))[0] for name in reachable),
        )

    def _send(self, packets: int, interval: int) -> None:
        self._flow += 1
        stream = Stream(self._flow, GROUP, self.source, self.subscribers, packets, interval)
        self.net.start(stream, self.net.now)

    def _wait(self) -> None:
        """Until the control plane has done its work, and knows every subscriber with a cable."""
        end = self.net.now + PATIENCE
        wanted = {
            Member(host.router, host.port, int(GROUP))
            for host in self.subscribers
            if self.topology.link(host.name, host.router) not in self._down
        }
        while self.net.now < end:
            if self._agents.settled and self.plane.membership == wanted:
                return
            self.net.run_until(self.net.now + 10 * MS, self._agents)

    def _reachable(self) -> list[str]:
        graph = self.topology.graph.copy()
        graph.remove_edges_from((link.a, link.b) for link in self._down)
        near = networkx.node_connected_component(graph, self.source.name)
        return [host.name for host in self.subscribers if host.name in near]

    def _counts(self) -> dict[str, tuple[int, int, int]]:
        """Received, duplicates and unwanted of each host since the beginning."""
        counts = {}
        for host in self.topology.hosts:
            rows = self.net.reception(host)
            counts[host.name] = (
                sum(row["received"] for row in rows),
                sum(row["duplicates"] for row in rows),
                sum(row["unwanted"] for row in rows),
            )
        return counts

    def _news(self) -> dict[str, tuple[int, int, int]]:
        """The same since the last call, for hosts where it is not zero."""
        before, self._seen = self._seen, self._counts()
        news = {
            name: tuple(new - old for new, old in zip(counts, before[name], strict=True))
            for name, counts in self._seen.items()
        }
        return {name: counts for name, counts in news.items() if any(counts)}

    def tables(self) -> dict[str, Entries]:
        """What the switches hold, by router name."""
        return {name: self.net.driver(name).entries() for name in self._names()}

    def fresh_tables(self) -> dict[str, Entries]:
        """What they would hold if nothing had happened: from another network, just started."""
        net, _ = self._start()
        return {name: net.driver(name).entries() for name in self._names()}

    def _names(self) -> list[str]:
        return [router.name for router in self.topology.routers]
