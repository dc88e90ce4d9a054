"""The life of a call: a link comes up, its user is let in, a session begins, is changed and ends.

What follows from it waits: words in the concentrator, rows in the API, records in the billing.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from ipaddress import IPv4Address
from itertools import count
from math import ceil, inf
from random import Random
from typing import Any

from p4lab.systems.bng.accounting import Accounting
from p4lab.systems.bng.addresses.pools import PoolError
from p4lab.systems.bng.api import Api
from p4lab.systems.bng.billing import Billing
from p4lab.systems.bng.callers import Caller, place_of, revived, station
from p4lab.systems.bng.entries import Net, Session
from p4lab.systems.bng.grants import Grants
from p4lab.systems.bng.iptv import Listeners
from p4lab.systems.bng.online import Online
from p4lab.systems.bng.options import Options
from p4lab.systems.bng.ppp import SERVER, Link, Settings
from p4lab.systems.bng.ppp.codes import IPV6
from p4lab.systems.bng.ppp.events import (
    USER_REQUEST,
    AuthenticationAsked,
    Down,
    Packet,
    V4Down,
    V4Up,
    V6Down,
    V6Up,
)
from p4lab.systems.bng.pppoe import Concentrator
from p4lab.systems.bng.pppoe import Session as PppoeSession
from p4lab.systems.bng.radius.client import Answer, Client, Login, Verdict
from p4lab.systems.bng.radius.coa import Change, ErrorCause, RefusedError
from p4lab.systems.bng.radius.local import LocalUsers
from p4lab.systems.bng.radius.profile import Profile
from p4lab.systems.bng.radius.wire import Kind, text
from p4lab.systems.bng.stack import Stack
from p4lab.systems.bng.store import KeptSession

SECOND = 10**9
IDLE_TIMEOUT, SESSION_TIMEOUT, PORT_PREEMPTED = 4, 5, 13
"""Acct-Terminate-Cause (RFC 2866, section 5.10)"""


class Calls:
    """`online` are those that are up, `listeners` what they watch; `ignored` counts by reason."""

    def __init__(
        self,
        options: Options,
        api: Api,
        aaa: Client | LocalUsers,
        accounting: Accounting,
        billing: Billing,
        concentrator: Concentrator,
        stack: Stack,
        ignored: Counter[str],
        random: Random,
    ) -> None:
        self._options, self._api, self._aaa = options, api, aaa
        self._accounting, self._billing = accounting, billing
        self._concentrator, self._stack = concentrator, stack
        self._ignored, self._random = ignored, random
        self.online = Online(api.known)
        self.listeners = Listeners(options.address)
        self._grants = Grants(options, api)
        self._settings: dict[int, Settings] = {}
        self._timers: list[tuple[float, int, Caller]] = []
        self._order = count()
        self._changed: list[Caller] = []

    # ---- What the gateway calls

    @property
    def deadline(self) -> int | None:
        """When `tick` has to be called at the latest; None for never."""
        return ceil(self._timers[0][0]) if self._timers else None

    def opened(self, now: int, session: PppoeSession) -> None:
        """PPPoE has a session: negotiate."""
        link = Link(SERVER, self._settings_of(session.max_payload), self._random)
        caller = Caller(session, link)
        session.link = caller
        link.start(now / SECOND)
        self._pump(now, caller)

    def heard(self, now: int, caller: Caller, protocol: int, body: bytes) -> None:
        """A packet of a caller's PPP."""
        caller.link.heard(now / SECOND, protocol, body)
        self._pump(now, caller)

    def answered(self, now: int, found: Answer) -> None:
        """What the RADIUS server says of a caller."""
        caller, asked = found.token
        # Who has hung up or asked again since is not helped by this answer.
        if caller.asked == asked and not caller.link.over:
            self._judge(now, caller, found)
            self._pump(now, caller)

    def over(self, now: int, caller: Caller, cause: int) -> None:
        """The link is gone, and no one waits for an answer any more."""
        self._finish(now, caller, cause)
        caller.asked += 1
        caller.due = inf

    def end(self, now: int, caller: Caller, reason: str, cause: int) -> None:
        """Hang up. The subscriber is told, but not waited for."""
        caller.link.close(now / SECOND, reason, cause)
        for protocol, body in caller.link.take():
            self._concentrator.send(caller.session, protocol, body)
        self._concentrator.close(caller.session, reason)
        self.over(now, caller, cause)

    def change(self, now: int, caller: Caller, change: Change) -> None:
        """Change one session. Raises RefusedError and changes nothing."""
        if change.service is not None:
            if change.service not in self._api.known.bandwidths:
                raise RefusedError(ErrorCause.INVALID_ATTRIBUTE_VALUE)
            self._apply(caller)
            self._api.change_class(caller.index, change.service)
            caller.bandwidth = change.service
        if change.session_timeout is not None:
            caller.session_timeout = change.session_timeout
        if change.idle_timeout is not None:
            caller.idle = change.idle_timeout
        if change.interim is not None:
            caller.interim = change.interim
        self._time(now, caller)
        self._billing.changed(caller)
        self._watch(caller)

    def tick(self, now: int) -> None:
        """Do what is due."""
        while self._timers and self._timers[0][0] <= now:
            due, _, caller = heapq.heappop(self._timers)
            if due == caller.due:
                caller.due = inf
                self._due(now, caller)

    def apply(self) -> None:
        """Make rows of what has come up or gone down since the last call."""
        for caller in self._changed:
            if caller.changed:
                self._apply(caller)
        self._changed.clear()

    def revive(self, now: int, rows: Iterable[KeptSession]) -> None:
        """The sessions from before a restart."""
        callers = [revived(row, self._settings_of, self._random, now / SECOND) for row in rows]
        self.online.restore(callers)
        self._concentrator.restore(caller.session for caller in callers)
        for caller in callers:
            self._grants.take_again(caller)
            self._time(now, caller)
            self._apply(caller)
            self._watch(caller)
            if caller.v4:
                self.listeners.ask(caller.index)

    # ---- What happens on a link

    def _pump(self, now: int, caller: Caller) -> None:
        """What a link wants to say, and what has happened to it."""
        link, session = caller.link, caller.session
        while True:
            happened = link.happened()
            for protocol, body in link.take():
                self._concentrator.send(session, protocol, body)
            if not happened:
                break
            down = happened[-1] if isinstance(happened[-1], Down) else None
            if down is not None:
                self._concentrator.close(session, down.reason)
                self.over(now, caller, down.cause)
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
            self._stack.advertise(caller)
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
            reason = self._stack.ipv6(caller, event.body)
            if reason:
                self._ignored[reason] += 1
        elif isinstance(event, Packet) and caller.v4:
            self.listeners.heard(now, caller.index, event.body)

    # ---- Who may come in

    def _authenticate(self, now: int, caller: Caller, asked: AuthenticationAsked) -> None:
        self._finish(now, caller, USER_REQUEST)
        caller.asked += 1
        caller.user = asked.name
        caller.acct_id = self._billing.name()
        if asked.challenge:
            response = bytes((asked.identifier,)) + asked.proof
            login = Login(asked.name, None, asked.challenge, response)
        else:
            login = Login(asked.name, asked.proof)
        line = self._api.known.lines[place_of(caller.session)[0]]
        where = station(caller.session, line) + text(Kind.ACCT_SESSION_ID, caller.acct_id)
        answer = self._aaa.access(now, (caller, caller.asked), login, where)
        if answer is not None:
            self._judge(now, caller, answer)

    def _judge(self, now: int, caller: Caller, answer: Answer) -> None:
        seconds, profile = now / SECOND, answer.profile
        if answer.verdict is not Verdict.ACCEPTED:
            caller.link.refused(seconds, profile.message or answer.verdict.value)
            return
        refusal = self._grants.give(caller, profile, partial(self._vacate, now, caller))
        if refusal:
            self._grants.release(caller)
            caller.link.refused(seconds, refusal)
            return
        self._let_in(seconds, caller, profile)

    def _let_in(self, seconds: float, caller: Caller, profile: Profile) -> None:
        dns = tuple(map(IPv4Address, profile.dns)) or self._options.dns
        address = caller.address and IPv4Address(caller.address.address)
        interface_id = (profile.interface_id or 0) if caller.prefix else None
        caller.link.authenticated(seconds, address, dns[:2], interface_id)

    def _vacate(self, now: int, caller: Caller, net: Net) -> None:
        """Free an address for a caller. Its holder goes if that is the same user on the same line:
        it has dialled again, and does not know of its old session any more. Raises PoolError."""
        owner = self._api.owner(net)
        holder = self.online.by_index.get(owner or 0)
        if holder is not None and holder is not caller:
            if holder.user != caller.user or holder.session.line != caller.session.line:
                raise PoolError("the address is in use.")
            self.end(now, holder, "dialled again", PORT_PREEMPTED)
        elif owner:
            raise PoolError("the address is in use.")

    # ---- Sessions that are up

    def _change(self, now: int, caller: Caller) -> None:
        """A family came up or went down; `apply` makes rows of it."""
        if not caller.started:
            self._begin(now, caller)
        if not caller.changed:
            caller.changed = True
            self._changed.append(caller)

    def _begin(self, now: int, caller: Caller) -> None:
        caller.started = now + self._accounting.wall_offset
        self.online.enter(caller)
        self._billing.began(caller)
        self._time(now, caller)

    def _apply(self, caller: Caller) -> None:
        """Bring a session's rows to what it has now."""
        caller.changed = False
        wanted, session = caller.nets, self._api.known.sessions.get(caller.index)
        if session is None:
            self._api.add_session(_session_of(caller))
        else:
            for net in session.nets:
                if net not in wanted:
                    self._api.delete_net(caller.index, net)
            for net in wanted:
                if net not in session.nets:
                    self._api.add_net(caller.index, net)
        self._billing.changed(caller)

    def _finish(self, now: int, caller: Caller, cause: int) -> None:
        """A session is not up any more: no rows, a Stop, and free addresses."""
        if caller.started:
            self.online.leave(caller)
            caller.changed = False
            if caller.index in self._api.known.sessions:
                self._api.delete_session(caller.index)
            self._stack.forget(caller.index)
            self.listeners.drop(caller.index)
            self._billing.ended(now, caller, cause)
        self._grants.release(caller)

    # ---- Time

    def _time(self, now: int, caller: Caller) -> None:
        """Set the times at which something is due for a session that is up."""
        begun = caller.started - self._accounting.wall_offset
        limit, idle, interim = caller.session_timeout, caller.idle, caller.interim
        caller.ends_at = begun + limit * SECOND if limit else inf
        caller.idle_at = now + idle * SECOND if idle else inf
        caller.interim_at = now + interim * SECOND if interim else inf

    def _watch(self, caller: Caller) -> None:
        """Keep one timer per caller: when its time is put off, the old timer finds that out."""
        due = min(caller.link.deadline * SECOND, caller.ends_at, caller.idle_at, caller.interim_at)
        if due < caller.due:
            caller.due = due
            heapq.heappush(self._timers, (due, next(self._order), caller))

    def _due(self, now: int, caller: Caller) -> None:
        if now >= caller.ends_at:
            self.end(now, caller, "the session has lasted long enough", SESSION_TIMEOUT)
            return
        if now >= caller.interim_at:
            caller.interim_at = now + caller.interim * SECOND
            self._billing.interim(now, caller)
        if now >= caller.idle_at:
            self._billing.count(caller)
            packets = caller.usage.input_packets + caller.usage.output_packets
            if packets == caller.idle_packets:
                self.end(now, caller, "no traffic", IDLE_TIMEOUT)
                return
            caller.idle_packets, caller.idle_at = packets, now + caller.idle * SECOND
        # Seconds as a float may be a hair before the nanosecond that was waited for.
        seconds = max(now / SECOND, min(caller.link.deadline, (now + 1000) / SECOND))
        caller.link.tick(seconds)
        self._pump(now, caller)

    def _settings_of(self, payload: int) -> Settings:
        """Settings of links that carry so many bytes."""
        found = self._settings.get(payload)
        if found is None:
            options = self._options
            found = replace(options.ppp, mru=payload, address=options.address)
            self._settings[payload] = found
        return found


def _session_of(caller: Caller) -> Session:
    """A session as the switch is to know it."""
    line, service_vid = place_of(caller.session)
    return Session(
        caller.index,
        line,
        service_vid,
        int.from_bytes(caller.session.mac, "big"),
        caller.session.id,
        0,
        caller.link.peer_mru,
        caller.bandwidth,
        caller.nets,
    )
