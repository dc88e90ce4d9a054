"""The option negotiation automaton of RFC 1661, section 4: what LCP, IPCP and IPv6CP share.

The table is data: an event's row has, for each state, the actions and the next state.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from math import inf
from typing import TYPE_CHECKING

from p4lab.systems.bng.ppp.codes import (
    CODE_REJECT,
    CONFIGURE_ACK,
    CONFIGURE_NAK,
    CONFIGURE_REJECT,
    CONFIGURE_REQUEST,
    HEADER,
    TERMINATE_ACK,
    TERMINATE_REQUEST,
    option,
    options_of,
    packet,
)

if TYPE_CHECKING:
    from p4lab.systems.bng.ppp.link import Link


class State(IntEnum):
    """RFC 1661, section 4.2"""

    INITIAL = 0
    STARTING = 1
    CLOSED = 2
    STOPPED = 3
    CLOSING = 4
    STOPPING = 5
    REQ_SENT = 6
    ACK_RCVD = 7
    ACK_SENT = 8
    OPENED = 9


TABLE = {
    #         Initial, Starting, Closed, Stopped, Closing, Stopping
    #         Req-Sent, Ack-Rcvd, Ack-Sent, Opened
    "Up": """2         irc,scr/6  -          -              -      -
             -         -          -          -""",
    "Down": """-       -          0          tls/1          0      1
             1         1          1          tld/1""",
    "Open": """tls/1   1          irc,scr/6  3              5      5
             6         7          8          9""",
    "Close": """0      tlf/0      2          2              4      4
             irc,str/4 irc,str/4  irc,str/4  tld,irc,str/4""",
    "TO+": """-        -          -          -              str/4  str/5
             scr/6     scr/6      scr/8      -""",
    "TO-": """-        -          -          -              tlf/2  tlf/3
             tlf/3     tlf/3      tlf/3      -""",
    "RCR+": """-       -          sta/2      irc,scr,sca/8  4      5
             sca/8     sca,tlu/9  sca/8      tld,scr,sca/8""",
    "RCR-": """-       -          sta/2      irc,scr,scn/6  4      5
             scn/6     scn/7      scn/6      tld,scr,scn/6""",
    "RCA": """-        -          sta/2      sta/3          4      5
             irc/7     scr/6      irc,tlu/9  tld,scr/6""",
    "RCN": """-        -          sta/2      sta/3          4      5
             irc,scr/6 scr/6      irc,scr/8  tld,scr/6""",
    "RTR": """-        -          sta/2      sta/3          sta/4  sta/5
             sta/6     sta/6      sta/6      tld,zrc,sta/5""",
    "RTA": """-        -          2          3              tlf/2  tlf/3
             6         6          8          tld,scr/6""",
    "RUC": """-        -          scj/2      scj/3          scj/4  scj/5
             scj/6     scj/7      scj/8      scj/9""",
    "RXJ+": """-       -          2          3              4      5
             6         6          8          9""",
    "RXJ-": """-       -          tlf/2      tlf/3          tlf/2  tlf/3
             tlf/3     tlf/3      tlf/3      tld,irc,str/5""",
    "RXR": """-        -          2          3              4      5
             6         7          8          ser/9""",
}
"""RFC 1661, section 4.1; "-" cannot happen and is ignored. The option of section 4.1 to be passive
is not taken, nor that to restart on Open in an open state."""

ROUNDS = 30
"""Configure-Requests that are sent until a protocol is open; then it is given up: a peer that
answers each with another Nak would go on for ever"""


class Automaton:
    """One protocol's negotiation. Who inherits says what is wanted and what is granted.

    `deadline` is when `tick` is due, inf when nothing is awaited.
    """

    __slots__ = (
        "answer",
        "awaited",
        "deadline",
        "failures",
        "heard_body",
        "identifier",
        "link",
        "request",
        "restarts",
        "rounds",
        "state",
    )
    protocol = 0
    name = ""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.state: int = State.INITIAL
        self.deadline = inf
        self.identifier = 0
        self.awaited = -1
        """The identifier that an answer to our request must have; -1 when it was answered"""
        self.request = b""
        """Our last Configure-Request; empty when the next one is another one"""
        self.restarts = self.failures = self.rounds = 0
        self.heard_body = self.answer = b""

    # What differs from protocol to protocol.

    def reset(self) -> None:
        """Wish for everything again: a negotiation begins."""
        raise NotImplementedError

    def wishes(self) -> bytes:
        """The options of our Configure-Request."""
        raise NotImplementedError

    def judge(self, options: dict[int, bytes]) -> tuple[bytes, list[tuple[int, bytes]]]:
        """What of the peer's request is rejected, as options, and what it should ask for instead:
        type and value."""
        raise NotImplementedError

    def naked(self, options: dict[int, bytes]) -> None:
        """The peer suggests other values."""
        raise NotImplementedError

    def rejected(self, options: dict[int, bytes]) -> None:
        """The peer does not know these options, or does not want them negotiated."""
        raise NotImplementedError

    def up(self, now: float) -> None:
        """tlu: the protocol is open."""
        raise NotImplementedError

    def down(self, now: float) -> None:
        """tld: the protocol was open."""
        raise NotImplementedError

    def finished(self, now: float) -> None:
        """tlf: the protocol is not tried any more."""
        raise NotImplementedError

    def give_up(self, now: float, reason: str) -> None:
        """There is no agreement to be had."""
        raise NotImplementedError

    def hung_up(self) -> None:
        """The peer has asked to terminate, and got its answer."""

    def other(self, now: float, code: int, body: bytes) -> bool:
        """A code beyond Code-Reject; False if it is not known."""
        return False

    # Events

    def event(self, now: float, row: Row) -> None:
        """Do what the table says."""
        entry = row[self.state]
        if entry is None:
            return
        actions, state = entry
        self.state = state
        for action in actions:
            action(self, now)
        if not 4 <= self.state <= 8:
            self.deadline = inf
        elif self.rounds > ROUNDS and self.state >= State.REQ_SENT:
            self.give_up(now, f"{self.name}: no agreement after {ROUNDS} requests")

    def tick(self, now: float) -> None:
        """The restart timer (section 4.6)."""
        if now >= self.deadline:
            self.event(now, TO_PLUS if self.restarts > 0 else TO_MINUS)

    def heard(self, now: float, body: bytes) -> None:
        """A packet of the protocol; what is malformed is ignored (section 5)."""
        if len(body) < 4:
            return
        code, identifier, length = HEADER.unpack_from(body)
        if not 4 <= length <= len(body):
            return
        if length < len(body):
            body = body[:length]
        self.heard_body = body
        if code == CONFIGURE_REQUEST:
            self._request_heard(now, body)
        elif code == CONFIGURE_ACK:
            if identifier == self.awaited and body[4:] == self.request[4:]:
                self.awaited = -1
                self.event(now, RCA)
        elif code in (CONFIGURE_NAK, CONFIGURE_REJECT):
            self._refusal_heard(now, code, identifier, body)
        elif code == TERMINATE_REQUEST:
            self.event(now, RTR)
            self.hung_up()
        elif code == TERMINATE_ACK:
            self.event(now, RTA)
        elif code == CODE_REJECT:
            known = length > 4 and CONFIGURE_REQUEST <= body[4] <= CODE_REJECT
            self.event(now, RXJ_MINUS if known else RXJ_PLUS)
        elif not self.other(now, code, body):
            self.event(now, RUC)

    def _request_heard(self, now: float, body: bytes) -> None:
        options = options_of(body)
        if options is None or self.state in (State.INITIAL, State.STARTING):
            return
        rejects, naks = self.judge(options)
        if not rejects and not naks:
            self.failures = 0
            self.answer = b"\x02" + body[1:]
            self.event(now, RCR_PLUS)
            return
        code = CONFIGURE_REJECT
        if not rejects:
            self.failures += 1
            if self.failures <= self.link.settings.max_failure:
                code = CONFIGURE_NAK
                rejects = b"".join([option(kind, value) for kind, value in naks])
            else:  # section 4.6, Max-Failure
                kinds = [kind for kind, _ in naks if kind in options]
                rejects = b"".join([option(kind, options[kind]) for kind in kinds])
                if self.failures > 2 * self.link.settings.max_failure or not kinds:
                    self.give_up(now, f"{self.name}: the peer insists on what is not granted")
                    return
        self.answer = packet(code, body[1], rejects)
        self.event(now, RCR_MINUS)

    def _refusal_heard(self, now: float, code: int, identifier: int, body: bytes) -> None:
        options = options_of(body)
        if identifier != self.awaited or options is None:
            return
        self.awaited = -1
        if code == CONFIGURE_NAK:
            self.naked(options)
        else:
            self.rejected(options)
        self.request = b""
        self.event(now, RCN)

    # Actions (section 4.4); `str` and the like are the RFC's names.

    def _send(self, body: bytes) -> None:
        self.link.out.append((self.protocol, body))

    def _next_identifier(self) -> int:
        self.identifier = self.identifier + 1 & 0xFF
        return self.identifier

    def _tlu(self, now: float) -> None:
        self.rounds = 0
        self.up(now)

    def _tld(self, now: float) -> None:
        self.request = b""
        self.reset()
        self.down(now)

    def _tls(self, now: float) -> None:
        """The layer below is PPPoE or LCP: it is up before this protocol starts."""

    def _tlf(self, now: float) -> None:
        self.finished(now)

    def _irc(self, now: float) -> None:
        settings = self.link.settings
        closing = self.state in (State.CLOSING, State.STOPPING)
        self.restarts = settings.max_terminate if closing else settings.max_configure

    def _zrc(self, now: float) -> None:
        self.restarts = 0
        self.deadline = now + self.link.settings.restart

    def _scr(self, now: float) -> None:
        self.restarts -= 1
        self.rounds += 1
        self.deadline = now + self.link.settings.restart
        # A request that is repeated keeps its identifier: a late answer to the first one counts.
        if not self.request:
            self.request = packet(CONFIGURE_REQUEST, self._next_identifier(), self.wishes())
        self.awaited = self.request[1]
        self._send(self.request)

    def _sca(self, now: float) -> None:
        self._send(self.answer)

    def _str(self, now: float) -> None:
        self.restarts -= 1
        self.deadline = now + self.link.settings.restart
        self._send(packet(TERMINATE_REQUEST, self._next_identifier()))

    def _sta(self, now: float) -> None:
        self._send(packet(TERMINATE_ACK, self.heard_body[1]))

    def _scj(self, now: float) -> None:
        rejected = self.heard_body[: self.link.peer_mru - 4]
        self._send(packet(CODE_REJECT, self._next_identifier(), rejected))


Action = Callable[[Automaton, float], None]
Row = tuple[tuple[tuple[Action, ...], int] | None, ...]

ACTIONS: dict[str, Action] = {
    "tlu": Automaton._tlu,
    "tld": Automaton._tld,
    "tls": Automaton._tls,
    "tlf": Automaton._tlf,
    "irc": Automaton._irc,
    "zrc": Automaton._zrc,
    "scr": Automaton._scr,
    # Both send what `_request_heard` has prepared, and `ser` what LCP has.
    "sca": Automaton._sca,
    "scn": Automaton._sca,
    "ser": Automaton._sca,
    "str": Automaton._str,
    "sta": Automaton._sta,
    "scj": Automaton._scj,
}


def row_of(text: str) -> Row:
    """An event's row as functions."""
    entries = []
    for cell in text.split():
        *actions, state = cell.replace("/", ",").split(",")
        functions = tuple(ACTIONS[action] for action in actions)
        entries.append(None if cell == "-" else (functions, int(state)))
    return tuple(entries)


ROWS = {event: row_of(text) for event, text in TABLE.items()}
UP, DOWN, OPEN, CLOSE = (ROWS[event] for event in ("Up", "Down", "Open", "Close"))
TO_PLUS, TO_MINUS = ROWS["TO+"], ROWS["TO-"]
RCR_PLUS, RCR_MINUS = ROWS["RCR+"], ROWS["RCR-"]
RCA, RCN = ROWS["RCA"], ROWS["RCN"]
RTR, RTA = ROWS["RTR"], ROWS["RTA"]
RUC, RXJ_PLUS, RXJ_MINUS, RXR = ROWS["RUC"], ROWS["RXJ+"], ROWS["RXJ-"], ROWS["RXR"]
