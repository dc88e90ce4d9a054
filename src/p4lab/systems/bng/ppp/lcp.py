"""The link control protocol (RFC 1661, sections 5 and 6; on PPPoE RFC 2516, section 7)."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from p4lab.systems.bng.ppp.automaton import RXJ_MINUS, RXR, Automaton, State
from p4lab.systems.bng.ppp.codes import (
    CHAP,
    DISCARD_REQUEST,
    ECHO_REPLY,
    ECHO_REQUEST,
    LCP,
    PAP,
    PROTOCOL_REJECT,
    option,
    packet,
)
from p4lab.systems.bng.ppp.events import LOST_CARRIER, USER_REQUEST
from p4lab.systems.bng.ppp.settings import CHAP as BY_CHAP
from p4lab.systems.bng.ppp.settings import PAP as BY_PAP
from p4lab.systems.bng.ppp.settings import SERVER

if TYPE_CHECKING:
    from p4lab.systems.bng.ppp.link import Link

MRU = 1
AUTHENTICATION = 3
MAGIC = 5

SMALLEST_MRU = 128
DEFAULT_MRU = 1500
"""What holds when no MRU is negotiated"""

METHODS = {BY_PAP: PAP.to_bytes(2, "big"), BY_CHAP: CHAP.to_bytes(2, "big") + b"\x05"}
"""The value of the authentication option; 5 is MD5"""
METHOD_OF = {value: method for method, value in METHODS.items()}

LOOPS = 5
"""Requests with our own magic number until the link is taken for a loop"""


class Lcp(Automaton):
    """`method` is what the client is authenticated by, None for nothing, once LCP is open."""

    __slots__ = ("echo_at", "loops", "magic", "method", "silent", "wanted")
    protocol = LCP
    name = "LCP"

    def __init__(self, link: Link) -> None:
        super().__init__(link)
        self.echo_at = inf
        self.silent = 0
        """Echo-Requests since something was heard"""
        self.loops = 0
        self.reset()

    def reset(self) -> None:
        settings = self.link.settings
        self._new_magic()
        self.method = settings.methods[0] if self.link.role == SERVER else None
        self.wanted = {MRU: settings.mru.to_bytes(2, "big"), MAGIC: self.magic}

    def _new_magic(self) -> None:
        self.magic = self.link.random.randrange(1, 1 << 32).to_bytes(4, "big")

    def wishes(self) -> bytes:
        options = b"".join([option(kind, value) for kind, value in self.wanted.items()])
        if self.link.role == SERVER and self.method is not None:
            options += option(AUTHENTICATION, METHODS[self.method])
        return options

    def judge(self, options: dict[int, bytes]) -> tuple[bytes, list[tuple[int, bytes]]]:
        link, settings = self.link, self.link.settings
        rejects, naks = b"", []
        mru, method = DEFAULT_MRU, None
        for kind, value in options.items():
            if kind == MRU:
                mru = int.from_bytes(value, "big")
                if len(value) != 2 or not SMALLEST_MRU <= mru <= settings.mru:
                    naks.append((kind, settings.mru.to_bytes(2, "big")))
            elif kind == MAGIC:
                if len(value) != 4 or value == self.magic:
                    naks.append((kind, link.random.randbytes(4)))
                    self.loops += value == self.magic
            elif kind == AUTHENTICATION and link.role != SERVER and settings.methods:
                method = METHOD_OF.get(value)
                if method not in settings.methods:
                    naks.append((kind, METHODS[settings.methods[0]]))
            else:
                rejects += option(kind, value)
        link.peer_mru = min(mru, settings.mru)
        if link.role != SERVER:
            self.method = method
        return rejects, naks

    def naked(self, options: dict[int, bytes]) -> None:
        link, settings = self.link, self.link.settings
        if MAGIC in options and MAGIC in self.wanted:
            self._new_magic()
            self.wanted[MAGIC] = self.magic
        mru = options.get(MRU)
        if mru is not None and MRU in self.wanted:
            if len(mru) == 2 and SMALLEST_MRU <= int.from_bytes(mru, "big") <= settings.mru:
                self.wanted[MRU] = mru
            else:
                del self.wanted[MRU]
        if link.role == SERVER and AUTHENTICATION in options:
            method = METHOD_OF.get(options[AUTHENTICATION])
            if method in settings.methods:
                self.method = method

    def rejected(self, options: dict[int, bytes]) -> None:
        for kind in options:
            self.wanted.pop(kind, None)
        if self.link.role == SERVER and AUTHENTICATION in options:
            self.link.refuse_link("the client refuses to be authenticated")

    def other(self, now: float, code: int, body: bytes) -> bool:
        if code == ECHO_REQUEST:
            # Our own magic number comes back on a looped link only.
            if self.state == State.OPENED and len(body) >= 8 and body[4:8] != self.magic:
                data = body[8 : self.link.peer_mru]
                self.answer = packet(ECHO_REPLY, body[1], self.magic + data)
                self.event(now, RXR)
        elif code == PROTOCOL_REJECT:
            if self.state == State.OPENED and len(body) >= 6:
                rejected = int.from_bytes(body[4:6], "big")
                if rejected == LCP:
                    self.event(now, RXJ_MINUS)
                else:
                    self.link.protocol_rejected(now, rejected)
        else:
            return code in (ECHO_REPLY, DISCARD_REQUEST)
        return True

    def reject_protocol(self, protocol: int, body: bytes) -> None:
        """Say that packets of `protocol` are not understood (section 5.7)."""
        if self.state == State.OPENED:
            data = (protocol.to_bytes(2, "big") + body)[: self.link.peer_mru - 4]
            self._send(packet(PROTOCOL_REJECT, self._next_identifier(), data))

    def echo(self, now: float) -> None:
        """The keepalive: what was heard since the last one counts as an answer."""
        settings = self.link.settings
        if self.silent >= settings.misses:
            self.link.lost(f"no answer to {self.silent} Echo-Requests")
            return
        self.silent += 1
        self.echo_at = now + settings.keepalive
        self._send(packet(ECHO_REQUEST, self._next_identifier(), self.magic))

    def up(self, now: float) -> None:
        self.silent = self.loops = 0
        self.echo_at = now + self.link.settings.keepalive
        self.link.lcp_up(now)

    def down(self, now: float) -> None:
        self.echo_at = inf
        self.link.lcp_down(now)

    def hung_up(self) -> None:
        self.link.lost("the peer hung up", USER_REQUEST)

    def finished(self, now: float) -> None:
        self.link.lost("no answer to LCP")

    def give_up(self, now: float, reason: str) -> None:
        self.link.end(reason, LOST_CARRIER)
