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

import heapq
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from itertools import count
from math import ceil, inf
from random import Random
from typing import Any

from p4lab.control.limit import TokenBucket
from p4lab.model.control import CountingDriver, PacketIn
from p4lab.model.entries import diff
from p4lab.systems.bng.accounting import (
    INTERIM,
    OFF,
    ON,
    START,
    STOP,
    Accounting,
    Usage,
    record_body,
)
from p4lab.systems.bng.addresses.dhcpv6 import (
    SERVER_PORT,
    Delegation,
    answer,
    in_udp,
    packet_of,
    server_id,
)
from p4lab.systems.bng.addresses.errors import expired, fragments, too_long
from p4lab.systems.bng.addresses.pools import Pool, PoolError
from p4lab.systems.bng.addresses.router import (
    Advertisement,
    advertisement,
    is_solicitation,
    link_local,
)
from p4lab.systems.bng.api import Api, ApiError
from p4lab.systems.bng.callers import (
    NO_COUNT,
    Caller,
    Raw,
    counted,
    granted_attributes,
    kept,
    place_of,
    revived,
    station,
)
from p4lab.systems.bng.entries import SESSIONS, Line, Net, Route, Session, core_mac, entries
from p4lab.systems.bng.frames import (
    Wrapping,
    arp_reply,
    core_frame,
    core_packet,
    inner,
    overhead,
)
from p4lab.systems.bng.iptv import Listeners
from p4lab.systems.bng.ppp import SERVER, Link, Settings
from p4lab.systems.bng.ppp.codes import IPV4, IPV6
from p4lab.systems.bng.ppp.events import (
    ADMIN_RESET,
    USER_REQUEST,
    AuthenticationAsked,
    Down,
    Packet,
    V4Down,
    V4Up,
    V6Down,
    V6Up,
)
from p4lab.systems.bng.pppoe import Closed, Concentrator, Offer, Opened
from p4lab.systems.bng.pppoe import Session as PppoeSession
from p4lab.systems.bng.pppoe.packets import DISCOVERY, PADT, SESSION, data_of, discovery
from p4lab.systems.bng.radius.client import Answer, Client, Datagram, Login, Recorded, Verdict
from p4lab.systems.bng.radius.coa import Change, ErrorCause, RefusedError
from p4lab.systems.bng.radius.local import LocalUsers
from p4lab.systems.bng.radius.profile import Profile
from p4lab.systems.bng.radius.wire import Kind, text
from p4lab.systems.bng.store import Store

SECOND = 10**9
HEADER_BYTES = 6
ON_DISCOVERY, ON_PPP, ON_PROTOCOL, ON_LINK_LOCAL, ON_IGMP = 1, 2, 3, 4, 5
ON_EXPIRED, ON_TOO_LONG, ON_ARP = 7, 8, 9
"""Reasons for which the program sends a packet here (p4/bng/README.md)"""
TO_SUBSCRIBER = {ON_PPP, ON_PROTOCOL, ON_LINK_LOCAL, ON_IGMP}

IDLE_TIMEOUT, SESSION_TIMEOUT, PORT_PREEMPTED, NAS_REQUEST = 4, 5, 13, 10
"""Acct-Terminate-Cause (RFC 2866, section 5.10)"""
COUNTERS = ("upstream_sent", "downstream_sent", "multicast_sent")
STRANGERS_PER_SECOND, STRANGERS_AT_ONCE = 200, 200
"""PADTs to those who send in sessions that we do not know"""


KINDS = ((4, 32), (6, 64), (6, 56))
"""Version and length of what a subscriber gets: address, prefix of the link, prefix to delegate"""
OWN4, OWN6 = IPv4Address("192.0.2.1"), IPv6Address("2001:db8::1")


@dataclass(frozen=True)
class Options:
    """What the operator says. Pools may be missing: then the RADIUS server names all addresses.

    `pools` are those that a server names (Framed-Pool and its like for IPv6), each with the length
    of what a subscriber gets: 32, 64 or 56. `dns` are for IPv4, `dns6` for IPv6.
    """

    address: IPv4Address = OWN4
    address6: IPv6Address = OWN6
    ppp: Settings = field(default_factory=Settings)
    offer: Offer = field(default_factory=Offer)
    hosts: IPv4Network | None = None
    links: IPv6Network | None = None
    delegations: IPv6Network | None = None
    pools: Mapping[str, tuple[IPv4Network | IPv6Network, int]] = field(default_factory=dict)
    dns: tuple[IPv4Address, ...] = ()
    dns6: tuple[IPv6Address, ...] = ()


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
        self.concentrator = Concentrator(options.offer, random)
        self.ignored: Counter[str] = Counter()
        self._random = random
        self._pools = [
            Pool(network, length)
            for network, length in (
                (options.hosts, 32),
                (options.links, 64),
                (options.delegations, 56),
            )
            if network is not None
        ]
        self._named = {name: Pool(*each) for name, each in options.pools.items()}
        self._settings: dict[int, Settings] = {}
        self._wrappings: dict[tuple[int, int], Wrapping] = {}
        self._by_index: dict[int, Caller] = {}
        self._by_acct: dict[str, Caller] = {}
        self._indices = deque(range(1, SESSIONS))
        self._raw: dict[int, Raw] = {}
        # Names of sessions differ from those of all other starts, even if the store was lost.
        self._prefix = f"{wall // SECOND & 0xFFFFFFFF:08x}{store.boot & 0xFF:02x}"
        self._numbers = count(1)
        self._timers: list[tuple[float, int, Caller]] = []
        self._order = count()
        self._changed: list[Caller] = []
        self._ended: list[tuple[Caller, int, int]] = []
        self._kept: list[Caller] = []
        self._counted: list[Caller] = []
        self._records: list[tuple[str, bytes]] = []
        self._frames: list[tuple[int, bytes]] = []
        self._is_behind = False
        self._strangers = TokenBucket(STRANGERS_PER_SECOND, STRANGERS_AT_ONCE)
        self._listeners = Listeners(options.address)
        self._errors: dict[int, TokenBucket] = {}

    # ---- What the owner calls

    @property
    def sessions(self) -> int:
        """Sessions that are up."""
        return len(self._by_acct)

    @property
    def running(self) -> Sequence[str]:
        """The Acct-Session-Ids of the sessions that are up."""
        return list(self._by_acct)

    @property
    def deadline(self) -> int | None:
        """When `tick` has to be called at the latest; None for never."""
        due = [at for at in (self.aaa.deadline, self.accounting.deadline) if at is not None]
        if self._timers:
            due.append(ceil(self._timers[0][0]))
        if self._listeners.deadline is not None:
            due.append(self._listeners.deadline)
        return min(due, default=None)

    def add_lines(self, lines: Iterable[Line]) -> None:
        """Subscribers' lines, kept on disk. Saying one again is no error. Raises ApiError, and the
        lines before the wrong one are there."""
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
        rows = list(self.store.sessions())
        for row in rows:
            self._revive(now, revived(row, self._settings_of, self._random, now / SECOND))
        self._indices = deque(index for index in self._indices if index not in self._by_index)
        self.concentrator.restore(caller.session for caller in self._by_index.values())
        if self.store.boot > 1:
            self._raw = self._read(range(1, SESSIONS))
        if not rows:
            self._say_of_all(now, ON)
        self.reconcile()

    def reconcile(self) -> None:
        """Give the switch what it should hold, whatever it holds: it or we were started anew."""
        self._is_behind = True
        self._write()

    def heard(self, now: int, packet: PacketIn) -> None:
        """A packet that the switch's program has sent to its control plane."""
        header = packet.header
        if len(header) != HEADER_BYTES:
            self.ignored["no header of the program"] += 1
            return
        reason = header[1] & 0x7F
        line = self.api.known.lines.get(int.from_bytes(header[2:4], "big"))
        index = int.from_bytes(header[4:6], "big")
        if reason in (ON_EXPIRED, ON_TOO_LONG):
            self._undeliverable(now, reason, line, index, packet.frame)
        elif line is not None:
            self._from_line(now, reason, line, packet.frame)
        elif reason == ON_ARP:
            self._arp(packet)
        else:
            self.ignored[f"reason {reason} without a line"] += 1

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
        while self._timers and self._timers[0][0] <= now:
            due, _, caller = heapq.heappop(self._timers)
            if due == caller.due:
                caller.due = inf
                self._due(now, caller)

    def flush(self, now: int) -> list[Datagram]:
        """Write, keep, and then say what has come together. Gives datagrams for RADIUS."""
        for caller in self._changed:
            if caller.changed:
                self._apply(now, caller)
        self._tune()
        self._write()
        self._keep(now)
        self.accounting.send(now)
        for line, mac, ethertype, packet in self.concentrator.take():
            wrapping = self._wrapping(line)  # type: ignore[arg-type]
            self.switch.packet_out(wrapping.port, wrapping.frame(mac, ethertype, packet))
        for port, frame in self._frames:
            self.switch.packet_out(port, frame)
        self._frames.clear()
        return self.aaa.take()

    def close(self, now: int, cause: int = NAS_REQUEST) -> None:
        """End all sessions and say so to the RADIUS server: the gateway goes out of service."""
        for session in list(self.concentrator.sessions.values()):
            self._end(now, _caller(session), "the gateway goes out of service", cause)
        self._say_of_all(now, OFF)

    def _write(self) -> None:
        """Tell the switch what has changed; after a write that failed, all that it lacks."""
        updates = self.api.take()
        if self._is_behind:
            updates = diff(self.switch.entries(), entries(self.api.known))
        self._is_behind = True
        if updates:
            self.switch.write(updates)
        self._is_behind = False

    # ---- From subscribers

    def _from_line(self, now: int, reason: int, line: Line, frame: bytes) -> None:
        found = inner(frame, line)
        if found is None:
            self.ignored["cut off"] += 1
            return
        key = (line.number, found.service_vid)
        if found.ethertype == DISCOVERY:
            event = self.concentrator.discovery(
                now / SECOND, key, found.destination, found.source, found.packet
            )
            if isinstance(event, Opened):
                self._opened(now, event.session)
            elif isinstance(event, Closed):
                self._over(now, _caller(event.session), USER_REQUEST)
        elif found.ethertype == SESSION and reason in TO_SUBSCRIBER:
            said = self.concentrator.session(key, found.source, found.packet)
            if said is None:
                self._stranger(now, key, found.source, found.packet)
                return
            session, protocol, body = said
            caller = _caller(session)
            caller.link.heard(now / SECOND, protocol, body)
            self._pump(now, caller)
        else:
            self.ignored[f"EtherType {found.ethertype:#06x}"] += 1

    def _stranger(self, now: int, key: tuple[int, int], source: bytes, packet: bytes) -> None:
        """Somebody sends in a session that is over, or was never one: say so, but not too often.

        Sessions that others have are none of a stranger's business.
        """
        said = data_of(packet)
        known = said is None or said[0] in self.concentrator.sessions
        if known or source[0] & 1 or not self._strangers.allows(now):
            self.ignored["not a session of theirs"] += 1
            return
        assert said is not None
        wrapping = self._wrapping(key)
        goodbye = wrapping.frame(source, DISCOVERY, discovery(PADT, said[0], []))
        self._frames.append((wrapping.port, goodbye))

    def _opened(self, now: int, session: PppoeSession) -> None:
        link = Link(SERVER, self._settings_of(session.max_payload), self._random)
        caller = Caller(session, link)
        session.link = caller
        link.start(now / SECOND)
        self._pump(now, caller)

    def _pump(self, now: int, caller: Caller) -> None:
        """What a link wants to say, and what has happened to it."""
        link, session = caller.link, caller.session
        while True:
            happened = link.happened()
            for protocol, body in link.take():
                self.concentrator.send(session, protocol, body)
            if not happened:
                break
            down = happened[-1] if isinstance(happened[-1], Down) else None
            if down is not None:
                self.concentrator.close(session, down.reason)
                self._over(now, caller, down.cause)
                return
            for event in happened:
                self._event(now, caller, event)
        self._watch(caller)

    def _event(self, now: int, caller: Caller, event: Any) -> None:
        if isinstance(event, AuthenticationAsked):
            self._authenticate(now, caller, event)
        elif isinstance(event, V4Up):
            caller.v4 = True
            self._change(now, caller)
        elif isinstance(event, V6Up):
            caller.v6, caller.gateway_id = True, event.gateway_id
            self._change(now, caller)
            self._advertise(caller)
        elif isinstance(event, V4Down | V6Down):
            if isinstance(event, V4Down):
                caller.v4 = False
            else:
                caller.v6 = False
            if caller.link.network:
                self._change(now, caller)
            else:  # LCP begins again, and with it authentication.
                self._finish(now, caller, USER_REQUEST)
        elif isinstance(event, Packet) and event.protocol == IPV6:
            self._ipv6(caller, event.body)
        elif isinstance(event, Packet) and caller.v4:
            self._listeners.heard(now, caller.index, event.body)

    # ---- Who may come in

    def _authenticate(self, now: int, caller: Caller, asked: AuthenticationAsked) -> None:
        self._finish(now, caller, USER_REQUEST)
        caller.asked += 1
        caller.user = asked.name
        caller.acct_id = f"{self._prefix}{next(self._numbers):06x}"
        if asked.challenge:
            response = bytes((asked.identifier,)) + asked.proof
            login = Login(asked.name, None, asked.challenge, response)
        else:
            login = Login(asked.name, asked.proof)
        line = self.api.known.lines[_line(caller)]
        where = station(caller.session, line) + text(Kind.ACCT_SESSION_ID, caller.acct_id)
        answer = self.aaa.access(now, (caller, caller.asked), login, where)
        if answer is not None:
            self._judge(now, caller, answer)

    def _answer(self, now: int, found: Answer | Recorded) -> None:
        if isinstance(found, Recorded):
            self.accounting.recorded(now, found)
            return
        caller, asked = found.token
        # Who has hung up or asked again since is not helped by this answer.
        if caller.asked == asked and not caller.link.over:
            self._judge(now, caller, found)
            self._pump(now, caller)

    def _judge(self, now: int, caller: Caller, answer: Answer) -> None:
        seconds = now / SECOND
        if answer.verdict is not Verdict.ACCEPTED:
            message = answer.profile.message or answer.verdict.value
            caller.link.refused(seconds, message)
            return
        refusal = self._grant(now, caller, answer.profile)
        if refusal:
            self._release(caller)
            caller.link.refused(seconds, refusal)
            return
        profile = answer.profile
        dns = tuple(map(IPv4Address, profile.dns)) or self.options.dns
        address = caller.address and IPv4Address(caller.address.address)
        interface_id = (profile.interface_id or 0) if caller.prefix else None
        caller.link.authenticated(seconds, address, dns[:2], interface_id)

    def _grant(self, now: int, caller: Caller, profile: Profile) -> str:
        """Give a caller what its profile says; why that cannot be, or nothing."""
        if profile.service and profile.service not in self.api.known.bandwidths:
            return f"there is no class {profile.service}."
        wanted = (
            profile.address is not None and Net(4, profile.address, 32),
            profile.prefix is not None and Net(6, *profile.prefix),
            profile.delegated is not None and Net(6, *profile.delegated),
        )
        pools = (profile.pool, profile.prefix_pool, profile.delegated_pool)
        found: list[Net | None] = []
        try:
            for net, kind, pool in zip(wanted, KINDS, pools, strict=True):
                if net and net[::2] != kind:
                    raise PoolError(f"a prefix of {net.length} bits cannot be had here.")
                found.append(self._this(now, caller, net) if net else self._any(kind, pool))
        except PoolError as error:
            self._give_back(net for net in found if net)
            return str(error)
        caller.address, caller.prefix, caller.delegated = found
        caller.bandwidth, caller.classes = profile.service or "", profile.classes
        caller.session_timeout = profile.session_timeout or 0
        caller.idle, caller.interim = profile.idle_timeout or 0, profile.interim or 0
        return ""

    def _this(self, now: int, caller: Caller, net: Net) -> Net:
        """A certain address. Its holder goes if that is the same user on the same line: it has
        dialled again, and does not know of its old session any more."""
        holder = self._by_index.get(self.api.owner(net) or 0)
        if holder is not None and holder is not caller:
            if holder.user != caller.user or holder.session.line != caller.session.line:
                raise PoolError("the address is in use.")
            self._end(now, holder, "dialled again", PORT_PREEMPTED)
        elif self.api.owner(net):
            raise PoolError("the address is in use.")
        for pool in (*self._pools, *self._named.values()):
            pool.take_this(net)
        return net

    def _any(self, kind: tuple[int, int], name: str | None) -> Net | None:
        """An address from the pool of that name, or from that for its version and length, if there
        is one. Raises PoolError for a pool that is not there or empty."""
        if name is not None:
            named = self._named.get(name)
            if named is None or (named.version, named.length) != kind:
                raise PoolError(f"there is no pool {name} of /{kind[1]}.")
            return named.take()
        for pool in self._pools:
            if (pool.version, pool.length) == kind:
                return pool.take()
        return None

    def _give_back(self, nets: Any) -> None:
        for net in nets:
            for pool in (*self._pools, *self._named.values()):
                pool.give_back(net)

    def _release(self, caller: Caller) -> None:
        self._give_back(caller.granted)
        caller.forget()

    # ---- Sessions that are up

    def _change(self, now: int, caller: Caller) -> None:
        """A family came up or went down; `flush` makes rows and records of it."""
        if not caller.started:
            self._begin(now, caller)
        if not caller.changed:
            caller.changed = True
            self._changed.append(caller)

    def _begin(self, now: int, caller: Caller) -> None:
        caller.started = now + self.accounting.wall_offset
        while self._indices[0] in self.api.known.sessions:
            self._indices.rotate(-1)
        caller.index = self._indices.popleft()
        caller.raw = self._raw.pop(caller.index, NO_COUNT)
        self._by_index[caller.index] = caller
        self._by_acct[caller.acct_id] = caller
        self._records.append((caller.acct_id, self._record(caller, START)))
        self._time(now, caller)

    def _time(self, now: int, caller: Caller) -> None:
        """Set the times at which something is due for a session that is up."""
        begun = caller.started - self.accounting.wall_offset
        limit, idle, interim = caller.session_timeout, caller.idle, caller.interim
        caller.ends_at = begun + limit * SECOND if limit else inf
        caller.idle_at = now + idle * SECOND if idle else inf
        caller.interim_at = now + interim * SECOND if interim else inf

    def _apply(self, now: int, caller: Caller) -> None:
        """Bring a session's rows to what it has now."""
        caller.changed = False
        wanted, session = caller.nets, self.api.known.sessions.get(caller.index)
        if session is None:
            line, service_vid = place_of(caller.session)
            mac = int.from_bytes(caller.session.mac, "big")
            mtu = caller.link.peer_mru
            self.api.add_session(
                Session(
                    caller.index,
                    line,
                    service_vid,
                    mac,
                    caller.session.id,
                    0,
                    mtu,
                    caller.bandwidth,
                    wanted,
                )
            )
        else:
            for net in session.nets:
                if net not in wanted:
                    self.api.delete_net(caller.index, net)
            for net in wanted:
                if net not in session.nets:
                    self.api.add_net(caller.index, net)
        self._kept.append(caller)

    def _finish(self, now: int, caller: Caller, cause: int) -> None:
        """A session is not up any more: no rows, a Stop, and free addresses."""
        if not caller.started:
            self._release(caller)
            return
        del self._by_index[caller.index], self._by_acct[caller.acct_id]
        caller.changed = False
        if caller.index in self.api.known.sessions:
            self.api.delete_session(caller.index)
        self._errors.pop(caller.index, None)
        self._listeners.drop(caller.index)
        self._ended.append((copy(caller), cause, now))
        self._release(caller)

    def _over(self, now: int, caller: Caller, cause: int) -> None:
        """The link is gone, and no one waits for an answer any more."""
        self._finish(now, caller, cause)
        caller.asked += 1
        caller.due = inf

    def _end(self, now: int, caller: Caller, reason: str, cause: int) -> None:
        """Hang up. The subscriber is told, but not waited for."""
        caller.link.close(now / SECOND, reason, cause)
        for protocol, body in caller.link.take():
            self.concentrator.send(caller.session, protocol, body)
        self.concentrator.close(caller.session, reason)
        self._over(now, caller, cause)

    def _revive(self, now: int, caller: Caller) -> None:
        """A session from before a restart."""
        for net in caller.granted:
            for pool in (*self._pools, *self._named.values()):
                pool.take_this(net)
        self._by_index[caller.index] = caller
        self._by_acct[caller.acct_id] = caller
        self._time(now, caller)
        self._apply(now, caller)
        self._watch(caller)
        if caller.v4:
            self._listeners.ask(caller.index)

    # ---- What they watch

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
            caller = self._by_index.get(index)
            if caller is not None:
                self.concentrator.send(caller.session, IPV4, packet)

    # ---- Time

    def _watch(self, caller: Caller) -> None:
        """Keep one timer per caller: when its time is put off, the old timer finds that out."""
        due = min(caller.link.deadline * SECOND, caller.ends_at, caller.idle_at, caller.interim_at)
        if due < caller.due:
            caller.due = due
            heapq.heappush(self._timers, (due, next(self._order), caller))

    def _due(self, now: int, caller: Caller) -> None:
        if now >= caller.ends_at:
            self._end(now, caller, "the session has lasted long enough", SESSION_TIMEOUT)
            return
        if now >= caller.interim_at:
            caller.interim_at = now + caller.interim * SECOND
            self._count(caller)
            self._records.append((caller.acct_id, self._record(caller, INTERIM, now)))
        if now >= caller.idle_at:
            self._count(caller)
            packets = caller.usage.input_packets + caller.usage.output_packets
            if packets == caller.idle_packets:
                self._end(now, caller, "no traffic", IDLE_TIMEOUT)
                return
            caller.idle_packets, caller.idle_at = packets, now + caller.idle * SECOND
        # Seconds as a float may be a hair before the nanosecond that was waited for.
        seconds = max(now / SECOND, min(caller.link.deadline, (now + 1000) / SECOND))
        caller.link.tick(seconds)
        self._pump(now, caller)

    # ---- Accounting

    def _keep(self, now: int) -> None:
        """What must be on disk before anyone is told."""
        read = self._read([ended.index for ended, _, _ in self._ended]) if self._ended else {}
        stops = [
            (ended, self._stop(ended, read[ended.index], cause, at))
            for ended, cause, at in self._ended
        ]
        work = stops or self._records or self._kept or self._counted or self.accounting.unkept
        if not work:
            return
        store, accounting = self.store, self.accounting
        with store.batch():
            for ended, _ in stops:
                store.remove_session(ended.acct_id)
            for caller in self._kept:
                if caller.started:
                    store.put_session(kept(caller))
            store.put_counted((counted(caller), caller.acct_id) for caller in self._counted)
            for acct_id, body in self._records:
                accounting.add(now, acct_id, body)
            for ended, body in stops:
                accounting.add(now, ended.acct_id, body)
            accounting.keep()
        for ended, _ in stops:
            self._raw[ended.index] = ended.raw
            self._indices.append(ended.index)
        for batch in (self._ended, self._records, self._kept, self._counted, self._changed):
            batch.clear()

    def _stop(self, ended: Caller, raw: Raw, cause: int, now: int) -> bytes:
        self._add_up(ended, raw)
        return self._record(ended, STOP, now, cause)

    def _record(
        self, caller: Caller, status: int, now: int | None = None, cause: int | None = None
    ) -> bytes:
        """A record of a session; without `now` it is the first one."""
        line = self.api.known.lines[_line(caller)]
        about = self.aaa.nas + station(caller.session, line) + granted_attributes(caller)
        wall = caller.started if now is None else now + self.accounting.wall_offset
        if now is None:
            return record_body(status, caller.acct_id, about, wall)
        seconds = (wall - caller.started) // SECOND
        usage = caller.usage
        return record_body(status, caller.acct_id, about, wall, usage, seconds, cause)

    def _say_of_all(self, now: int, status: int) -> None:
        """On or Off: there are no sessions."""
        name = f"{self._prefix}{0:06x}"
        wall = now + self.accounting.wall_offset
        self._records.append((name, record_body(status, name, self.aaa.nas, wall)))

    def _count(self, caller: Caller) -> None:
        self._add_up(caller, self._read((caller.index,))[caller.index])
        self._counted.append(caller)

    def _read(self, cells: Sequence[int]) -> dict[int, Raw]:
        """What the switch has counted in some cells."""
        found = [self.switch.counters(name, cells) for name in COUNTERS]
        up, down, copies = found
        return {cell: (*up[cell], *down[cell], *copies[cell]) for cell in cells}

    def _add_up(self, caller: Caller, raw: Raw) -> None:
        """Add to a session's usage what was counted since the last time.

        A cell that holds less than then has begun anew with its switch. The switch counts frames;
        billed are bytes of IP.
        """
        new = [
            now - before if now >= before else now
            for now, before in zip(raw, caller.raw, strict=True)
        ]
        line, service_vid = place_of(caller.session)
        up = overhead(self.api.known.lines[line], service_vid)
        down = self._core_overhead
        caller.raw = raw
        usage = caller.usage
        caller.usage = Usage(
            usage.input_octets + max(0, new[1] - new[0] * up),
            usage.output_octets + max(0, new[3] + new[5] - (new[2] + new[4]) * down),
            usage.input_packets + new[0],
            usage.output_packets + new[2] + new[4],
        )

    @property
    def _core_overhead(self) -> int:
        """Bytes in front of a packet from the core: with labels there are two."""
        labelled = any(label for _, label in self.api.known.core)
        return 14 + 8 * labelled

    # ---- IPv6 on the link, and errors

    def _advertise(self, caller: Caller) -> None:
        said = Advertisement(
            managed=False,
            other=caller.delegated is not None,
            prefix=caller.prefix,
            mtu=caller.link.peer_mru,
            dns=tuple(map(int, self.options.dns6)),
        )
        packet = advertisement(caller.gateway_id, said)
        self.concentrator.send(caller.session, IPV6, packet)

    def _ipv6(self, caller: Caller, packet: bytes) -> None:
        """What a subscriber says to its router: it asks for an advertisement, or by DHCPv6."""
        if is_solicitation(packet):
            self._advertise(caller)
            return
        said = packet_of(packet, SERVER_PORT)
        if said is None or packet[8:10] != b"\xfe\x80":
            self.ignored["IPv6 on the link"] += 1
            return
        access = next(iter(self.api.known.access.values()))
        granted = Delegation(caller.delegated, tuple(map(int, self.options.dns6)))
        body = answer(server_id(access.mac), said, granted)
        if body is not None:
            own, asker = link_local(caller.gateway_id), IPv6Address(packet[8:24])
            self.concentrator.send(caller.session, IPV6, in_udp(own, asker, False, body))

    def _undeliverable(
        self, now: int, reason: int, line: Line | None, index: int, frame: bytes
    ) -> None:
        """A packet that has lived too long, or is too long for the line."""
        caller = self._by_index.get(index)
        if caller is None:
            self.ignored["of no session"] += 1
            return
        if not self._errors.setdefault(index, TokenBucket()).allows(now):
            self.ignored["answered often enough"] += 1
            return
        found = None if line is None else inner(frame, line)
        packet = found.packet[8:] if found is not None else core_packet(frame)
        own4, own6 = self.options.address, self.options.address6
        mtu = caller.link.peer_mru
        if reason == ON_EXPIRED:
            error = expired(own4, own6, packet)
        else:
            error = too_long(own4, own6, packet, mtu)
        if line is not None and error is not None:
            self._send_ip(caller, error)
        elif error is not None:
            self._to_core(error)
        elif line is None and reason == ON_TOO_LONG:
            for piece in fragments(packet, mtu):
                self._send_ip(caller, piece)

    def _send_ip(self, caller: Caller, packet: bytes) -> None:
        self.concentrator.send(caller.session, IPV6 if packet[0] >> 4 == 6 else IPV4, packet)

    def _to_core(self, packet: bytes) -> None:
        """A packet of ours to the core, by the most specific route of any service."""
        version = packet[0] >> 4
        at = 24 if version == 6 else 16
        bits = 128 if version == 6 else 32
        address = int.from_bytes(packet[at : at + bits // 8], "big")
        best: Route | None = None
        for route in self.api.known.routes.values():
            net = route.net
            shift = bits - net.length
            fits = net.version == version and address >> shift == net.address >> shift
            if fits and (best is None or net.length > best.net.length):
                best = route
        if best is None or best.port is None:
            self.ignored["no route for our own packet"] += 1
            return
        mac = core_mac(self.api.known, best.port)
        self._frames.append((best.port, core_frame(best, mac, packet)))

    def _arp(self, packet: PacketIn) -> None:
        try:
            mac = core_mac(self.api.known, packet.port)
        except ValueError:
            self.ignored["ARP where no core is"] += 1
            return
        reply = arp_reply(packet.frame, self.options.address, mac)
        if reply is not None:
            self._frames.append((packet.port, reply))

    # ---- Changes of authorization (radius.coa)

    def find(self, named: dict[str, Any]) -> list[Caller]:
        """The sessions for which all these attributes are true."""
        if "Acct-Session-Id" in named:
            one = self._by_acct.get(named["Acct-Session-Id"])
            callers = [] if one is None else [one]
        else:
            callers = list(self._by_acct.values())
        return [caller for caller in callers if self._is(caller, named)]

    def _is(self, caller: Caller, named: dict[str, Any]) -> bool:
        line = self.api.known.lines[_line(caller)]
        where = station(caller.session, line)
        address = caller.address and str(IPv4Address(caller.address.address))
        facts = {
            "Acct-Session-Id": caller.acct_id,
            "User-Name": caller.user.decode("utf-8", "replace"),
            "Framed-IP-Address": address,
            "Calling-Station-Id": caller.session.mac.hex("-"),
            "NAS-Port": line.number,
        }
        for name, value in named.items():
            if name == "NAS-Port-Id":
                if text(Kind.NAS_PORT_ID, value) not in where:
                    return False
            elif facts[name] != value:
                return False
        return True

    def change(self, now: int, session: Caller, change: Change) -> None:
        """Change one session. Raises RefusedError and changes nothing."""
        if change.service is not None:
            if change.service not in self.api.known.bandwidths:
                raise RefusedError(ErrorCause.INVALID_ATTRIBUTE_VALUE)
            self._apply(now, session)
            self.api.change_class(session.index, change.service)
            session.bandwidth = change.service
        if change.session_timeout is not None:
            session.session_timeout = change.session_timeout
        if change.idle_timeout is not None:
            session.idle = change.idle_timeout
        if change.interim is not None:
            session.interim = change.interim
        self._time(now, session)
        self._kept.append(session)
        self._watch(session)

    def disconnect(self, now: int, session: Caller) -> None:
        """End one session."""
        self._end(now, session, "disconnected by the operator", ADMIN_RESET)

    # ---- Names of things

    def _wrapping(self, key: tuple[int, int]) -> Wrapping:
        found = self._wrappings.get(key)
        if found is None:
            line = self.api.known.lines[key[0]]
            access = self.api.known.access[line.port, line.label0]
            found = self._wrappings[key] = Wrapping(line, access, key[1])
        return found

    def _settings_of(self, payload: int) -> Settings:
        """Settings of links that carry so many bytes."""
        found = self._settings.get(payload)
        if found is None:
            options = self.options
            found = replace(options.ppp, mru=payload, address=options.address)
            self._settings[payload] = found
        return found


def _caller(session: PppoeSession) -> Caller:
    assert isinstance(session.link, Caller)
    return session.link


def _line(caller: Caller) -> int:
    """The number of a caller's line."""
    return place_of(caller.session)[0]
