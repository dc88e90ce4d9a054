"""Digests: messages to subscribers over nanomsg, which clients acknowledge over Thrift.

As in bmv2, a sample that was told is not told again before it is acknowledged; a list's messages
hold one sample, or several, for a second at most. Without subscribers samples are forgotten.
"""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from p4lab.thrift.desk import Desk
from p4lab.thrift.interface import LearnCode, LearnRefused

POLL_SECONDS = 0.02
# Topic, switch, context, list, buffer, number of samples; then the samples.
_HEAD = struct.Struct("<4sQIiQI")
_TOPIC = b"LEA|"


class Publisher(Protocol):
    """Where messages go."""

    @property
    def is_heard(self) -> bool: ...
    def send(self, message: bytes) -> None: ...


@dataclass
class _List:
    """One digest of the program."""

    number: int
    widths: Sequence[int]
    samples: int = 1
    seconds: float = 1.0
    """How long a message waits for more samples; 0: until it is full"""
    told: set[bytes] = field(default_factory=set)
    sent: dict[int, list[bytes]] = field(default_factory=dict)
    """Samples of each message that is not wholly acknowledged"""
    waiting: list[bytes] = field(default_factory=list)
    since: float = 0.0
    next_message: int = 0


class Learning:
    """The lists of a program, and the calls `bm_learning_...`."""

    def __init__(self, desk: Desk, publisher: Publisher) -> None:
        self._desk = desk
        self._publisher = publisher
        digests = desk.facts.digests
        self._lists = {name: _List(own.number, own.widths) for name, own in digests.items()}
        if self._lists:
            desk.runtime.keep_digests()

    def run(self, ended: threading.Event) -> None:
        """Tells digests until `ended` is set, or the switch has."""
        while self._lists and not ended.wait(POLL_SECONDS):
            try:
                with self._desk.lock:
                    self.look(time.monotonic())
            except OSError:  # the switch has stopped
                return

    def look(self, now: float) -> None:
        """Takes what digests there are and sends what is full or due."""
        for name, fields in self._desk.runtime.take_digests():
            own = self._lists.get(name)
            if own is not None and self._publisher.is_heard:
                self._take(own, _packed(own.widths, [value for _, value in fields]), now)
        for own in self._lists.values():
            if own.waiting and own.seconds and now >= own.since + own.seconds:
                self._send(own)

    def _take(self, own: _List, sample: bytes, now: float) -> None:
        if sample in own.told:
            return
        own.told.add(sample)
        if not own.waiting:
            own.since = now
        own.waiting.append(sample)
        if len(own.waiting) >= own.samples:
            self._send(own)

    def _send(self, own: _List) -> None:
        number, samples = own.next_message, own.waiting
        own.next_message, own.waiting = number + 1, []
        own.sent[number] = samples
        head = _HEAD.pack(_TOPIC, self._desk.device_id, 0, own.number, number, len(samples))
        self._publisher.send(head + b"".join(samples))

    def bm_learning_ack(self, _: int, digest: int, buffer: int, samples: list[int]) -> None:
        own = self._list(digest)
        told = own.sent.get(buffer, [])
        if any(not 0 <= place < len(told) for place in samples) and told:
            raise LearnRefused(LearnCode.OTHER)
        own.told.difference_update(told[place] for place in samples if told)
        if not own.told.intersection(told):
            own.sent.pop(buffer, None)

    def bm_learning_ack_buffer(self, _: int, digest: int, buffer: int) -> None:
        own = self._list(digest)
        own.told.difference_update(own.sent.pop(buffer, []))

    def bm_learning_set_timeout(self, _: int, digest: int, timeout_ms: int) -> None:
        self._list(digest).seconds = max(timeout_ms, 0) / 1000

    def bm_learning_set_buffer_size(self, _: int, digest: int, samples: int) -> None:
        own = self._list(digest)
        if samples < 1:
            raise LearnRefused(LearnCode.OTHER)
        own.samples = samples
        if len(own.waiting) >= samples:
            self._send(own)

    def reset(self) -> None:
        """Forgets what was told."""
        for own in self._lists.values():
            own.told.clear()
            own.sent.clear()
            own.waiting.clear()

    def _list(self, number: int) -> _List:
        for own in self._lists.values():
            if own.number == number:
                return own
        raise LearnRefused(LearnCode.INVALID_ID)


def _packed(widths: Sequence[int], values: Sequence[int]) -> bytes:
    """Each field in as many bytes as it needs."""
    pairs = zip(widths, values, strict=True)
    return b"".join(value.to_bytes((width + 7) // 8, "big") for width, value in pairs)
