"""If these fail, subscribers miss what they watch, or get what others watch."""

from __future__ import annotations

import random
from ipaddress import IPv4Address

import pytest

from p4lab.model.entries import MulticastGroup, TableEntry
from p4lab.model.tables import Tables
from p4lab.packets.igmp import join_v3, leave_v2
from p4lab.systems.bng.api import GROUPS, Api, ApiError
from p4lab.systems.bng.entries import Access, Line, Net, Session, entries
from p4lab.systems.bng.iptv import MOST_GROUPS, Listeners

GATEWAY = IPv4Address("10.0.1.254")
SECOND = 10**9
SESSIONS = 6


def group(number: int) -> IPv4Address:
    return IPv4Address("239.1.0.0") + number


def api() -> Api:
    """Six sessions, two on each of three lines of one port."""
    found = Api()
    found.enable_access_port(Access(1, 16, 0x020000000001, 0x020000000002))
    for line in range(1, 4):
        found.add_line(Line(line, 1, 16, 17, line, 0))
    for index in range(1, SESSIONS + 1):
        line, net = (index + 1) // 2, Net(4, 0x0A000000 + index, 32)
        mtu = 1400 + index
        found.add_session(Session(index, line, 0, index, index, mtu=mtu, nets=(net,)))
    return found


def test_what_the_switch_is_told_is_what_is_watched() -> None:
    """Random channel hopping, in batches; the switch refuses what it has, or has not."""
    print("seed 6")
    draw = random.Random(6)
    known, switch = api(), Tables()
    for _ in range(300):
        for _ in range(draw.randint(1, 4)):
            index, channel = draw.randint(1, SESSIONS), int(group(draw.randint(1, 3)))
            watched = index in known.known.watched.get(channel, ())
            (known.unwatch if watched else known.watch)(index, channel)
        switch.apply(known.take())
        assert switch.entries == entries(known.known)


def test_a_group_reaches_each_line_once_per_session_and_fits_them_all() -> None:
    known = api()
    for index in (5, 2, 3):
        known.watch(index, int(group(1)))
    rows = entries(known.known)
    (replicas,) = (row.replicas for row in rows if isinstance(row, MulticastGroup))
    assert replicas == ((1, 2), (1, 3), (1, 5))
    (row,) = (r for r in rows if isinstance(r, TableEntry) and r.table == "ipv4_groups")
    assert dict(row.params)["mtu"] == 1402


def test_a_session_that_ends_watches_nothing() -> None:
    known, switch = api(), Tables()
    known.watch(1, int(group(1)))
    known.watch(2, int(group(1)))
    switch.apply(known.take())
    known.delete_session(1)
    switch.apply(known.take())
    assert known.known.watched == {int(group(1)): {2}}
    assert switch.entries == entries(known.known)


def test_there_is_an_end_to_the_groups_of_a_switch() -> None:
    known = api()
    for number in range(GROUPS):
        known.watch(1, int(group(number)))
    with pytest.raises(ApiError, match="room for 1024 groups"):
        known.watch(2, int(group(GROUPS)))
    known.unwatch(1, int(group(0)))
    known.watch(2, int(group(GROUPS)))


def test_reports_begin_and_silence_ends_a_programme() -> None:
    listeners = Listeners(GATEWAY)
    viewer = IPv4Address("10.0.1.1")
    listeners.heard(0, 7, join_v3(viewer, group(1)))
    assert listeners.news() == [(7, int(group(1)), True)]
    while (due := listeners.deadline) is not None and due <= 1000 * SECOND:
        listeners.tick(due)
    # RFC 3376, 8.4: 2 x 125 s + 10 s without a report.
    assert listeners.news() == [(7, int(group(1)), False)]
    assert listeners.deadline is None
    assert {session for session, _ in listeners.take()} == {7}


def test_who_leaves_is_asked_about_and_gone_in_two_seconds() -> None:
    listeners = Listeners(GATEWAY)
    viewer = IPv4Address("10.0.1.1")
    listeners.heard(0, 7, join_v3(viewer, group(1)))
    listeners.heard(SECOND, 7, leave_v2(viewer, group(1)))
    listeners.news()
    listeners.tick(SECOND + 2 * SECOND)
    assert listeners.news() == [(7, int(group(1)), False)]


def test_nobody_watches_more_than_eight_and_garbage_costs_nothing() -> None:
    """A subscriber who joins everything takes the groups of the switch from all others."""
    print("seed 9")
    draw = random.Random(9)
    listeners = Listeners(GATEWAY)
    for number in range(50):
        listeners.heard(0, 7, join_v3(IPv4Address("10.0.1.1"), group(number)))
    assert len(listeners.news()) == MOST_GROUPS
    for session in range(100, 400):
        listeners.heard(0, session, draw.randbytes(draw.randint(0, 60)))
    assert listeners.news() == []
    assert {session for session, _ in listeners.take()} == {7}
    listeners.drop(7)
    assert len(listeners.news()) == MOST_GROUPS
