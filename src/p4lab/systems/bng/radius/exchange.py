"""Questions to one RADIUS server: identifiers, retransmission, whether the server lives.

    exchange = Exchange(secret, Patience(), ports=4)
    exchange.ask(now, make, token)          make(identifier, now) -> the packet
    exchange.take() -> [(port, packet), ...]
    exchange.heard(now, port, datagram) -> (token, packet) or None
    exchange.tick(now) -> tokens that got no answer

An identifier has 8 bits, so 256 requests may be open per source port; `ports` says how many there
are. How many may be open at once follows the server as TCP follows a path: quickly up to a
threshold, slowly beyond, and half as many when answers stay away. So its socket does not overflow
when 35,000 subscribers come.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from os import urandom
from typing import Any, NamedTuple

from p4lab.systems.bng.radius.wire import Code, WireError, checked, is_answer, signed_request

SECOND = 10**9
FIRST_WINDOW, LEAST_WINDOW, FIRST_THRESHOLD = 32, 16, 128
STATUS = object()
"""The token of our own question whether the server lives (RFC 5997)"""

Make = Callable[[int, int], bytes]
"""From an identifier and the time to a packet"""


class Patience(NamedTuple):
    """How long we wait for a server. Times in nanoseconds.

    A request is sent `tries` times, every `timeout`. After `failures` requests in a row without an
    answer the server is dead: it is asked for its status every `probe`, and nothing else, until it
    answers. `waiting` is how long a request may wait for its turn; None for ever.
    """

    timeout: int = 3 * SECOND
    tries: int = 3
    failures: int = 3
    probe: int = 1 * SECOND
    waiting: int | None = 10 * SECOND


class _Open:
    """A request on its way."""

    __slots__ = ("make", "packet", "since", "slot", "token", "tries")

    def __init__(self, token: Any, make: Make, now: int) -> None:
        self.token = token
        self.make = make
        self.packet = b""
        self.slot = -1
        self.since = now
        self.tries = 0


class Exchange:
    """See above. `anew` makes each try a packet of its own, for requests that say how late they
    are; others are repeated as they were, so that the server knows them again (RFC 5080, 2.2)."""

    def __init__(self, secret: bytes, patience: Patience, ports: int, anew: bool = False) -> None:
        self.alive = True
        self.sent = self.repeated = self.ignored = 0
        self._secret = secret
        self._patience = patience
        self._anew = anew
        self._free = deque(range(1, 256 * ports))  # slot 0 is for Status-Server
        self._open: dict[int, _Open] = {}
        self._timers: deque[tuple[int, _Open, int]] = deque()
        self._waiting: deque[_Open] = deque()
        self._window = float(FIRST_WINDOW)
        self._threshold = float(FIRST_THRESHOLD)
        self._most = 256 * ports - 1
        self._halved_at = -SECOND
        self._failures = 0
        self._probe_at = 0
        self._out: list[tuple[int, bytes]] = []

    @property
    def outstanding(self) -> int:
        """Requests without an answer: sent, or waiting to be."""
        return len(self._open) + len(self._waiting)

    @property
    def deadline(self) -> int | None:
        """When `tick` has to be called at the latest."""
        due = [self._timers[0][0]] if self._timers else []
        if not self.alive:
            due.append(self._probe_at)
        if self._waiting and self._patience.waiting is not None:
            due.append(self._waiting[0].since + self._patience.waiting)
        return min(due, default=None)

    def ask(self, now: int, make: Make, token: Any) -> None:
        """A new question; its answer comes from `heard`, or its token from `tick`."""
        self._waiting.append(_Open(token, make, now))
        self._send_waiting(now)

    def take(self) -> list[tuple[int, bytes]]:
        """What is to be sent now: source port's number and packet."""
        out, self._out = self._out, []
        return out

    def heard(self, now: int, port: int, datagram: bytes) -> tuple[Any, bytes] | None:
        """The question's token and the answer, if a datagram is one; else it is ignored."""
        try:
            packet = checked(datagram)
        except WireError:
            self.ignored += 1
            return None
        slot = port << 8 | packet[1]
        asked = self._open.get(slot)
        if asked is None or not is_answer(packet, asked.packet, self._secret):
            self.ignored += 1
            return None
        self._failures = 0
        slowly = self._window >= self._threshold
        self._window = min(self._window + (1 / self._window if slowly else 1), self._most)
        self._close(asked)
        self._revive(now)
        self._send_waiting(now)
        return None if asked.token is STATUS else (asked.token, packet)

    def tick(self, now: int) -> list[Any]:
        """Repeat what is due. Gives the tokens of questions that are given up."""
        lost: list[Any] = []
        while self._timers and self._timers[0][0] <= now:
            _, asked, tries = self._timers.popleft()
            if self._open.get(asked.slot) is not asked or asked.tries != tries:
                continue
            self._slow_down(now)
            if asked.tries >= self._patience.tries or not self.alive:
                self._close(asked)
                self._give_up(now)
                lost.append(asked.token)
            elif self._anew:
                self._close(asked)
                self._transmit(now, asked)
                self.repeated += 1
            else:
                self._again(now, asked)
        if not self.alive and self._probe_at <= now:
            self._ask_status(now)
        waiting = self._patience.waiting
        while waiting is not None and self._waiting and self._waiting[0].since + waiting <= now:
            lost.append(self._waiting.popleft().token)
        self._send_waiting(now)
        return lost

    def _give_up(self, now: int) -> None:
        self._failures += 1
        if self.alive and self._failures >= self._patience.failures:
            self.alive = False
            self._probe_at = now

    def _revive(self, now: int) -> None:
        if not self.alive:
            self.alive = True
            self._window = FIRST_WINDOW

    def _slow_down(self, now: int) -> None:
        if now - self._halved_at >= self._patience.timeout:
            self._window = self._threshold = max(LEAST_WINDOW, self._window / 2)
            self._halved_at = now

    def _send_waiting(self, now: int) -> None:
        while self.alive and self._waiting and len(self._open) < self._window:
            self._transmit(now, self._waiting.popleft())

    def _transmit(self, now: int, asked: _Open) -> None:
        """Send a request with a slot of its own. There is one: the window is no larger."""
        asked.slot = self._free.popleft()
        asked.packet = asked.make(asked.slot & 0xFF, now)
        self._open[asked.slot] = asked
        self.sent += 1
        self._again(now, asked, first=True)

    def _again(self, now: int, asked: _Open, first: bool = False) -> None:
        asked.tries += 1
        self.repeated += not first
        self._out.append((asked.slot >> 8, asked.packet))
        self._timers.append((now + self._patience.timeout, asked, asked.tries))

    def _close(self, asked: _Open) -> None:
        """Forget a request. Its slot goes to the end of the line: an answer that comes late finds
        no other request there, and would not fit its authenticator if it did."""
        del self._open[asked.slot]
        if asked.slot:
            self._free.append(asked.slot)

    def _ask_status(self, now: int) -> None:
        self._probe_at = now + self._patience.probe
        probe = _Open(STATUS, self._status, now)
        probe.slot, probe.packet = 0, self._status(0, now)
        self._open[0] = probe
        self._out.append((0, probe.packet))

    def _status(self, identifier: int, now: int) -> bytes:
        return signed_request(Code.STATUS_SERVER, identifier, urandom(16), b"", self._secret)
