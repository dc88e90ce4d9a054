"""Subscribers, one and by the thousand, and what the hostile ones among them can do.

If these fail, an experiment counts set-ups that never were, or one subscriber costs another its
session.
"""

from ipaddress import IPv4Address
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bng_peers import GATEWAY_MAC, Gateway, address_of, prefix_of
from p4lab.packets.ip import PROTOCOL_UDP, ipv4, udp
from p4lab.packets.probe import UDP_PORT, Probe
from p4lab.systems.bng.addresses.client import AddressClient
from p4lab.systems.bng.ppp import PAP, Settings
from p4lab.systems.bng.ppp.codes import CONFIGURE_REQUEST, IPCP, IPV4, LCP, option
from p4lab.systems.bng.ppp.codes import packet as control
from p4lab.systems.bng.pppoe import Offer
from p4lab.systems.bng.pppoe.packets import DISCOVERY, SESSION, data_of
from p4lab.systems.bng.subscriber import Account, Crowd, Line, Schedule, State, Subscriber, hostile
from p4lab.systems.bng.subscriber.__main__ import line_of, mac_of, main
from p4lab.systems.bng.subscriber.access import inner_of

MACS = "02:00:00:00:00:01"
STEP = 0.01
"""Seconds between two looks at what is due"""


def mac_of_number(number):
    return b"\x06\0" + number.to_bytes(4, "big")


def line_of_number(number):
    """As in the paper: two labels and the tag of the line."""
    outer = (GATEWAY_MAC, bytes.fromhex("020000000a01"))
    return Line(((0x8100, number % 4000 + 1),), (100, number // 4000 + 16), outer)


def crowd_of(count, random, schedule=None, **account):
    subscribers = [
        Subscriber(
            Account(f"user{n}", "wonder", mac_of_number(n), line_of_number(n), **account), random
        )
        for n in range(count)
    ]
    return Crowd(subscribers, schedule or Schedule(start_rate=1000))


class World:
    """A crowd and a gateway in virtual time."""

    def __init__(self, crowd, gateway):
        self.crowd, self.gateway, self.now = crowd, gateway, 0.0
        self.most_outstanding = 0

    def exchange(self):
        while True:
            up, down = self.crowd.take(), self.gateway.take()
            if not up and not down:
                return
            for number, frame in up:
                self.gateway.heard(self.now, number, line_of_number(number), frame)
            for _, frame in down:
                self.crowd.heard(self.now, frame)

    def run(self, seconds, until=lambda: False):
        end = self.now + seconds
        while self.now < end and not until():
            self.crowd.tick(self.now)
            self.gateway.tick(self.now)
            self.exchange()
            starting = [
                s for s in self.crowd.subscribers if s.state in (State.DISCOVERY, State.PPP)
            ]
            self.most_outstanding = max(self.most_outstanding, len(starting))
            self.now += STEP


def test_one_subscriber_sends_and_receives_packets():
    random = Random(1)
    gateway, line = Gateway(random), line_of_number(0)
    subscriber = Subscriber(Account("alice", "wonder", mac_of_number(0), line), random)
    world = World(Crowd([subscriber], Schedule()), gateway)
    world.crowd.start(0.0)
    world.run(1.0)
    (session,) = gateway.concentrator.sessions.values()
    assert subscriber.state == State.UP and subscriber.address == address_of(session.id)
    assert not subscriber.send(b"")
    packet = ipv4(subscriber.address, IPv4Address("192.0.2.9"), PROTOCOL_UDP, b"x" * 8)
    assert subscriber.send(packet)
    inner = inner_of(subscriber.take()[-1])
    assert (inner.destination, inner.ethertype) == (GATEWAY_MAC, SESSION)
    assert data_of(inner.packet) == (session.id, IPV4, packet)
    gateway.concentrator.send(session, IPV4, packet)
    subscriber.heard(1.0, gateway.take()[-1][1])
    assert subscriber.received == [packet]


def test_a_subscriber_gets_an_ipv6_prefix():
    random = Random(1)
    addresses = AddressClient(random)
    account = Account("alice", "wonder", mac_of_number(0), line_of_number(0), methods=(PAP,))
    subscriber = Subscriber(account, random, addresses)
    world = World(Crowd([subscriber], Schedule()), Gateway(random))
    world.crowd.start(0.0)
    world.run(1.0)
    (session,) = world.gateway.concentrator.sessions.values()
    assert addresses.prefix == prefix_of(session.id)


def test_a_subscriber_is_up_when_both_families_are():
    """BNG Blaster's rule; a family that the gateway does not have is not waited for."""
    random = Random(1)
    gateway = Gateway(random)
    crowd = crowd_of(1, random)
    world = World(crowd, gateway)
    (subscriber,) = crowd.subscribers
    seen = set()
    crowd.start(0.0)
    crowd.tick(0.0)
    while subscriber.state != State.UP:
        up, down = crowd.take(), gateway.take()
        assert up or down
        for number, frame in up:
            gateway.heard(0.0, number, line_of_number(number), frame)
        for _, frame in down:
            crowd.heard(0.0, frame)
            link = subscriber.link
            seen.add((bool(link and link.v4_open), bool(link and link.v6_open), subscriber.state))
    assert all(v4 and v6 for v4, v6, state in seen if state == State.UP)
    assert (False, True, State.PPP) in seen
    assert world.gateway.up == 1


def test_a_subscriber_hangs_up_and_dials_again():
    random = Random(1)
    crowd, gateway = crowd_of(1, random, Schedule(redial=None)), Gateway(random)
    world = World(crowd, gateway)
    (subscriber,) = crowd.subscribers
    crowd.start(0.0)
    world.run(0.1)
    crowd.hang_up(world.now, 0)
    world.run(0.1)
    assert (subscriber.state, subscriber.reason) == (State.DOWN, "we hung up")
    assert not gateway.concentrator.sessions and not subscriber.send(b"E" * 20)
    crowd.dial(world.now, 0)
    world.run(0.1)
    assert subscriber.state == State.UP and len(gateway.concentrator.sessions) == 1


def test_a_subscriber_that_vanishes_is_missed():
    random = Random(1)
    crowd = crowd_of(2, random, Schedule(redial=None))
    gateway = Gateway(random, Settings(keepalive=1.0))
    world = World(crowd, gateway)
    crowd.start(0.0)
    world.run(0.1)
    crowd.vanish(world.now, 0)
    world.run(10.0)
    assert [each.mac for each in gateway.concentrator.sessions.values()] == [mac_of_number(1)]
    assert crowd.subscribers[1].state == State.UP


def test_a_crowd_dials_at_its_rate():
    random = Random(1)
    world = World(crowd_of(300, random, Schedule(start_rate=100)), Gateway(random))
    world.crowd.start(0.0)
    world.run(5.0)
    report = world.crowd.report()
    assert (report.established, report.setups, report.failures) == (300, 300, 0)
    assert report.cps == pytest.approx(100, rel=0.01)
    assert len(report.rates) == 3 and sum(report.rates) == 300
    assert max(report.rates) <= 101
    assert (report.stray, report.wrong_line, report.wrong_session) == (0, 0, 0)


def test_no_more_than_so_many_wait_at_once():
    """RADIUS takes 3 s: 50 sessions at most are under way, so it is 50 in 3 s."""
    random = Random(1)
    schedule = Schedule(start_rate=1000, max_outstanding=50)
    world = World(crowd_of(150, random, schedule), Gateway(random, wait=3.0))
    world.crowd.start(0.0)
    world.run(10.0)
    report = world.crowd.report()
    assert report.established == 150 and world.most_outstanding == 50
    assert report.cps == pytest.approx(150 / 9, rel=0.05)


def test_a_slow_answer_is_waited_for():
    """With RADIUS at 5 s no client starts again meanwhile: one attempt each, no failure."""
    random = Random(1)
    world = World(crowd_of(50, random), Gateway(random, wait=5.0))
    world.crowd.start(0.0)
    world.run(8.0)
    report = world.crowd.report()
    assert (report.established, report.setups, report.failures) == (50, 50, 0)


def test_who_is_refused_tries_again_and_is_counted():
    random = Random(1)
    crowd = crowd_of(3, random, Schedule(redial=2.0))
    crowd.subscribers[1].account = Account("bob", "guess", mac_of_number(1), line_of_number(1))
    world = World(crowd, Gateway(random))
    crowd.start(0.0)
    world.run(5.0)
    report = crowd.report()
    assert (report.established, report.setups, report.failures) == (2, 2, 3)
    assert report.reasons == {"the server said: wrong name or password": 3}


def test_a_crowd_hangs_up_at_its_rate():
    random = Random(1)
    world = World(crowd_of(50, random, Schedule(start_rate=1000, stop_rate=50)), Gateway(random))
    world.crowd.start(0.0)
    world.run(0.5)
    world.crowd.stop(world.now)
    world.run(0.5)
    assert 20 <= world.crowd.report().established <= 30
    world.run(1.0)
    report = world.crowd.report()
    assert (report.established, report.failures) == (0, 0)
    assert not world.gateway.concentrator.sessions


def test_packets_of_another_session_are_counted():
    """The counter that must be 0 in each experiment does not stay 0 when it must not."""
    random = Random(1)
    gateway = Gateway(random)
    world = World(crowd_of(2, random), gateway)
    crowd = world.crowd
    crowd.start(0.0)
    world.run(0.5)
    for session in gateway.concentrator.sessions.values():
        for flow in (0, 0, 1):
            source = IPv4Address("192.0.2.9")
            trailer = Probe(flow, 1, 7).trailer()
            datagram = udp(source, address_of(session.id), (UDP_PORT, UDP_PORT), trailer)
            packet = ipv4(source, address_of(session.id), PROTOCOL_UDP, datagram)
            gateway.concentrator.send(session, IPV4, packet)
    frames = gateway.take()
    for _, frame in frames:
        crowd.heard(world.now, frame)
    report = crowd.report()
    assert (report.packets, report.wrong_session, report.wrong_line) == (3, 3, 0)
    crowd.heard(world.now, frames[0][1][:14] + frames[-1][1][14:])
    inner = inner_of(frames[0][1])
    crowd.heard(world.now, Line().frame(*inner[2:]))
    crowd.heard(world.now, Line().frame(b"\2" * 6, *inner[3:]))
    report = crowd.report()
    assert (report.wrong_line, report.stray) == (1, 1)


def test_two_subscribers_need_two_addresses():
    random = Random(1)
    twice = [crowd_of(1, random).subscribers[0] for _ in range(2)]
    with pytest.raises(ValueError, match="the same MAC address"):
        Crowd(twice, Schedule())


@given(st.binary(max_size=80))
def test_whatever_comes_a_subscriber_does_not_raise(frame):
    random = Random(1)
    gateway = Gateway(random)
    world = World(crowd_of(1, random), gateway)
    world.crowd.start(0.0)
    world.run(0.05)
    world.crowd.heard(world.now, frame)
    whole = mac_of_number(0) + GATEWAY_MAC + b"\x88\x64" + frame
    world.crowd.subscribers[0].heard(world.now, whole)
    world.crowd.subscribers[0].heard(world.now, whole[:13] + b"\x63" + frame)
    world.crowd.subscribers[0].heard(world.now, whole[:13] + b"\x64\x11\0\0\1" + frame)


class Street:
    """A good subscriber, and a hostile one on another line; `attack` sends what the latter says,
    and gives what it hears back."""

    def __init__(self, **settings):
        random = Random(1)
        self.gateway = Gateway(random, Settings(**settings), Offer(packets_at_once=8))
        self.world = World(crowd_of(2, random, Schedule(redial=None)), self.gateway)
        self.world.crowd.start(0.0)
        self.world.run(0.1)
        self.good, self.bad = self.world.crowd.subscribers
        self.line = line_of_number(1)
        sessions = {s.mac: s for s in self.gateway.concentrator.sessions.values()}
        self.victim, self.own = (sessions[each.account.mac] for each in (self.good, self.bad))

    def attack(self, frames, seconds=1.0):
        answers = []
        for frame in frames:
            self.gateway.heard(self.world.now, 1, self.line, frame)
            answers += self.gateway.take()
            self.world.now += seconds / 1000
        return answers

    def control(self, protocol, body):
        session = self.own.id
        return hostile.control(self.line, mac_of_number(1), GATEWAY_MAC, session, protocol, body)

    def assert_the_good_one_is_well(self):
        """Its session is the same, and it can be called off and on."""
        sessions = self.gateway.concentrator.sessions
        assert sessions[self.victim.id] is self.victim and self.victim.link.settled
        assert self.good.state == State.UP
        self.world.crowd.hang_up(self.world.now, 0)
        self.world.exchange()
        self.world.crowd.dial(self.world.now, 0)
        self.world.exchange()
        assert self.good.state == State.UP


def test_hostile_padi_flood():
    street = Street()
    answers = street.attack(hostile.padi_flood(street.line, Random(2), 2000))
    assert len(answers) <= 8 + 4 * 2 + 1
    street.assert_the_good_one_is_well()


@pytest.mark.parametrize("forged", [True, False])
def test_hostile_padt_with_the_session_of_another(forged):
    street = Street()
    mac = mac_of_number(0 if forged else 1)
    frame = hostile.foreign_padt(street.line, mac, GATEWAY_MAC, street.victim.id)
    assert street.attack([frame]) == []
    street.assert_the_good_one_is_well()


@pytest.mark.parametrize("forged", [True, False])
def test_hostile_packets_in_the_session_of_another(forged):
    street = Street()
    mac = mac_of_number(0 if forged else 1)
    before = street.gateway.concentrator.ignored
    frames = [
        hostile.control(street.line, mac, GATEWAY_MAC, street.victim.id, LCP, control(5, 1)),
        hostile.hijack(
            street.line, mac, GATEWAY_MAC, street.victim.id, address_of(street.victim.id), 0
        ),
    ]
    assert street.attack(frames) == []
    assert street.gateway.concentrator.ignored == before + 2
    street.assert_the_good_one_is_well()


def test_hostile_request_for_the_address_of_another():
    street = Street()
    bodies = [hostile.stolen_address(address_of(street.victim.id), n) for n in range(100)]
    street.attack([street.control(*body) for body in bodies])
    assert not street.own.link.v4_open
    street.assert_the_good_one_is_well()


def test_hostile_requests_without_end():
    street = Street()
    frames = [street.control(*each) for each in hostile.endless_requests(Random(2), 2000)]
    answers = street.attack(frames)
    assert len(answers) < 200
    street.assert_the_good_one_is_well()


def test_hostile_restarts_without_end():
    street = Street()
    before = len(street.gateway.events)
    street.attack([street.control(*each) for each in hostile.restarts(Random(2), 2000)])
    assert len(street.gateway.events) - before <= 9 * 5
    street.assert_the_good_one_is_well()


def test_hostile_options_that_lie():
    street = Street()
    for body in hostile.broken_options():
        for protocol in (LCP, IPCP):
            street.attack([street.control(protocol, body)])
    for packet in hostile.broken_tags():
        frame = street.line.frame(b"\xff" * 6, mac_of_number(1), DISCOVERY, packet)
        street.attack([frame])
    assert street.own.link.settled
    street.assert_the_good_one_is_well()


def test_hostile_echo_flood():
    street = Street()
    frames = [street.control(*each) for each in hostile.echo_flood(Random(2), 2000)]
    assert len(street.attack(frames)) <= 100 + 2 * 20 + 1
    street.assert_the_good_one_is_well()


def test_hostile_naks_without_end():
    """It begins again, and agrees to nothing that the gateway asks for."""
    street = Street()
    draw = Random(2)
    frames = [street.control(LCP, control(CONFIGURE_REQUEST, 1, option(5, b"\1\2\3\4")))]
    sent = 0
    while frames and sent < 3000:
        answers = street.attack(frames)
        sent += len(answers)
        frames = []
        for _, frame in answers:
            inner = inner_of(frame)
            found = data_of(inner.packet) if inner.ethertype == SESSION else None
            if found and found[2][0] == CONFIGURE_REQUEST:
                frames.append(street.control(found[1], hostile.endless_nak(found[2], draw)))
    assert sent < 50
    street.assert_the_good_one_is_well()


def test_a_frame_is_taken_apart_as_it_was_put_together():
    outer = (b"\2\0\0\0\0\1", b"\2\0\0\0\0\2")
    for line in (
        Line(),
        Line(((0x8100, 5),)),
        Line(((0x88A8, 100), (0x8100, 4094))),
        Line(((0x8100, 9), (0x8100, 10)), (100, (1 << 20) - 1), outer),
    ):
        frame = line.frame(b"\4" * 6, b"\6" * 6, SESSION, b"packet")
        inner = inner_of(frame)
        assert inner[2:] == (b"\4" * 6, b"\6" * 6, SESSION, b"packet")
        assert line.carries(inner) and not Line(((0x8100, 6),)).carries(inner)
        assert all(inner_of(frame[:end]) is None for end in range(14))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--vlan", "4095"], "4095 is not the number of a VLAN"),
        (["--vlan", "1", "--vlan", "2", "--vlan", "3"], "at most two VLAN tags, not 3"),
        (["--mac", "01:00:00:00:00:01"], "is not a MAC address of a host"),
        (["--mac", "0z:00:00:00:00:01"], "is not a MAC address of a host"),
        (["--label", "3", "--peer", "02:00:00:00:00:01"], "behind labels, say --peer and --mac"),
        (["--label", "3", "--peer", MACS, "--mac", MACS], "3 is not a label"),
        (["--mru", "9000"], "an MRU goes from 128 to 1500 bytes, not 9000"),
    ],
)
def test_mistakes_on_the_command_line_are_named(words, said, capsys):
    with pytest.raises(SystemExit) as end:
        main(["nowhere0", "--user", "alice", *words])
    assert end.value.code == 2 and said in capsys.readouterr().err


def test_an_interface_that_is_not_there_is_named(capsys):
    with pytest.raises(SystemExit):
        main(["nowhere0", "--user", "alice"])
    assert "nowhere0" in capsys.readouterr().err


def test_the_command_knows_lines_and_addresses():
    outer = (GATEWAY_MAC, mac_of_number(0))
    assert line_of([7], [], outer).tags == ((0x8100, 7),)
    assert line_of([100, 7], [], outer).tags == ((0x88A8, 100), (0x8100, 7))
    labelled = line_of([100, 7], [16, 17], outer)
    assert (labelled.tags, labelled.labels) == (((0x8100, 100), (0x8100, 7)), (16, 17))
    assert labelled.frame(*[b""] * 2, 0, b"")[:14] == GATEWAY_MAC + mac_of_number(0) + b"\x88\x47"
    assert mac_of("02:00:00:00:00:0a") == b"\2\0\0\0\0\x0a"
