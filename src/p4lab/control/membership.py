"""Who listens to what behind each port: the router's side of IGMP and of MLD.

`MembershipRouter` is a state machine without a clock: time is passed in, as nanoseconds since any
fixed moment, and what it wants done is returned as Effects. IGMPv3 (RFC 3376) and MLDv2
(RFC 3810) describe the same machine; what tells them apart is in `control.igmp` and
`control.mld`. Where one RFC is cited here, the other says the same.

One simplification: the data plane forwards by group alone, so a group counts as joined on a port
as soon as anybody there wants it from any source at all. Sources are kept, with their timers, as
far as they decide when the last listener is gone: a host that asks for some sources (IS_IN,
TO_IN, ALLOW) keeps the group until its sources time out, and sources that a host excludes
(IS_EX, TO_EX, BLOCK in exclude mode) are not recorded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic

from p4lab.packets.membership import (
    A,
    Leave,
    Malformed,
    Message,
    Query,
    Record,
    RecordReport,
    RecordType,
    Report,
)

SECOND = 10**9
MAX_GROUPS = 1024  # per router: a host must not be able to fill the tables of its neighbours
MAX_SOURCES = 64  # per group and port


@dataclass(frozen=True)
class Timers:
    """Timers in nanoseconds, with the defaults of RFC 3376, section 8, and RFC 3810, section 9.

    What IGMP calls the last member MLD calls the last listener.
    """

    robustness: int = 2
    query_interval: int = 125 * SECOND
    query_response_interval: int = 10 * SECOND
    last_member_query_interval: int = 1 * SECOND

    @property
    def group_membership_interval(self) -> int:
        """How long a membership holds without a report; also how long an old host is assumed."""
        return self.robustness * self.query_interval + self.query_response_interval

    @property
    def other_querier_present_interval(self) -> int:
        return self.robustness * self.query_interval + self.query_response_interval // 2

    @property
    def startup_query_interval(self) -> int:
        return self.query_interval // 4

    @property
    def last_member_query_time(self) -> int:
        return self.robustness * self.last_member_query_interval


@dataclass(frozen=True)
class Effects:
    """What a step of the machine wants done.

    `joins` and `leaves` are (port, group) that changed, `packets` (port, IP packet) to send,
    `next_timer` when `timer` has to be called at the latest (None: not until a packet comes).
    """

    joins: tuple[tuple[int, int], ...]
    leaves: tuple[tuple[int, int], ...]
    packets: tuple[tuple[int, bytes], ...]
    next_timer: int | None


@dataclass(frozen=True)
class GroupView(Generic[A]):
    """A membership as a person wants to see it; `expires` in the machine's nanoseconds."""

    port: int
    group: A
    any_source: bool
    sources: tuple[A, ...]
    expires: int


@dataclass
class _Group(Generic[A]):
    """The state of one group on one port (RFC 3376, section 6.2)."""

    exclude_until: int | None = None  # the group timer; None in include mode
    sources: dict[A, int] = field(default_factory=dict)  # source timers
    # How long a host may be there that says less than the others.
    no_leaves_until: int = 0
    no_blocks_until: int = 0
    # The group-specific queries still to be sent: how many, when the next, about what.
    queries_left: int = 0
    query_at: int = 0
    ask_group: bool = False
    ask_sources: set[A] = field(default_factory=set)

    @property
    def wanted(self) -> bool:
        return self.exclude_until is not None or bool(self.sources)

    def deadlines(self) -> Iterable[int]:
        if self.exclude_until is not None:
            yield self.exclude_until
        yield from self.sources.values()
        if self.queries_left:
            yield self.query_at

    def expire(self, now: int) -> None:
        if self.exclude_until is not None and self.exclude_until <= now:
            self.exclude_until = None
        self.sources = {source: at for source, at in self.sources.items() if at > now}


@dataclass
class _Port:
    """The querier of one port: when the next general query is due, and who else asks there."""

    general_at: int
    startup_left: int
    other_querier_until: int | None = None

    def deadline(self) -> int:
        return self.general_at if self.other_querier_until is None else self.other_querier_until


class MembershipRouter(ABC, Generic[A]):
    """One protocol on the host-facing ports of one router.

    `ignored` counts the packets and records that changed nothing, by reason.
    """

    version: int  # of the queries it sends
    any_group: A  # what stands for the group in a general query
    response_unit: int  # of the time to answer in a query, in nanoseconds
    first_with_leaves: int  # the oldest version whose hosts say that they leave

    def __init__(self, address: A, ports: Iterable[int], timers: Timers | None = None) -> None:
        self.address: A = address
        self.timers = timers or Timers()
        self.ignored: Counter[str] = Counter()
        self._known_ports = frozenset(ports)
        self._ports: dict[int, _Port] = {}
        self._groups: dict[tuple[int, A], _Group[A]] = {}
        self._packets: list[tuple[int, bytes]] = []

    # --- what the protocol adds --------------------------------------------------------------

    @abstractmethod
    def _read(self, packet: bytes) -> tuple[A, Message[A]]:
        """Source and message of a packet; raises Malformed if the router must not believe it."""

    @abstractmethod
    def _write(self, query: Query[A]) -> bytes:
        """The packet with a query."""

    @abstractmethod
    def _not_routed(self, group: A) -> str | None:
        """Why no router forwards a group; None if routers do."""

    # --- what happens to the router ----------------------------------------------------------

    def start(self, now: int) -> Effects:
        """Begin to ask on every port."""
        for port in self._known_ports:
            self._ports[port] = _Port(now, self.timers.robustness)
        self._run_timers(now)
        return self._step(now, set())

    def handle(self, now: int, port: int, packet: bytes) -> Effects:
        """An IP packet from `port`. One that is malformed or from elsewhere is only counted."""
        before = self._wanted()
        self._run_timers(now)
        if port not in self._ports:
            self.ignored["not from a host port"] += 1
            return self._step(now, before)
        try:
            source, message = self._read(packet)
        except Malformed as reason:
            self.ignored[str(reason)] += 1
            return self._step(now, before)
        if isinstance(message, Query):
            self._heard_query(now, port, source, message)
        elif isinstance(message, Report):
            self._heard_report(now, port, message)
        elif isinstance(message, Leave):
            self._heard_leave(now, port, message.group)
        elif isinstance(message, RecordReport):
            for record in message.records:
                self._heard_record(now, port, record)
        return self._step(now, before)

    def timer(self, now: int) -> Effects:
        """Do what is due at `now`; harmless to call too early or too late."""
        before = self._wanted()
        self._run_timers(now)
        return self._step(now, before)

    def port_down(self, now: int, port: int) -> Effects:
        """The cable of a port is gone, and its memberships with it."""
        before = self._wanted()
        self._run_timers(now)
        self._ports.pop(port, None)
        self._groups = {key: group for key, group in self._groups.items() if key[0] != port}
        return self._step(now, before)

    def port_up(self, now: int, port: int) -> Effects:
        """The cable of a port is back: ask as after a start."""
        before = self._wanted()
        if port in self._known_ports and port not in self._ports:
            self._ports[port] = _Port(now, self.timers.robustness)
        self._run_timers(now)
        return self._step(now, before)

    # --- what it knows -----------------------------------------------------------------------

    def next_timer(self) -> int | None:
        """When `timer` is due, in nanoseconds; None before the start."""
        deadlines = [port.deadline() for port in self._ports.values()]
        for group in self._groups.values():
            deadlines.extend(group.deadlines())
        return min(deadlines, default=None)

    def groups(self) -> tuple[GroupView[A], ...]:
        """Every membership, sorted by port and group."""
        return tuple(self._view(port, group) for port, group in sorted(self._groups))

    def _view(self, port: int, group: A) -> GroupView[A]:
        state: _Group[A] = self._groups[port, group]
        return GroupView(
            port,
            group,
            state.exclude_until is not None,
            tuple(sorted(state.sources)),
            max([state.exclude_until or 0, *state.sources.values()]),
        )

    # --- steps -------------------------------------------------------------------------------

    def _wanted(self) -> set[tuple[int, int]]:
        return {(port, int(group)) for port, group in self._groups}

    def _step(self, now: int, before: set[tuple[int, int]]) -> Effects:
        """Forget groups that nobody wants and say what is different from `before`."""
        for group in self._groups.values():
            group.expire(now)
        self._groups = {key: group for key, group in self._groups.items() if group.wanted}
        after = self._wanted()
        packets, self._packets = tuple(self._packets), []
        return Effects(
            tuple(sorted(after - before)), tuple(sorted(before - after)), packets, self.next_timer()
        )

    def _run_timers(self, now: int) -> None:
        for number, port in sorted(self._ports.items()):
            if port.deadline() <= now:
                port.other_querier_until = None
                self._general_query(now, number, port)
        for (number, address), group in sorted(self._groups.items()):
            group.expire(now)
            if group.wanted and group.queries_left and group.query_at <= now:
                self._group_query(now, number, address, group)

    def _general_query(self, now: int, number: int, port: _Port) -> None:
        self._ask_for(number, self.any_group, self.timers.query_response_interval)
        port.startup_left = max(port.startup_left - 1, 0)
        interval = (
            self.timers.startup_query_interval if port.startup_left else self.timers.query_interval
        )
        port.general_at = now + interval

    def _group_query(self, now: int, port: int, address: A, group: _Group[A]) -> None:
        """One round of questions; S is set where a listener has answered (RFC 3376, 6.6.3)."""
        soon = now + self.timers.last_member_query_time
        response = self.timers.last_member_query_interval
        if group.ask_group and group.exclude_until is not None:
            self._ask_for(port, address, response, (), group.exclude_until > soon)
        for answered in (True, False):
            sources = tuple(
                sorted(
                    source
                    for source in group.ask_sources & group.sources.keys()
                    if (group.sources[source] > soon) == answered
                )
            )
            if sources:
                self._ask_for(port, address, response, sources, answered)
        group.queries_left -= 1
        group.query_at = now + self.timers.last_member_query_interval

    def _ask_for(
        self,
        port: int,
        group: A,
        response: int,
        sources: tuple[A, ...] = (),
        suppress: bool = False,
    ) -> None:
        """Send a query; hosts have `response` nanoseconds to answer. `suppress` is the S flag."""
        query = Query(
            self.version,
            group,
            max(response // self.response_unit, 1),
            sources,
            suppress,
            self.timers.robustness,
            self.timers.query_interval // SECOND,
        )
        self._packets.append((port, self._write(query)))

    # --- messages ----------------------------------------------------------------------------

    def _heard_query(self, now: int, number: int, source: A, query: Query[A]) -> None:
        """The router with the lowest address asks (RFC 3376, 6.6.2); 0.0.0.0 is not a router."""
        port = self._ports[number]
        if source.is_unspecified or source >= self.address:
            self.ignored["query from a router with a higher address"] += 1
            return
        port.other_querier_until = now + self.timers.other_querier_present_interval
        group = self._groups.get((number, query.group))
        if group is None or query.suppress:
            return
        soon = now + self.timers.last_member_query_time
        for address in group.sources.keys() & set(query.sources):
            group.sources[address] = min(group.sources[address], soon)
        if not query.sources and group.exclude_until is not None:
            group.exclude_until = min(group.exclude_until, soon)

    def _heard_report(self, now: int, port: int, report: Report[A]) -> None:
        """A report without records means IS_EX {} (RFC 3376, section 7.3.2)."""
        group = self._group(port, report.group)
        if group is None:
            return
        until = now + self.timers.group_membership_interval
        group.exclude_until = until
        if report.version < self.first_with_leaves:
            group.no_leaves_until = until
        else:
            group.no_blocks_until = until

    def _heard_leave(self, now: int, port: int, address: A) -> None:
        """A leave means TO_IN {} (RFC 3376, section 7.3.2)."""
        self._heard_record(now, port, Record(RecordType.CHANGE_TO_INCLUDE, address))

    def _heard_record(self, now: int, port: int, record: Record[A]) -> None:
        """The transitions of RFC 3376, section 6.4, without lists of excluded sources."""
        kind = record.kind
        if kind in (RecordType.MODE_IS_EXCLUDE, RecordType.CHANGE_TO_EXCLUDE):
            group = self._group(port, record.group)
            if group is not None:
                group.exclude_until = now + self.timers.group_membership_interval
        elif kind in (RecordType.MODE_IS_INCLUDE, RecordType.ALLOW_NEW_SOURCES):
            self._include(now, port, record)
        elif kind == RecordType.CHANGE_TO_INCLUDE:
            self._change_to_include(now, port, record)
        elif kind == RecordType.BLOCK_OLD_SOURCES:
            self._block(now, port, record)
        else:
            self.ignored["unknown group record type"] += 1

    def _include(self, now: int, port: int, record: Record[A]) -> None:
        group = self._group(port, record.group) if record.sources else None
        if group is None:
            return
        for source in record.sources:
            if source not in group.sources and len(group.sources) >= MAX_SOURCES:
                self.ignored["too many sources"] += 1
                return
            group.sources[source] = now + self.timers.group_membership_interval

    def _change_to_include(self, now: int, port: int, record: Record[A]) -> None:
        group = self._groups.get((port, record.group))
        if group is None and not record.sources:
            self.ignored["leave of a group that was never joined"] += 1
        elif group is not None and group.no_leaves_until > now:
            self.ignored["leave next to a version 1 host"] += 1
        else:
            others = group.sources.keys() - set(record.sources) if group else set()
            self._include(now, port, record)
            if group is not None:
                self._ask(now, port, record.group, others, whole_group=True)

    def _block(self, now: int, port: int, record: Record[A]) -> None:
        group = self._groups.get((port, record.group))
        if group is None or group.exclude_until is not None or group.no_blocks_until > now:
            self.ignored["block of sources that are not listed"] += 1
        else:
            blocked = group.sources.keys() & set(record.sources)
            self._ask(now, port, record.group, blocked, whole_group=False)

    def _ask(
        self,
        now: int,
        port: int,
        address: A,
        sources: set[A],
        whole_group: bool,
    ) -> None:
        """Give listeners the last member query time to object, and ask them for it.

        What has been asked already is not asked again: its timer runs.
        """
        if self._ports[port].other_querier_until is not None:
            return
        group = self._groups[port, address]
        soon = now + self.timers.last_member_query_time
        fresh = {source for source in sources if group.sources[source] > soon}
        whole_group = whole_group and group.exclude_until is not None and group.exclude_until > soon
        if not fresh and not whole_group:
            return
        for source in fresh:
            group.sources[source] = soon
        if whole_group:
            group.exclude_until = soon
        pending = group.queries_left > 0
        group.ask_group = whole_group or (pending and group.ask_group)
        group.ask_sources = fresh | (group.ask_sources if pending else set())
        group.queries_left = self.timers.robustness
        self._group_query(now, port, address, group)

    def _group(self, port: int, address: A) -> _Group[A] | None:
        """The state of a group, made if need be; None where it must not be made."""
        group = self._groups.get((port, address))
        if group is not None:
            return group
        if reason := self._not_routed(address):
            self.ignored[reason] += 1
        elif len(self._groups) >= MAX_GROUPS:
            self.ignored["too many groups"] += 1
        else:
            group = self._groups[port, address] = _Group()
        return group
