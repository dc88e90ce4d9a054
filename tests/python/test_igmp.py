"""If these fail, a host that subscribed gets nothing, or one that left gets everything."""

from __future__ import annotations

from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p4lab.control.igmp import MAX_GROUPS, MAX_SOURCES, SECOND, IgmpRouter, IgmpTimers
from p4lab.packets.igmp import (
    NO_ADDRESS,
    Query,
    Record,
    RecordType,
    join_v2,
    join_v3,
    leave_v2,
    leave_v3,
    parse,
    query_v3,
    report_v1,
    report_v3,
)

ROUTER = IPv4Address("10.0.1.254")
HOST = IPv4Address("10.0.1.1")
GROUP = IPv4Address("239.1.1.1")
S1, S2 = IPv4Address("10.0.9.1"), IPv4Address("10.0.9.2")
G = int(GROUP)

MEMBERSHIP = 260 * SECOND
LAST_MEMBER = 2 * SECOND


@pytest.fixture
def router():
    machine = IgmpRouter(ROUTER, [1, 2])
    machine.start(0)
    return machine


def queries(effects):
    return [(port, parse(packet)[1]) for port, packet in effects.packets]


def advance(machine, until):
    """Let the machine run to `until`, as whoever owns it would; all that happened, with times."""
    happened = []
    while (due := machine.next_timer()) is not None and due <= until:
        effects = machine.timer(due)
        happened += [(due, "query", *item) for item in queries(effects)]
        happened += [(due, "join", *item) for item in effects.joins]
        happened += [(due, "leave", *item) for item in effects.leaves]
    return happened


def group_queries(happened):
    return [item for item in happened if item[1] == "query" and item[3].group == GROUP]


def leaves(happened):
    return [item for item in happened if item[1] == "leave"]


# --- asking ------------------------------------------------------------------------------------


def test_general_queries_at_start_soon_after_and_then_regularly():
    machine = IgmpRouter(ROUTER, [2, 1])
    effects = machine.start(0)
    assert queries(effects) == [(1, Query(3)), (2, Query(3))]
    assert effects.next_timer == 31_250_000_000
    times = [at for at, _, port, _ in advance(machine, 500 * SECOND) if port == 1]
    assert [at / SECOND for at in times] == [31.25, 156.25, 281.25, 406.25]


def test_a_query_goes_out_as_rfc_3376_wants_it(router):
    packet = query_v3(ROUTER, Query(3))
    assert packet.hex() == (
        "46c0002400000000010238150a0001fee0000001"
        + "94040000"
        + "1164"
        + "ec1e"
        + "00000000"
        + "027d0000"
    )


def test_the_lowest_address_asks_and_its_silence_ends_that(router):
    lower = query_v3(IPv4Address("10.0.1.7"), Query(3))
    router.handle(SECOND, 1, lower)
    happened = advance(router, 300 * SECOND)
    assert [at / SECOND for at, _, port, _ in happened if port == 1] == [256.0]
    higher = query_v3(IPv4Address("10.0.1.255"), Query(3))
    router.handle(301 * SECOND, 1, higher)
    assert advance(router, 382 * SECOND)[-1][0] == 381 * SECOND


def test_a_router_that_does_not_ask_believes_the_one_that_does(router):
    router.handle(0, 1, join_v2(HOST, GROUP))
    router.handle(1, 1, query_v3(IPv4Address("10.0.1.7"), Query(3)))
    assert router.handle(2, 1, leave_v2(HOST, GROUP)).packets == ()
    router.handle(3, 1, query_v3(IPv4Address("10.0.1.7"), Query(3, GROUP, 10)))
    assert leaves(advance(router, 10 * SECOND)) == [(3 + LAST_MEMBER, "leave", 1, G)]


# --- version 2 ---------------------------------------------------------------------------------


def test_a_join_is_reported_once(router):
    assert router.handle(1, 1, join_v2(HOST, GROUP)).joins == ((1, G),)
    assert router.handle(2, 1, join_v2(HOST, GROUP)).joins == ()
    assert router.handle(3, 2, join_v2(HOST, GROUP)).joins == ((2, G),)


def test_a_membership_without_reports_ends(router):
    router.handle(SECOND, 1, join_v2(HOST, GROUP))
    router.handle(100 * SECOND, 1, join_v2(HOST, GROUP))
    assert leaves(advance(router, 1000 * SECOND)) == [(100 * SECOND + MEMBERSHIP, "leave", 1, G)]


def test_after_a_leave_the_group_is_asked_twice_and_then_gone(router):
    router.handle(SECOND, 1, join_v2(HOST, GROUP))
    effects = router.handle(10 * SECOND, 1, leave_v2(HOST, GROUP))
    assert queries(effects) == [(1, Query(3, GROUP, 10))]
    assert effects.leaves == ()
    happened = advance(router, 20 * SECOND)
    assert group_queries(happened) == [(11 * SECOND, "query", 1, Query(3, GROUP, 10))]
    assert leaves(happened) == [(12 * SECOND, "leave", 1, G)]


def test_another_listener_answers_and_the_group_stays(router):
    router.handle(SECOND, 1, join_v2(HOST, GROUP))
    router.handle(10 * SECOND, 1, leave_v2(HOST, GROUP))
    answer = router.handle(10 * SECOND + 5, 1, join_v2(IPv4Address("10.0.1.2"), GROUP))
    assert answer.joins == answer.leaves == ()
    happened = advance(router, 200 * SECOND)
    assert leaves(happened) == []
    # The repeated question must not lower the timers of routers that heard the answer.
    assert group_queries(happened) == [
        (11 * SECOND, "query", 1, Query(3, GROUP, 10, suppress=True))
    ]


def test_leaves_cannot_keep_the_router_asking(router):
    router.handle(0, 1, join_v2(HOST, GROUP))
    sent = [router.handle(SECOND + i, 1, leave_v2(HOST, GROUP)).packets for i in range(50)]
    assert sum(map(len, sent)) == 1


def test_a_leave_on_one_port_is_no_leave_on_another(router):
    router.handle(0, 1, join_v2(HOST, GROUP))
    router.handle(0, 2, join_v2(HOST, GROUP))
    router.handle(1, 1, leave_v2(HOST, GROUP))
    assert leaves(advance(router, 20 * SECOND)) == [(1 + LAST_MEMBER, "leave", 1, G)]


def test_beside_a_version_1_host_a_leave_means_nothing(router):
    router.handle(0, 1, report_v1(HOST, GROUP))
    router.handle(0, 1, join_v2(HOST, GROUP))
    assert router.handle(1, 1, leave_v2(HOST, GROUP)).packets == ()
    assert router.handle(2, 1, leave_v3(HOST, GROUP)).packets == ()
    assert router.ignored["leave next to a version 1 host"] == 2
    assert leaves(advance(router, 1000 * SECOND)) == [(MEMBERSHIP, "leave", 1, G)]


# --- version 3 ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "join",
    [
        Record(RecordType.MODE_IS_EXCLUDE, GROUP),
        Record(RecordType.CHANGE_TO_EXCLUDE, GROUP),
        Record(RecordType.CHANGE_TO_EXCLUDE, GROUP, (S1,)),
        Record(RecordType.MODE_IS_INCLUDE, GROUP, (S1,)),
        Record(RecordType.CHANGE_TO_INCLUDE, GROUP, (S1, S2)),
        Record(RecordType.ALLOW_NEW_SOURCES, GROUP, (S2,)),
    ],
)
def test_every_way_to_join(router, join):
    assert router.handle(1, 1, report_v3(HOST, [join])).joins == ((1, G),)
    happened = advance(router, 1000 * SECOND)
    assert leaves(happened) == [(1 + MEMBERSHIP, "leave", 1, G)]


@pytest.mark.parametrize(
    "nothing",
    [
        Record(RecordType.MODE_IS_INCLUDE, GROUP),
        Record(RecordType.CHANGE_TO_INCLUDE, GROUP),
        Record(RecordType.ALLOW_NEW_SOURCES, GROUP),
        Record(RecordType.BLOCK_OLD_SOURCES, GROUP, (S1,)),
        Record(7, GROUP, (S1,)),
    ],
)
def test_what_is_no_join(router, nothing):
    assert router.handle(1, 1, report_v3(HOST, [nothing])).joins == ()
    assert router.groups() == ()


def test_one_report_can_join_many_groups(router):
    groups = [IPv4Address(G + i) for i in range(5)]
    records = [Record(RecordType.CHANGE_TO_EXCLUDE, group) for group in groups]
    assert router.handle(1, 1, report_v3(HOST, records)).joins == tuple(
        (1, G + i) for i in range(5)
    )


def test_sources_are_kept(router):
    router.handle(1, 1, join_v3(HOST, GROUP, [S2, S1]))
    (view,) = router.groups()
    assert (view.port, view.group, view.any_source, view.sources) == (1, GROUP, False, (S1, S2))
    router.handle(2, 1, join_v3(IPv4Address("10.0.1.2"), GROUP))
    assert router.groups()[0].any_source


def test_a_host_with_sources_leaves(router):
    router.handle(SECOND, 1, join_v3(HOST, GROUP, [S1]))
    effects = router.handle(5 * SECOND, 1, leave_v3(HOST, GROUP))
    assert queries(effects) == [(1, Query(3, GROUP, 10, (S1,)))]
    assert leaves(advance(router, 20 * SECOND)) == [(7 * SECOND, "leave", 1, G)]


def test_a_host_changes_its_source(router):
    router.handle(SECOND, 1, join_v3(HOST, GROUP, [S1]))
    effects = router.handle(5 * SECOND, 1, join_v3(HOST, GROUP, [S2]))
    assert queries(effects) == [(1, Query(3, GROUP, 10, (S1,)))]
    assert leaves(advance(router, 20 * SECOND)) == []
    assert router.groups()[0].sources == (S2,)


def test_blocked_sources_are_asked_for(router):
    router.handle(SECOND, 1, join_v3(HOST, GROUP, [S1, S2]))
    block = Record(RecordType.BLOCK_OLD_SOURCES, GROUP, (S1, IPv4Address("1.2.3.4")))
    effects = router.handle(5 * SECOND, 1, report_v3(HOST, [block]))
    assert queries(effects) == [(1, Query(3, GROUP, 10, (S1,)))]
    router.handle(6 * SECOND - 1, 1, join_v3(HOST, GROUP, [S1, S2]))
    happened = advance(router, 20 * SECOND)
    assert group_queries(happened)[0][3] == Query(3, GROUP, 10, (S1,), suppress=True)
    assert router.groups()[0].sources == (S1, S2)


def test_when_those_who_want_any_source_go_those_with_sources_stay(router):
    """RFC 3376, section 6.5: the group timer ends exclude mode, not the group."""
    router.handle(0, 1, join_v2(HOST, GROUP))
    router.handle(100 * SECOND, 1, join_v3(IPv4Address("10.0.1.2"), GROUP, [S1]))
    assert queries(router.timer(100 * SECOND)) == []
    assert leaves(advance(router, MEMBERSHIP + 100 * SECOND)) == [
        (MEMBERSHIP + 100 * SECOND, "leave", 1, G)
    ]


def test_block_in_exclude_mode_does_not_end_a_group(router):
    router.handle(0, 1, join_v3(HOST, GROUP))
    block = Record(RecordType.BLOCK_OLD_SOURCES, GROUP, (S1,))
    assert router.handle(1, 1, report_v3(HOST, [block])).packets == ()
    assert router.groups()


# --- what is ignored ---------------------------------------------------------------------------


def spoiled(change):
    packet = bytearray(join_v3(HOST, GROUP))
    change(packet)
    return bytes(packet)


def with_byte(index, value):
    def change(packet):
        packet[index] = value

    return spoiled(change)


def igmp(body: str):
    """An IPv4 packet around hand-written IGMP bytes, `cccc` standing for a right checksum."""
    raw = bytes.fromhex(body.replace("cccc", "0000"))
    raw += b"\0" * (len(raw) % 2)
    total = sum(int.from_bytes(raw[i : i + 2], "big") for i in range(0, len(raw), 2))
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    body = body.replace("cccc", f"{~total & 0xFFFF:04x}")
    payload = bytes.fromhex(body)
    header = bytearray.fromhex("45000000000000000102" + "0000" + "0a000101" + "e0000016")
    header[2:4] = (20 + len(payload)).to_bytes(2, "big")
    total = sum(int.from_bytes(header[i : i + 2], "big") for i in range(0, 20, 2))
    total = (total & 0xFFFF) + (total >> 16)
    header[10:12] = (~total & 0xFFFF).to_bytes(2, "big")
    return bytes(header) + payload


RECORDS_MISSING = "more IGMP group records counted than there are"
SOURCES_MISSING = "more IGMP sources counted than there are"

MALFORMED = [
    (b"", "IPv4 header cut short"),
    (join_v2(HOST, GROUP)[:19], "IPv4 header cut short"),
    (join_v2(HOST, GROUP)[:-1], "IPv4 packet cut short"),
    (with_byte(0, 0x66), "not an IPv4 header"),
    (with_byte(0, 0x44), "not an IPv4 header"),
    (with_byte(8, 7), "wrong IPv4 checksum"),
    (with_byte(-1, 7), "wrong IGMP checksum"),
    (igmp("1600cccc"), "IGMP message shorter than 8 bytes"),
    (igmp("9900ccccef010101"), "unknown IGMP type"),
    (igmp("1600cccc0a000101"), "not a multicast group"),
    (igmp("2200cccc00000001" + "04000000" + "0a000101"), "not a multicast group"),
    (
        igmp("2200cccc00000002" + "04000000" + "ef010101"),
        "more IGMP group records counted than there are",
    ),
    (
        igmp("2200cccc0000ffff" + "04000000" + "ef010101"),
        "more IGMP group records counted than there are",
    ),
    (
        igmp("2200cccc00000001" + "04000001" + "ef010101"),
        "more IGMP sources counted than there are",
    ),
    (
        igmp("2200cccc00000001" + "0400ffff" + "ef010101"),
        "more IGMP sources counted than there are",
    ),
    (igmp("2200cccc00000001" + "04010000" + "ef010101"), "IGMP auxiliary data cut short"),
    (igmp("1164cccc00000000" + "0000"), "IGMP query of 9 to 11 bytes"),
    (igmp("1164cccc0a000001"), "not a multicast group"),
    (igmp("1164cccc00000000" + "027d0001"), SOURCES_MISSING),
]


@pytest.mark.parametrize(("packet", "reason"), MALFORMED)
def test_a_malformed_packet_is_counted_and_changes_nothing(router, packet, reason):
    router.handle(0, 1, join_v2(HOST, GROUP))
    before = router.groups()
    effects = router.handle(1, 1, packet)
    assert (effects.joins, effects.leaves, effects.packets) == ((), (), ())
    assert router.groups() == before
    assert router.ignored == {reason: 1}


def test_fragments_and_other_protocols_are_ignored(router):
    for index, value, reason in ((6, 0x20, "fragment"), (9, 17, "not IGMP")):
        packet = bytearray(join_v2(HOST, GROUP))
        packet[index] = value
        packet[10:12] = b"\0\0"
        total = sum(int.from_bytes(packet[i : i + 2], "big") for i in range(0, 24, 2))
        packet[10:12] = (~((total & 0xFFFF) + (total >> 16)) & 0xFFFF).to_bytes(2, "big")
        router.handle(1, 1, bytes(packet))
        assert router.ignored[reason] == 1


def test_ethernet_padding_auxiliary_data_and_trailing_bytes_are_no_mistakes(router):
    assert router.handle(1, 1, join_v2(HOST, GROUP) + bytes(14)).joins
    other = igmp("2200cccc00000001" + "04010000" + "ef010102" + "01020304" + "0506")
    assert router.handle(1, 1, other).joins == ((1, G + 1),)


def test_link_local_groups_other_ports_and_before_the_start():
    machine = IgmpRouter(ROUTER, [1])
    assert machine.handle(0, 1, join_v2(HOST, GROUP)).joins == ()
    machine.start(1)
    assert machine.handle(2, 7, join_v2(HOST, GROUP)).joins == ()
    assert machine.handle(2, 1, join_v2(HOST, IPv4Address("224.0.0.251"))).joins == ()
    assert machine.ignored == {"not from a host port": 2, "link-local group": 1}


def test_a_host_cannot_fill_the_router(router):
    for i in range(MAX_GROUPS + 10):
        router.handle(1, 1, join_v2(HOST, IPv4Address(G + i)))
    assert len(router.groups()) == MAX_GROUPS
    assert router.ignored["too many groups"] == 10
    sources = [IPv4Address(1000 + i) for i in range(MAX_SOURCES + 1)]
    router.handle(1, 1, join_v3(HOST, GROUP, sources))
    assert len(router.groups()[0].sources) == MAX_SOURCES
    assert router.ignored["too many sources"] == 1


def test_a_cable_that_is_pulled_takes_its_memberships_along(router):
    router.handle(1, 1, join_v2(HOST, GROUP))
    router.handle(1, 2, join_v2(HOST, GROUP))
    assert router.port_down(5, 1).leaves == ((1, G),)
    assert router.handle(6, 1, join_v2(HOST, GROUP)).joins == ()
    assert queries(router.port_up(7, 1)) == [(1, Query(3))]
    assert router.handle(8, 1, join_v2(HOST, GROUP)).joins == ((1, G),)


# --- any sequence ------------------------------------------------------------------------------

HOSTS = [IPv4Address(f"10.0.1.{i}") for i in (1, 2)]
STEPS = st.tuples(
    st.integers(0, 3 * SECOND) | st.integers(0, 200 * SECOND), st.sampled_from(["join", "leave"])
)


@given(st.lists(STEPS, max_size=30))
def test_version_2_as_a_model_of_two_lines(steps):
    """Joined until a membership interval after the last report, or two seconds after a leave."""
    machine = IgmpRouter(ROUTER, [1])
    machine.start(0)
    now, until = 0, 0
    for wait, step in steps:
        now += wait
        advance(machine, now)
        if step == "join":
            machine.handle(now, 1, join_v2(HOST, GROUP))
            until = now + MEMBERSHIP
        else:
            machine.handle(now, 1, leave_v2(HOST, GROUP))
            until = min(until, now + LAST_MEMBER)
        assert bool(machine.groups()) == (until > now)
    assert leaves(advance(machine, until + 1)) == ([(until, "leave", 1, G)] if until > now else [])


RECORDS = st.builds(
    Record,
    st.integers(0, 8),
    st.sampled_from([GROUP, IPv4Address(G + 1), IPv4Address("224.0.0.9")]),
    st.lists(st.sampled_from([S1, S2]), max_size=2, unique=True).map(tuple),
)
MESSAGES = st.one_of(
    st.builds(lambda records: report_v3(HOST, records), st.lists(RECORDS, max_size=3)),
    st.builds(join_v2, st.just(HOST), st.just(GROUP)),
    st.builds(leave_v2, st.just(HOST), st.just(GROUP)),
    st.builds(report_v1, st.just(HOST), st.just(GROUP)),
    st.builds(
        lambda source, group, sources: query_v3(source, Query(3, group, 10, sources)),
        st.sampled_from([NO_ADDRESS, HOST, IPv4Address("10.0.1.255")]),
        st.sampled_from([NO_ADDRESS, GROUP]),
        st.lists(st.sampled_from([S1, S2]), max_size=2).map(tuple),
    ),
    st.binary(max_size=60),
)
TRAFFIC = st.lists(
    st.tuples(
        st.integers(0, 5 * SECOND) | st.integers(0, 300 * SECOND), st.integers(0, 3), MESSAGES
    ),
    max_size=25,
)


def play(traffic, ticks=()):
    """Joins and leaves with their times, and all packets, of a machine under some traffic.

    It is called at its timers, at the packets, and at `ticks` when there is nothing to do.
    """
    machine = IgmpRouter(ROUTER, [1, 2], IgmpTimers())
    trace = [(0, machine.start(0))]
    now, ticks = 0, sorted(ticks)
    moments = []
    for wait, port, packet in traffic:
        now += wait
        moments.append((now, port, packet))
    for at, port, packet in [*moments, (now + 10 * MEMBERSHIP, 0, b"")]:
        while True:
            due = machine.next_timer()
            idle = ticks[0] if ticks else at + 1
            step = min(due, idle)
            if step > at:
                break
            if idle == step:
                ticks.pop(0)
            trace.append((step, machine.timer(step)))
        trace.append((at, machine.handle(at, port, packet)))
    return machine, [
        (at, e.joins, e.leaves, e.packets) for at, e in trace if e.joins or e.leaves or e.packets
    ]


@given(TRAFFIC)
def test_no_traffic_breaks_it_and_without_reports_all_memberships_end(traffic):
    machine, trace = play(traffic)
    joined = set()
    for _, joins, left, packets in trace:
        assert joined.isdisjoint(joins) and joined.issuperset(left)
        joined = (joined | set(joins)) - set(left)
        assert all(parse(packet)[0] == ROUTER for _, packet in packets)
    assert joined == set() and machine.groups() == ()


@given(TRAFFIC, st.lists(st.integers(0, 1000 * SECOND), max_size=20))
def test_to_be_called_too_often_changes_nothing(traffic, ticks):
    assert play(traffic)[1] == play(traffic, ticks)[1]


@given(st.data())
def test_mutated_packets_are_taken_or_counted(data):
    machine = IgmpRouter(ROUTER, [1])
    machine.start(0)
    packet = bytearray(data.draw(MESSAGES))
    for _ in range(data.draw(st.integers(1, 4))):
        if packet:
            packet[data.draw(st.integers(0, len(packet) - 1))] = data.draw(st.integers(0, 255))
    effects = machine.handle(1, 1, bytes(packet[: data.draw(st.integers(0, len(packet)))]))
    assert not effects.joins or machine.groups()
