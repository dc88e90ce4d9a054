"""The subscriber's side: router solicitation, then prefix delegation if the router offers it.

    client = AddressClient(random)
    client.start(now, interface_id)      # IPv6CP is open
    client.heard(now, packet)            # an IPv6 packet
    client.tick(now)                     # when `deadline` has come
    client.out                           # IPv6 packets to be sent; whoever sends them clears it

`now` and `deadline` are seconds, as PPP has them. `prefix` is what the router advertises,
`delegated` what was delegated; both None until then.
"""

from __future__ import annotations

import struct
from enum import Enum
from math import inf
from random import Random

from p4lab.systems.bng.addresses.dhcpv6 import (
    CLIENT_PORT,
    SERVERS,
    Message,
    Option,
    Options,
    Packet,
    delegated,
    in_udp,
    message,
    option,
    packet_of,
    prefix_value,
)
from p4lab.systems.bng.addresses.router import advertisement_of, link_local, solicitation
from p4lab.systems.bng.entries import Net

INTERVAL = 4.0
"""Between router solicitations (RFC 4861, section 10)"""
FIRST_WAIT, LONGEST_WAIT = 1.0, 120.0
"""Between messages of DHCPv6: doubled each time (RFC 8415, section 15)"""


class State(Enum):
    """How far a client is."""

    IDLE = "idle"
    SOLICITING = "router solicitation sent"
    SEARCHING = "solicit sent"
    REQUESTING = "request sent"
    BOUND = "bound"
    RENEWING = "renew sent"
    ALONE = "the router offers no DHCPv6"


class AddressClient:
    """See above. With `rapid` two messages are enough."""

    def __init__(self, random: Random, rapid: bool = True) -> None:
        self.out: list[bytes] = []
        self.deadline = inf
        self.state = State.IDLE
        self.prefix: Net | None = None
        self.delegated: Net | None = None
        self.dns: tuple[int, ...] = ()
        self._random = random
        self._rapid = rapid
        self._own_id = 0
        self._transaction = b""
        self._server = b""
        self._wait = FIRST_WAIT
        self._since = 0.0
        self._expires = inf

    def start(self, now: float, interface_id: int) -> None:
        """Begin, whatever there was."""
        self._own_id = interface_id
        self.prefix = self.delegated = None
        self.state = State.SOLICITING
        self._solicit_router(now)

    def release(self, now: float) -> None:
        """Give the delegated prefix back."""
        if self.delegated is not None:
            self._begin(now, Message.RELEASE)
            self.delegated, self.state, self.deadline = None, State.ALONE, inf

    def heard(self, now: float, packet: bytes) -> None:
        """An IPv6 packet; those that are not for this client are ignored."""
        advertised = advertisement_of(packet)
        if advertised is not None:
            self.prefix, self.dns = advertised.prefix or self.prefix, advertised.dns or self.dns
            if self.state == State.SOLICITING:
                self.deadline, self.state = inf, State.ALONE
                if advertised.managed or advertised.other:
                    self.state = State.SEARCHING
                    self._begin(now, Message.SOLICIT)
            return
        found = packet_of(packet, CLIENT_PORT)
        if found is not None and found.transaction == self._transaction:
            self._answered(now, found)

    def tick(self, now: float) -> None:
        """Say it again, or renew what is half over."""
        if now < self.deadline:
            return
        if self.state == State.SOLICITING:
            self._solicit_router(now)
        elif self.delegated is not None and now >= self._expires:
            self.delegated, self.state = None, State.SEARCHING
            self._begin(now, Message.SOLICIT)
        elif self.state == State.BOUND:
            self.state = State.RENEWING
            self._begin(now, Message.RENEW)
        else:
            self._wait = min(2 * self._wait, LONGEST_WAIT)
            kind = {State.SEARCHING: Message.SOLICIT, State.REQUESTING: Message.REQUEST}
            self._send(now, kind.get(self.state, Message.RENEW))

    def _solicit_router(self, now: float) -> None:
        self.out.append(solicitation(self._own_id))
        self.deadline = now + INTERVAL

    def _begin(self, now: float, kind: Message) -> None:
        """A new exchange."""
        self._transaction = self._random.randbytes(3)
        self._wait, self._since = FIRST_WAIT, now
        self._send(now, kind)

    def _send(self, now: float, kind: Message) -> None:
        elapsed = min(0xFFFF, int((now - self._since) * 100))
        said: Options = [(Option.CLIENT_ID, struct.pack("!HHQ", 3, 27, self._own_id))]
        if kind != Message.SOLICIT:
            said.append((Option.SERVER_ID, self._server))
        elif self._rapid:
            said.append((Option.RAPID_COMMIT, b""))
        prefix = b""
        if self.delegated is not None:
            prefix = option(Option.IA_PREFIX, prefix_value(self.delegated))
        said += [
            (Option.ELAPSED_TIME, elapsed.to_bytes(2, "big")),
            (Option.IA_PD, struct.pack("!III", 1, 0, 0) + prefix),
            (Option.ORO, Option.DNS_SERVERS.to_bytes(2, "big")),
        ]
        body = message(kind, self._transaction, said)
        self.out.append(in_udp(link_local(self._own_id), SERVERS, True, body))
        self.deadline = now + self._wait

    def _answered(self, now: float, found: Packet) -> None:
        granted = delegated(found.first(Option.IA_PD) or b"")
        server = found.first(Option.SERVER_ID)
        if server is None:
            return
        if found.kind == Message.ADVERTISE and self.state == State.SEARCHING:
            if granted is not None:
                self._server, self.state = server, State.REQUESTING
                self._begin(now, Message.REQUEST)
            return
        waiting = (State.REQUESTING, State.RENEWING)
        rapid = self.state == State.SEARCHING and found.first(Option.RAPID_COMMIT) is not None
        if found.kind != Message.REPLY or not (self.state in waiting or rapid):
            return
        self._server = server
        if granted is None:
            self.delegated, self.state, self.deadline = None, State.ALONE, inf
            return
        self.delegated, first, valid = granted
        self.state, self.deadline, self._expires = State.BOUND, now + first, now + valid
