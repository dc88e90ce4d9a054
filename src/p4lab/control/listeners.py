"""Who listens to what, and control planes that hear it from the hosts (IGMP, MLD)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NamedTuple

from p4lab.control.membership import Effects
from p4lab.control.plane import EntryPlane
from p4lab.model.control import Driver, PacketIn
from p4lab.model.run import Plan
from p4lab.topology import Failures, Link, Router, Topology


class Member(NamedTuple):
    """A port of a router (by name) behind which somebody listens to a group (its address)."""

    router: str
    port: int
    group: int


Membership = frozenset[Member]


def membership(plan: Plan) -> Membership:
    """Who will listen to what, as the control plane will come to know it."""
    return frozenset(
        Member(host.router, host.port, int(stream.destination))
        for stream in plan.streams
        if stream.destination.is_multicast
        for host in stream.receivers
    )


def working_members(topology: Topology, members: Membership, down: Failures) -> Iterable[Member]:
    """The members on a port that leads to a host, where router, link and host are up."""
    for member in members:
        neighbour = topology.neighbour(member.router, member.port)
        if neighbour is not None:
            link = topology.link(member.router, neighbour)
            if link.is_access and not down.has(link):
                yield member


def cut_off(plan: Plan) -> dict[tuple[str, int], str]:
    """Receivers, by host and flow, to whom no way is left at all when the plan's links are down."""
    found = {}
    for stream in plan.streams if plan.down else ():
        near = plan.topology.reached(stream.source.name, plan.down)
        for host in stream.receivers:
            if host.name not in near:
                found[host.name, stream.flow] = "cut off"
    return found


class ListeningPlane(EntryPlane):
    """A control plane whose entries follow from what hosts say they listen to: `membership`.

    A subclass says which protocol that is. What is heard in one moment changes the entries once, by
    the timer of that moment.
    """

    ether_type: ClassVar[int]
    """Of the protocol's packets"""
    not_ours: ClassVar[str]
    """Why a frame of another EtherType is ignored"""

    def __init__(self, topology: Topology, driver_for_router: Callable[[str], Driver]) -> None:
        """Raises what `compute` raises."""
        self.membership: Membership = frozenset()
        self._heard: int | None = None  # when the membership changed that is not in the entries yet
        super().__init__(topology, driver_for_router)
        self._queriers = {
            router.name: self.querier(
                router, [host.port for host in topology.hosts_of(router.name)]
            )
            for router in topology.routers
        }
        self._due: dict[str, int] = {}  # when each of them has something to do, if ever

    @abstractmethod
    def querier(self, router: Router, ports: list[int]) -> Any:
        """The state machine of the protocol for the host-facing ports of a router."""

    @abstractmethod
    def frame(self, router: Router, port: int, packet: bytes) -> bytes:
        """The frame in which a packet of the protocol leaves by a port."""

    def start(self, now: int) -> None:
        """Write the entries that need no membership and ask all hosts what they listen to."""
        super().start(now)
        for router, querier in self._queriers.items():
            self._apply(now, router, querier.start(now))

    def packet_in(self, now: int, router: str, packet: PacketIn) -> None:
        """A packet that `router` has sent to its CPU port."""
        if int.from_bytes(packet.frame[12:14], "big") != self.ether_type:
            self.ignored[self.not_ours] += 1
            return
        self._apply(now, router, self._queriers[router].handle(now, packet.port, packet.frame[14:]))

    def timer(self, now: int) -> None:
        """Do what is due at `now`."""
        for router in [router for router, due in self._due.items() if due <= now]:
            self._apply(now, router, self._queriers[router].timer(now))
        if self._heard is not None:
            self._recompute()

    def next_timer(self) -> int | None:
        """When `timer` has to be called at the latest, in nanoseconds; None before the start."""
        heard = [] if self._heard is None else [self._heard]
        return min([*self._due.values(), *heard], default=None)

    def link_changed(self, now: int, link: Link, up: bool) -> None:
        """A link has failed or is back: route around it, or forget who listened behind it."""
        links = self.failures.links - {link.ends} if up else self.failures.links | {link.ends}
        self.failures = Failures(links)
        if link.is_access:
            querier = self._queriers[link.a]
            change = querier.port_up if up else querier.port_down
            self._apply(now, link.a, change(now, link.a_port))
        self._recompute()

    def listeners(self, router: str) -> Any:
        """The state machine of a router, to look at."""
        return self._queriers[router]

    def _recompute(self) -> None:
        self._heard = None
        super()._recompute()

    def _apply(self, now: int, router: str, effects: Effects) -> None:
        due = self._queriers[router].next_timer()
        if due is None:
            self._due.pop(router, None)
        else:
            self._due[router] = due
        if effects.joins or effects.leaves:
            joined = {Member(router, port, group) for port, group in effects.joins}
            left = {Member(router, port, group) for port, group in effects.leaves}
            self.membership = self.membership - left | joined
            self._heard = now
        for port, packet in effects.packets:
            self._drivers[router].packet_out(
                port, self.frame(self.topology.router(router), port, packet)
            )
