"""PAP (RFC 1334) and CHAP with MD5 (RFC 1994): the side that asks and the side that answers."""

from __future__ import annotations

import hashlib
from math import inf
from typing import TYPE_CHECKING

from p4lab.systems.bng.ppp.codes import CHAP, HEADER, PAP, packet
from p4lab.systems.bng.ppp.events import LOST_CARRIER, USER_ERROR, AuthenticationAsked
from p4lab.systems.bng.ppp.settings import CHAP as BY_CHAP
from p4lab.systems.bng.ppp.settings import PAP as BY_PAP

if TYPE_CHECKING:
    from p4lab.systems.bng.ppp.link import Link

PAP_REQUEST, PAP_ACK, PAP_NAK = 1, 2, 3
CHALLENGE, RESPONSE, SUCCESS, FAILURE = 1, 2, 3, 4
PROTOCOLS = {BY_PAP: PAP, BY_CHAP: CHAP}
CHALLENGE_BYTES = 16
PROOF_BYTES = 16
"""Of MD5"""


def proof_of(identifier: int, secret: bytes, challenge: bytes) -> bytes:
    """What a client answers to a challenge (RFC 1994, section 4.1)."""
    return hashlib.md5(bytes((identifier,)) + secret + challenge, usedforsecurity=False).digest()


def framed(body: bytes) -> tuple[int, int, bytes] | None:
    """Code, identifier and data of a packet, padding cut off; None if it is malformed."""
    if len(body) < 4:
        return None
    code, identifier, length = HEADER.unpack_from(body)
    if not 4 <= length <= len(body):
        return None
    return code, identifier, body[4:length]


def sized(data: bytes, at: int) -> bytes | None:
    """The field at `at` that begins with its length; None if there is less."""
    if at >= len(data) or at + 1 + data[at] > len(data):
        return None
    return data[at + 1 : at + 1 + data[at]]


class Judge:
    """A server's side. A client that repeats itself gets the same verdict again."""

    __slots__ = ("challenge", "deadline", "identifier", "link", "method", "tries", "verdict")

    def __init__(self, link: Link) -> None:
        self.link = link
        self.method = ""
        """What the client has agreed to; nothing while LCP is not open"""
        self.identifier = link.random.getrandbits(8)
        self.deadline = inf
        self.challenge = self.verdict = b""
        self.tries = 0

    def start(self, now: float, method: str) -> None:
        """LCP is open."""
        self.method, self.verdict = method, b""
        self.link.asked = False
        if method == BY_CHAP:
            self.identifier = self.identifier + 1 & 0xFF
            self.challenge = self.link.random.randbytes(CHALLENGE_BYTES)
            self.tries = self.link.settings.max_configure
            self._challenge(now)

    def _challenge(self, now: float) -> None:
        if not self.tries:
            self.link.end("the client does not answer the challenge", LOST_CARRIER)
            return
        self.tries -= 1
        self.deadline = now + self.link.settings.restart
        data = bytes((CHALLENGE_BYTES,)) + self.challenge + self.link.settings.name
        self.link.out.append((CHAP, packet(CHALLENGE, self.identifier, data)))

    def tick(self, now: float) -> None:
        """The client has said nothing: challenge it again."""
        if now >= self.deadline:
            self._challenge(now)

    def stop(self) -> None:
        """LCP is not open any more."""
        self.method, self.deadline = "", inf

    def heard(self, protocol: int, body: bytes) -> None:
        """A request (PAP) or a response (CHAP)."""
        found = framed(body)
        if found is None or protocol != PROTOCOLS.get(self.method):
            return
        code, identifier, data = found
        if self.method == BY_CHAP:
            if code != RESPONSE or identifier != self.identifier:
                return
            proof = sized(data, 0)
            if proof is None or len(proof) != PROOF_BYTES:
                return
            self._ask(identifier, data[1 + PROOF_BYTES :], proof)
        elif code == PAP_REQUEST:
            name = sized(data, 0)
            secret = None if name is None else sized(data, 1 + len(name))
            if name is not None and secret is not None:
                self._ask(identifier, name, secret)

    def _ask(self, identifier: int, name: bytes, proof: bytes) -> None:
        link = self.link
        self.deadline = inf
        self.identifier = identifier  # PAP: of the last request, which the client waits for
        if self.verdict:
            self._say(self.verdict[:1], self.verdict[1:])
        elif not link.asked:
            link.asked = True
            if name:
                challenge = self.challenge if self.method == BY_CHAP else b""
                link.events.append(
                    AuthenticationAsked(self.method, name, identifier, challenge, proof)
                )
            else:
                self.refuse("a user name is missing")

    def _say(self, code: bytes, message: bytes) -> None:
        self.verdict = code + message
        if self.method == BY_CHAP:
            body = packet(code[0], self.identifier, message)
            self.link.out.append((CHAP, body))
        else:
            data = bytes((len(message),)) + message
            self.link.out.append((PAP, packet(code[0], self.identifier, data)))

    def accept(self) -> None:
        """Tell the client that it is in."""
        self._say(bytes((SUCCESS if self.method == BY_CHAP else PAP_ACK,)), b"")

    def refuse(self, message: str) -> None:
        """Tell the client that it is not; the link ends."""
        text = message.encode("utf-8", "replace")[:255]
        self._say(bytes((FAILURE if self.method == BY_CHAP else PAP_NAK,)), text)
        self.link.end(message, USER_ERROR)


class Applicant:
    """A client's side."""

    __slots__ = ("deadline", "identifier", "link", "method", "tries")

    def __init__(self, link: Link) -> None:
        self.link = link
        self.method = ""
        """What the server wants; nothing while LCP is not open"""
        self.identifier = -1
        """That of what we have said last; -1 if we have not"""
        self.deadline = inf
        self.tries = 0

    def start(self, now: float, method: str) -> None:
        """LCP is open and the server wants this."""
        self.method, self.identifier = method, -1
        self.tries = self.link.settings.max_configure
        if method == BY_PAP:
            self._request(now)

    def _request(self, now: float) -> None:
        if not self.tries:
            self.link.end("the server does not answer the name and password", LOST_CARRIER)
            return
        self.tries -= 1
        self.identifier = self.identifier + 1 & 0xFF
        self.deadline = now + self.link.settings.restart
        fields = (self.link.settings.name[:255], self.link.settings.secret[:255])
        data = b"".join([bytes((len(field),)) + field for field in fields])
        self.link.out.append((PAP, packet(PAP_REQUEST, self.identifier, data)))

    def tick(self, now: float) -> None:
        """PAP: ask again."""
        if now >= self.deadline:
            self._request(now)

    def stop(self) -> None:
        """LCP is not open any more."""
        self.method, self.deadline = "", inf

    def heard(self, now: float, protocol: int, body: bytes) -> None:
        """A verdict, or a challenge."""
        found = framed(body)
        if found is None or protocol != PROTOCOLS.get(self.method):
            return
        code, identifier, data = found
        if self.method == BY_CHAP and code == CHALLENGE:
            challenge = sized(data, 0)
            if challenge:
                settings = self.link.settings
                self.identifier = identifier
                proof = proof_of(identifier, settings.secret, challenge)
                answer = bytes((PROOF_BYTES,)) + proof + settings.name
                self.link.out.append((CHAP, packet(RESPONSE, identifier, answer)))
        elif identifier == self.identifier:
            if code == (SUCCESS if self.method == BY_CHAP else PAP_ACK):
                self.deadline = inf
                self.link.accepted(now)
            elif code == (FAILURE if self.method == BY_CHAP else PAP_NAK):
                message = data if self.method == BY_CHAP else data[1:]
                reason = message.decode("utf-8", "replace") or "refused"
                self.link.end(f"the server said: {reason}", USER_ERROR)
