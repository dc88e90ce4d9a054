"""The access concentrator as a whole: from a PADI to a billed session, without sockets or a clock.

    gateway = Gateway(options, store, aaa, switch, random, now, wall)
    gateway.api.enable_access_port(...); gateway.api.add_route(...); gateway.add_lines(...)
    gateway.start(now)                     # after a restart: sessions and tables as they were
    gateway.heard(now, packet_in)          # a PacketIn of `p4/bng`: header, port, frame
    gateway.answered(now, service, port, datagram)     # from a RADIUS server
    gateway.tick(now)                      # when `gateway.deadline` has come
    for datagram in gateway.flush(now): ...            # to the RADIUS server

Whatever the gateway wants to say waits for `flush`, which writes the switch's tables, then the
store, and only then sends: no one is told of a session that a crash could make undone. Many packets
may be heard before one flush; that is what makes 1,000 set-ups a second cheap.

Times are nanoseconds of any clock that does not run backwards, and `wall` is the time of day at
`now`. `aaa` is `radius.client.Client` or `radius.local.LocalUsers`; `switch` a CountingDriver.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from p4lab.control.limit import TokenBucket
from p4lab.model.control import CountingDriver, PacketIn
from p4lab.model.entries import diff
from p4lab.systems.bng.accounting import OFF, ON, Accounting
from p4lab.systems.bng.api import Api, ApiError
from p4lab.systems.bng.billing import Billing
from p4lab.systems.bng.callers import Caller, place_of
from p4lab.systems.bng.calls import Calls
from p4lab.systems.bng.entries import SESSIONS, Line, entries
from p4lab.systems.bng.frames import Wrapping, core_packet, inner
from p4lab.systems.bng.options import Options
from p4lab.systems.bng.ppp.codes import IPV4
from p4lab.systems.bng.ppp.events import ADMIN_RESET, USER_REQUEST
from p4lab.systems.bng.pppoe import Closed, Concentrator, Opened
from p4lab.systems.bng.pppoe import Session as PppoeSession
from p4lab.systems.bng.pppoe.packets import DISCOVERY, PADT, SESSION, data_of, discovery
from p4lab.systems.bng.radius.client import Answer, Client, Datagram, Recorded
from p4lab.systems.bng.radius.coa import Change
from p4lab.systems.bng.radius.local import LocalUsers
from p4lab.systems.bng.stack import Stack
from p4lab.systems.bng.store import Store

SECOND = 10**9
HEADER_BYTES = 6
ON_DISCOVERY, ON_PPP, ON_PROTOCOL, ON_LINK_LOCAL, ON_IGMP = 1, 2, 3, 4, 5
ON_EXPIRED, ON_TOO_LONG, ON_ARP = 7, 8, 9
"""Reasons for which the program sends a packet here (p4/bng/README.md)"""
TO_SUBSCRIBER = {ON_PPP, ON_PROTOCOL, ON_LINK_LOCAL, ON_IGMP}
NAS_REQUEST = 10
"""Acct-Terminate-Cause (RFC 2866, section 5.10)"""
STRANGERS_PER_SECOND, STRANGERS_AT_ONCE = 200, 200
"""PADTs to those who send in sessions that we do not know"""


class Gateway:
    """See above. `ignored` counts packets without effect, by reason; `api` is the control API."""

    def __init__(
        self,
        options: Options,
        store: Store,
        aaa: Client | LocalUsers,
        switch: CountingDriver,
        random: Random,
        now: int,
        wall: int,
    ) -> None:
        """`random` must not be guessable: cookies and challenges come from it."""
        self.options, self.store, self.aaa, self.switch = options, store, aaa, switch
        self.api = Api()
        self.accounting = Accounting(store, aaa, wall - now)
        room = min(options.offer.sessions, SESSIONS - 1)  # each needs a cell of its own
        self.concentrator = Concentrator(replace(options.offer, sessions=room), random)
        self.ignored: Counter[str] = Counter()
        known = self.api.known
        self._stack = Stack(options, known, self.concentrator)
        self._billing = Billing(store, self.accounting, aaa.nas, switch, known, wall)
        self._calls = Calls(
            options,
            self.api,
            aaa,
            self.accounting,
            self._billing,
            self.concentrator,
            self._stack,
            self.ignored,
            random,
        )
        self.online, self._listeners = self._calls.online, self._calls.listeners
        self._wrappings: dict[tuple[int, int], Wrapping] = {}
        self._goodbyes: list[tuple[int, bytes]] = []
        self._is_behind = False
        self._strangers = TokenBucket(STRANGERS_PER_SECOND, STRANGERS_AT_ONCE)

    # ---- What the owner calls

    @property
    def sessions(self) -> int:
        """Sessions that are up."""
        return len(self.online)

    @property
    def running(self) -> Sequence[str]:
        """The Acct-Session-Ids of the sessions that are up."""
        return list(self.online.by_name)

    @property
    def deadline(self) -> int | None:
        """When `tick` has to be called at the latest; None for never."""
        waiting = (self.aaa, self.accounting, self._calls, self._listeners)
        return min((one.deadline for one in waiting if one.deadline is not None), default=None)

    def add_lines(self, lines: Iterable[Line]) -> None:
        """Subscribers' lines, kept on disk. Saying one again is not an error. Raises ApiError, and
        the lines before the wrong one are there."""
        fresh: list[Line] = []
        try:
            for line in lines:
                if self.api.known.lines.get(line.number) != line:
                    self.api.add_line(line)
                    fresh.append(line)
        finally:
            with self.store.batch():
                self.store.put_lines(fresh)

    def delete_line(self, number: int) -> None:
        """A line that is not there any more. Raises ApiError while it has sessions."""
        if any(place_of(session)[0] == number for session in self.concentrator.sessions.values()):
            raise ApiError(f"line {number} has sessions: end them first.")
        self.api.delete_line(number)
        self._wrappings = {key: one for key, one in self._wrappings.items() if key[0] != number}
        with self.store.batch():
            self.store.remove_line(number)

    def start(self, now: int) -> None:
        """Begin, or go on where the process before this one has ended. The tables of the switch
        become what is known."""
        for one in self.store.lines():
            if one[0] not in self.api.known.lines:
                self.api.add_line(Line(*one))
        self._calls.revive(now, list(self.store.sessions()))
        if self.store.boot > 1:
            self._billing.look()
        if not self.sessions:
            self._billing.of_all(now, ON)
        self.reconcile()

    def reconcile(self) -> None:
        """Give the switch what it should hold, whatever it holds: it or we were started anew."""
        self._is_behind = True
        self._write()

    def begin_anew(self) -> None:
        """The switch has lost all that it held, and with it what it has counted."""
        if self.sessions:
            self._billing.begin_anew(self.online.by_index.values())

    def heard(self, now: int, packet: PacketIn) -> None:
        """A packet that the switch's program has sent to its control plane."""
        header = packet.header
        if len(header) != HEADER_BYTES:
            self.ignored["no header of the program"] += 1
            return
        reason = header[1] & 0x7F
        line = self.api.known.lines.get(int.from_bytes(header[2:4], "big"))
        ignored = ""
        if reason in (ON_EXPIRED, ON_TOO_LONG):
            index = int.from_bytes(header[4:6], "big")
            ignored = self._undeliverable(now, reason, line, index, packet.frame)
        elif line is not None:
            ignored = self._from_line(now, reason, line, packet.frame)
        elif reason == ON_ARP:
            ignored = self._stack.arp(packet)
        else:
            ignored = f"reason {reason} without a line"
        if ignored:
            self.ignored[ignored] += 1

    def answered(self, now: int, service: str, port: int, datagram: bytes) -> None:
        """A datagram from a RADIUS server, to one of our ports for that service."""
        found = self.aaa.heard(now, service, port, datagram)
        if found is not None:
            self._answer(now, found)

    def tick(self, now: int) -> None:
        """Do what is due."""
        for found in self.aaa.tick(now):
            self._answer(now, found)
        self.accounting.tick(now)
        self._listeners.tick(now)
        self._calls.tick(now)

    def flush(self, now: int) -> list[Datagram]:
        """Write, keep, and then say what has come together. Gives datagrams for RADIUS."""
        self._calls.apply()
        self._tune()
        self._write()
        self.online.free.extend(self._billing.keep(now))
        self.accounting.send(now)
        for line, mac, ethertype, packet in self.concentrator.take():
            wrapping = self._wrapping(line)  # type: ignore[arg-type]
            self.switch.packet_out(wrapping.port, wrapping.frame(mac, ethertype, packet))
        for port, frame in (*self._goodbyes, *self._stack.take()):
            self.switch.packet_out(port, frame)
        self._goodbyes.clear()
        return self.aaa.take()

    def close(self, now: int, cause: int = NAS_REQUEST) -> None:
        """End all sessions and say so to the RADIUS server: the gateway goes out of service."""
        for session in list(self.concentrator.sessions.values()):
            self._calls.end(now, _caller(session), "the gateway goes out of service", cause)
        self._billing.of_all(now, OFF)

    # ---- Changes of authorization (radius.coa)

    def find(self, named: dict[str, Any]) -> Sequence[Caller]:
        """The sessions for which all these attributes are true."""
        return self.online.find(named)

    def change(self, now: int, session: Caller, change: Change) -> None:
        """Change one session. Raises RefusedError and changes nothing."""
        self._calls.change(now, session, change)

    def disconnect(self, now: int, session: Caller) -> None:
        """End one session."""
        self._calls.end(now, session, "disconnected by the operator", ADMIN_RESET)

    # ---- To the switch

    def _write(self) -> None:
        """Tell the switch what has changed; after a write that failed, all that it lacks."""
        updates = self.api.take()
        if self._is_behind:
            there = self.switch.entries()
            if not there:
                self.begin_anew()
            updates = diff(there, entries(self.api.known))
        self._is_behind = True
        if updates:
            self.switch.write(updates)
        self._is_behind = False

    def _tune(self) -> None:
        """Bring the groups of the switch to what is watched, and ask what there is to ask."""
        for index, group, wanted in self._listeners.news():
            if index not in self.api.known.sessions:
                continue  # with the session its groups have gone
            try:
                (self.api.watch if wanted else self.api.unwatch)(index, group)
            except ApiError as error:
                self.ignored[str(error)] += 1
        for index, packet in self._listeners.take():
            caller = self.online.by_index.get(index)
            if caller is not None:
                self.concentrator.send(caller.session, IPV4, packet)

    def _wrapping(self, key: tuple[int, int]) -> Wrapping:
        """What surrounds frames to a line and service."""
        found = self._wrappings.get(key)
        if found is None:
            line = self.api.known.lines[key[0]]
            access = self.api.known.access[line.port, line.label0]
            found = self._wrappings[key] = Wrapping(line, access, key[1])
        return found

    # ---- What is heard; methods give the reason why something has no effect

    def _answer(self, now: int, found: Answer | Recorded) -> None:
        if isinstance(found, Recorded):
            self.accounting.recorded(now, found)
        else:
            self._calls.answered(now, found)

    def _from_line(self, now: int, reason: int, line: Line, frame: bytes) -> str:
        found = inner(frame, line)
        if found is None:
            return "cut off"
        key = (line.number, found.service_vid)
        if found.ethertype == DISCOVERY:
            event = self.concentrator.discovery(
                now / SECOND, key, found.destination, found.source, found.packet
            )
            if isinstance(event, Opened):
                self._calls.opened(now, event.session)
            elif isinstance(event, Closed):
                self._calls.over(now, _caller(event.session), USER_REQUEST)
            return ""
        if found.ethertype != SESSION or reason not in TO_SUBSCRIBER:
            return f"EtherType {found.ethertype:#06x}"
        said = self.concentrator.session(key, found.source, found.packet)
        if said is None:
            return self._stranger(now, key, found.source, found.packet)
        session, protocol, body = said
        self._calls.heard(now, _caller(session), protocol, body)
        return ""

    def _stranger(self, now: int, key: tuple[int, int], source: bytes, packet: bytes) -> str:
        """Somebody sends in a session that is over, or was never one: say so, but not too often.

        Sessions that others have are none of a stranger's business.
        """
        said = data_of(packet)
        if (
            said is None
            or said[0] in self.concentrator.sessions
            or source[0] & 1
            or not self._strangers.allows(now)
        ):
            return "not a session of theirs"
        wrapping = self._wrapping(key)
        goodbye = wrapping.frame(source, DISCOVERY, discovery(PADT, said[0], []))
        self._goodbyes.append((wrapping.port, goodbye))
        return ""

    def _undeliverable(
        self, now: int, reason: int, line: Line | None, index: int, frame: bytes
    ) -> str:
        """A packet that has lived too long, or is too long for the line."""
        caller = self.online.by_index.get(index)
        if caller is None:
            return "of no session"
        found = None if line is None else inner(frame, line)
        packet = found.packet[8:] if found is not None else core_packet(frame)
        answer = self._stack.expired if reason == ON_EXPIRED else self._stack.too_long
        return answer(now, caller, packet, upstream=line is not None)


def _caller(session: PppoeSession) -> Caller:
    assert isinstance(session.link, Caller)
    return session.link
