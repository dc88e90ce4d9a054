"""Thousands of subscribers in virtual time: a source of frames with a schedule, and counters.

Set-up rates are counted as BNG Blaster does (its documentation, "Sessions"): calls per second are
the established sessions by the time from the first start to the last establishment.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from math import inf

from p4lab.packets.probe import Probe
from p4lab.systems.bng.subscriber.access import inner_of
from p4lab.systems.bng.subscriber.client import State, Subscriber

CATCH_UP = 0.1
"""Seconds of starts that are made up for when `tick` or an earlier session was late"""


@dataclass(frozen=True)
class Schedule:
    """Rates in sessions per second; the defaults are BNG Blaster's."""

    start_rate: float = 400.0
    stop_rate: float = 400.0
    max_outstanding: int = 800
    """Sessions that may be on their way at once"""
    redial: float | None = 1.0
    """Seconds until a session that failed is tried again; None for never"""


@dataclass(frozen=True)
class Report:
    """What became of a crowd; times in seconds, rates in sessions per second."""

    sessions: int
    established: int
    """Up now"""
    setups: int
    """How often one came up"""
    failures: int
    """How often one came down, or did not come up, without having been hung up"""
    reasons: dict[str, int]
    cps: float
    """Calls per second: see the module"""
    rates: tuple[int, ...]
    """Sessions established in each second after the first start"""
    frames_sent: int
    frames_heard: int
    packets: int
    """Probes that arrived at their own session"""
    wrong_session: int
    """Probes that arrived at another one than theirs"""
    wrong_line: int
    """Frames for a subscriber that did not come with its line's labels and tags"""
    stray: int
    """Frames for nobody"""


class Crowd:
    """Subscribers with different MAC addresses, started one after the other.

    A probe that is sent to subscriber number n has n as its flow.
    """

    def __init__(self, subscribers: Sequence[Subscriber], schedule: Schedule) -> None:
        """Raises ValueError if two have the same MAC address."""
        self.subscribers, self.schedule = subscribers, schedule
        self._by_mac = {each.account.mac: n for n, each in enumerate(subscribers)}
        if len(self._by_mac) != len(subscribers):
            raise ValueError("two subscribers of a crowd have the same MAC address.")
        self._out: list[tuple[int, bytes]] = []
        self._next_start = self._next_stop = inf
        self._started: float | None = None
        self._last_up = 0.0
        self._to_start: deque[int] = deque()
        self._to_stop: deque[int] = deque()
        self._outstanding: set[int] = set()
        self._up: set[int] = set()
        self._stopping: set[int] = set()
        self._timers: list[tuple[float, int, int]] = []
        self._due = [inf] * len(subscribers)
        self._redial = [inf] * len(subscribers)
        self._tie = count()
        self._setups = self._failures = self._sent = self._heard = 0
        self._packets = self._wrong_session = self._wrong_line = self._stray = 0
        self._reasons: Counter[str] = Counter()
        self._rates: Counter[int] = Counter()

    def start(self, now: float) -> None:
        """Let all of them dial, at the schedule's rate."""
        self._to_start = deque(range(len(self.subscribers)))
        self._next_start = now

    def stop(self, now: float) -> None:
        """Let all of them hang up, at the schedule's rate."""
        self._to_start.clear()
        self._next_start = inf
        self._to_stop = deque(range(len(self.subscribers)))
        self._next_stop = now

    @property
    def deadline(self) -> float:
        """When `tick` is due."""
        due = self._timers[0][0] if self._timers else inf
        if self._to_start and len(self._outstanding) < self.schedule.max_outstanding:
            due = min(due, self._next_start)
        return min(due, self._next_stop) if self._to_stop else due

    def tick(self, now: float) -> None:
        """Start, stop and repeat what is due."""
        schedule = self.schedule
        self._do_timers(now)
        while self._to_start and now >= self._next_start:
            if len(self._outstanding) >= schedule.max_outstanding:
                break
            self._next_start = max(self._next_start, now - CATCH_UP) + 1 / schedule.start_rate
            self.dial(now, self._to_start.popleft())
        while self._to_stop and now >= self._next_stop:
            self._next_stop += 1 / schedule.stop_rate
            self.hang_up(now, self._to_stop.popleft())

    def dial(self, now: float, number: int) -> None:
        """Let one of them dial now, whatever the schedule says."""
        if self._started is None:
            self._started = now
        self._stopping.discard(number)
        self._up.discard(number)
        self._outstanding.add(number)
        self._redial[number] = inf
        self.subscribers[number].dial(now)
        self._look(now, number)

    def hang_up(self, now: float, number: int) -> None:
        """Let one of them hang up; it is not dialled again."""
        self._stopping.add(number)
        self.subscribers[number].hang_up(now)
        self._look(now, number)

    def vanish(self, now: float, number: int) -> None:
        """Pull the cable of one of them; it is not dialled again."""
        self._stopping.add(number)
        self.subscribers[number].vanish()
        self._look(now, number)

    def _do_timers(self, now: float) -> None:
        while self._timers and self._timers[0][0] <= now:
            due, _, number = heapq.heappop(self._timers)
            if due != self._due[number]:
                continue  # It was put off.
            self._due[number] = inf
            if self._redial[number] <= now:
                self._redial[number] = inf
                self._to_start.append(number)
            else:
                self.subscribers[number].tick(now)
                self._look(now, number)

    def heard(self, now: float, frame: bytes) -> None:
        """A frame from the gateway, to whichever subscriber."""
        self._heard += 1
        inner = inner_of(frame)
        number = None if inner is None else self._by_mac.get(inner.destination)
        if inner is None or number is None:
            self._stray += 1
            return
        subscriber = self.subscribers[number]
        if not subscriber.account.line.carries(inner):
            self._wrong_line += 1
            return
        subscriber.heard_inner(now, inner)
        self._look(now, number)

    def take(self) -> list[tuple[int, bytes]]:
        """Frames to be sent, in order, with the number of their subscriber."""
        out, self._out = self._out, []
        self._sent += len(out)
        return out

    def report(self) -> Report:
        """The counters so far."""
        seconds = self._last_up - (self._started or 0.0)
        return Report(
            sessions=len(self.subscribers),
            established=len(self._up),
            setups=self._setups,
            failures=self._failures,
            reasons=dict(self._reasons),
            cps=self._setups / seconds if seconds > 0 else 0.0,
            rates=tuple(self._rates[second] for second in range(max(self._rates, default=-1) + 1)),
            frames_sent=self._sent,
            frames_heard=self._heard,
            packets=self._packets,
            wrong_session=self._wrong_session,
            wrong_line=self._wrong_line,
            stray=self._stray,
        )

    def _look(self, now: float, number: int) -> None:
        """What a subscriber has sent and received, and how far it is."""
        subscriber = self.subscribers[number]
        if subscriber.out:
            self._out += [(number, frame) for frame in subscriber.take()]
        if subscriber.received:
            self._count(number, subscriber)
        state = subscriber.state
        if state == State.UP:
            if number not in self._up:
                self._established(now, number)
        elif state == State.DOWN:
            self._ended(now, number, subscriber.reason)
        elif number in self._up:
            self._up.discard(number)
            self._outstanding.add(number)
        self._watch(number, min(subscriber.deadline, self._redial[number]))

    def _watch(self, number: int, due: float) -> None:
        """Keep one timer per subscriber: a later deadline is looked at when the earlier comes."""
        if due < self._due[number]:
            self._due[number] = due
            heapq.heappush(self._timers, (due, next(self._tie), number))

    def _count(self, number: int, subscriber: Subscriber) -> None:
        for packet in subscriber.received:
            probe = Probe.of(packet)
            if probe is None:
                continue
            if probe.flow == number:
                self._packets += 1
            else:
                self._wrong_session += 1
        subscriber.received.clear()

    def _established(self, now: float, number: int) -> None:
        assert self._started is not None
        self._up.add(number)
        self._outstanding.discard(number)
        self._setups += 1
        self._last_up = now
        self._rates[int(now - self._started)] += 1

    def _ended(self, now: float, number: int, reason: str) -> None:
        if number not in self._up and number not in self._outstanding:
            return
        self._up.discard(number)
        self._outstanding.discard(number)
        if number in self._stopping:
            return
        self._failures += 1
        self._reasons[reason] += 1
        if self.schedule.redial is not None:
            self._redial[number] = now + self.schedule.redial
