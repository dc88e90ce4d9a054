"""A subscriber dials in, in a network of its own: every frame on its line, and what both ends know
when it has arrived."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv6Network
from random import Random
from typing import Any

from p4lab import _engine, registry
from p4lab.errors import ArgumentError
from p4lab.model.attachment import Answers, Heard
from p4lab.model.control import Count, CountingDriver, PacketIn
from p4lab.model.entries import Entries, Update
from p4lab.model.run import Plan
from p4lab.network.virtual import VirtualNetwork
from p4lab.session.run import MILLISECOND, Session
from p4lab.systems.bng.addresses.client import AddressClient
from p4lab.systems.bng.attachment import DialUp
from p4lab.systems.bng.gateway import Gateway
from p4lab.systems.bng.lines import Subscription, subscriptions
from p4lab.systems.bng.notation import ENUM, IN_WORDS
from p4lab.systems.bng.options import Options
from p4lab.systems.bng.plane import BEGAN, GatewayControlPlane
from p4lab.systems.bng.radius.local import LocalUsers
from p4lab.systems.bng.store import Store
from p4lab.systems.bng.views.knowing import Known, known

PATIENCE = 4000 * MILLISECOND
"""Less than until the first question is repeated"""
STEP = 10 * MILLISECOND

LINKS, DELEGATIONS = IPv6Network("2001:db8:1::/56"), IPv6Network("2001:db8:2::/48")
"""Pools for what the topology says nothing of"""


@dataclass
class Message:
    """A frame on the line. `up` is from the subscriber; times are nanoseconds, and `arrived` is
    None for a frame that got lost, with `lost` saying why. `known` is what both ends know once it
    has arrived."""

    frame: bytes
    up: bool
    sent: int
    known: Known
    arrived: int | None = None
    lost: str = ""


@dataclass
class Call:
    """What happened on the line of one subscriber; `problem` says why it ended early."""

    subscription: Subscription
    messages: list[Message] = field(default_factory=list)
    online: bool = False
    problem: str = ""


def dial(plan: Plan, program: _engine.Program, name: str) -> Call:
    """Lets a subscriber dial in through a program. Raises ValueError if nobody has this name."""
    found = [one for one in subscriptions(plan.topology, plan.settings) if one.host.name == name]
    if not found:
        names = [one.host.name for one in subscriptions(plan.topology, plan.settings)]
        raise ArgumentError(f"{name} is not a subscriber; choose from {', '.join(names)}.")
    return _Dialling(plan, program, found[0]).call


class _Dialling:
    """The network of one call."""

    def __init__(self, plan: Plan, program: _engine.Program, one: Subscription) -> None:
        self.call = Call(one)
        self._client = _client(one, plan.seed)
        host = one.host.name
        self._net = VirtualNetwork(
            plan.topology,
            program,
            cpu_port=registry.find(plan.system).cpu_port(program.summary["package"]),
            seed=plan.seed,
            attachments={host: _Client(self, self._client)},
        )
        self._net.trace()
        (router,) = plan.topology.routers
        driver = _Driver(self, self._net.driver(router.name), one.host.port)
        self._plane = _plane(plan, driver)
        session = Session(
            plan, self._net, plane=self._plane, controller=lambda plane: _Controller(self, plane)
        )
        try:
            session.start()
            self._net.attach()
            while self._net.now < PATIENCE and not self._is_done():
                self._net.run_until(self._net.now + STEP, session.controller)
        except ValueError as error:  # a program without what the control plane needs
            self.call.problem = str(error)
        self.call.online = host in self._plane.online
        self._explain(router.name)

    def _is_done(self) -> bool:
        return known(self._client, self._plane, self.call.subscription).is_complete

    # ---- What is seen

    @property
    def now(self) -> int:
        """The time of the network."""
        return self._net.now

    def sent(self, now: int, frame: bytes, up: bool) -> None:
        """A frame is on its way."""
        self.call.messages.append(Message(frame, up, now, self._known()))

    def arrived(self, now: int, frame: bytes, up: bool) -> None:
        """It has come to the other end."""
        for message in self.call.messages:
            is_it = (message.frame, message.up) == (frame, up) and message.arrived is None
            if is_it:
                message.arrived, message.known = now, self._known()
                return
        self.call.messages.append(Message(frame, up, now, self._known(), now))

    def _known(self) -> Known:
        return known(self._client, self._plane, self.call.subscription)

    def _explain(self, router: str) -> None:
        """What became of frames that did not arrive, by the traces of the switch. They are in the
        order in which they have arrived, then."""
        reasons = {
            item["data"]: _reason(item["packets"]) for item in self._net.take_traces()[router]
        }
        for message in self.call.messages:
            if message.arrived is None:
                message.lost = reasons.get(message.frame, "" if message.up else "never sent")
        self.call.messages.sort(key=lambda one: one.arrived or one.sent)


def _reason(packets: Sequence[Mapping[str, Any]]) -> str:
    """Why a program did not send a packet on, in words; empty if it does not say."""
    found = ""
    for packet in packets:
        for step in packet["steps"]:
            if step["kind"] == "change" and str(step["after"]).startswith(ENUM):
                found = str(step["after"]).removeprefix(ENUM)
    return IN_WORDS.get(found, "")


def _client(one: Subscription, seed: int) -> DialUp:
    """A subscriber that wants IPv6, too."""
    random = Random(f"{one.host.name} {seed}")
    client = DialUp(one, random)
    subscriber = client.subscriber
    account = subscriber.account
    subscriber.account = type(account)(
        account.name, account.password, account.mac, account.line, v6=True
    )
    subscriber.addresses = AddressClient(random, rapid=False)
    return client


def _plane(plan: Plan, driver: CountingDriver) -> GatewayControlPlane:
    """The control plane of a run, with IPv6 for those who want it."""
    plane = GatewayControlPlane(plan.topology, lambda _: driver, plan.settings, plan.seed)
    address, users = plane.gateway.options.address, plane.gateway.aaa
    assert isinstance(users, LocalUsers)
    options = Options(address=address, links=LINKS, delegations=DELEGATIONS)
    random = Random(f"gateway {plan.seed}")
    plane.gateway = Gateway(options, Store(), users, driver, random, 0, BEGAN)
    return plane


# ---- Those who tell


class _Client:
    """The attachment of the subscriber; says what it sends and hears."""

    def __init__(self, dialling: _Dialling, inner: DialUp) -> None:
        self._dialling, self._inner = dialling, inner

    def connect(self, now: int) -> Answers:
        return self._tell(now, self._inner.connect(now))

    def heard(self, now: int, frame: bytes) -> Heard:
        found = self._inner.heard(now, frame)
        self._dialling.arrived(now, frame, up=False)
        self._tell(now, found.answers)
        return Heard(found.answers)

    def timer(self, now: int) -> Answers:
        return self._tell(now, self._inner.timer(now))

    def next_timer(self) -> int | None:
        return self._inner.next_timer()

    def wrap(self, frame: bytes) -> bytes:
        return self._inner.wrap(frame)

    def _tell(self, now: int, answers: Answers) -> Answers:
        for _, frame in answers:
            self._dialling.sent(now, frame, up=True)
        return answers


class _Controller:
    """In front of the control plane; says what it hears."""

    def __init__(self, dialling: _Dialling, plane: Any) -> None:
        self._dialling, self._plane = dialling, plane

    def packet_in(self, now: int, router: str, packet: PacketIn) -> None:
        self._plane.packet_in(now, router, packet)
        self._dialling.arrived(now, packet.frame, up=True)

    def timer(self, now: int) -> None:
        self._plane.timer(now)

    def next_timer(self) -> int | None:
        due: int | None = self._plane.next_timer()
        return due


class _Driver:
    """Behind the control plane; says what it sends to the subscriber."""

    def __init__(self, dialling: _Dialling, inner: CountingDriver, port: int) -> None:
        self._dialling, self._inner, self._port = dialling, inner, port

    def write(self, updates: Sequence[Update]) -> None:
        self._inner.write(updates)

    def entries(self) -> Entries:
        return self._inner.entries()

    def counters(self, name: str, cells: Sequence[int]) -> dict[int, Count]:
        return self._inner.counters(name, cells)

    def packet_out(self, port: int, frame: bytes) -> None:
        if port == self._port:
            self._dialling.sent(self._dialling.now, frame, up=False)
        self._inner.packet_out(port, frame)
