"""The access concentrator: which subscribers have a session, and how they get one."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from p4lab.systems.bng.ppp.bucket import Bucket
from p4lab.systems.bng.pppoe.packets import (
    AC_COOKIE,
    AC_NAME,
    AC_SYSTEM_ERROR,
    BROADCAST,
    DISCOVERY,
    GENERIC_ERROR,
    HOST_UNIQ,
    MAX_PAYLOAD,
    PADI,
    PADO,
    PADR,
    PADS,
    PADT,
    PLAIN_MRU,
    RELAY_SESSION_ID,
    SERVICE_NAME,
    SERVICE_NAME_ERROR,
    SESSION,
    Discovery,
    Tags,
    data,
    data_of,
    discovery,
    discovery_of,
    line_of,
    max_payload_of,
)

Line = Hashable
"""Where a subscriber is connected, in the gateway's words"""

COOKIE_SECONDS = 30.0
"""A cookie is taken for one to two of these"""
LINES_WATCHED = 1 << 17
"""Rates are kept for so many lines; with one more all start again, with a full bucket"""
IDS = range(1, 0xFFFF)
"""Session ids: 0 is for discovery, 0xffff is reserved (RFC 2516, section 4)"""


@dataclass(frozen=True)
class Offer:
    """What a concentrator offers, and its limits."""

    name: bytes = b"p4lab"
    services: tuple[bytes, ...] = (b"",)
    """Names of services; the empty one is what a client asks for that takes any"""
    max_payload: int = 1500
    """The longest PPP payload, for clients that ask for it (RFC 4638)"""
    sessions: int = 65534
    sessions_per_line: int = 8
    packets_per_second: float = 4.0
    """Discovery packets that are looked at, from one line"""
    packets_at_once: int = 32


class Session:
    """A subscriber's session: its id, line and MAC, and what the access node said of the line.

    `link` is the owner's to set: the concentrator does not look at it.
    """

    __slots__ = (
        "circuit_id",
        "fresh",
        "host_uniq",
        "id",
        "line",
        "link",
        "mac",
        "max_payload",
        "remote_id",
        "service",
    )

    def __init__(
        self,
        number: int,
        line: Line,
        mac: bytes,
        *,
        service: bytes = b"",
        circuit_id: bytes = b"",
        remote_id: bytes = b"",
        max_payload: int = PLAIN_MRU,
        host_uniq: bytes | None = None,
    ) -> None:
        self.id, self.line, self.mac, self.service = number, line, mac, service
        self.circuit_id, self.remote_id, self.max_payload = circuit_id, remote_id, max_payload
        self.host_uniq = host_uniq
        self.fresh = True
        """Nothing was heard yet: a repeated PADR means that the PADS was lost"""
        self.link: object = None


class Opened(NamedTuple):
    """A subscriber has a session: start PPP."""

    session: Session


class Closed(NamedTuple):
    """A subscriber's PADT ended its session."""

    session: Session


class Frame(NamedTuple):
    """What is to be sent to a subscriber, without Ethernet's header."""

    line: Line
    mac: bytes
    ethertype: int
    packet: bytes


class Concentrator:
    """Sessions by id. `out` collects the frames to be sent; see the package."""

    __slots__ = ("_buckets", "_free", "_key", "_lines", "ignored", "offer", "out", "sessions")

    def __init__(self, offer: Offer, random: Random) -> None:
        self.offer = offer
        self.out: list[Frame] = []
        self.sessions: dict[int, Session] = {}
        self.ignored = 0
        """Packets that got neither an answer nor an effect"""
        self._key = random.randbytes(32)
        # The id that was free for the longest time is used first: a late packet finds nothing.
        self._free = deque(IDS)
        self._lines: dict[Line, list[Session]] = {}
        self._buckets: dict[Line, Bucket] = {}

    @property
    def heard(self) -> Iterable[Line]:
        """Lines that discovery has come from."""
        return self._buckets.keys()

    def take(self) -> list[Frame]:
        """What is to be sent, in order."""
        out, self.out = self.out, []
        return out

    def discovery(
        self, now: float, line: Line, destination: bytes, source: bytes, packet: bytes
    ) -> Opened | Closed | None:
        """A frame of EtherType 0x8863 from a known line, to our MAC address or to all."""
        found = discovery_of(packet) if self._allows(now, line) else None
        if found is not None and not source[0] & 1:
            code = found.code
            if code == PADI and found.session_id == 0 and destination == BROADCAST:
                self._initiation(now, line, source, found)
                return None
            if destination != BROADCAST:
                if code == PADR and found.session_id == 0:
                    return self._request(now, line, source, found)
                if code == PADT:
                    return self._termination(line, source, found.session_id)
        self.ignored += 1
        return None

    def session(
        self, line: Line, source: bytes, packet: bytes
    ) -> tuple[Session, int, bytes] | None:
        """A frame of EtherType 0x8864: whose it is, its PPP protocol and body.

        None if it is malformed, or not from the line and the MAC address of the session.
        """
        found = data_of(packet)
        if found is not None:
            session = self.sessions.get(found[0])
            if session is not None and session.line == line and session.mac == source:
                session.fresh = False
                return session, found[1], found[2]
        self.ignored += 1
        return None

    def send(self, session: Session, protocol: int, body: bytes) -> None:
        """A PPP packet to a subscriber."""
        packet = data(session.id, protocol, body)
        self.out.append(Frame(session.line, session.mac, SESSION, packet))

    def close(self, session: Session, message: str = "") -> None:
        """End a session, with a PADT; what it is ended for is said in there."""
        if not self._forget(session):
            return
        tags: Tags = [(AC_NAME, self.offer.name)]
        if message:
            tags.append((GENERIC_ERROR, message.encode("utf-8", "replace")[:255]))
        self._say(session.line, session.mac, discovery(PADT, session.id, tags))

    def restore(self, sessions: Iterable[Session]) -> None:
        """Sessions from before a restart. Raises ValueError if an id is taken or impossible."""
        for session in sessions:
            if session.id in self.sessions or session.id not in IDS:
                raise ValueError(f"session {session.id} cannot be restored: its id is not free")
            self._remember(session)
            session.fresh = False
        self._free = deque(number for number in self._free if number not in self.sessions)

    def _allows(self, now: float, line: Line) -> bool:
        bucket = self._buckets.get(line)
        if bucket is None:
            offer = self.offer
            if len(self._buckets) >= LINES_WATCHED:
                self._buckets.clear()
            bucket = Bucket(offer.packets_per_second, offer.packets_at_once, now)
            self._buckets[line] = bucket
        return bucket.allows(now)

    def _say(self, line: Line, mac: bytes, packet: bytes) -> None:
        self.out.append(Frame(line, mac, DISCOVERY, packet))

    def _cookie(self, period: int, line: Line, mac: bytes) -> bytes:
        """Proof that this subscriber has heard our PADO, without keeping anything."""
        text = f"{period} {line!r}".encode()
        return hashlib.blake2s(mac + text, key=self._key, digest_size=16).digest()

    def _initiation(self, now: float, line: Line, mac: bytes, packet: Discovery) -> None:
        wanted = packet.all(SERVICE_NAME)
        if len(wanted) != 1 or wanted[0] not in (b"", *self.offer.services):
            self.ignored += 1  # Another concentrator may have it.
            return
        if len(self.sessions) >= self.offer.sessions:
            self.ignored += 1
            return
        others = [service for service in self.offer.services if service != wanted[0]]
        tags: Tags = [(AC_NAME, self.offer.name)]
        tags += [(SERVICE_NAME, service) for service in (wanted[0], *others)]
        tags.append((AC_COOKIE, self._cookie(int(now // COOKIE_SECONDS), line, mac)))
        tags += self._echoes(packet)
        self._say(line, mac, discovery(PADO, 0, tags))

    def _echoes(self, packet: Discovery) -> Tags:
        """What goes back unchanged, and how long payloads may be."""
        tags = [pair for pair in packet.tags if pair[0] in (HOST_UNIQ, RELAY_SESSION_ID)]
        payload = max_payload_of(packet, self.offer.max_payload)
        if payload > PLAIN_MRU:
            tags.append((MAX_PAYLOAD, payload.to_bytes(2, "big")))
        return tags

    def _request(self, now: float, line: Line, mac: bytes, packet: Discovery) -> Opened | None:
        period = int(now // COOKIE_SECONDS)
        cookie = packet.first(AC_COOKIE)
        if cookie not in (self._cookie(period, line, mac), self._cookie(period - 1, line, mac)):
            self.ignored += 1
            return None
        wanted = packet.all(SERVICE_NAME)
        if len(wanted) != 1:
            self._refuse(line, mac, packet, GENERIC_ERROR, "a PADR has one Service-Name")
            return None
        if wanted[0] not in (b"", *self.offer.services):
            self._refuse(line, mac, packet, SERVICE_NAME_ERROR, "there is no such service")
            return None
        there = self._lines.get(line, ())
        again = self._repeated(there, mac, packet)
        if again is not None:
            self._confirm(again, packet)
            return None
        if len(there) >= self.offer.sessions_per_line:
            self._refuse(line, mac, packet, AC_SYSTEM_ERROR, "the line has enough sessions")
            return None
        if len(self.sessions) >= self.offer.sessions or not self._free:
            self._refuse(line, mac, packet, AC_SYSTEM_ERROR, "there is no room for a session")
            return None
        circuit_id, remote_id = line_of(packet)
        session = Session(
            self._free.popleft(),
            line,
            mac,
            service=wanted[0],
            circuit_id=circuit_id,
            remote_id=remote_id,
            max_payload=max_payload_of(packet, self.offer.max_payload),
            host_uniq=packet.first(HOST_UNIQ),
        )
        self._remember(session)
        self._confirm(session, packet)
        return Opened(session)

    @staticmethod
    def _repeated(
        there: list[Session] | tuple[()], mac: bytes, packet: Discovery
    ) -> Session | None:
        """The session that this very PADR has opened before: its PADS was lost."""
        uniq = packet.first(HOST_UNIQ)
        for session in there:
            if session.fresh and session.mac == mac and session.host_uniq == uniq:
                return session
        return None

    def _confirm(self, session: Session, packet: Discovery) -> None:
        tags: Tags = [(SERVICE_NAME, session.service), (AC_NAME, self.offer.name)]
        tags += self._echoes(packet)
        self._say(session.line, session.mac, discovery(PADS, session.id, tags))

    def _refuse(self, line: Line, mac: bytes, packet: Discovery, error: int, message: str) -> None:
        tags: Tags = [(SERVICE_NAME, value) for value in packet.all(SERVICE_NAME)[:1]]
        tags += [(error, message.encode()), (AC_NAME, self.offer.name)]
        tags += [pair for pair in packet.tags if pair[0] in (HOST_UNIQ, RELAY_SESSION_ID)]
        self._say(line, mac, discovery(PADS, 0, tags))

    def _termination(self, line: Line, mac: bytes, number: int) -> Closed | None:
        session = self.sessions.get(number)
        if session is None or session.line != line or session.mac != mac:
            self.ignored += 1
            return None
        self._forget(session)
        return Closed(session)

    def _remember(self, session: Session) -> None:
        self.sessions[session.id] = session
        self._lines.setdefault(session.line, []).append(session)

    def _forget(self, session: Session) -> bool:
        if self.sessions.get(session.id) is not session:
            return False
        del self.sessions[session.id]
        self._free.append(session.id)
        there = self._lines[session.line]
        there.remove(session)
        if not there:
            del self._lines[session.line]
        return True
