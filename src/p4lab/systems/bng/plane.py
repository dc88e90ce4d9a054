"""The control plane of a run: one gateway, its lines, its users, and the routes to the servers.

    plane = GatewayControlPlane(topology, driver_for_router, settings, seed)
    plane.start(now)
    plane.online            # hosts whose sessions are up
    plane.gateway.api       # the control API of the paper

Users are local ones here: each subscriber has its own name, its own password and the address that
the topology gives its host.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from p4lab.model.control import CountingDriver, PacketIn
from p4lab.model.entries import Entries
from p4lab.systems.bng.entries import entries
from p4lab.systems.bng.gateway import Gateway
from p4lab.systems.bng.lines import Subscription, subscriptions
from p4lab.systems.bng.options import Options
from p4lab.systems.bng.provision import EVERYBODY, only_router, provision
from p4lab.systems.bng.radius.local import LocalUsers
from p4lab.systems.bng.radius.profile import Profile
from p4lab.systems.bng.radius.users import User
from p4lab.systems.bng.settings import GatewaySettings
from p4lab.systems.bng.store import Store
from p4lab.topology import Link, Topology

BEGAN = 1_767_225_600 * 10**9
"""The time of day at which a run in virtual time begins: 1 January 2026, in nanoseconds"""


class GatewayControlPlane:
    """What is heard in one moment is written and answered together, by the timer of that moment."""

    def __init__(
        self,
        topology: Topology,
        driver_for_router: Callable[[str], CountingDriver],
        settings: GatewaySettings,
        seed: int,
    ) -> None:
        """Raises NumberError for a topology that is not one gateway with its hosts."""
        router = only_router(topology)
        self.topology = topology
        self.subscriptions = subscriptions(topology, settings)
        self._settings = settings
        self._heard: int | None = None
        users = [_user(subscription) for subscription in self.subscriptions]
        self.gateway = Gateway(
            Options(address=router.address),
            Store(),
            LocalUsers(users),
            driver_for_router(router.name),
            Random(f"gateway {seed}"),
            0,
            BEGAN,
        )

    @property
    def online(self) -> frozenset[str]:
        """Subscribers whose sessions are up, by name."""
        macs = {session.mac for session in self.gateway.api.known.sessions.values()}
        return frozenset(one.host.name for one in self.subscriptions if one.host.mac in macs)

    def session_of(self, host: str) -> int | None:
        """The number of a subscriber's session in counters and meters; None if it is not online."""
        mac = self.topology.host(host).mac
        sessions = self.gateway.api.known.sessions.values()
        return next((one.index for one in sessions if one.mac == mac), None)

    def start(self, now: int) -> None:
        """Ports, lines, routes and classes; sessions come when somebody dials."""
        provision(self.gateway, self.topology, self.subscriptions, self._settings)
        self.gateway.start(now)
        self._flush(now)

    def packet_in(self, now: int, router: str, packet: PacketIn) -> None:
        """Something for the gateway itself."""
        self.gateway.heard(now, packet)
        self._heard = now

    def timer(self, now: int) -> None:
        """Do what is due at `now`."""
        self.gateway.tick(now)
        self._flush(now)

    def next_timer(self) -> int | None:
        """When `timer` has to be called at the latest, in nanoseconds; None for never."""
        due = [at for at in (self._heard, self.gateway.deadline) if at is not None]
        return min(due, default=None)

    def _flush(self, now: int) -> None:
        self._heard = None
        self.gateway.flush(now)

    def entries(self, router: str) -> Entries:
        """What has been written so far."""
        return entries(self.gateway.api.known)

    def reconcile(self, routers: Sequence[str]) -> None:
        """The switch was started anew."""
        self.gateway.reconcile()

    def link_changed(self, now: int, link: Link, up: bool) -> None:
        """Cables do not end sessions: echo requests do, when nobody answers them."""

    def link_seen(self, link: Link, up: bool) -> None:
        """There is no other way to a subscriber."""

    def port_seen(self, router: str, port: int, up: bool) -> None:
        """There is no other way to a subscriber."""

    def seen(self, link: Link, up: bool) -> tuple[tuple[str, int, bytes], ...]:
        """Nothing in the switch could act on it."""
        return ()


def _user(subscription: Subscription) -> User:
    profile = Profile(address=int(subscription.host.ip), service=EVERYBODY)
    return User(subscription.user, subscription.password, profile)
