"""The gateway as a whole: subscribers dial in, are billed, hang up, misbehave; all in memory.

If these fail, a subscriber who has paid stays outside, one who has not gets in, someone is billed
for another's traffic, or one hostile subscriber costs the others something.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from pathlib import Path
from random import Random
from typing import Any

import pytest

from bng_world import (
    ACCESS_LABEL,
    ACCESS_PORT,
    CORE_PORT,
    DISCOVERY,
    OWN_MAC,
    PEER_MAC,
    SECOND,
    SESSION,
    MemorySwitch,
    World,
    account,
    cable,
    gateway,
    header,
    line,
    mac,
    name,
    packet_in,
    users,
)
from p4lab.model.control import PacketIn
from p4lab.model.entries import key
from p4lab.packets.ip import PROTOCOL_UDP, ethernet, ipv4
from p4lab.systems.bng.accounting import INTERIM, START, STOP
from p4lab.systems.bng.addresses.client import AddressClient
from p4lab.systems.bng.api import Api, ApiError, bandwidth
from p4lab.systems.bng.entries import Access, Core, Line, Net, Route, Session, entries
from p4lab.systems.bng.gateway import Gateway
from p4lab.systems.bng.ppp.codes import IPV4, LCP
from p4lab.systems.bng.pppoe import Offer
from p4lab.systems.bng.pppoe.packets import PADT, data_of, discovery, discovery_of
from p4lab.systems.bng.radius.coa import Change, DynamicAuthorization, ErrorCause, RefusedError
from p4lab.systems.bng.radius.local import LocalUsers
from p4lab.systems.bng.radius.profile import Profile
from p4lab.systems.bng.radius.users import User
from p4lab.systems.bng.radius.wire import Kind, attributes
from p4lab.systems.bng.store import Store
from p4lab.systems.bng.subscriber import hostile
from p4lab.systems.bng.subscriber.access import inner_of
from p4lab.systems.bng.subscriber.client import State, Subscriber
from p4lab.systems.bng.subscriber.crowd import Crowd, Schedule

USER_REQUEST, LOST_CARRIER, IDLE, TIMEOUT, ADMIN_RESET = 1, 2, 4, 5, 6
PREEMPTED = 13


def world(
    count: int, *, rate: float = 1000, lines: int = 0, accounts: Any = account, **others: Any
) -> World:
    """So many subscribers, each on a line of its own, and not yet dialling."""
    random = Random(3)
    people = [
        Subscriber(accounts(number), random, AddressClient(random))
        for number in range(1, count + 1)
    ]
    made = gateway(max(count, lines), **others)
    return World(made, Crowd(people, Schedule(rate, rate, redial=None)))


def up(count: int, **others: Any) -> World:
    """The same, and everyone has dialled in."""
    made = world(count, **others)
    made.crowd.start(0)
    made.run(5)
    assert made.crowd.report().established == count, made.crowd.report()
    return made


def switch_of(made: World | Gateway) -> MemorySwitch:
    found = (made if isinstance(made, Gateway) else made.gateway).switch
    assert isinstance(found, MemorySwitch)
    return found


def records(made: World) -> list[dict[int, bytes]]:
    """What was accounted, in order."""
    aaa = made.gateway.aaa
    assert isinstance(aaa, LocalUsers)
    return [dict(attributes(bytes(20) + record)) for record in aaa.records]


def statuses(made: World, user: str) -> list[int]:
    """The kinds of records of a user."""
    mine = [each for each in records(made) if each.get(Kind.USER_NAME) == user.encode()]
    return [each[Kind.ACCT_STATUS_TYPE][3] for each in mine]


def number(record: dict[int, bytes], kind: Kind) -> int:
    return int.from_bytes(record[kind], "big")


def check_tables(made: World) -> None:
    """The switch holds what a fresh start would write, and nothing else."""
    assert switch_of(made).entries() == entries(made.gateway.api.known)


# ---- Dialling in


@pytest.mark.parametrize("methods", [("pap",), ("chap",)])
def test_subscribers_dial_in_are_billed_and_hang_up(methods: tuple[str, ...]) -> None:
    made = up(20, accounts=lambda n: account(n, methods=methods))
    check_tables(made)
    people = made.crowd.subscribers
    assert len({each.address for each in people}) == 20
    first = people[0].addresses
    assert isinstance(first, AddressClient)
    assert first.prefix is not None and first.delegated is not None
    known = made.gateway.api.known
    for person in people:
        assert person.address is not None
        owner = made.gateway.api.owner(Net(4, int(person.address), 32))
        assert owner is not None
        assert known.sessions[owner].mac == int.from_bytes(person.account.mac, "big")
    before = len(records(made))
    assert before == 21, "twenty Starts, and one On"
    assert len({each[Kind.ACCT_SESSION_ID] for each in records(made)}) == 21
    made.crowd.stop(made.now / SECOND)
    made.run(10)
    assert made.gateway.sessions == 0 and not known.sessions
    assert all(statuses(made, name(n)) == [START, STOP] for n in range(1, 21))
    causes = {number(each, Kind.ACCT_TERMINATE_CAUSE) for each in records(made)[21:]}
    assert causes == {USER_REQUEST}
    check_tables(made)


def test_who_does_not_know_the_password_stays_outside() -> None:
    def accounts(n: int) -> Any:
        return replace(account(n), password="guessed" if n == 2 else f"secret{n}")

    made = world(3, accounts=accounts)
    made.crowd.start(0)
    made.run(5)
    states = [each.state for each in made.crowd.subscribers]
    assert states == [State.UP, State.DOWN, State.UP]
    assert statuses(made, name(2)) == [] and made.gateway.sessions == 2
    check_tables(made)


def test_a_subscriber_gets_what_the_profile_says_and_no_more() -> None:
    fixed = Profile(
        address=int(IPv4Address("100.69.0.1")),
        prefix=(int(IPv6Address("2001:db8:1::")), 64),
        delegated=(int(IPv6Address("2001:db8:100::")), 56),
        service="50M",
        dns=(int(IPv4Address("192.0.2.53")),),
        classes=(b"gold", b"silver"),
    )
    people = [User(name(1), "secret1", fixed), *users(2)[1:]]
    made = up(2, aaa=LocalUsers(people))
    one = made.crowd.subscribers[0]
    assert str(one.address) == "100.69.0.1" and [str(each) for each in one.dns] == ["192.0.2.53"]
    assert isinstance(one.addresses, AddressClient)
    assert one.addresses.delegated == Net(6, int(IPv6Address("2001:db8:100::")), 56)
    meters = [row for row in switch_of(made).entries() if key(row)[0] == "meter_cell"]
    rates = {row.index for row in meters if row.meter != "control_meter"}
    owner = made.gateway.api.owner(Net(4, int(IPv4Address("100.69.0.1")), 32))
    assert rates == {owner}, "the other one has no class, and so no rates"
    start = next(each for each in records(made) if each.get(Kind.USER_NAME) == b"user1")
    assert number(start, Kind.FRAMED_IP_ADDRESS) == fixed.address
    aaa = made.gateway.aaa
    assert isinstance(aaa, LocalUsers)
    record = next(each for each in aaa.records if b"user1" in each)
    said = [value for kind, value in attributes(bytes(20) + record) if kind == Kind.CLASS]
    assert said == [b"gold", b"silver"]
    check_tables(made)


def test_a_pool_that_the_server_names_is_taken() -> None:
    """And one that is not there lets no one in."""
    people = [
        User(name(1), "secret1", Profile(pool="business", delegated_pool="homes")),
        User(name(2), "secret2", Profile(pool="homes")),
        User(name(3), "secret3", Profile(pool="business")),
        User(name(4), "secret4", Profile(pool="business")),
    ]
    pools = {
        "business": (IPv4Network("198.51.100.0/30"), 32),
        "homes": (IPv6Network("2001:db8:aa00::/48"), 56),
    }
    made = world(4, aaa=LocalUsers(people), pools=pools)
    for number in (0, 1, 2, 3):
        made.dial(number)
        made.run(2 * number + 2)
    found = [str(each.address) for each in made.crowd.subscribers]
    assert found == ["198.51.100.1", "None", "198.51.100.2", "None"]
    reasons = [made.crowd.subscribers[number].reason for number in (1, 3)]
    assert "no pool homes of /32" in reasons[0] and "empty" in reasons[1]
    made.hang_up(0)
    made.run(12)
    made.dial(3)
    made.run(15)
    assert str(made.crowd.subscribers[3].address) == "198.51.100.1"
    check_tables(made)


def test_a_class_that_nobody_knows_lets_nobody_in() -> None:
    """Better outside than without a limit."""
    made = world(1, aaa=LocalUsers([User(name(1), "secret1", Profile(service="10T"))]))
    made.crowd.start(0)
    made.run(5)
    assert made.crowd.subscribers[0].state is State.DOWN and made.gateway.sessions == 0


def test_an_address_that_another_line_has_is_refused() -> None:
    """A second subscriber with the name and password of the first does not take its session."""
    same = Profile(address=int(IPv4Address("100.69.0.1")))

    def accounts(n: int) -> Any:
        return replace(account(n), name=name(1), password="secret1")

    made = world(2, aaa=LocalUsers([User(name(1), "secret1", same)]), accounts=accounts)
    made.crowd.start(0)
    made.run(5)
    assert [each.state for each in made.crowd.subscribers] == [State.UP, State.DOWN]
    check_tables(made)


def test_who_dials_again_from_the_same_line_gets_the_address_back() -> None:
    """The cable was pulled: the gateway has not noticed yet."""
    fixed = Profile(address=int(IPv4Address("100.69.0.1")))
    made = up(1, aaa=LocalUsers([User(name(1), "secret1", fixed)]))
    one = made.crowd.subscribers[0]
    made.crowd.vanish(made.now / SECOND, 0)
    made.dial(0)
    made.run(10)
    assert str(one.address) == "100.69.0.1"
    assert statuses(made, name(1)) == [START, STOP, START]
    stop = next(each for each in records(made) if Kind.ACCT_TERMINATE_CAUSE in each)
    assert number(stop, Kind.ACCT_TERMINATE_CAUSE) == PREEMPTED
    check_tables(made)


@pytest.mark.parametrize("family", ["v4", "v6"])
def test_who_wants_one_family_gets_one(family: str) -> None:
    made = up(2, accounts=lambda n: account(n, v4=family == "v4", v6=family == "v6"))
    nets = [net for one in made.gateway.api.known.sessions.values() for net in one.nets]
    assert len(nets) == (2 if family == "v4" else 4)
    assert {net.version for net in nets} == {4 if family == "v4" else 6}
    check_tables(made)


def test_a_slow_server_is_waited_for() -> None:
    """2 to 5 seconds, while the subscribers repeat themselves: each gets in, and once."""
    slow = LocalUsers(users(50), (2 * SECOND, 5 * SECOND), seed=4)
    made = world(50, aaa=slow)
    made.crowd.start(0)
    made.run(20)
    report = made.crowd.report()
    assert (report.established, report.failures) == (50, 0)
    assert all(statuses(made, name(n)) == [START] for n in range(1, 51))


def test_the_answer_to_an_attempt_that_was_given_up_lets_nobody_in() -> None:
    """A subscriber hangs up while the server thinks, and another dials from there."""
    slow = LocalUsers(users(1), (3 * SECOND, 3 * SECOND))
    made = world(1, aaa=slow)
    made.crowd.start(0)
    made.run(1)
    made.hang_up(0)
    made.run(10)
    assert made.gateway.sessions == 0 and records(made)[1:] == []
    assert len(made.gateway.concentrator.sessions) == 0


# ---- Accounting


def test_what_is_billed_is_ip_and_counts_over_four_gigabytes() -> None:
    made = up(1)
    index = next(iter(made.gateway.api.known.sessions))
    cells = switch_of(made).cells
    up_bytes, down_bytes = (5 << 32) + 1000, 1 << 32
    # 52 bytes in front with labels and service tag, 14 from the core.
    cells["upstream_sent", index] = (10, up_bytes + 10 * 52)
    cells["downstream_sent", index] = (7, down_bytes + 7 * 14)
    made.crowd.stop(made.now / SECOND)
    made.run(10)
    stop = records(made)[-1]
    octets = [
        number(stop, gigawords) << 32 | number(stop, octets)
        for gigawords, octets in (
            (Kind.ACCT_INPUT_GIGAWORDS, Kind.ACCT_INPUT_OCTETS),
            (Kind.ACCT_OUTPUT_GIGAWORDS, Kind.ACCT_OUTPUT_OCTETS),
        )
    ]
    assert octets == [up_bytes, down_bytes]
    assert number(stop, Kind.ACCT_INPUT_PACKETS) == 10


def test_who_gets_a_used_cell_does_not_pay_for_its_last_owner() -> None:
    made = up(1)
    made.gateway.online.free.clear()  # The next session has to take the same cell.
    index = next(iter(made.gateway.api.known.sessions))
    switch_of(made).cells["upstream_sent", index] = (100, 100_000)
    for begin in (5, 15):
        made.crowd.stop(made.now / SECOND)
        made.run(begin + 5)
        if begin == 5:
            made.crowd.start(made.now / SECOND)
            made.run(begin + 10)
    stops = [each for each in records(made) if Kind.ACCT_TERMINATE_CAUSE in each]
    assert [number(each, Kind.ACCT_INPUT_PACKETS) for each in stops] == [100, 0]


def test_interim_records_come_on_time_and_never_count_twice() -> None:
    profile = Profile(interim=10)
    made = up(1, aaa=LocalUsers([User(name(1), "secret1", profile)]))
    index = next(iter(made.gateway.api.known.sessions))
    for second, packets in ((15, 5), (25, 9), (35, 2)):  # 2: the switch has begun anew
        switch_of(made).cells["upstream_sent", index] = (packets, packets * 152)
        made.run(second)
    found = [each for each in records(made) if each[Kind.ACCT_STATUS_TYPE][3] == INTERIM]
    assert [number(each, Kind.ACCT_INPUT_PACKETS) for each in found] == [5, 9, 11]
    assert [number(each, Kind.ACCT_INPUT_OCTETS) for each in found] == [500, 900, 1100]
    assert [number(each, Kind.ACCT_SESSION_TIME) for each in found] == [10, 20, 30]


@pytest.mark.parametrize(
    ("profile", "cause"),
    [(Profile(session_timeout=20), TIMEOUT), (Profile(idle_timeout=15), IDLE)],
)
def test_a_session_ends_when_its_time_is_over(profile: Profile, cause: int) -> None:
    made = up(2, aaa=LocalUsers([User(name(1), "secret1", profile), *users(2)[1:]]))
    made.run(40)
    assert [each.state for each in made.crowd.subscribers] == [State.DOWN, State.UP]
    stop = records(made)[-1]
    assert number(stop, Kind.ACCT_TERMINATE_CAUSE) == cause
    assert statuses(made, name(1)) == [START, STOP] and statuses(made, name(2)) == [START]


def test_who_vanishes_is_billed_until_the_keepalive_misses_him() -> None:
    made = up(2)
    made.crowd.vanish(made.now / SECOND, 0)
    made.run(200)
    assert statuses(made, name(1)) == [START, STOP]
    stop = records(made)[-1]
    assert number(stop, Kind.ACCT_TERMINATE_CAUSE) == LOST_CARRIER
    assert made.crowd.subscribers[1].state is State.UP
    check_tables(made)


def test_out_of_service_everybody_gets_a_stop() -> None:
    made = up(5)
    made.gateway.close(made.now)
    made.run(10)
    assert made.gateway.sessions == 0
    assert all(statuses(made, name(n)) == [START, STOP] for n in range(1, 6))
    assert records(made)[-1][Kind.ACCT_STATUS_TYPE][3] in (STOP, 8)
    assert [each.state for each in made.crowd.subscribers] == [State.DOWN] * 5
    check_tables(made)


# ---- Restarts


def restarted(made: World, file: Path, switch: MemorySwitch | None = None) -> World:
    """Another process: all that is left is the store and the switch. Subscribers notice nothing."""
    made.gateway.store.close()
    again = gateway(
        len(made.crowd.subscribers),
        store=Store(file),
        switch=switch_of(made) if switch is None else switch,
        aaa=made.gateway.aaa,
        now=made.now,
        seed=9,
    )
    return World(again, made.crowd, made.now)


def test_sessions_outlive_the_control_plane(tmp_path: Path) -> None:
    """Nobody has to dial again, no one is billed anew, and hanging up still works."""
    file = tmp_path / "store"
    made = up(10, store=Store(file))
    written = switch_of(made).entries()
    again = restarted(made, file)
    assert again.gateway.sessions == 10 and switch_of(again).entries() == written
    again.run(200)
    assert again.crowd.report().established == 10
    assert all(statuses(again, name(n)) == [START] for n in range(1, 11))
    again.crowd.stop(again.now / SECOND)
    again.run(210)
    assert all(statuses(again, name(n)) == [START, STOP] for n in range(1, 11))
    check_tables(again)


def test_a_new_session_after_a_restart_takes_nothing_from_the_old_ones(tmp_path: Path) -> None:
    file = tmp_path / "store"
    made = up(10, store=Store(file))
    made.hang_up(3)
    made.run(10)
    again = restarted(made, file)
    again.dial(3)
    again.run(20)
    assert len({each.address for each in again.crowd.subscribers}) == 10
    assert statuses(again, name(4)) == [START, STOP, START]
    names = [each[Kind.ACCT_SESSION_ID] for each in records(again) if Kind.USER_NAME in each]
    assert len(set(names)) == 11, "no name of a session is used twice"
    check_tables(again)


def test_what_was_used_before_a_restart_is_billed_after_it(tmp_path: Path) -> None:
    file = tmp_path / "store"
    made = up(1, store=Store(file))
    index = next(iter(made.gateway.api.known.sessions))
    switch_of(made).cells["upstream_sent", index] = (100, 15_200)
    again = restarted(made, file)
    switch_of(again).cells["upstream_sent", index] = (150, 22_800)
    again.crowd.stop(again.now / SECOND)
    again.run(10)
    assert number(records(again)[-1], Kind.ACCT_INPUT_OCTETS) == 15_000


def test_a_switch_that_has_lost_everything_is_filled_again(tmp_path: Path) -> None:
    file = tmp_path / "store"
    made = up(10, store=Store(file))
    written = switch_of(made).entries()
    switch_of(made).rows.clear()
    made.gateway.reconcile()
    assert switch_of(made).entries() == written
    again = restarted(made, file, MemorySwitch())
    assert switch_of(again).entries() == written


def test_nothing_is_lost_or_billed_twice_when_the_switch_counts_from_the_start_again() -> None:
    """It has counted more since than before, so the counter alone does not show it."""
    made = up(1, aaa=LocalUsers([User(name(1), "secret1", Profile(interim=10))]))
    switch, index = switch_of(made), next(iter(made.gateway.api.known.sessions))
    switch.cells["upstream_sent", index] = (5, 5 * 152)
    made.run(15)
    switch.rows.clear()
    switch.cells.clear()
    made.gateway.reconcile()
    switch.cells["upstream_sent", index] = (50, 50 * 152)
    made.gateway.disconnect(made.now, made.gateway.find({})[0])
    made.run(20)
    assert number(records(made)[-1], Kind.ACCT_INPUT_PACKETS) == 55


def test_a_write_that_fails_is_made_good() -> None:
    made = world(2)
    switch = switch_of(made)
    written = switch.write

    def refused(updates: Any) -> None:
        raise ConnectionError("the switch is away")

    made.crowd.start(0)
    switch.write = refused  # type: ignore[method-assign]
    with pytest.raises(ConnectionError):
        made.run(5)
    switch.write = written  # type: ignore[method-assign]
    made.run(15)
    assert made.crowd.report().established == 2
    check_tables(made)


# ---- Changes of authorization


def test_a_change_concerns_one_session_only() -> None:
    made = up(
        10, aaa=LocalUsers([each._replace(profile=Profile(service="50M")) for each in users(10)])
    )
    before = switch_of(made).entries()
    (one,) = made.gateway.find({"User-Name": name(4)})
    made.gateway.change(made.now, one, Change(service="100M", session_timeout=20))
    made.run(6)
    changed = {key(row) for row in switch_of(made).entries() ^ before}
    assert changed == {
        ("meter_cell", meter, one.index) for meter in ("session_meter", "upstream_meter")
    }
    made.run(40)
    states = [each.state for each in made.crowd.subscribers]
    assert states.count(State.UP) == 9 and states[3] is State.DOWN
    with pytest.raises(RefusedError) as refused:
        made.gateway.change(made.now, made.gateway.find({})[0], Change(service="10T"))
    assert refused.value.cause == ErrorCause.INVALID_ATTRIBUTE_VALUE


def test_a_disconnect_removes_exactly_one() -> None:
    made = up(10)
    (one,) = made.gateway.find({"Calling-Station-Id": mac(5).hex("-"), "NAS-Port-Id": "eth1.6:7"})
    assert made.gateway.find({"User-Name": "nobody"}) == []
    made.gateway.disconnect(made.now, one)
    made.run(10)
    assert made.gateway.sessions == 9 and statuses(made, name(5)) == [START, STOP]
    assert number(records(made)[-1], Kind.ACCT_TERMINATE_CAUSE) == ADMIN_RESET
    assert made.crowd.subscribers[4].state is State.DOWN
    check_tables(made)


@pytest.mark.skipif(
    shutil.which("radclient") is None, reason="radclient: sudo apt install freeradius-utils"
)
def test_radclient_changes_one_session_and_ends_another() -> None:
    made = up(10)
    server = DynamicAuthorization(b"secret", "p4lab", IPv4Address("127.0.0.1"), made.gateway)
    changed, ended = (made.gateway.find({"User-Name": name(n)})[0].acct_id for n in (3, 7))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ours:
        ours.bind(("127.0.0.1", 0))
        ours.settimeout(5)
        where = f"127.0.0.1:{ours.getsockname()[1]}"
        for kind, values, said in (
            ("coa", f'Acct-Session-Id="{changed}",Filter-Id="100M"', "CoA-ACK"),
            ("coa", f'Acct-Session-Id="{changed}",Filter-Id="10T"', "Invalid-Attribute-Value"),
            ("disconnect", f'Acct-Session-Id="{ended}"', "Disconnect-ACK"),
            ("disconnect", 'User-Name="stranger"', "Session-Context-Not-Found"),
        ):
            with subprocess.Popen(
                ["radclient", "-x", "-r", "1", where, kind, "secret"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            ) as asking:
                assert asking.stdin is not None and asking.stdout is not None
                asking.stdin.write(values)
                asking.stdin.close()
                request, source = ours.recvfrom(4096)
                reply = server.heard(made.now, time.time_ns(), source, request)
                assert reply is not None
                ours.sendto(reply, source)
                assert said in asking.stdout.read()
    made.run(10)
    known = made.gateway.api.known.sessions.values()
    assert sorted(one.bandwidth for one in known) == [""] * 8 + ["100M"]
    assert statuses(made, name(7)) == [START, STOP] and made.gateway.sessions == 9
    check_tables(made)


# ---- Hostile subscribers


def attack(made: World, frames: Any, number: int = 1) -> None:
    """Frames from the line `number`, while everyone else goes on."""
    for frame in frames:
        packet = packet_in(number, frame)
        if packet is not None:
            made.gateway.heard(made.now, packet)
    for _, frame in made.gateway.switch.take() if made.gateway.flush(made.now) == [] else ():  # type: ignore[attr-defined]
        made.crowd.heard(made.now / SECOND, frame)


def test_a_flood_of_padis_costs_the_others_nothing() -> None:
    made = up(2)
    rows = switch_of(made).entries()
    attack(made, hostile.padi_flood(cable(1), Random(1), 2000))
    assert len(made.gateway.concentrator.sessions) == 2
    assert switch_of(made).entries() == rows
    made.hang_up(1)
    made.run(10)
    made.dial(1)
    made.run(15)
    assert made.crowd.subscribers[1].state is State.UP


def test_half_open_sessions_of_a_line_are_few() -> None:
    """One line dials again and again with other MAC addresses and never says who it is."""
    made = up(1, lines=2)
    random = Random(5)
    for attempt in range(60):
        stranger = Subscriber(replace(account(2), mac=mac(1000 + attempt)), random)
        stranger.dial(made.now / SECOND)
        for _ in range(2):
            for frame in stranger.take():
                packet = packet_in(2, frame)
                assert packet is not None
                made.gateway.heard(made.now, packet)
            made.gateway.flush(made.now)
            for _, frame in switch_of(made).take():
                stranger.heard(made.now / SECOND, frame)
        made.now += SECOND // 2
    open_now = [each for each in made.gateway.concentrator.sessions.values() if each.line[0] == 2]  # type: ignore[index]
    assert 0 < len(open_now) <= 8
    made.run(200)
    assert len(made.gateway.concentrator.sessions) == 1 and made.gateway.sessions == 1


def test_there_are_no_more_sessions_than_the_switch_has_cells_for() -> None:
    made = world(1, offer=Offer(sessions=65534))
    assert len(made.gateway.online.free) == made.gateway.concentrator.offer.sessions


def test_nobody_ends_or_enters_anothers_session() -> None:
    made = up(2)
    victim = made.crowd.subscribers[0]
    assert victim.dialer is not None and victim.address is not None
    number = victim.dialer.session_id
    gateway_mac = victim.dialer.concentrator
    own = victim.account.mac
    address = victim.address
    attack(made, [hostile.foreign_padt(cable(2), own, gateway_mac, number)], 2)
    attack(made, [hostile.foreign_padt(cable(1), mac(99), gateway_mac, number)], 1)
    bye = bytes((5, 9, 0, 4))
    attack(made, [hostile.control(cable(2), own, gateway_mac, number, LCP, bye)], 2)
    attack(made, [hostile.hijack(cable(2), own, gateway_mac, number, address, 1)], 2)
    made.run(10)
    assert victim.state is State.UP and made.gateway.sessions == 2
    assert statuses(made, name(1)) == [START]


def test_endless_requests_and_floods_of_echoes_end_with_their_sender() -> None:
    made = up(3)
    one = made.crowd.subscribers[0]
    assert one.dialer is not None
    number, far = one.dialer.session_id, one.dialer.concentrator
    random = Random(6)
    wild = [
        *hostile.echo_flood(random, 3000),
        *hostile.endless_requests(random, 500),
        *hostile.restarts(random, 500),
        *((LCP, body) for body in hostile.broken_options()),
        hostile.stolen_address(IPv4Address("100.64.0.2"), 7),
    ]
    sent = len(made.gateway.concentrator.out)
    for protocol, body in wild:
        frame = hostile.control(cable(1), one.account.mac, far, number, protocol, body)
        packet = packet_in(1, frame)
        if packet is not None:
            made.gateway.heard(made.now, packet)
    assert len(made.gateway.concentrator.out) - sent < 300
    made.run(60)
    assert [each.state for each in made.crowd.subscribers[1:]] == [State.UP, State.UP]
    assert statuses(made, name(2)) == statuses(made, name(3)) == [START]
    check_tables(made)


@pytest.mark.parametrize("seed", range(15))
def test_no_frame_harms_the_gateway(seed: int) -> None:
    draw = Random(seed)
    made = up(1)
    one = made.crowd.subscribers[0]
    assert one.dialer is not None
    for _ in range(60):
        kind = draw.choice((DISCOVERY, SESSION, draw.randrange(0x10000)))
        body = draw.choice((b"\x11\0", b"\x11\x09", b"")) + draw.randbytes(draw.randrange(80))
        if kind == SESSION and draw.random() < 0.7:
            protocol = draw.choice((0x21, 0x57, 0xC021, 0x8021, 0xC223, 0x80FD))
            body = b"\x11\0" + one.dialer.session_id.to_bytes(2, "big")
            payload = protocol.to_bytes(2, "big") + draw.randbytes(draw.randrange(80))
            body += len(payload).to_bytes(2, "big") + payload
        frame = cable(1).frame(OWN_MAC.to_bytes(6, "big"), one.account.mac, kind, body)
        frame = frame[: draw.randrange(len(frame))] if draw.random() < 0.2 else frame
        head = header(draw.randrange(12), draw.choice((0, 1, 2)), draw.choice((0, 1, 9)))
        made.gateway.heard(made.now, PacketIn(ACCESS_PORT, frame, head[: draw.choice((6, 6, 3))]))
    made.gateway.flush(made.now)
    check_tables(made)


def test_who_sends_in_a_session_that_is_over_is_told_so() -> None:
    """After a restart without its memory the subscribers notice at once, not after minutes."""
    made = up(1)
    again = World(gateway(1, aaa=made.gateway.aaa, now=made.now, seed=8), made.crowd, made.now)
    again.run(60)
    assert again.crowd.subscribers[0].state is State.DOWN


# ---- What cannot be forwarded


def test_too_long_and_too_old_packets_are_answered_but_not_without_end() -> None:
    made = up(1)
    index = next(iter(made.gateway.api.known.sessions))
    sender, person = IPv4Address("198.51.100.7"), made.crowd.subscribers[0]
    assert person.address is not None
    packet = bytearray(ipv4(sender, person.address, PROTOCOL_UDP, bytes(1480)))
    packet[6] = 0x40
    frame = ethernet(OWN_MAC, PEER_MAC, 0x0800, bytes(packet))
    for _ in range(100):
        made.gateway.heard(made.now, PacketIn(CORE_PORT, frame, header(8, 0, index, CORE_PORT)))
    made.gateway.flush(made.now)
    sent = switch_of(made).take()
    assert len(sent) == 10 and {port for port, _ in sent} == {CORE_PORT}
    answer = sent[0][1]
    assert answer[:6] == PEER_MAC.to_bytes(6, "big") and answer[34:36] == b"\x03\x04"
    assert int.from_bytes(answer[40:42], "big") == 1492
    made.now += SECOND
    upward = ipv4(person.address, sender, PROTOCOL_UDP, bytes(20), ttl=1)
    assert person.dialer is not None
    frame = hostile.control(
        cable(1), mac(1), person.dialer.concentrator, person.dialer.session_id, IPV4, upward
    )
    made.gateway.heard(made.now, PacketIn(ACCESS_PORT, frame, header(7, 1, index)))
    made.gateway.flush(made.now)
    ((port, back),) = switch_of(made).take()
    found = inner_of(back)
    assert port == ACCESS_PORT and found is not None and found.destination == mac(1)
    said = data_of(found.packet)
    assert said is not None and said[2][20:22] == b"\x0b\x00"


def test_the_core_learns_our_address() -> None:
    made = gateway(1)
    asked = bytes.fromhex("0001080006040001") + PEER_MAC.to_bytes(6, "big")
    asked += IPv4Address("192.0.2.9").packed + bytes(6) + IPv4Address("192.0.2.1").packed
    frame = ethernet(0xFFFFFFFFFFFF, PEER_MAC, 0x0806, asked)
    made.heard(0, PacketIn(CORE_PORT, frame, header(9, 0, 0, CORE_PORT)))
    made.flush(0)
    ((port, reply),) = switch_of(made).take()
    assert port == CORE_PORT and reply[:6] == PEER_MAC.to_bytes(6, "big")
    assert reply[20:22] == b"\0\2" and reply[28:32] == IPv4Address("192.0.2.1").packed


# ---- The control API


def random_call(draw: Random, api: Api) -> None:
    """Any call, right or wrong."""
    index, where = draw.randrange(1, 6), draw.randrange(1, 5)
    nets = [
        Net(4, int(IPv4Address("100.64.0.0")) + draw.randrange(4), 32),
        Net(4, int(IPv4Address("198.51.100.0")), draw.choice((24, 25))),
        Net(6, draw.randrange(4) << 64, draw.choice((64, 56, 60))),
        Net(6, draw.randrange(4) << 72, 56),
    ]
    net = draw.choice(nets)
    name = draw.choice(("", "a", "b", "c"))
    port = draw.choice((1, 2, 3))
    label = draw.choice((0, ACCESS_LABEL))
    calls = [
        lambda: api.enable_access_port(Access(port, label, OWN_MAC, draw.randrange(3))),
        lambda: api.disable_access_port(port, label),
        lambda: api.enable_core_port(Core(port, label, OWN_MAC)),
        lambda: api.disable_core_port(port, label),
        lambda: api.add_line(Line(where, port, label, label and 17, draw.randrange(1, 4), 0)),
        lambda: api.delete_line(where),
        lambda: api.add_session(Session(index, where, 0, 5, index, 0, 1492, name, (net,))),
        lambda: api.delete_session(index),
        lambda: api.add_net(index, net),
        lambda: api.delete_net(index, net),
        lambda: api.change_class(index, name),
        lambda: api.add_route(
            Route(draw.randrange(2), net, draw.choice((None, port)), label, 0, 9)
        ),
        lambda: api.delete_route(draw.randrange(2), net),
        lambda: api.add_class(bandwidth(name, draw.randrange(1, 3) * 8000)),
        lambda: api.delete_class(name),
        lambda: api.watch(index, 0xE8000000 + where),
        lambda: api.unwatch(index, 0xE8000000 + where),
        lambda: api.set_traffic(draw.randrange(66), draw.randrange(4), 1),
    ]
    draw.choice(calls)()


@pytest.mark.parametrize("seed", range(20))
def test_the_steps_lead_where_the_whole_would(seed: int) -> None:
    """Calls at random: what the switch was told step by step is what follows from all that is
    known, and a call that is refused changes nothing."""
    draw, api, switch = Random(seed), Api(), MemorySwitch()
    done = refused = 0
    for _ in range(300):
        before = entries(api.known)
        try:
            random_call(draw, api)
            done += 1
        except ApiError as error:
            refused += 1
            assert str(error).endswith(".") and entries(api.known) == before and not api.take()
        switch.write(api.take())
        assert switch.entries() == entries(api.known), f"seed {seed}"
    assert done > 30 and refused > 30


def test_what_is_deleted_can_be_added_again() -> None:
    """Every delete of the published program failed."""
    made = gateway(2)
    api = made.api
    session = Session(7, 1, 0, 5, 70, nets=(Net(4, 1 << 24, 32), Net(6, 1 << 72, 56)))
    rows = entries(api.known)
    for _ in range(2):
        api.add_session(session)
        api.delete_session(7)
        made.delete_line(2)
        made.add_lines([line(2)])
    made.flush(0)
    assert switch_of(made).entries() == rows == entries(api.known)


def test_our_padt_names_the_session() -> None:
    """What a subscriber's modem looks for."""
    made = up(1)
    number = next(iter(made.gateway.concentrator.sessions))
    (one,) = made.gateway.find({})
    made.gateway.disconnect(made.now, one)
    made.gateway.flush(made.now)
    found = [inner_of(frame) for _, frame in switch_of(made).take()]
    goodbye = [discovery_of(each.packet) for each in found if each and each.ethertype == DISCOVERY]
    assert [(each.code, each.session_id) for each in goodbye if each] == [(PADT, number)]
    assert discovery(PADT, number, [])[:4] == found[-1].packet[:4]  # type: ignore[union-attr]
