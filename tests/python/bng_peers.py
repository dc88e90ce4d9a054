"""Peers for the tests of subscribers and links; every password is "wonder"."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address
from random import Random

from p4lab.systems.bng.addresses.router import Advertisement, advertisement, is_solicitation
from p4lab.systems.bng.entries import Net
from p4lab.systems.bng.ppp import CLIENT, SERVER, Link, Settings
from p4lab.systems.bng.ppp.authentication import proof_of
from p4lab.systems.bng.ppp.codes import IPV6, LCP
from p4lab.systems.bng.ppp.events import AuthenticationAsked, Down, Event, Packet
from p4lab.systems.bng.pppoe import Closed, Concentrator, Offer, Opened, Session
from p4lab.systems.bng.pppoe.packets import DISCOVERY
from p4lab.systems.bng.subscriber.access import Line, inner_of

GATEWAY_MAC = bytes.fromhex("02000000fe01")
DNS = (IPv4Address("192.0.2.53"),)
PASSWORD = b"wonder"
ADDRESS = IPv4Address("100.69.0.1")


def right(event: AuthenticationAsked) -> bool:
    """Whether the password was right."""
    if event.method == "chap":
        return event.proof == proof_of(event.identifier, PASSWORD, event.challenge)
    return event.proof == PASSWORD


def address_of(session_id: int) -> IPv4Address:
    """What a session is given."""
    return IPv4Address("100.69.0.0") + session_id


def prefix_of(session_id: int) -> Net:
    """What a session is told in router advertisements."""
    return Net(6, 0x20010DB8 << 96 | session_id << 64, 64)


class Gateway:
    """Answers frames of any line; what surrounds them is given to `heard` as a Line."""

    def __init__(
        self,
        random: Random,
        settings: Settings | None = None,
        offer: Offer | None = None,
        *,
        wait: float = 0.0,
    ) -> None:
        """`wait` is how long RADIUS takes, in seconds."""
        self.random, self.settings = random, settings or Settings()
        self.concentrator = Concentrator(offer or Offer(), random)
        self.wait = wait
        self.waiting: list[tuple[float, Link, Callable[[float], None]]] = []
        self.lines: dict[int, Line] = {}
        self.events: list[tuple[Session, Event]] = []

    def heard(self, now: float, number: int, line: Line, frame: bytes) -> None:
        """A frame from line `number`."""
        self.lines[number] = line
        inner = inner_of(frame)
        assert inner is not None
        concentrator = self.concentrator
        if inner.ethertype == DISCOVERY:
            event = concentrator.discovery(
                now, number, inner.destination, inner.source, inner.packet
            )
            if isinstance(event, Opened):
                link = Link(SERVER, self.settings, self.random)
                event.session.link = link
                link.start(now)
                self.pump(now, event.session)
            elif isinstance(event, Closed):
                event.session.link = None
        else:
            found = concentrator.session(number, inner.source, inner.packet)
            if found is not None:
                session, protocol, body = found
                session.link.heard(now, protocol, body)
                self.pump(now, session)

    def pump(self, now: float, session: Session) -> None:
        """What a link has to say."""
        link = session.link
        for event in link.happened():
            self.events.append((session, event))
            if isinstance(event, AuthenticationAsked):
                self._judge(now, session, event)
            elif isinstance(event, Packet) and is_solicitation(event.body):
                self._advertise(session)
            elif isinstance(event, Down):
                self._send(session)
                self.concentrator.close(session, event.reason)
                return
        self._send(session)

    def _advertise(self, session: Session) -> None:
        own = int.from_bytes(session.link.ipv6cp.own, "big")
        said = Advertisement(False, False, prefix_of(session.id), 1492)
        self.concentrator.send(session, IPV6, advertisement(own, said))

    def _send(self, session: Session) -> None:
        for protocol, body in session.link.take():
            self.concentrator.send(session, protocol, body)

    def _judge(self, now: float, session: Session, event: AuthenticationAsked) -> None:
        link = session.link

        def answer(then: float) -> None:
            if right(event):
                link.authenticated(then, address_of(session.id), DNS, 0)
            else:
                link.refused(then, "wrong name or password")
            if session.link is link:
                self.pump(then, session)

        if self.wait:
            self.waiting.append((now + self.wait, link, answer))
        else:
            answer(now)

    def tick(self, now: float) -> None:
        """Let RADIUS answer, and the links do what is due."""
        due = [entry for entry in self.waiting if entry[0] <= now]
        self.waiting = [entry for entry in self.waiting if entry[0] > now]
        for _, _, answer in due:
            answer(now)
        for session in list(self.concentrator.sessions.values()):
            if session.link.deadline <= now:
                session.link.tick(now)
                self.pump(now, session)

    def take(self) -> list[tuple[int, bytes]]:
        """Frames to be sent, each with the number of its line."""
        return [
            (number, self.lines[number].frame(mac, GATEWAY_MAC, ethertype, packet))
            for number, mac, ethertype, packet in self.concentrator.take()
        ]

    @property
    def up(self) -> int:
        """Sessions whose link carries packets."""
        return sum(each.link.settled for each in self.concentrator.sessions.values())


def lcp_of(packets: list[tuple[int, bytes]]) -> list[bytes]:
    """The LCP packets among what a link sends."""
    return [body for protocol, body in packets if protocol == LCP]


class Pair:
    """A server's link and a client's, joined; whoever needs one end alone leaves the other out of
    it. `loss` is the share of packets that is lost."""

    def __init__(
        self,
        server: Settings | None = None,
        client: Settings | None = None,
        *,
        random: Random,
        loss: float = 0.0,
        address: IPv4Address | None = ADDRESS,
        interface_id: int | None = 0,
    ) -> None:
        self.random, self.loss = random, loss
        self.address, self.interface_id = address, interface_id
        self.server = Link(SERVER, server or Settings(), random)
        self.client = Link(CLIENT, client or Settings(name=b"alice", secret=PASSWORD), random)
        self.now = 0.0
        self.sent: list[tuple[str, int, bytes]] = []
        self.server_events: list[Event] = []
        self.client_events: list[Event] = []

    def start(self) -> None:
        """Both begin."""
        self.server.start(self.now)
        self.client.start(self.now)

    def exchange(self) -> None:
        """Until both have nothing to say; raises AssertionError when that does not come."""
        for _ in range(200):
            up, down = self.client.take(), self.server.take()
            for name, packets, peer in (("c", up, self.server), ("s", down, self.client)):
                for protocol, body in packets:
                    self.sent.append((name, protocol, body))
                    if self.random.random() >= self.loss:
                        peer.heard(self.now, protocol, body)
            self._look()
            if not (self.client.out or self.server.out):
                return
        raise AssertionError("the two ends do not stop talking")

    def _look(self) -> None:
        for event in self.server.happened():
            self.server_events.append(event)
            if isinstance(event, AuthenticationAsked):
                if right(event):
                    self.server.authenticated(self.now, self.address, DNS, self.interface_id)
                else:
                    self.server.refused(self.now, "wrong name or password")
        self.client_events += self.client.happened()

    def run(self, seconds: float) -> None:
        """Let time pass, from deadline to deadline."""
        end = self.now + seconds
        self.exchange()
        while (due := min(self.server.deadline, self.client.deadline)) <= end:
            self.now = max(self.now, due)
            self.server.tick(self.now)
            self.client.tick(self.now)
            self._look()
            self.exchange()
        self.now = end

    def dial(self) -> None:
        """Set up, and check that it is."""
        self.start()
        self.exchange()
        assert self.server.settled and self.client.settled


def kinds(events: list[Event]) -> list[str]:
    """Names of events."""
    return [type(event).__name__ for event in events]
