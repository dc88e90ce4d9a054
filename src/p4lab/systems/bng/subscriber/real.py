"""A subscriber on a real interface: the client with a clock, a network card and a TUN interface."""

from __future__ import annotations

import json
import select
import sys
import time
from ipaddress import IPv4Address, IPv6Address, IPv6Network
from typing import Any

from p4lab.systems.bng.addresses.client import AddressClient
from p4lab.systems.bng.entries import Net
from p4lab.systems.bng.subscriber.card import Card, Tunnel
from p4lab.systems.bng.subscriber.client import State, Subscriber

REDIAL = 1.0
LONGEST_WAIT = 30.0
"""Seconds until the next attempt: doubled with each failure, up to this"""
GOODBYE = 1.0
"""Seconds that hanging up may take"""


class Connection:
    """Keeps one subscriber online. Each change is reported as a line of JSON on standard output:

    {"state": "up", "address": "100.69.0.1", "dns": [...], "interface": "ppp0", "mtu": 1492}
    {"state": "addressed", "address": "2001:db8::1", "delegated": "2001:db8:100::/56"}
    {"state": "down", "reason": "..."}
    """

    def __init__(
        self,
        subscriber: Subscriber,
        addresses: AddressClient,
        card: Card,
        tunnel: Tunnel,
        *,
        default: bool,
        once: bool,
    ) -> None:
        """`addresses` are the subscriber's; `default`: a default route through the session;
        `once`: no second attempt."""
        self.subscriber, self.addresses = subscriber, addresses
        self.card, self.tunnel = card, tunnel
        self.default, self.once = default, once
        self._state = State.IDLE
        self._address: IPv4Address | None = None
        self._interface_id = 0
        self._prefix: Net | None = None
        self._delegated: Net | None = None
        self._redial = time.monotonic()
        self._wait = REDIAL
        self._ending = False

    def end(self, *_: object) -> None:
        """Hang up; `run` returns soon. Fit for a signal handler."""
        self._ending = True

    def run(self) -> bool:
        """Until `end`, or with `once` the first end of the session. Whether it was ever up."""
        was_up = False
        while not self._ending:
            now = time.monotonic()
            if self.subscriber.state in (State.IDLE, State.DOWN) and now >= self._redial:
                self.subscriber.dial(now)
            self._step()
            was_up |= self._state == State.UP
            if self.once and self._state == State.DOWN:
                return was_up
        self._hang_up()
        return was_up

    def _hang_up(self) -> None:
        end = time.monotonic() + GOODBYE
        self.subscriber.hang_up(time.monotonic())
        while self.subscriber.state not in (State.IDLE, State.DOWN) and time.monotonic() < end:
            self._step()
        self._flush()

    def _step(self) -> None:
        """Send what there is, wait, and pass on what has come."""
        subscriber = self.subscriber
        self._flush()
        now = time.monotonic()
        due = self._redial if subscriber.state == State.DOWN else subscriber.deadline
        wait = min(max(due - now, 0.0), 0.5)  # A signal is noticed within half a second.
        ends: list[Card | Tunnel] = [self.card, self.tunnel]
        ready, _, _ = select.select(ends, [], [], wait)
        now = time.monotonic()
        if self.card in ready:
            for frame in self.card.heard():
                subscriber.heard(now, frame)
        if self.tunnel in ready:
            for packet in self.tunnel.heard():
                subscriber.send(packet)
        if now >= subscriber.deadline:
            subscriber.tick(now)
        self._look(now)

    def _flush(self) -> None:
        for frame in self.subscriber.take():
            self.card.send(frame)
        for packet in self.subscriber.received:
            self.tunnel.send(packet)
        self.subscriber.received.clear()

    def _look(self, now: float) -> None:
        """What has changed, for the TUN interface and for those who read."""
        subscriber = self.subscriber
        if subscriber.address != self._address or subscriber.interface_id != self._interface_id:
            self._address, self._interface_id = subscriber.address, subscriber.interface_id
            self._readdress()
        if subscriber.state != self._state:
            self._changed(now)
        if self._state == State.UP:
            self._look_at_prefixes()

    def _changed(self, now: float) -> None:
        subscriber = self.subscriber
        self._state = subscriber.state
        if self._state == State.UP:
            self._wait = REDIAL
            self._report(
                state="up",
                address=str(subscriber.address) if subscriber.address else None,
                dns=[str(server) for server in subscriber.dns],
                interface=self.tunnel.name,
                mtu=subscriber.mtu,
            )
        elif self._state == State.DOWN:
            self._redial = now + self._wait
            self._wait = min(2 * self._wait, LONGEST_WAIT)
            self._report(state="down", reason=subscriber.reason)

    def _readdress(self) -> None:
        self.tunnel.lower()
        mtu = self.subscriber.mtu
        if self._address is not None:
            self.tunnel.raise_v4(self._address, mtu, default=self.default)
        if self._interface_id:
            self.tunnel.raise_v6(self._interface_id, mtu)
        self._prefix = self._delegated = None

    def _look_at_prefixes(self) -> None:
        prefix, delegated = self.addresses.prefix, self.addresses.delegated
        if not self._interface_id or (prefix, delegated) == (self._prefix, self._delegated):
            return
        self._prefix, self._delegated = prefix, delegated
        address = None
        if prefix is not None and prefix.length == 64:
            address = IPv6Address(prefix.address | self._interface_id)
            self.tunnel.raise_prefix(address, default=self.default)
        whole = None if delegated is None else IPv6Network(delegated[1:])
        self._report(
            state="addressed",
            address=None if address is None else str(address),
            delegated=None if whole is None else str(whole),
        )

    @staticmethod
    def _report(**what: Any) -> None:
        print(json.dumps(what), flush=True, file=sys.stdout)
