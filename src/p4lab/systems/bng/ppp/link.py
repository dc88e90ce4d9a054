"""One end of a PPP link: LCP, then authentication, then IPv4 and IPv6 (RFC 1661, section 3)."""

from __future__ import annotations

from ipaddress import IPv4Address
from math import inf
from random import Random

from p4lab.systems.bng.ppp.authentication import Applicant, Judge
from p4lab.systems.bng.ppp.automaton import CLOSE, DOWN, OPEN, RXJ_MINUS, UP, Automaton, State
from p4lab.systems.bng.ppp.bucket import Bucket
from p4lab.systems.bng.ppp.codes import (
    CHAP,
    IPCP,
    IPV4,
    IPV6,
    IPV6CP,
    LCP,
    PAP,
)
from p4lab.systems.bng.ppp.events import (
    ADMIN_RESET,
    LOST_CARRIER,
    USER_ERROR,
    Down,
    Event,
    Packet,
    V4Down,
    V4Up,
    V6Down,
    V6Up,
)
from p4lab.systems.bng.ppp.ipcp import Ipcp
from p4lab.systems.bng.ppp.ipv6cp import Ipv6cp
from p4lab.systems.bng.ppp.lcp import LOOPS, Lcp
from p4lab.systems.bng.ppp.settings import SERVER, Settings

OWN_PROTOCOLS = {IPV4, IPV6, IPCP, IPV6CP, PAP, CHAP}


class Link:
    """See the package for how it is used."""

    __slots__ = (
        "asked",
        "authentication",
        "closing",
        "events",
        "ipcp",
        "ipv6cp",
        "lcp",
        "network",
        "openings",
        "out",
        "over",
        "packets",
        "patience_ends",
        "peer_mru",
        "random",
        "role",
        "settings",
        "v4_open",
        "v6_open",
    )

    def __init__(self, role: str, settings: Settings, random: Random) -> None:
        """Raises ValueError for a server that could not authenticate its client."""
        if role == SERVER and not settings.methods:
            raise ValueError("a PPP server needs a method of authentication, such as CHAP.")
        self.role, self.settings, self.random = role, settings, random
        self.out: list[tuple[int, bytes]] = []
        self.events: list[Event] = []
        self.asked = False
        """Whether the owner owes an answer to AuthenticationAsked"""
        self.network = False
        """The network-layer phase: authentication is done"""
        self.closing: Down | None = None
        """What to report when LCP has said goodbye"""
        self.over = self.v4_open = self.v6_open = False
        self.peer_mru = settings.mru
        self.patience_ends = inf
        self.lcp = Lcp(self)
        self.authentication: Judge | Applicant = Judge(self) if role == SERVER else Applicant(self)
        self.ipcp: Ipcp | None = None
        self.ipv6cp: Ipv6cp | None = None
        self.packets: Bucket | None = None
        self.openings: Bucket | None = None

    # What the owner calls.

    @property
    def deadline(self) -> float:
        """When `tick` is due."""
        if self.over:
            return inf
        due = min(
            self.lcp.deadline, self.lcp.echo_at, self.authentication.deadline, self.patience_ends
        )
        if self.ipcp is not None and self.ipcp.deadline < due:
            due = self.ipcp.deadline
        if self.ipv6cp is not None and self.ipv6cp.deadline < due:
            due = self.ipv6cp.deadline
        return due

    @property
    def settled(self) -> bool:
        """Whether packets flow, and no further protocol is being negotiated."""
        if not (self.v4_open or self.v6_open):
            return False
        layers = (self.ipcp, self.ipv6cp)
        return all(
            layer is None or layer.state == State.OPENED or layer.state <= State.STOPPED
            for layer in layers
        )

    def start(self, now: float) -> None:
        """PPPoE has a session: negotiate."""
        self._measure(now)
        self.patience_ends = now + self.settings.patience
        self.lcp.event(now, OPEN)
        self.lcp.event(now, UP)

    def resume(
        self, now: float, mru: int, address: IPv4Address | None, interface_id: int | None
    ) -> None:
        """Instead of `start`: be open and authenticated, as a link was that a process before this
        one had with the same peer. `mru` is the peer's, `address` the peer's if IPv4 was up, and
        `interface_id` our own if IPv6 was."""
        self._measure(now)
        self.network, self.peer_mru = True, mru
        self.lcp.state = State.OPENED
        # Not all 35,000 in one moment.
        self.lcp.echo_at = now + self.random.random() * self.settings.keepalive
        if address is not None:
            self.ipcp = Ipcp(self, address)
            self.ipcp.state, self.v4_open = State.OPENED, True
        if interface_id is not None:
            self.ipv6cp = Ipv6cp(self, 0)
            self.ipv6cp.own = interface_id.to_bytes(8, "big")
            self.ipv6cp.state, self.v6_open = State.OPENED, True

    def _measure(self, now: float) -> None:
        """Begin to count what the peer costs us."""
        settings = self.settings
        self.packets = Bucket(settings.packets_per_second, settings.packets_at_once, now)
        self.openings = Bucket(1 / settings.patience, settings.openings, now)

    def heard(self, now: float, protocol: int, body: bytes) -> None:
        """A packet of the peer; `body` begins after the protocol field."""
        if self.over or self.packets is None:
            return
        if protocol in (IPV4, IPV6):
            if self.v4_open if protocol == IPV4 else self.v6_open:
                self.events.append(Packet(protocol, body))
            return
        if not self.packets.allows(now):
            return
        self.lcp.silent = 0
        if protocol == LCP:
            self._lcp_heard(now, body)
        elif protocol in (IPCP, IPV6CP):
            # Before the authentication they are dropped without a word (RFC 1661, section 3.5).
            if self.network:
                layer = self.ipcp if protocol == IPCP else self.ipv6cp
                if layer is None:
                    self.lcp.reject_protocol(protocol, body)
                else:
                    layer.heard(now, body)
        elif protocol not in OWN_PROTOCOLS:
            self.lcp.reject_protocol(protocol, body)
        elif isinstance(self.authentication, Judge):
            self.authentication.heard(protocol, body)
        else:
            self.authentication.heard(now, protocol, body)

    def _lcp_heard(self, now: float, body: bytes) -> None:
        self.lcp.heard(now, body)
        if self.lcp.loops >= LOOPS:
            self.end("the line is looped back: our own magic number is heard", LOST_CARRIER)

    def tick(self, now: float) -> None:
        """Do what is due."""
        if self.over:
            return
        if now >= self.patience_ends:
            self.end(f"not up within {self.settings.patience:g} s", LOST_CARRIER)
            return
        self.lcp.tick(now)
        self.authentication.tick(now)
        if self.ipcp is not None:
            self.ipcp.tick(now)
        if self.ipv6cp is not None:
            self.ipv6cp.tick(now)
        if now >= self.lcp.echo_at and not self.over:
            self.lcp.echo(now)

    def take(self) -> list[tuple[int, bytes]]:
        """What is to be sent: protocol and body, in order."""
        out, self.out = self.out, []
        return out

    def happened(self) -> list[Event]:
        """The events since the last call, in order."""
        events, self.events = self.events, []
        return events

    def authenticated(
        self,
        now: float,
        address: IPv4Address | None,
        dns: tuple[IPv4Address, ...] = (),
        interface_id: int | None = None,
    ) -> None:
        """A server's client is who it says; what it is granted is said in the package.

        Without effect when nothing was asked: the client may have hung up in the meantime.
        """
        if not self.asked or self.over or not isinstance(self.authentication, Judge):
            return
        self.asked = False
        self.authentication.accept()
        self.ipcp = None if address is None else Ipcp(self, address, dns)
        self.ipv6cp = None if interface_id is None else Ipv6cp(self, interface_id)
        self._network(now)

    def refused(self, now: float, message: str = "refused") -> None:
        """A server's client is not let in; Down follows. Without effect when nothing was asked."""
        if self.asked and not self.over and isinstance(self.authentication, Judge):
            self.asked = False
            self.authentication.refuse(message)

    def close(self, now: float, reason: str, cause: int = ADMIN_RESET) -> None:
        """Hang up politely: Down follows when the peer agrees, or does not answer."""
        if self.over or self.closing is not None:
            return
        self.closing = Down(reason, cause)
        self.patience_ends = inf
        self.lcp.event(now, CLOSE)
        if self.lcp.state in (State.INITIAL, State.CLOSED):
            self.end(reason, cause)

    # What the protocols call.

    def lcp_up(self, now: float) -> None:
        """Authenticate, or without that go on to the network."""
        if self.lcp.method is not None:
            self.authentication.start(now, self.lcp.method)
        else:
            self.accepted(now)

    def lcp_down(self, now: float) -> None:
        """LCP takes everything down with it."""
        self.authentication.stop()
        self.network = self.asked = False
        for layer in (self.ipcp, self.ipv6cp):
            if layer is not None:
                layer.event(now, DOWN)
        self.ipcp = self.ipv6cp = None
        self._fallen(now)

    def accepted(self, now: float) -> None:
        """A client was let in."""
        if self.network:
            return
        self.ipcp = Ipcp(self) if self.settings.v4 else None
        self.ipv6cp = Ipv6cp(self) if self.settings.v6 else None
        self._network(now)

    def _network(self, now: float) -> None:
        self.network = True
        layers = [layer for layer in (self.ipcp, self.ipv6cp) if layer is not None]
        for layer in layers:
            layer.event(now, OPEN)
            layer.event(now, UP)
        if not layers:
            self.close(now, "neither IPv4 nor IPv6 is granted", USER_ERROR)

    def _fallen(self, now: float) -> None:
        """A protocol that was open is not: it costs the owner something each time."""
        if self.closing is not None or self.over:
            return
        if self.openings is not None and not self.openings.allows(now):
            self.end("the peer begins again too often", USER_ERROR)
        elif not self.v4_open and not self.v6_open:
            self.patience_ends = now + self.settings.patience

    def network_up(self, event: V4Up | V6Up) -> None:
        """IPv4 or IPv6 carries packets."""
        self.patience_ends = inf
        if isinstance(event, V4Up):
            self.v4_open = True
        else:
            self.v6_open = True
        self.events.append(event)

    def network_down(self, now: float, layer: Automaton, event: V4Down | V6Down) -> None:
        """It does not any more."""
        if isinstance(event, V4Down):
            said, self.v4_open = self.v4_open, False
        else:
            said, self.v6_open = self.v6_open, False
        if said:
            self.events.append(event)
        if self.network:
            self._fallen(now)

    def network_finished(self, now: float, name: str) -> None:
        """IPv4 or IPv6 is not tried any more: the link lives on with the other one."""
        for layer in (self.ipcp, self.ipv6cp):
            if layer is not None and layer.state > State.STOPPED:
                return
        if self.network:
            self.close(now, f"{name} was the last protocol, and the peer does not want it")

    def protocol_rejected(self, now: float, protocol: int) -> None:
        """The peer does not know a protocol of ours."""
        layer = {IPCP: self.ipcp, IPV6CP: self.ipv6cp}.get(protocol)
        if layer is not None:
            layer.event(now, RXJ_MINUS)
        elif protocol in (PAP, CHAP) and not self.network:
            self.close(now, "the peer does not know the authentication it agreed to", USER_ERROR)

    def refuse_link(self, reason: str) -> None:
        """The peer does not agree to what is a must."""
        self.end(reason, USER_ERROR)

    def lost(self, reason: str, cause: int = LOST_CARRIER) -> None:
        """The peer is silent or hung up: if we did, that is as good as an answer."""
        if self.closing is not None:
            self.end(self.closing.reason, self.closing.cause)
        else:
            self.end(reason, cause)

    def end(self, reason: str, cause: int) -> None:
        """The link is over, whatever state it is in."""
        if self.over:
            return
        self.over = True
        if self.v4_open:
            self.events.append(V4Down())
        if self.v6_open:
            self.events.append(V6Down())
        self.v4_open = self.v6_open = False
        self.events.append(Down(reason, cause))
