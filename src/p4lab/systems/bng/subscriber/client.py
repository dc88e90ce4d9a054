"""One subscriber: discovery, PPP and IP in one client, without sockets and without a clock."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from ipaddress import IPv4Address
from math import inf
from random import Random
from typing import Protocol

from p4lab.systems.bng.ppp import CHAP, CLIENT, PAP, Link, Settings
from p4lab.systems.bng.ppp.codes import IPV4, IPV6
from p4lab.systems.bng.ppp.events import USER_REQUEST, Down, Packet, V4Down, V4Up, V6Down, V6Up
from p4lab.systems.bng.pppoe import Dialer
from p4lab.systems.bng.pppoe.packets import DISCOVERY, PLAIN_MRU, SESSION, data, data_of
from p4lab.systems.bng.subscriber.access import Inner, Line, inner_of


class State(Enum):
    """How far a subscriber is."""

    IDLE = "idle"
    DISCOVERY = "discovery"
    PPP = "ppp"
    UP = "up"
    CLOSING = "closing"
    DOWN = "down"


@dataclass(frozen=True)
class Account:
    """Who a subscriber is and what it wants."""

    name: str
    password: str
    mac: bytes
    line: Line = field(default_factory=Line)
    service: bytes = b""
    methods: tuple[str, ...] = (CHAP, PAP)
    v4: bool = True
    v6: bool = True
    mru: int = PLAIN_MRU
    """Above 1492 with PPP-Max-Payload (RFC 4638)"""
    circuit_id: bytes = b""
    remote_id: bytes = b""
    """What the access node would add (TR-101)"""
    keepalive: float = 30.0


class Addresses(Protocol):
    """What gets a subscriber its IPv6 addresses: router advertisements and DHCPv6. `out` collects
    IPv6 packets to be sent."""

    out: list[bytes]
    deadline: float

    def start(self, now: float, interface_id: int) -> None:
        """IPv6CP is open."""

    def heard(self, now: float, packet: bytes) -> None:
        """An IPv6 packet."""

    def tick(self, now: float) -> None:
        """What is due."""


class Subscriber:
    """`out` collects whole frames, `received` IP packets; `address`, `dns`, `interface_id` are
    what it was given while it has it, and `reason` why it is down.

    It is UP when every family that it wants is open, as BNG Blaster counts, or the rest has been
    refused.
    """

    __slots__ = (
        "account",
        "address",
        "addresses",
        "dialer",
        "dns",
        "gateway",
        "gateway_id",
        "interface_id",
        "link",
        "out",
        "random",
        "reason",
        "received",
        "state",
    )

    def __init__(
        self, account: Account, random: Random, addresses: Addresses | None = None
    ) -> None:
        self.account, self.random, self.addresses = account, random, addresses
        self.state = State.IDLE
        self.out: list[bytes] = []
        self.received: list[bytes] = []
        self.dialer: Dialer | None = None
        self.link: Link | None = None
        self.reason = ""
        self._forget()

    def _forget(self) -> None:
        self.address: IPv4Address | None = None
        self.gateway: IPv4Address | None = None
        self.dns: tuple[IPv4Address, ...] = ()
        self.interface_id = self.gateway_id = 0

    @property
    def deadline(self) -> float:
        """When `tick` is due."""
        due = inf
        if self.dialer is not None:
            due = self.dialer.deadline
        if self.link is not None:
            due = min(due, self.link.deadline)
            if self.addresses is not None and self.interface_id:
                due = min(due, self.addresses.deadline)
        return due

    @property
    def mtu(self) -> int:
        """The longest IP packet that may be sent, in bytes."""
        return PLAIN_MRU if self.link is None else self.link.peer_mru

    def dial(self, now: float) -> None:
        """Begin, whatever there was."""
        account = self.account
        self._forget()
        self.link, self.reason, self.state = None, "", State.DISCOVERY
        self.dialer = Dialer(
            self.random,
            service=account.service,
            max_payload=account.mru,
            circuit_id=account.circuit_id,
            remote_id=account.remote_id,
        )
        self.dialer.start(now)
        self._discover(now)

    def hang_up(self, now: float) -> None:
        """End PPP, then the session."""
        if self.link is not None and not self.link.over:
            self.state = State.CLOSING
            self.link.close(now, "we hung up", USER_REQUEST)
            self._pump(now)
        elif self.dialer is not None:
            self.dialer.hang_up()
            self._discover(now)

    def vanish(self) -> None:
        """As if the cable were pulled: nothing is sent."""
        self.link = self.dialer = None
        self.state, self.reason = State.DOWN, "the cable was pulled"
        self._forget()

    def send(self, packet: bytes) -> bool:
        """An IP packet to the gateway; False if its version is not open."""
        link = self.link
        if link is None or not packet:
            return False
        if packet[0] >> 4 == 4 and link.v4_open:
            self._transmit(IPV4, packet)
        elif packet[0] >> 4 == 6 and link.v6_open:
            self._transmit(IPV6, packet)
        else:
            return False
        return True

    def heard(self, now: float, frame: bytes) -> None:
        """A frame from the line; those for others are ignored."""
        inner = inner_of(frame)
        if inner is not None and inner.destination == self.account.mac:
            self.heard_inner(now, inner)

    def heard_inner(self, now: float, inner: Inner) -> None:
        """The same for a frame to our MAC address without what surrounds it."""
        dialer = self.dialer
        if dialer is None:
            return
        if inner.ethertype == DISCOVERY:
            dialer.heard(now, inner.source, inner.packet)
            self._discover(now)
        elif inner.ethertype == SESSION and self.link is not None:
            found = data_of(inner.packet)
            if found is None or found[0] != dialer.session_id:
                return
            if inner.source != dialer.concentrator:
                return
            _, protocol, body = found
            if protocol == IPV4 and self.link.v4_open:
                self.received.append(body)
            else:
                self.link.heard(now, protocol, body)
                self._pump(now)

    def tick(self, now: float) -> None:
        """Do what is due."""
        if self.dialer is not None and now >= self.dialer.deadline:
            self.dialer.tick(now)
            self._discover(now)
        if self.link is not None:
            self.link.tick(now)
            if self.addresses is not None and self.interface_id:
                self.addresses.tick(now)
            self._pump(now)

    def take(self) -> list[bytes]:
        """The frames to be sent, in order."""
        out, self.out = self.out, []
        return out

    def _transmit(self, protocol: int, body: bytes) -> None:
        dialer, account = self.dialer, self.account
        assert dialer is not None
        packet = data(dialer.session_id, protocol, body)
        self.out.append(account.line.frame(dialer.concentrator, account.mac, SESSION, packet))

    def _discover(self, now: float) -> None:
        """What discovery has come to."""
        dialer, account = self.dialer, self.account
        assert dialer is not None
        for destination, packet in dialer.out:
            self.out.append(account.line.frame(destination, account.mac, DISCOVERY, packet))
        dialer.out.clear()
        if dialer.failure:
            self._down(dialer.failure)
        elif dialer.session_id and self.link is None:
            self.state = State.PPP
            self.link = Link(CLIENT, self._settings(dialer.max_payload), self.random)
            self.link.start(now)
            self._pump(now)

    def _settings(self, mru: int) -> Settings:
        account = self.account
        return Settings(
            mru=mru,
            methods=account.methods,
            name=account.name.encode(),
            secret=account.password.encode(),
            v4=account.v4,
            v6=account.v6,
            keepalive=account.keepalive,
        )

    def _down(self, reason: str) -> None:
        self.state, self.reason = State.DOWN, reason
        self.link = self.dialer = None
        self._forget()

    def _pump(self, now: float) -> None:
        """What the link has to say: to the gateway, to the addresses, to us."""
        link = self.link
        assert link is not None
        down = None
        for event in link.happened():
            if isinstance(event, Down):
                down = event
            else:
                self._note(now, event)
        if self.addresses is not None and self.interface_id:
            link.out += [(IPV6, packet) for packet in self.addresses.out]
            self.addresses.out.clear()
        for protocol, body in link.take():
            self._transmit(protocol, body)
        if self.state in (State.PPP, State.UP):
            self.state = State.UP if link.settled else State.PPP
        if down is not None:
            assert self.dialer is not None
            self.dialer.hang_up(down.reason)
            self._discover(now)
            self.reason = down.reason

    def _note(self, now: float, event: object) -> None:
        if isinstance(event, Packet):
            if event.protocol == IPV6 and self.addresses is not None:
                self.addresses.heard(now, event.body)
            self.received.append(event.body)
        elif isinstance(event, V4Up):
            self.address, self.gateway, self.dns = event
        elif isinstance(event, V6Up):
            self.interface_id, self.gateway_id = event
            if self.addresses is not None:
                self.addresses.start(now, self.interface_id)
        elif isinstance(event, V4Down):
            self.address, self.gateway, self.dns = None, None, ()
        elif isinstance(event, V6Down):
            self.interface_id = self.gateway_id = 0
