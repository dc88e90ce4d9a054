"""CoA and Disconnect: a server changes or ends a session while it runs (RFC 5176).

    authorization = DynamicAuthorization(secret, nas, sessions)
    reply = authorization.heard(now, wall, source, datagram)      # None: no answer is due

Requests are rare, so pyrad reads and writes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from pyrad.dictionary import Dictionary
from pyrad.packet import (
    CoAACK,
    CoANAK,
    CoAPacket,
    CoARequest,
    DisconnectACK,
    DisconnectNAK,
    DisconnectRequest,
    Packet,
    PacketError,
)

SECOND = 10**9
WINDOW = 300 * SECOND
"""How far Event-Timestamp may be off, and how long a request is remembered (RFC 5176, 6.3)"""
MOST_REMEMBERED = 10_000
DICTIONARY = Path(__file__).with_name("dictionary")
_ANSWERS = {CoARequest: (CoAACK, CoANAK), DisconnectRequest: (DisconnectACK, DisconnectNAK)}


class ErrorCause(IntEnum):
    """Why a request is refused (RFC 5176, section 3.6)."""

    UNSUPPORTED_ATTRIBUTE = 401
    MISSING_ATTRIBUTE = 402
    NAS_IDENTIFICATION_MISMATCH = 403
    INVALID_REQUEST = 404
    UNSUPPORTED_SERVICE = 405
    UNSUPPORTED_EXTENSION = 406
    INVALID_ATTRIBUTE_VALUE = 407
    ADMINISTRATIVELY_PROHIBITED = 501
    SESSION_CONTEXT_NOT_FOUND = 503
    SESSION_CONTEXT_NOT_REMOVABLE = 504
    RESOURCES_UNAVAILABLE = 506
    MULTIPLE_SESSION_SELECTION_UNSUPPORTED = 508


class RefusedError(Exception):
    """A request that is answered with a NAK."""

    def __init__(self, cause: ErrorCause) -> None:
        super().__init__(cause.name)
        self.cause = cause


class Change(NamedTuple):
    """What a CoA changes about a session; None leaves it. Times in seconds, 0 for no limit."""

    service: str | None = None
    session_timeout: int | None = None
    idle_timeout: int | None = None
    interim: int | None = None


class Sessions(Protocol):
    """What the gateway offers to authorization. Sessions are whatever it finds."""

    def find(self, named: dict[str, Any]) -> Sequence[Any]:
        """The sessions for which all these attributes are true: `Acct-Session-Id`, `User-Name`,
        `Framed-IP-Address`, `Calling-Station-Id`, `NAS-Port-Id`, `NAS-Port`."""

    def change(self, now: int, session: Any, change: Change) -> None:
        """Change one session. Raises RefusedError and changes nothing."""

    def disconnect(self, now: int, session: Any) -> None:
        """End one session. Raises RefusedError."""


IDENTIFYING = {
    "Acct-Session-Id",
    "User-Name",
    "Framed-IP-Address",
    "Calling-Station-Id",
    "NAS-Port-Id",
    "NAS-Port",
}
OF_THE_NAS = {"NAS-IP-Address", "NAS-Identifier"}
ABOUT_THE_REQUEST = {"Event-Timestamp", "Message-Authenticator", "Proxy-State"}
CHANGING = {
    "Filter-Id": "service",
    "Session-Timeout": "session_timeout",
    "Idle-Timeout": "idle_timeout",
    "Acct-Interim-Interval": "interim",
}


class DynamicAuthorization:
    """See above. `ignored` counts datagrams that got no answer: those of strangers, and those
    that were recorded and are played again."""

    def __init__(
        self, secret: bytes, nas: str, nas_address: IPv4Address, sessions: Sessions
    ) -> None:
        self.ignored = 0
        self._secret = secret
        self._nas = {"NAS-Identifier": nas, "NAS-IP-Address": str(nas_address)}
        self._sessions = sessions
        self._dictionary = Dictionary(str(DICTIONARY))
        self._answered: dict[tuple[object, bytes], tuple[int, bytes]] = {}

    def heard(self, now: int, wall: int, source: object, datagram: bytes) -> bytes | None:
        """The answer to a datagram. `wall` is the time of day in nanoseconds, `source` whom it is
        from. The same request gets the same answer, and has no second effect."""
        packet = self._read(datagram)
        if packet is None:
            self.ignored += 1
            return None
        self._forget(now)
        key = (source, datagram[:20])
        if key in self._answered:
            return self._answered[key][1]
        if not _is_of_now(packet, wall) or len(self._answered) >= MOST_REMEMBERED:
            self.ignored += 1
            return None
        reply = self._answer(now, packet)
        self._answered[key] = (now + WINDOW, reply)
        return reply

    def _read(self, datagram: bytes) -> CoAPacket | None:
        """A request of someone who knows the secret."""
        try:
            packet = CoAPacket(packet=datagram, dict=self._dictionary, secret=self._secret)
            is_ours = packet.code in _ANSWERS and packet.VerifyCoARequest()
            if not is_ours or (
                packet.message_authenticator and not packet.verify_message_authenticator()
            ):
                return None
        except (PacketError, ValueError, KeyError, IndexError):
            return None
        return packet

    def _forget(self, now: int) -> None:
        """Requests of long ago would be too old by their Event-Timestamp."""
        for key, (until, _) in list(self._answered.items()):
            if until > now:
                break
            del self._answered[key]

    def _answer(self, now: int, packet: CoAPacket) -> bytes:
        ack, nak = _ANSWERS[packet.code]
        reply = packet.CreateReply()
        try:
            self._perform(now, packet)
            reply.code = ack
        except RefusedError as error:
            reply.code = nak
            reply["Error-Cause"] = int(error.cause)
        reply.add_message_authenticator()
        answer: bytes = reply.ReplyPacket()
        return answer

    def _perform(self, now: int, packet: CoAPacket) -> None:
        values = _values(packet)
        changes = {name for name in values if name in CHANGING}
        is_change = packet.code == CoARequest
        for name in values:
            known = name in IDENTIFYING | OF_THE_NAS | ABOUT_THE_REQUEST
            if not known and not (is_change and name in changes):
                is_service = name == "Service-Type"
                raise RefusedError(
                    ErrorCause.UNSUPPORTED_SERVICE
                    if is_service
                    else ErrorCause.UNSUPPORTED_ATTRIBUTE
                )
        for name, own in self._nas.items():
            if values.get(name, own) != own:
                raise RefusedError(ErrorCause.NAS_IDENTIFICATION_MISMATCH)
        session = self._one({name: values[name] for name in IDENTIFYING & set(values)})
        if not is_change:
            self._sessions.disconnect(now, session)
            return
        if not changes:
            raise RefusedError(ErrorCause.MISSING_ATTRIBUTE)
        change = Change(**{CHANGING[name]: values[name] for name in changes})
        self._sessions.change(now, session, change)

    def _one(self, named: dict[str, Any]) -> Any:
        """The one session that a request names."""
        if not named:
            raise RefusedError(ErrorCause.MISSING_ATTRIBUTE)
        found = self._sessions.find(named)
        if not found:
            raise RefusedError(ErrorCause.SESSION_CONTEXT_NOT_FOUND)
        if len(found) > 1:
            raise RefusedError(ErrorCause.MULTIPLE_SESSION_SELECTION_UNSUPPORTED)
        return found[0]


def _values(packet: Packet) -> dict[str, Any]:
    """The attributes by name. One that comes twice, or cannot be read, is an invalid request."""
    values = {}
    for name in packet.keys():  # noqa: SIM118  (a packet's own iteration gives numbers)
        if not isinstance(name, str):
            raise RefusedError(ErrorCause.UNSUPPORTED_ATTRIBUTE)
        try:
            found = packet[name]
        except (PacketError, ValueError, KeyError):
            raise RefusedError(ErrorCause.INVALID_ATTRIBUTE_VALUE) from None
        if len(found) != 1 and name not in ABOUT_THE_REQUEST:
            raise RefusedError(ErrorCause.INVALID_REQUEST)
        values[name] = found[0]
    return values


def _is_of_now(packet: Packet, wall: int) -> bool:
    """Whether a request says a time near ours, or none: then only what was seen is a replay."""
    try:
        stamps = packet["Event-Timestamp"]
    except KeyError:
        return True
    except (PacketError, ValueError):
        return False
    return bool(abs(stamps[0] * SECOND - wall) <= WINDOW)
