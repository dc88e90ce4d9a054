"""A client's side of PPPoE's discovery stage."""

from __future__ import annotations

from math import inf
from random import Random

from p4lab.systems.bng.pppoe.packets import (
    AC_COOKIE,
    AC_NAME,
    AC_SYSTEM_ERROR,
    BROADCAST,
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
    VENDOR,
    Discovery,
    Tags,
    discovery,
    discovery_of,
    line_tag,
    max_payload_of,
)

TIMEOUT = 5.0
TRIES = 10
"""BNG Blaster's defaults"""
ERRORS = (SERVICE_NAME_ERROR, AC_SYSTEM_ERROR, GENERIC_ERROR)


class Dialer:
    """Finds a concentrator and asks it for a session.

    `session_id` is 0 until there is one; `failure` says why there will be none, or why it ended.
    `out` collects what is to be sent: destination MAC and packet, all of EtherType 0x8863.
    """

    __slots__ = (
        "_circuit_id",
        "_most",
        "_packet",
        "_remote_id",
        "_service",
        "_tries",
        "_uniq",
        "concentrator",
        "deadline",
        "failure",
        "max_payload",
        "out",
        "session_id",
    )

    def __init__(
        self,
        random: Random,
        *,
        service: bytes = b"",
        max_payload: int = PLAIN_MRU,
        circuit_id: bytes = b"",
        remote_id: bytes = b"",
    ) -> None:
        """`max_payload` above 1492 is asked for (RFC 4638); circuit and remote id are added as an
        access node would (TR-101)."""
        self._service, self._most = service, max_payload
        self._circuit_id, self._remote_id = circuit_id, remote_id
        self._uniq = random.randbytes(8)
        self._packet = b""
        self._tries = 0
        self.out: list[tuple[bytes, bytes]] = []
        self.concentrator = BROADCAST
        """The concentrator's MAC address once it has offered a session"""
        self.deadline = inf
        self.session_id = 0
        self.failure = ""
        self.max_payload = PLAIN_MRU

    def start(self, now: float) -> None:
        """Ask who is there."""
        self.session_id, self.failure, self.concentrator = 0, "", BROADCAST
        self._begin(now, discovery(PADI, 0, self._tags([])))

    def _tags(self, echoes: Tags) -> Tags:
        tags: Tags = [(SERVICE_NAME, self._service), (HOST_UNIQ, self._uniq), *echoes]
        if self._most > PLAIN_MRU:
            tags.append((MAX_PAYLOAD, self._most.to_bytes(2, "big")))
        if self._circuit_id or self._remote_id:
            tags.append((VENDOR, line_tag(self._circuit_id, self._remote_id)))
        return tags

    def _begin(self, now: float, packet: bytes) -> None:
        self._packet, self._tries = packet, TRIES
        self._send(now)

    def _send(self, now: float) -> None:
        self._tries -= 1
        self.deadline = now + TIMEOUT
        self.out.append((self.concentrator, self._packet))

    def tick(self, now: float) -> None:
        """Ask again, or give up."""
        if now < self.deadline:
            return
        if self._tries:
            self._send(now)
        else:
            asked = "PADI" if self.concentrator == BROADCAST else "PADR"
            self._fail(f"no answer to {TRIES} {asked}")

    def _fail(self, reason: str) -> None:
        self.session_id, self.failure, self.deadline = 0, reason, inf

    def heard(self, now: float, source: bytes, packet: bytes) -> None:
        """A frame of EtherType 0x8863 to our MAC address."""
        found = discovery_of(packet)
        if found is None:
            return
        if found.code == PADT:
            if self.session_id == found.session_id != 0 and source == self.concentrator:
                self._fail(f"the concentrator hung up{self._told(found)}")
        elif self.deadline == inf or found.first(HOST_UNIQ) != self._uniq:
            return
        elif found.code == PADO and self.concentrator == BROADCAST:
            self._offered(now, source, found)
        elif found.code == PADS and source == self.concentrator:
            self._confirmed(found)

    def _offered(self, now: float, source: bytes, offer: Discovery) -> None:
        """The first offer that fits is taken."""
        fits = not self._service or self._service in offer.all(SERVICE_NAME)
        if offer.session_id or source[0] & 1 or not fits or offer.first(AC_NAME) is None:
            return
        self.concentrator = source
        echoes = [pair for pair in offer.tags if pair[0] in (AC_COOKIE, RELAY_SESSION_ID)]
        self._begin(now, discovery(PADR, 0, self._tags(echoes)))

    def _confirmed(self, packet: Discovery) -> None:
        if packet.session_id == 0:
            self._fail(f"the concentrator refuses{self._told(packet)}")
        else:
            self.session_id, self.deadline = packet.session_id, inf
            self.max_payload = max_payload_of(packet, self._most)

    @staticmethod
    def _told(packet: Discovery) -> str:
        """What an error tag says."""
        for kind in ERRORS:
            value = packet.first(kind)
            if value:
                return ": " + value.decode("utf-8", "replace")
        return ""

    def hang_up(self, message: str = "") -> None:
        """End the session, with a PADT."""
        if self.session_id:
            tags: Tags = [(HOST_UNIQ, self._uniq)]
            if message:
                tags.append((GENERIC_ERROR, message.encode()))
            self.out.append((self.concentrator, discovery(PADT, self.session_id, tags)))
        self._fail("we hung up")
