"""The RADIUS client of an access concentrator: who may come in, and what is billed.

    client = Client(ClientSettings(secret=b"testing123"))
    client.access(now, token, login, station)    -> later an Answer from `heard` or `tick`
    client.accounting(now, token, make_body)     -> later a Recorded
    client.take() -> [Datagram(...), ...]

The client opens nothing: `sockets` sends its datagrams.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from ipaddress import IPv4Address
from os import urandom
from typing import Any, NamedTuple

from p4lab.systems.bng.radius.exchange import Exchange, Patience
from p4lab.systems.bng.radius.profile import NOTHING, Profile, profile_of
from p4lab.systems.bng.radius.wire import (
    Code,
    Kind,
    WireError,
    accounting_request,
    attribute,
    attributes,
    hidden,
    number,
    signed_request,
    text,
)

FRAMED, PPP = 2, 1
"""Service-Type and Framed-Protocol of a subscriber's request"""

ACCOUNTING_PATIENCE = Patience(tries=3, waiting=None)


class ClientSettings(NamedTuple):
    """What the operator says about RADIUS. `ports` are the source ports for each of the two
    servers; each has 256 identifiers."""

    secret: bytes
    nas: str = "p4lab"
    nas_address: IPv4Address = IPv4Address("127.0.0.1")
    ports: int = 8
    access: Patience = Patience()
    accounting: Patience = ACCOUNTING_PATIENCE


class Login(NamedTuple):
    """What a subscriber says to be let in: a password by PAP, or a response by CHAP-MD5.

    `response` is the CHAP identifier and the 16 bytes of the response, `challenge` what it
    answers.
    """

    user: bytes
    password: bytes | None = None
    challenge: bytes = b""
    response: bytes = b""


class Verdict(Enum):
    """What became of a request for access."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    NO_ANSWER = "no answer"


class Answer(NamedTuple):
    """The answer to `access`."""

    token: Any
    verdict: Verdict
    profile: Profile = NOTHING


class Recorded(NamedTuple):
    """The answer to `accounting`: whether the server has the record."""

    token: Any
    acknowledged: bool


class Datagram(NamedTuple):
    """What is to be sent: to the port of a service, from one of our sockets for it."""

    service: str
    port: int
    data: bytes


ACCESS, ACCOUNTING = "access", "accounting"


class Client:
    """See above."""

    def __init__(self, settings: ClientSettings, random: Callable[[int], bytes] = urandom) -> None:
        """`random` gives so many bytes that no one can guess."""
        self.settings = settings
        self.auth = Exchange(settings.secret, settings.access, settings.ports)
        self.acct = Exchange(settings.secret, settings.accounting, settings.ports, anew=True)
        self.nas = number(Kind.NAS_IP_ADDRESS, int(settings.nas_address))
        self.nas += text(Kind.NAS_IDENTIFIER, settings.nas)
        self._framed = number(Kind.SERVICE_TYPE, FRAMED) + number(Kind.FRAMED_PROTOCOL, PPP)
        self._random = random

    @property
    def deadline(self) -> int | None:
        """When `tick` has to be called at the latest."""
        due = (self.auth.deadline, self.acct.deadline)
        return min((at for at in due if at is not None), default=None)

    def access(self, now: int, token: Any, login: Login, station: bytes) -> Answer | None:
        """Ask whether someone may come in; `station` are attributes that say where they are.

        Gives an answer at once, and sends nothing, for a login that no server has to see: without
        a name, or with more than RADIUS carries.
        """
        try:
            if not login.user:
                raise WireError("a subscriber without a name.")
            body = attribute(Kind.USER_NAME, login.user) + self._framed + self.nas + station
            authenticator = self._random(16)
            body = self._credentials(login, authenticator) + body
        except WireError as error:
            return Answer(token, Verdict.REFUSED, Profile(message=str(error)))
        secret = self.settings.secret

        def make(identifier: int, now: int) -> bytes:
            return signed_request(Code.ACCESS_REQUEST, identifier, authenticator, body, secret)

        self.auth.ask(now, make, token)
        return None

    def accounting(self, now: int, token: Any, body_at: Callable[[int], bytes]) -> None:
        """Send a record; `body_at` gives its attributes for the time at which it is sent, because
        they say how late it is."""
        secret = self.settings.secret

        def make(identifier: int, now: int) -> bytes:
            return accounting_request(identifier, body_at(now), secret)

        self.acct.ask(now, make, token)

    def heard(self, now: int, service: str, port: int, datagram: bytes) -> Answer | Recorded | None:
        """What a datagram from a server answers, if anything."""
        exchange = self.auth if service == ACCESS else self.acct
        found = exchange.heard(now, port, datagram)
        if found is None:
            return None
        token, packet = found
        if service == ACCOUNTING:
            return Recorded(token, True)
        return _answer(token, packet)

    def tick(self, now: int) -> list[Answer | Recorded]:
        """What is due: repetitions, and what is given up."""
        lost: list[Answer | Recorded] = [
            Answer(token, Verdict.NO_ANSWER) for token in self.auth.tick(now)
        ]
        lost += [Recorded(token, False) for token in self.acct.tick(now)]
        return lost

    def take(self) -> list[Datagram]:
        """What is to be sent now."""
        out = [Datagram(ACCESS, port, data) for port, data in self.auth.take()]
        out += [Datagram(ACCOUNTING, port, data) for port, data in self.acct.take()]
        return out

    def _credentials(self, login: Login, authenticator: bytes) -> bytes:
        if login.password is not None:
            secret = self.settings.secret
            return attribute(Kind.USER_PASSWORD, hidden(login.password, secret, authenticator))
        if len(login.response) != 17:
            raise WireError(f"a CHAP response of {len(login.response)} bytes, not 17.")
        return attribute(Kind.CHAP_PASSWORD, login.response) + attribute(
            Kind.CHAP_CHALLENGE, login.challenge
        )


def _answer(token: Any, packet: bytes) -> Answer:
    """An Access-Accept that cannot be read lets no one in, nor does a challenge (EAP)."""
    try:
        profile = profile_of(attributes(packet))
    except WireError as error:
        return Answer(token, Verdict.REFUSED, Profile(message=str(error)))
    accepted = packet[0] == Code.ACCESS_ACCEPT
    return Answer(token, Verdict.ACCEPTED if accepted else Verdict.REFUSED, profile)
