"""Accounting: every session has one Start and one Stop, and the server gets both.

A record is in the store before anyone is told what it bills, and leaves it when the server has
acknowledged it. Until then it is sent again, each time with its age in Acct-Delay-Time. After a
crash the server may so get a record twice; it knows it by Acct-Session-Id, status and
Event-Timestamp, which are those of the first time.

The records of one session follow each other: a Stop never overtakes its Start.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple, Protocol

from p4lab.systems.bng.radius.client import Recorded
from p4lab.systems.bng.radius.exchange import SECOND
from p4lab.systems.bng.radius.wire import Kind, number, text
from p4lab.systems.bng.store import Record, Store

START, STOP, INTERIM, ON, OFF = 1, 2, 3, 7, 8
BY_RADIUS, BY_LOCAL = 1, 2
"""Values of Acct-Authentic"""

READ_AHEAD = 2000
"""Records in memory; the others wait in the store"""
PAUSE = 1 * SECOND
"""Until a record is tried again that the server has left without an answer"""


class Client(Protocol):
    """What sends records: `radius.client.Client` or `radius.local.LocalUsers`."""

    def accounting(self, now: int, token: str, body_at: Callable[[int], bytes]) -> None:
        """Send a record."""


class Usage(NamedTuple):
    """What a session has used. "Input" is from the subscriber."""

    input_octets: int = 0
    output_octets: int = 0
    input_packets: int = 0
    output_packets: int = 0


def record_body(
    status: int,
    acct_id: str,
    about: bytes,
    wall: int,
    usage: Usage | None = None,
    seconds: int = 0,
    cause: int | None = None,
) -> bytes:
    """The attributes of a record but for its delay. `about` are those that say whose session it is
    and where; `wall` is the time of day in nanoseconds."""
    body = number(Kind.ACCT_STATUS_TYPE, status) + text(Kind.ACCT_SESSION_ID, acct_id) + about
    body += number(Kind.EVENT_TIMESTAMP, wall // SECOND & 0xFFFFFFFF)
    if usage is None:
        return body
    octets_in, octets_out, packets_in, packets_out = usage
    body += (
        number(Kind.ACCT_SESSION_TIME, seconds)
        + number(Kind.ACCT_INPUT_OCTETS, octets_in & 0xFFFFFFFF)
        + number(Kind.ACCT_OUTPUT_OCTETS, octets_out & 0xFFFFFFFF)
        + number(Kind.ACCT_INPUT_PACKETS, packets_in & 0xFFFFFFFF)
        + number(Kind.ACCT_OUTPUT_PACKETS, packets_out & 0xFFFFFFFF)
        + number(Kind.ACCT_INPUT_GIGAWORDS, octets_in >> 32)
        + number(Kind.ACCT_OUTPUT_GIGAWORDS, octets_out >> 32)
    )
    if cause is not None:
        body += number(Kind.ACCT_TERMINATE_CAUSE, cause)
    return body


class Accounting:
    """Takes records from the store to the server. `wall_offset` is the wall clock less `now`, in
    nanoseconds.

        accounting.add(now, acct_id, body)     in the store's batch: written down
        accounting.keep()                      in the batch: what the server has, is forgotten
        accounting.send(now)                   behind the batch
    """

    def __init__(self, store: Store, client: Client, wall_offset: int) -> None:
        self.wall_offset = wall_offset
        self._store = store
        self._client = client
        self._queues: dict[str, deque[Record]] = {}
        self._fresh: list[Record] = []
        self._held = self._loaded = 0
        self._more = True
        self._taken: list[int] = []
        self._again: deque[tuple[int, str]] = deque()

    @property
    def deadline(self) -> int | None:
        """When `tick` has to be called at the latest."""
        return self._again[0][0] if self._again else None

    @property
    def waiting(self) -> int:
        """Records in memory that the server has not acknowledged."""
        return self._held

    @property
    def unkept(self) -> bool:
        """Whether `keep` has something to write."""
        return bool(self._taken)

    def add(self, now: int, acct_id: str, body: bytes) -> None:
        """Write a record down. With too many in memory it waits in the store for its turn."""
        record = self._store.put_record(acct_id, now + self.wall_offset, body)
        self._more = self._more or self._held + len(self._fresh) >= READ_AHEAD
        if not self._more:
            self._fresh.append(record)

    def keep(self) -> None:
        """Take from the store what the server has acknowledged."""
        self._store.acknowledged(self._taken)
        self._taken.clear()

    def send(self, now: int) -> None:
        """Send what was added, and what has waited in the store."""
        fresh, self._fresh = self._fresh, []
        for record in fresh:
            self._queue(now, record)
        if self._more and self._held < READ_AHEAD // 2:
            found = self._store.records(READ_AHEAD - self._held, self._loaded)
            self._more = len(found) == READ_AHEAD - self._held
            for record in found:
                self._queue(now, record)

    def recorded(self, now: int, answer: Recorded) -> None:
        """What became of a record."""
        queue = self._queues[answer.token]
        if not answer.acknowledged:
            self._again.append((now + PAUSE, answer.token))
            return
        self._taken.append(queue.popleft().number)
        self._held -= 1
        if queue:
            self._transmit(now, queue[0])
        else:
            del self._queues[answer.token]

    def tick(self, now: int) -> None:
        """Try again what is due."""
        while self._again and self._again[0][0] <= now:
            self._transmit(now, self._queues[self._again.popleft()[1]][0])

    def _queue(self, now: int, record: Record) -> None:
        self._loaded = record.number
        self._held += 1
        queue = self._queues.setdefault(record.acct_id, deque())
        queue.append(record)
        if len(queue) == 1:
            self._transmit(now, record)

    def _transmit(self, now: int, record: Record) -> None:
        made, body, offset = record.made, record.body, self.wall_offset

        def body_at(now: int) -> bytes:
            late = max(0, now + offset - made) // SECOND
            return body + number(Kind.ACCT_DELAY_TIME, late)

        self._client.accounting(now, record.acct_id, body_at)
