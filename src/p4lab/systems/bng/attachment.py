"""A simulated subscriber's end of its cable: it dials in, and its packets travel in its session."""

from __future__ import annotations

from math import inf
from random import Random

from p4lab.model.attachment import Answers, Heard
from p4lab.packets.ip import ETHERTYPE_IPV4, ETHERTYPE_IPV6
from p4lab.systems.bng.lines import Subscription
from p4lab.systems.bng.subscriber import Account, State, Subscriber

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
        self.subscriber.heard(now / SECOND, frame)
        packets, self.subscriber.received = self.subscriber.received, []
        return Heard(self._said(), self._ethernet(packets[0]) if packets else None)

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
            reason = self.subscriber.reason or f"it got as far as {reached}"
            raise ValueError(f"it is not online ({reason}).")
        return self.subscriber.out.pop()

    def _said(self) -> Answers:
        return [(0, frame) for frame in self.subscriber.take()]

    def _ethernet(self, packet: bytes) -> bytes:
        kind = ETHERTYPE_IPV4 if packet[0] >> 4 == 4 else ETHERTYPE_IPV6
        return self._mac + bytes(6) + kind.to_bytes(2, "big") + packet
