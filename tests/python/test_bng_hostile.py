"""A hostile subscriber on a line of its own, while another one's packets pass the data plane.

If these fail, one subscriber can cost another one packets, money or the session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from random import Random

import pytest

from p4lab.model.control import Count
from p4lab.network.virtual import PICOSECONDS
from p4lab.packets.pcapng import frames
from p4lab.packets.probe import Probe
from p4lab.systems.bng.accounting import START, STOP
from p4lab.systems.bng.experiments.bench import (
    ACCESS_PORT,
    CORE_PORT,
    FRONT,
    NODE_MAC,
    PEER_MAC,
    SECOND,
    cable,
    from_subscriber,
    mac,
    to_subscriber,
)
from p4lab.systems.bng.experiments.dialling import CLASS, Exchange, Virtual
from p4lab.systems.bng.frames import overhead
from p4lab.systems.bng.ppp.codes import CONFIGURE_REQUEST, IPCP, IPV4, LCP, option, packet
from p4lab.systems.bng.pppoe.packets import BROADCAST, DISCOVERY, PADR, SESSION, data_of
from p4lab.systems.bng.radius.local import LocalUsers
from p4lab.systems.bng.radius.profile import Profile
from p4lab.systems.bng.radius.users import User
from p4lab.systems.bng.radius.wire import Kind, attributes
from p4lab.systems.bng.subscriber import hostile
from p4lab.systems.bng.subscriber.access import Inner, inner_of
from p4lab.systems.bng.subscriber.client import State, Subscriber
from p4lab.systems.bng.subscriber.crowd import Schedule

VICTIM, DIALLER, ATTACKER = 0, 1, 2
"""Who has traffic during the attack, who dials in during it, who attacks. Each is on the line with
the next number."""
PACKETS, PACKET_BYTES, SECONDS = 100, 200, 1.0
IP_BYTES = PACKET_BYTES - FRONT
LINE = cable(ATTACKER + 1)


class Street(Exchange):
    """Three subscribers who are up. `react` is what the attacker says to what it hears."""

    def __init__(self) -> None:
        users = [User(f"user{n}", f"secret{n}", Profile(service=CLASS)) for n in (1, 2, 3)]
        self.users = LocalUsers(users)
        self.is_under_attack = False
        super().__init__(3, 1, Schedule(1000, 1000, redial=None), self.users, Virtual())
        self.react: Callable[[Inner], Iterable[bytes]] = lambda _: ()
        self.crowd.start(0)
        self.let(2)
        assert [one.state for one in self.crowd.subscribers] == [State.UP] * 3

    def _pass(self, end: int) -> list[bytes]:
        """The attacker's honest client hears nothing any more."""
        others = []
        for frame in super()._pass(end):
            found = inner_of(frame)
            if found is not None and found.vlans == LINE.vlans and self.is_under_attack:
                self.say(self.react(found))
            else:
                others.append(frame)
        return others

    def say(self, attack: Iterable[bytes], gap: int = 0) -> None:
        """The attacker sends frames, so many picoseconds apart."""
        engine = self.bench.engine
        for number, frame in enumerate(attack):
            engine.send_at(self.bench.access, engine.now + number * gap, frame)

    def who(self, number: int) -> tuple[Subscriber, int, bytes]:
        """A subscriber, its session's number and the gateway's MAC address."""
        one = self.crowd.subscribers[number]
        assert one.dialer is not None
        return one, one.dialer.session_id, one.dialer.concentrator

    def control(self, protocol: int, body: bytes) -> bytes:
        """A packet in the attacker's own session."""
        one, session, gateway = self.who(ATTACKER)
        return hostile.control(LINE, one.account.mac, gateway, session, protocol, body)

    # ---- The others meanwhile

    def index(self) -> int:
        """The cell of the victim's session."""
        (index,) = (
            one.index for one in self.gateway.api.known.sessions.values() if one.line == VICTIM + 1
        )
        return index

    def counts(self) -> list[Count]:
        names = ("upstream_sent", "downstream_sent")
        return [self.bench.counter(name, self.index()) for name in names]

    def captured(self, port: int, to: int) -> Iterator[bytes]:
        """Frames to the node at a port."""
        data = self.bench.engine.drain_capture(self.bench.cables[port])
        return (one for _, one in frames(data) if one[:6] == to.to_bytes(6, "big"))

    def to_victim(self, frame: bytes) -> int | None:
        """The number of a packet to the victim, if it is one and all around it is right."""
        found = inner_of(frame)
        said = data_of(found.packet) if found is not None else None
        if found is None or said is None or said[1] != IPV4:
            return None
        one, session, _ = self.who(VICTIM)
        assert one.account.line.carries(found) and found.destination == one.account.mac
        assert said[0] == session
        probe = Probe.of(frame)
        return probe.flow if probe else None

    def suffer(self, attack: list[bytes]) -> None:
        """The attack takes a second, in which the victim has traffic and somebody dials in."""
        victim, _, _ = self.who(VICTIM)
        assert victim.address is not None
        engine, before = self.bench.engine, self.counts()
        for port in (ACCESS_PORT, CORE_PORT):
            engine.capture(self.bench.cables[port])
        second = int(SECONDS * SECOND) * PICOSECONDS
        self.is_under_attack = True
        for number in range(PACKETS):
            at = engine.now + number * second // PACKETS
            engine.send_at(self.bench.core, at, to_subscriber(victim.address, number, PACKET_BYTES))
            victim.send(from_subscriber(victim.address, number, PACKET_BYTES))
            engine.send_at(self.bench.access, at, victim.out.pop())
        self.say(attack, second // max(1, len(attack)))
        self.crowd.vanish(self.now / SECOND, DIALLER)
        self.crowd.dial(self.now / SECOND, DIALLER)
        self.let(SECONDS + 0.5)
        assert self.crowd.subscribers[DIALLER].state is State.UP

        sent = list(range(PACKETS))
        arrived = map(self.to_victim, self.captured(ACCESS_PORT, NODE_MAC))
        assert [number for number in arrived if number is not None] == sent
        arrived = list(self.captured(CORE_PORT, PEER_MAC))
        sources = {frame[FRONT + 12 : FRONT + 16] for frame in arrived}
        probes = map(Probe.of, arrived)
        assert [probe and probe.flow for probe in probes] == sent, "not the victim's alone"
        assert sources == {victim.address.packed}
        line = self.gateway.api.known.lines[VICTIM + 1]
        ahead = (overhead(line, LINE.vlans[1]), FRONT)
        for old, new, front in zip(before, self.counts(), ahead, strict=True):
            assert new.packets - old.packets == PACKETS
            assert new.bytes - old.bytes == PACKETS * (IP_BYTES + front)

    def dial_anew(self) -> None:
        """The victim hangs up and comes back, and pays for two sessions."""
        self.crowd.hang_up(self.now / SECOND, VICTIM)
        self.let(1)
        assert self.crowd.subscribers[VICTIM].state is State.DOWN
        self.crowd.dial(self.now / SECOND, VICTIM)
        self.let(1)
        assert self.crowd.subscribers[VICTIM].state is State.UP
        records = [dict(attributes(bytes(20) + body)) for body in self.users.records]
        kinds = [
            one[Kind.ACCT_STATUS_TYPE][3] for one in records if one.get(Kind.USER_NAME) == b"user1"
        ]
        assert kinds == [START, STOP, START]


# ---- What the attacker sends


def padis(street: Street) -> list[bytes]:
    return list(hostile.padi_flood(LINE, Random(1), 2000))


def padts(street: Street) -> list[bytes]:
    """For the victim's session, and for all there are."""
    _, session, gateway = street.who(VICTIM)
    frames = [hostile.foreign_padt(LINE, mac(one + 1), gateway, session) for one in (0, 1, 2)]
    return frames + [
        hostile.foreign_padt(LINE, mac(ATTACKER + 1), gateway, number)
        for number in range(1, 200)
        if number != street.who(ATTACKER)[1]
    ]


def address_asked_for(street: Street) -> list[bytes]:
    victim, _, _ = street.who(VICTIM)
    assert victim.address is not None
    bodies = [hostile.stolen_address(victim.address, number) for number in range(200)]
    return [street.control(*body) for body in bodies]


def address_used(street: Street) -> list[bytes]:
    """In the attacker's own session."""
    victim, _, _ = street.who(VICTIM)
    one, session, gateway = street.who(ATTACKER)
    assert victim.address is not None
    return [
        hostile.hijack(LINE, one.account.mac, gateway, session, victim.address, flow)
        for flow in range(200)
    ]


def session_used(street: Street) -> list[bytes]:
    """From the attacker's line, with the victim's MAC address and with its own."""
    victim, session, gateway = street.who(VICTIM)
    assert victim.address is not None
    return [
        hostile.hijack(LINE, mac(1 + whose), gateway, session, victim.address, flow)
        for flow in range(100)
        for whose in (VICTIM, ATTACKER)
    ]


def goodbyes_in_the_session(street: Street) -> list[bytes]:
    """LCP Terminate-Requests in the victim's session."""
    _, session, gateway = street.who(VICTIM)
    bye = bytes((5, 9, 0, 4))
    return [
        hostile.control(LINE, mac(1 + whose), gateway, session, LCP, bye)
        for whose in (VICTIM, ATTACKER)
    ]


def requests(street: Street) -> list[bytes]:
    return [street.control(*each) for each in hostile.endless_requests(Random(2), 2000)]


def restarts(street: Street) -> list[bytes]:
    return [street.control(*each) for each in hostile.restarts(Random(2), 2000)]


def naks(street: Street) -> list[bytes]:
    """It begins again, and agrees to nothing that the gateway asks for."""
    draw = Random(3)

    def react(found: Inner) -> Iterator[bytes]:
        said = data_of(found.packet) if found.ethertype == SESSION else None
        if said and said[2][:1] == bytes([CONFIGURE_REQUEST]):
            yield street.control(said[1], hostile.endless_nak(said[2], draw))

    street.react = react
    return [street.control(LCP, packet(CONFIGURE_REQUEST, 1, option(5, b"\1\2\3\4")))]


def options_that_lie(street: Street) -> list[bytes]:
    """Of PPP and of PPPoE, with the lengths 0 and 255 among others."""
    inside = [
        street.control(protocol, body)
        for protocol in (LCP, IPCP)
        for body in hostile.broken_options()
    ]
    bodies = [*hostile.broken_tags(), *hostile.broken_tags(PADR)]
    return inside + [LINE.frame(BROADCAST, mac(ATTACKER + 1), DISCOVERY, body) for body in bodies]


def echoes(street: Street) -> list[bytes]:
    return [street.control(*each) for each in hostile.echo_flood(Random(2), 2000)]


@pytest.mark.parametrize(
    "attack",
    [
        padis,
        padts,
        address_asked_for,
        address_used,
        session_used,
        goodbyes_in_the_session,
        requests,
        restarts,
        naks,
        options_that_lie,
        echoes,
    ],
)
def test_nobody_else_notices(attack: Callable[[Street], list[bytes]]) -> None:
    street = Street()
    street.suffer(attack(street))
    street.dial_anew()
