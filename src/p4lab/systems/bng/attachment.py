"""A simulated subscriber's end of its cable: it dials in, and its packets travel in its session."""

from __future__ import annotations

from math import inf
from random import Random

from p4lab.model.attachment import Answers, Heard
from p4lab.packets.ip import ETHERTYPE_IPV4
from p4lab.systems.bng.lines import Subscription
from p4lab.systems.bng.pppoe.packets import SESSION, data_of
from p4lab.systems.bng.subscriber import Account, State, Subscriber
from p4lab.systems.bng.subscriber.access import Inner, inner_of

SECOND = 1_000_000_000
ETHERNET_BYTES = 14


class DialUp:
    """`subscriber` is who dials."""

    def __init__(self, subscription: Subscription, random: Random) -> None:
        self._mac = subscription.host.mac.to_bytes(6, "big")
        account = Account(
            subscription.user, subscription.password, self._mac, subscription.line, v6=False
        )
        self.subscriber = Subscriber(account, random)

    def connect(self, now: int) -> Answers:
        self.subscriber.dial(now / SECOND)
        return self._said()

    def heard(self, now: int, frame: bytes) -> Heard:
        line = self.subscriber.account.line
        inner = inner_of(frame)
        if inner is None or not line.carries(inner):
            # The access node passes on nothing else.
            return Heard([], trouble="the frame does not have the labels and tags of its line")
        self.subscriber.heard(now / SECOND, frame)
        packets, self.subscriber.received = self.subscriber.received, []
        if packets:
            is_whole = len(packets[0]) >= int.from_bytes(packets[0][2:4], "big")
            trouble = "" if is_whole else "PPPoE's length ends before the packet does"
            return Heard(self._said(), self._ethernet(packets[0]), trouble)
        return Heard(self._said(), trouble=self._trouble(inner))

    def _trouble(self, inner: Inner) -> str:
        """Why nothing in a frame is for the host: the first thing that keeps the subscriber from
        taking a packet out of it."""
        dialer = self.subscriber.dialer
        if dialer is None or self.subscriber.state is not State.UP:
            return "the subscriber is not online"
        if inner.destination != self._mac:
            return "the frame is for another MAC address"
        if inner.ethertype != SESSION:
            return f"EtherType {inner.ethertype:#06x} is not PPPoE's for a session"
        if inner.source != dialer.concentrator:
            return "the frame is not from the MAC address of the gateway"
        found = data_of(inner.packet)
        if found is None:
            return "version, type, code or length of PPPoE is wrong"
        session, protocol, _ = found
        if session != dialer.session_id:
            return f"PPPoE names session {session}, and not {dialer.session_id}"
        return f"PPP announces protocol {protocol:#06x}, and not IPv4 (0x0021)"

    def timer(self, now: int) -> Answers:
        self.subscriber.tick(now / SECOND)
        return self._said()

    def next_timer(self) -> int | None:
        due = self.subscriber.deadline
        # Rounded up: a moment too early would be asked for again and again.
        return None if due == inf else int(due * SECOND) + 1

    def wrap(self, frame: bytes) -> bytes:
        if self.subscriber.state is not State.UP or not self.subscriber.send(frame[14:]):
            reached = self.subscriber.state.value
            reason = self.subscriber.reason or f"the call is in state {reached}"
            raise ValueError(f"the subscriber is not online ({reason}).")
        return self.subscriber.out.pop()

    def _said(self) -> Answers:
        return [(0, frame) for frame in self.subscriber.take()]

    def _ethernet(self, packet: bytes) -> bytes:
        """As the host gets a packet, of which PPP has said that it is IPv4."""
        return self._mac + bytes(6) + ETHERTYPE_IPV4.to_bytes(2, "big") + packet
