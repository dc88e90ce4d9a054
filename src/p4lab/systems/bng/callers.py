"""A subscriber who has dialled in, as the gateway keeps it: in memory, and on disk."""

from __future__ import annotations

import json
from collections.abc import Callable
from ipaddress import IPv4Address
from math import inf
from random import Random
from typing import Any, cast

from p4lab.systems.bng.accounting import Usage
from p4lab.systems.bng.entries import Line, Net
from p4lab.systems.bng.ppp import SERVER, Link, Settings
from p4lab.systems.bng.pppoe import Session as PppoeSession
from p4lab.systems.bng.radius.profile import prefix_value
from p4lab.systems.bng.radius.wire import Kind, attribute, number, text, vendor
from p4lab.systems.bng.store import KeptSession

PPPOE_OVER_ONE_TAG, PPPOE_OVER_QINQ = 33, 34
"""NAS-Port-Type (RFC 4603)"""
BROADBAND_FORUM = 3561
CIRCUIT_ID, REMOTE_ID = 1, 2
Raw = tuple[int, int, int, int, int, int]
"""Packets and bytes upstream, downstream and by multicast, as the switch counts them"""
NO_COUNT: Raw = (0, 0, 0, 0, 0, 0)


class Caller:
    """A PPPoE session with its link, and once it is up, with its accounting.

    `started` is the time of day in nanoseconds, 0 until IPv4 or IPv6 is up. Times named `_at` are
    those of the gateway's clock, in nanoseconds, infinite for never.
    """

    __slots__ = (
        "acct_id",
        "address",
        "asked",
        "bandwidth",
        "changed",
        "classes",
        "delegated",
        "due",
        "ends_at",
        "gateway_id",
        "idle",
        "idle_at",
        "idle_packets",
        "index",
        "interim",
        "interim_at",
        "link",
        "prefix",
        "raw",
        "session",
        "session_timeout",
        "started",
        "usage",
        "user",
        "v4",
        "v6",
    )

    def __init__(self, session: PppoeSession, link: Link) -> None:
        self.session, self.link = session, link
        self.asked = 0
        """How often authentication was asked: an answer to an earlier question does not count"""
        self.changed = False
        """It stands in the list of those whose rows and memory are to be brought up to date"""
        self.due: float = inf
        self.forget()

    def forget(self) -> None:
        """Nothing is granted, nothing billed."""
        self.acct_id, self.index, self.started = "", 0, 0
        self.user = b""
        self.address: Net | None = None
        self.prefix: Net | None = None
        self.delegated: Net | None = None
        self.bandwidth = ""
        self.classes: tuple[bytes, ...] = ()
        self.session_timeout = self.idle = self.interim = 0
        self.interim_at = self.ends_at = self.idle_at = inf
        self.idle_packets = 0
        self.usage = Usage()
        self.raw = NO_COUNT
        self.v4 = self.v6 = False
        self.gateway_id = 0

    @property
    def nets(self) -> tuple[Net, ...]:
        """The addresses of the families that are up."""
        v4 = (self.address,) if self.v4 and self.address else ()
        v6 = (self.prefix, self.delegated) if self.v6 else ()
        return v4 + tuple(net for net in v6 if net)

    @property
    def granted(self) -> tuple[Net, ...]:
        """All addresses that are kept for it."""
        nets = (self.address, self.prefix, self.delegated)
        return tuple(net for net in nets if net)


def place_of(session: PppoeSession) -> tuple[int, int]:
    """The number of a session's line, and its service tag: what the gateway calls a line to the
    concentrator."""
    return cast("tuple[int, int]", session.line)


def station(session: PppoeSession, line: Line) -> bytes:
    """Where a subscriber is, as RADIUS attributes: for access and for accounting."""
    mac = session.mac.hex("-")
    single = not line.label0 and not line.inner_vid
    inner_vid = place_of(session)[1] if line.label0 else line.inner_vid
    place = f"eth{line.port}.{line.outer_vid}:{inner_vid}"
    found = (
        number(Kind.NAS_PORT, line.number)
        + number(Kind.NAS_PORT_TYPE, PPPOE_OVER_ONE_TAG if single else PPPOE_OVER_QINQ)
        + text(Kind.NAS_PORT_ID, place)
        + text(Kind.CALLING_STATION_ID, mac)
    )
    if session.service:
        found += attribute(Kind.CALLED_STATION_ID, session.service[:253])
    for kind, value in ((CIRCUIT_ID, session.circuit_id), (REMOTE_ID, session.remote_id)):
        if value:
            found += vendor(BROADBAND_FORUM, kind, value)
    return found


def granted_attributes(caller: Caller) -> bytes:
    """What a caller has, for accounting: name, addresses, and what the server wants back."""
    found = attribute(Kind.USER_NAME, caller.user)
    if caller.address:
        found += number(Kind.FRAMED_IP_ADDRESS, caller.address.address)
    for kind, net in (
        (Kind.FRAMED_IPV6_PREFIX, caller.prefix),
        (Kind.DELEGATED_IPV6_PREFIX, caller.delegated),
    ):
        if net:
            found += attribute(kind, prefix_value(net[1:]))
    return found + b"".join(attribute(Kind.CLASS, value) for value in caller.classes)


# ---- On disk


def kept(caller: Caller) -> KeptSession:
    """A caller as it is kept."""
    session = caller.session
    state = {
        "address": caller.address,
        "prefix": caller.prefix,
        "delegated": caller.delegated,
        "classes": [value.hex() for value in caller.classes],
        "timeouts": [caller.session_timeout, caller.idle, caller.interim],
        "started": caller.started,
        "up": [caller.v4, caller.v6],
        "mru": caller.link.peer_mru,
        "payload": session.max_payload,
        "gateway": caller.gateway_id,
        "ids": [session.circuit_id.hex(), session.remote_id.hex()],
        "offered": session.service.hex(),
    }
    line, service_vid = place_of(session)
    return KeptSession(
        caller.acct_id,
        caller.index,
        line,
        service_vid,
        session.mac,
        session.id,
        caller.user,
        caller.bandwidth,
        json.dumps(state).encode(),
        counted(caller),
    )


def counted(caller: Caller) -> bytes:
    """What was counted, and what the switch's cells said then."""
    return json.dumps([caller.usage, caller.raw]).encode()


def revived(
    row: KeptSession, settings_of: Callable[[int], Settings], random: Random, now: float
) -> Caller:
    """A caller from the disk. Its link is as it was, and asks soon whether anyone is there.
    `settings_of` are those of a link that carries so many bytes."""
    state: dict[str, Any] = json.loads(row.state)
    circuit_id, remote_id = (bytes.fromhex(value) for value in state["ids"])
    session = PppoeSession(
        row.pppoe_id,
        (row.line, row.service_vid),
        row.mac,
        service=bytes.fromhex(state["offered"]),
        circuit_id=circuit_id,
        remote_id=remote_id,
        max_payload=state["payload"],
    )
    caller = Caller(session, Link(SERVER, settings_of(session.max_payload), random))
    caller.acct_id, caller.index, caller.user = row.acct_id, row.index, row.user
    caller.bandwidth, caller.started = row.service, state["started"]
    caller.address, caller.prefix, caller.delegated = (
        Net(*state[name]) if state[name] else None for name in ("address", "prefix", "delegated")
    )
    caller.classes = tuple(bytes.fromhex(value) for value in state["classes"])
    caller.session_timeout, caller.idle, caller.interim = state["timeouts"]
    caller.v4, caller.v6 = state["up"]
    usage, raw = json.loads(row.counted)
    caller.usage, caller.raw = Usage(*usage), tuple(raw)
    caller.gateway_id = state["gateway"]
    address = IPv4Address(caller.address.address) if caller.v4 and caller.address else None
    caller.link.resume(now, state["mru"], address, caller.gateway_id if caller.v6 else None)
    session.link = caller
    return caller
