"""If these fail, an IPv6 host that subscribed gets nothing, or one that left gets everything.

The state machine is the one of IGMP, which test_igmp.py goes through; here is what MLD adds, and
whole links with several hosts against a model of who listens.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import IPv6Address
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet6 import ICMPv6MLQuery2, IPv6, IPv6ExtHdrHopByHop, RouterAlert

from p4lab.control.mld import MAX_GROUPS, MAX_SOURCES, SECOND, Effects, MldRouter, MldTimers
from p4lab.packets.mld import (
    NO_ADDRESS,
    Query,
    Record,
    RecordType,
    join_v1,
    join_v2,
    leave_v1,
    leave_v2,
    parse,
    query_v2,
    report_v2,
)

ROUTER = IPv6Address("fe80::ff:fe00:100")
HOST = IPv6Address("fe80::1:ff:fe00:101")
OTHER = IPv6Address("fe80::1:ff:fe00:102")
GROUP = IPv6Address("ff3e::4:1")
S1, S2 = IPv6Address("fd00:0:0:9::1"), IPv6Address("fd00:0:0:9::2")
G = int(GROUP)

MEMBERSHIP = 260 * SECOND
LAST_LISTENER = 2 * SECOND


@pytest.fixture
def router() -> MldRouter:
    machine = MldRouter(ROUTER, [1, 2])
    machine.start(0)
    return machine


def steps(machine: MldRouter, until: int) -> Iterator[tuple[int, Effects]]:
    """Lets the machine run to `until`, as whoever owns it would."""
    while (due := machine.next_timer()) is not None and due <= until:
        yield due, machine.timer(due)


def left(machine: MldRouter, until: int) -> list[tuple[int, tuple[int, int]]]:
    """When which group was left on which port."""
    return [(at, gone) for at, effects in steps(machine, until) for gone in effects.leaves]


def asked(effects: Effects) -> list[Query]:
    return [parse(packet)[1] for _, packet in effects.packets]


# --- what it sends ---------------------------------------------------------------------------


def test_queries_go_out_as_rfc_3810_wants_them():
    machine = MldRouter(ROUTER, [1])
    ((port, packet),) = machine.start(0).packets
    options = IPv6ExtHdrHopByHop(options=[RouterAlert()])
    message = ICMPv6MLQuery2(mrd=10_000, QRV=2, QQIC=125)
    wanted = IPv6(src=str(ROUTER), dst="ff02::1", hlim=1) / options / message
    assert (port, packet) == (1, bytes(wanted))
    machine.handle(1, 1, join_v1(HOST, GROUP))
    ((_, packet),) = machine.handle(2, 1, leave_v1(HOST, GROUP)).packets
    message = ICMPv6MLQuery2(mladdr=str(GROUP), mrd=1000, QRV=2, QQIC=125)
    wanted = IPv6(src=str(ROUTER), dst=str(GROUP), hlim=1) / options / message
    assert packet == bytes(wanted)


def test_a_router_without_a_link_local_address_cannot_ask():
    with pytest.raises(ValueError, match=r"^fd00::fe is not a link-local address: .*link_local"):
        MldRouter(IPv6Address("fd00::fe"), [1])


def test_a_less_reliable_link_is_asked_more_often():
    machine = MldRouter(ROUTER, [1], MldTimers(robustness=3))
    machine.start(0)
    machine.handle(0, 1, join_v2(HOST, GROUP))
    questions = asked(machine.handle(0, 1, leave_v2(HOST, GROUP)))
    for at, effects in steps(machine, 10 * SECOND):
        questions += asked(effects)
        if effects.leaves:
            assert at == 3 * SECOND
    assert questions == [Query(2, GROUP, 1000, robustness=3)] * 3


def test_the_lowest_link_local_address_asks(router):
    router.handle(0, 1, join_v2(HOST, GROUP))
    lower = IPv6Address("fe80::7")
    router.handle(1, 1, query_v2(lower, Query(2)))
    assert router.handle(2, 1, leave_v2(HOST, GROUP)).packets == ()
    router.handle(3, 1, query_v2(lower, Query(2, GROUP, 1000)))
    assert left(router, 10 * SECOND) == [(3 + LAST_LISTENER, (1, G))]
    times = [at for at, effects in steps(router, 300 * SECOND) if effects.packets]
    assert 255 * SECOND + 3 in times  # other querier present interval: 2 * 125 s + 10 s / 2
    router.handle(301 * SECOND, 1, query_v2(IPv6Address("fe80::ffff:0:0:1"), Query(2)))
    assert router.ignored == {"query from a router with a higher address": 1}


# --- version 1 -------------------------------------------------------------------------------


def test_a_done_of_version_1_is_believed_after_two_questions(router):
    assert router.handle(1, 1, join_v1(HOST, GROUP)).joins == ((1, G),)
    assert asked(router.handle(2, 1, leave_v1(HOST, GROUP))) == [Query(2, GROUP, 1000)]
    assert left(router, 20 * SECOND) == [(2 + LAST_LISTENER, (1, G))]


def test_versions_understand_each_other(router):
    router.handle(1, 1, join_v2(HOST, GROUP))
    router.handle(2, 1, leave_v1(OTHER, GROUP))
    router.handle(3, 1, join_v1(OTHER, GROUP))
    assert left(router, 200 * SECOND) == []
    router.handle(200 * SECOND, 1, leave_v2(OTHER, GROUP))
    assert left(router, 300 * SECOND) == [(202 * SECOND, (1, G))]


def test_beside_a_version_1_host_no_source_is_blocked(router):
    """RFC 3810, section 8.3.2: that host cannot say which sources it wants."""
    block = report_v2(HOST, [Record(RecordType.BLOCK_OLD_SOURCES, GROUP, (S1,))])
    router.handle(0, 1, join_v1(OTHER, GROUP))
    router.handle(0, 1, leave_v1(OTHER, GROUP))
    router.handle(1, 1, join_v2(HOST, GROUP, [S1]))
    assert left(router, 5 * SECOND) == []
    assert router.handle(6 * SECOND, 1, block).packets == ()
    # The version 1 host is forgotten after the interval in which it would have reported again.
    router.handle(MEMBERSHIP, 1, join_v2(HOST, GROUP, [S1]))
    assert asked(router.handle(MEMBERSHIP + 1, 1, block)) == [Query(2, GROUP, 1000, (S1,))]


# --- what is ignored -------------------------------------------------------------------------


@pytest.mark.parametrize("scope", range(16))
@pytest.mark.parametrize("flags", (0x0, 0x1, 0x3))
def test_groups_of_the_link_are_no_memberships(router, scope, flags):
    """Hosts report them (neighbour discovery listens to one), but no router forwards them."""
    group = IPv6Address(0xFF << 120 | flags << 116 | scope << 112 | 0x1FF000101)
    joins = router.handle(1, 1, join_v2(HOST, group)).joins
    joins += router.handle(2, 2, join_v1(HOST, group)).joins
    assert joins == (() if scope <= 2 else ((1, int(group)), (2, int(group))))
    assert router.ignored["group that does not leave the link"] == (2 if scope <= 2 else 0)


def test_a_host_without_an_address_is_not_believed_yet(router):
    """RFC 3810, section 5.2.13: it reports again once it has one."""
    assert router.handle(1, 1, join_v2(NO_ADDRESS, GROUP)).joins == ()
    assert router.handle(1, 1, join_v1(NO_ADDRESS, GROUP)).joins == ()
    assert router.ignored == {"report from ::": 2}
    assert router.handle(2, 1, join_v2(HOST, GROUP)).joins == ((1, G),)


def test_what_is_malformed_is_counted_and_changes_nothing(router):
    router.handle(0, 1, join_v2(HOST, GROUP))
    before = router.groups()
    far = bytearray(leave_v2(HOST, GROUP))
    far[7] = 64
    effects = router.handle(1, 1, bytes(far))
    assert (effects.joins, effects.leaves, effects.packets) == ((), (), ())
    assert router.groups() == before
    assert router.ignored == {"hop limit is not 1": 1}


def test_a_host_cannot_fill_the_router(router):
    records = [
        Record(RecordType.CHANGE_TO_EXCLUDE, IPv6Address(G + i)) for i in range(MAX_GROUPS + 10)
    ]
    assert len(router.handle(1, 1, report_v2(HOST, records)).joins) == MAX_GROUPS
    assert router.ignored == {"too many groups": 10}
    router.handle(2, 1, join_v2(HOST, GROUP, [IPv6Address(i) for i in range(MAX_SOURCES + 1)]))
    assert len(router.groups()[0].sources) == MAX_SOURCES


# --- links with several hosts, against a model -----------------------------------------------

GROUPS = (GROUP, IPv6Address("ff0e::2"))
PORTS = (1, 2)
ANY = "any source"


@dataclass
class Listener:
    """A host as RFC 3810, section 6, or RFC 2710, section 4, describes it, without suppression."""

    address: IPv6Address
    port: int
    version: int
    wants: dict[IPv6Address, object] = field(default_factory=dict)  # ANY, or a set of sources

    def change(self, group: IPv6Address, wanted: object) -> list[bytes]:
        """From now on the host wants a group from ANY, from a set of sources, or not (None)."""
        had = self.wants.pop(group, None)
        if wanted is not None:
            self.wants[group] = wanted
        if self.version == 1:
            build = leave_v1 if wanted is None else join_v1
            return [build(self.address, group)] if had != wanted else []
        if ANY in (had, wanted):
            change = RecordType.CHANGE_TO_EXCLUDE if wanted == ANY else RecordType.CHANGE_TO_INCLUDE
            sources = () if wanted in (ANY, None) else tuple(wanted)
            return [report_v2(self.address, [Record(change, group, sources)])]
        new, old = set(wanted or ()), set(had or ())
        records = [
            Record(RecordType.ALLOW_NEW_SOURCES, group, tuple(sorted(new - old))),
            Record(RecordType.BLOCK_OLD_SOURCES, group, tuple(sorted(old - new))),
        ]
        return [report_v2(self.address, [record for record in records if record.sources])]

    def answer(self, query: Query) -> list[bytes]:
        """What it says to a query, when its time to answer has come."""
        reports = []
        for group, wanted in self.wants.items():
            if query.group not in (NO_ADDRESS, group):
                continue
            if self.version == 1:
                reports.append(join_v1(self.address, group))
                continue
            kind, sources = RecordType.MODE_IS_INCLUDE, query.sources
            if wanted == ANY and not sources:
                kind = RecordType.MODE_IS_EXCLUDE
            elif wanted != ANY:
                sources = tuple(sorted(wanted & set(sources) if sources else wanted))
            if sources or wanted == ANY:
                reports.append(report_v2(self.address, [Record(kind, group, sources)]))
        return reports


class Links:
    """A router, its hosts on two ports, and what is under way, in order of time.

    `lost` says which of the two rounds of group-specific queries no host hears.
    """

    def __init__(self, versions: tuple[int, ...], seed: int, lost: str | None = None) -> None:
        self.machine = MldRouter(ROUTER, PORTS)
        self.random = random.Random(seed)
        self.lost = lost
        self.hosts = [
            Listener(IPv6Address(int(HOST) + i), PORTS[i % 2], version)
            for i, version in enumerate(versions)
        ]
        self.joined: set[tuple[int, int]] = set()
        self._events: list[tuple[int, int, Listener, Query]] = []
        self._order = count()
        self.take(0, self.machine.start(0), "first")

    def take(self, now: int, effects: Effects, round_: str) -> None:
        """Joins and leaves never contradict what was said before; queries reach the hosts."""
        assert self.joined.isdisjoint(effects.joins) and self.joined.issuperset(effects.leaves)
        self.joined = (self.joined | set(effects.joins)) - set(effects.leaves)
        assert self.joined == {(view.port, int(view.group)) for view in self.machine.groups()}
        for port, packet in effects.packets:
            query = parse(packet)[1]
            if self.lost == round_ and query.group != NO_ADDRESS:
                continue
            for host in self.hosts:
                if host.port == port:
                    delay = self.random.randrange(query.max_response * (SECOND // 1000))
                    event = (now + delay, next(self._order), host, query)
                    heapq.heappush(self._events, event)

    def run(self, until: int) -> Iterator[int]:
        """Everything that is due by `until`; gives the time after each."""
        while True:
            timer = self.machine.next_timer()
            answer = self._events[0][0] if self._events else until + 1
            now = min(timer, answer)
            if now > until:
                return
            if timer <= answer:
                self.take(now, self.machine.timer(now), "second")
            else:
                _, _, host, query = heapq.heappop(self._events)
                self.hear(now, host, host.answer(query))
            yield now

    def hear(self, now: int, host: Listener, packets: list[bytes]) -> None:
        for packet in packets:
            self.take(now, self.machine.handle(now, host.port, packet), "first")

    def listening(self) -> set[tuple[int, int]]:
        return {(host.port, int(group)) for host in self.hosts for group in host.wants}


CHANGES = st.lists(
    st.tuples(
        st.integers(0, 3 * SECOND) | st.integers(0, 400 * SECOND),  # wait
        st.integers(0, 3),  # host
        st.sampled_from(GROUPS),
        st.booleans(),
    ),
    max_size=25,
)
VERSIONS = st.tuples(*[st.sampled_from((1, 2))] * 4)


@pytest.mark.parametrize("lost", [None, "first", "second"])
@given(CHANGES, VERSIONS, st.integers(0, 1 << 32))
def test_who_listens_is_known_at_once_and_who_left_is_forgotten_in_two_seconds(
    lost, changes, versions, seed
):
    """Hosts of both versions that want any source; one lost query of two does no harm."""
    links = Links(versions, seed, lost)
    gone: dict[tuple[int, int], int] = {}  # when the last listener left
    now = 0

    def check(at: int) -> None:
        listening = links.listening()
        assert links.joined >= listening
        assert all(at <= gone[key] + LAST_LISTENER for key in links.joined - listening)

    for wait, who, group, wanted in changes:
        for at in links.run(now + wait):
            check(at)
        now += wait
        host = links.hosts[who]
        before = links.listening()
        packets = host.change(group, ANY if wanted else None)
        gone |= dict.fromkeys(before - links.listening(), now)
        links.hear(now, host, packets)
        check(now)
    for at in links.run(now + 2 * MEMBERSHIP):
        check(at)


WANTS = st.none() | st.just(ANY) | st.sets(st.sampled_from((S1, S2)), min_size=1)
SOURCE_CHANGES = st.lists(
    st.tuples(
        st.integers(0, 3 * SECOND) | st.integers(0, 400 * SECOND),
        st.integers(0, 3),
        st.sampled_from(GROUPS),
        WANTS,
    ),
    max_size=25,
)


@given(SOURCE_CHANGES, VERSIONS, st.integers(0, 1 << 32))
def test_nobody_who_wants_some_sources_is_cut_off_and_all_is_forgotten_in_the_end(
    changes, versions, seed
):
    links = Links(versions, seed)
    now = 0
    for wait, who, group, wanted in changes:
        for _ in links.run(now + wait):
            assert links.joined >= links.listening()
        now += wait
        host = links.hosts[who]
        if host.version == 1 and wanted is not None:
            wanted = ANY
        links.hear(now, host, host.change(group, wanted))
        assert links.joined >= links.listening()
    for host in links.hosts:
        host.wants.clear()  # switched off: nobody says so
    for _ in links.run(now + MEMBERSHIP + LAST_LISTENER):
        pass
    assert links.joined == set()
