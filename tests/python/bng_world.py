"""A gateway with subscribers in memory: both halves of a set-up, and a switch that remembers."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network
from random import Random
from typing import Any

from p4lab.model.control import Count, PacketIn
from p4lab.model.entries import Entity, Entries, Update, key
from p4lab.systems.bng import frames
from p4lab.systems.bng.api import bandwidth
from p4lab.systems.bng.entries import Access, Core, Line, Net, Route
from p4lab.systems.bng.gateway import Gateway
from p4lab.systems.bng.options import Options
from p4lab.systems.bng.pppoe import Offer
from p4lab.systems.bng.radius.local import LocalUsers
from p4lab.systems.bng.radius.users import User
from p4lab.systems.bng.store import Store
from p4lab.systems.bng.subscriber import access
from p4lab.systems.bng.subscriber.access import Inner, inner_of
from p4lab.systems.bng.subscriber.client import Account
from p4lab.systems.bng.subscriber.crowd import Crowd

SECOND = 10**9
ACCESS_PORT, CORE_PORT = 1, 2
OWN_MAC, NODE_MAC = 0x02_00_00_00_00_01, 0x02_00_00_00_00_02
CORE_MAC, PEER_MAC = 0x02_00_00_00_00_03, 0x02_00_00_00_00_04
OUTER = (OWN_MAC.to_bytes(6, "big"), NODE_MAC.to_bytes(6, "big"))
ACCESS_LABEL, SERVICE_VID = 16, 7
DISCOVERY, SESSION, IPV6 = 0x8863, 0x8864, 0x0057
WALL = 1_700_000_000 * SECOND
"""The time of day at 0"""


class MemorySwitch:
    """Tables as a set, counters as a test sets them, and what was sent. It is strict: a row that is
    inserted twice or deleted without being there is an error, as on a real switch."""

    def __init__(self) -> None:
        self.rows: dict[object, Entity] = {}
        self.sent: list[tuple[int, bytes]] = []
        self.cells: dict[tuple[str, int], tuple[int, int]] = {}

    def write(self, updates: Sequence[Update]) -> None:
        for update in updates:
            name = key(update.entity)
            if (update.kind == "insert") == (name in self.rows):
                raise ValueError(f"cannot {update.kind} {update.entity}")
            if update.kind == "delete":
                del self.rows[name]
            else:
                self.rows[name] = update.entity

    def entries(self) -> Entries:
        return frozenset(self.rows.values())

    def packet_out(self, port: int, frame: bytes) -> None:
        self.sent.append((port, frame))

    def counters(self, name: str, cells: Sequence[int]) -> dict[int, Count]:
        return {cell: Count(*self.cells.get((name, cell), (0, 0))) for cell in cells}

    def take(self) -> list[tuple[int, bytes]]:
        sent, self.sent = self.sent, []
        return sent


def line(number: int) -> Line:
    """Line `number`: 16 to an access node, with labels."""
    return Line(number, ACCESS_PORT, ACCESS_LABEL, 17 + number // 16, number % 16 + 1, 0)


def cable(number: int) -> access.Line:
    """The same line, from a subscriber's side."""
    return frames.cable(line(number), OUTER, SERVICE_VID)


def mac(number: int) -> bytes:
    return b"\x02\x10" + number.to_bytes(4, "big")


def name(number: int) -> str:
    return f"user{number}"


def account(number: int, **others: Any) -> Account:
    return Account(name(number), f"secret{number}", mac(number), cable(number), **others)


def users(count: int) -> list[User]:
    return [User(name(number), f"secret{number}") for number in range(1, count + 1)]


def options(**others: Any) -> Options:
    given: dict[str, Any] = {
        "hosts": IPv4Network("100.64.0.0/15"),
        "links": IPv6Network("2001:db8:8000::/46"),
        "delegations": IPv6Network("2001:db8:4000::/38"),
        "offer": Offer(name=b"bng"),
    }
    return Options(**{**given, **others})


def gateway(
    lines: int,
    store: Store | None = None,
    aaa: Any = None,
    switch: Any = None,
    now: int = 0,
    seed: int = 1,
    wall: int | None = None,
    **others: Any,
) -> Gateway:
    """A gateway with lines, a route and two classes, started."""
    made = Gateway(
        options(**others),
        store or Store(),
        LocalUsers(users(lines)) if aaa is None else aaa,
        MemorySwitch() if switch is None else switch,
        Random(seed),
        now,
        WALL + now if wall is None else wall,
    )
    made.api.enable_access_port(Access(ACCESS_PORT, ACCESS_LABEL, OWN_MAC, NODE_MAC))
    made.api.enable_core_port(Core(CORE_PORT, 0, CORE_MAC))
    made.api.add_route(Route(0, Net(4, 0, 0), CORE_PORT, peer=PEER_MAC))
    made.api.add_class(bandwidth("50M", 50_000_000, 10_000_000))
    made.api.add_class(bandwidth("100M", 100_000_000, 20_000_000))
    made.add_lines(line(number) for number in range(1, lines + 1))
    made.start(now)
    return made


def reason(found: Inner) -> int:
    """Why the program sends a frame of a subscriber to its control plane, 0 if it does not."""
    if found.ethertype == DISCOVERY:
        return 1
    protocol = int.from_bytes(found.packet[6:8], "big")
    if found.ethertype == SESSION and protocol & 0x8000:
        return 2
    packet = found.packet[8:]
    is_local = packet[8:10] == b"\xfe\x80" or packet[24:26] in (b"\xfe\x80", b"\xff\x02")
    return 4 if found.ethertype == SESSION and protocol == IPV6 and is_local else 0


def header(why: int, line: int, session: int = 0, port: int = ACCESS_PORT) -> bytes:
    return struct.pack("!HHH", port << 7 | why, line, session)


def packet_in(number: int, frame: bytes) -> PacketIn | None:
    """What the program makes of a frame of a subscriber."""
    found = inner_of(frame)
    why = 0 if found is None else reason(found)
    return PacketIn(ACCESS_PORT, frame, header(why, number)) if why else None


class World:
    """A gateway and a crowd on its lines, in virtual time; number n of the crowd is on line n + 1.
    `servers` answers what goes to RADIUS, if anything does."""

    def __init__(self, gateway: Gateway, crowd: Crowd, now: int = 0) -> None:
        self.gateway, self.crowd, self.now = gateway, crowd, now
        self.data: list[tuple[int, bytes]] = []
        self.is_cut = False

    def dial(self, number: int) -> None:
        """One of the crowd dials."""
        self.crowd.dial(self.now / SECOND, number)

    def hang_up(self, number: int) -> None:
        """One of the crowd hangs up, and does not dial again by itself."""
        self.crowd.hang_up(self.now / SECOND, number)

    def step(self) -> bool:
        """Everything that can happen at this moment; whether anything did."""
        busy = False
        seconds = self.now / SECOND
        self.crowd.tick(seconds)
        for number, frame in self.crowd.take():
            busy = True
            packet = None if self.is_cut else packet_in(number + 1, frame)
            if packet is None:
                self.data.append((number, frame))
            else:
                self.gateway.heard(self.now, packet)
        self.gateway.tick(self.now)
        self.datagrams(self.gateway.flush(self.now))
        for _, frame in self.gateway.switch.take():  # type: ignore[attr-defined]
            busy = True
            if not self.is_cut:
                self.crowd.heard(seconds, frame)
        return busy

    def datagrams(self, out: list[Any]) -> None:
        """To RADIUS: no one, with local users."""
        assert not out

    def run(self, until: float) -> None:
        """Let time pass until `until` (seconds)."""
        end = int(until * SECOND)
        while True:
            while self.step():
                pass
            due = [end, int(min(self.crowd.deadline, until) * SECOND) + 1]
            if self.gateway.deadline is not None:
                due.append(self.gateway.deadline)
            at = min(due)
            if at >= end:
                self.now = end
                self.step()
                return
            self.now = max(at, self.now + 1000)
