"""How quickly subscribers come in: thousands of them dial, through the switch, at one gateway.

Calls per second are counted as BNG Blaster does (its documentation, "Sessions"): established
sessions by the time from the first start to the last establishment. Three ways to say who may:

    local       users in the gateway, virtual time
    slow        the same, and an answer takes 2 to 5 s: virtual time, too
    freeradius  a FreeRADIUS on this machine; time is what this process has of the processor,
                and what it waits for the server

In virtual time the rate is that of the schedule; how long this machine took for it is
measured apart, by part. With FreeRADIUS the rate is that of this machine, where subscribers,
switch and gateway share one process on one processor.
"""

from __future__ import annotations

import gc
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Network
from pathlib import Path
from random import Random
from typing import Any, Literal, Protocol

from p4lab.model.entries import Entity
from p4lab.network.virtual import PICOSECONDS
from p4lab.packets.pcapng import frames
from p4lab.packets.probe import Probe
from p4lab.systems.bng.api import bandwidth
from p4lab.systems.bng.entries import session_meters, session_rows
from p4lab.systems.bng.experiments.bench import (
    ACCESS_PORT,
    CORE_PORT,
    FRONT,
    NODE_MAC,
    PEER_MAC,
    SECOND,
    Bench,
    cable,
    from_subscriber,
    line,
    mac,
    ports,
    to_subscriber,
)
from p4lab.systems.bng.gateway import Gateway
from p4lab.systems.bng.options import Options
from p4lab.systems.bng.pppoe.packets import data_of
from p4lab.systems.bng.radius.client import Client, ClientSettings, Datagram
from p4lab.systems.bng.radius.freeradius import FreeRadius
from p4lab.systems.bng.radius.local import LocalUsers
from p4lab.systems.bng.radius.profile import Profile
from p4lab.systems.bng.radius.sockets import Sockets
from p4lab.systems.bng.radius.users import User
from p4lab.systems.bng.store import Store
from p4lab.systems.bng.subscriber.access import inner_of
from p4lab.systems.bng.subscriber.client import Account, State, Subscriber
from p4lab.systems.bng.subscriber.crowd import Crowd, Schedule

Aaa = Literal["local", "slow", "freeradius"]
SLOW = (2 * SECOND, 5 * SECOND)
STEP = SECOND // 1000
"""What is heard in so many nanoseconds of virtual time is answered together"""
BEGAN = 1_767_225_600 * SECOND
CLASS = "50M"
PROBE_BYTES = 132
RADIUS_PORTS = 8
SETTLE = 0.2
"""Seconds after the last packet of a measurement"""
POINTS = 20
"""How often memory and sessions are looked at on the way"""
PATIENCE = 120 * SECOND
"""How long nobody may come in until the measurement gives up"""
Say = Callable[[str], object]


class Outside(Protocol):
    """What answers the gateway from outside, and what time it is."""

    def now(self, bench: Bench, idle: int) -> int:
        """The moment up to which time may pass next; `idle` is when something is due."""

    def soon(self, end: int, at: int) -> int:
        """The same, after somebody has heard something at a moment: it has to be answered."""

    def exchange(self, gateway: Gateway, now: int, datagrams: list[Datagram], busy: bool) -> None:
        """Send these, and let the gateway hear what has come; wait a little unless busy."""


class Virtual:
    """Users are local, and time passes as it is wanted."""

    def now(self, bench: Bench, idle: int) -> int:
        return max(bench.now + STEP, idle)

    def soon(self, end: int, at: int) -> int:
        return min(end, at + STEP)

    def exchange(self, gateway: Gateway, now: int, datagrams: list[Datagram], busy: bool) -> None:
        assert not datagrams


class Real:
    """A server's sockets. Time is what this process has of the processor, and what it waits for the
    server: a machine that has other things to do does not make its subscribers impatient."""

    def __init__(self, sockets: Sockets) -> None:
        self._sockets = sockets
        self._began = time.process_time_ns()
        self._waited = 0

    def now(self, bench: Bench, idle: int) -> int:
        return max(bench.now, time.process_time_ns() - self._began + self._waited)

    def soon(self, end: int, at: int) -> int:
        return end

    def exchange(self, gateway: Gateway, now: int, datagrams: list[Datagram], busy: bool) -> None:
        self._sockets.send(datagrams)
        since = time.monotonic_ns()
        for service, port, data in self._sockets.receive(0 if busy else STEP / SECOND):
            gateway.answered(now, service, port, data)
        self._waited += 0 if busy else time.monotonic_ns() - since


@dataclass(frozen=True)
class Point:
    """On the way: seconds since the first dialled, sessions that were up, memory of the process
    (with subscribers and switch) in bytes."""

    seconds: float
    sessions: int
    memory: int


@dataclass(frozen=True)
class Traffic:
    """Probes sent, those that came to where they should, and those that came elsewhere."""

    sent: int
    arrived: int
    wrong: int


@dataclass(frozen=True)
class Outcome:
    """One run. `wall` and `seconds` are until all were in: on the clock, and of the processor by
    part. `memory` is of the whole process, in bytes."""

    aaa: Aaa
    wanted: int
    seed: int
    start_rate: float
    outstanding: int
    established: int
    failures: int
    cps: float
    rates: tuple[int, ...]
    wall: float
    seconds: dict[str, float]
    memory_before: int
    memory: int
    points: tuple[Point, ...]
    down: Traffic
    up: Traffic
    stray: int
    rows: int
    disturbed: int
    """Others that did not get all their packets, or other rows, while one session dialled again"""
    stopped: bool

    @property
    def wrong_session(self) -> int:
        """Packets that came to a session that they were not for, both ways."""
        return self.down.wrong + self.up.wrong


@contextmanager
def outside(aaa: Aaa, sessions: int, seed: int) -> Iterator[tuple[Any, Outside]]:
    """Who knows the users. Raises FreeRadiusError."""
    users = [
        User(f"user{number}", f"secret{number}", Profile(service=CLASS))
        for number in range(1, sessions + 1)
    ]
    if aaa != "freeradius":
        yield LocalUsers(users, SLOW if aaa == "slow" else (0, 0), seed), Virtual()
        return
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(FreeRadius(folder, users))
        far = (server.access_port, server.accounting_port)
        sockets = stack.enter_context(Sockets("127.0.0.1", *far, RADIUS_PORTS))
        yield Client(ClientSettings(server.secret, ports=RADIUS_PORTS)), Real(sockets)


class Exchange:
    """A gateway, its switch and the subscribers on its lines; number n of the crowd is on line
    n + 1."""

    def __init__(self, sessions: int, seed: int, schedule: Schedule, aaa: Any, world: Outside):
        self.bench = Bench(seed)
        self.world = world
        self.bench.engine.notify(self.bench.access)
        random = Random(f"subscribers {seed}")
        accounts = [
            Account(f"user{n}", f"secret{n}", mac(n), cable(n)) for n in range(1, sessions + 1)
        ]
        self.crowd = Crowd([Subscriber(one, random) for one in accounts], schedule)
        options = Options(
            hosts=IPv4Network("100.64.0.0/15"),
            links=IPv6Network("2001:db8:8000::/46"),
            delegations=IPv6Network("2001:db8:4000::/38"),
        )
        self.gateway = Gateway(
            options, Store(), aaa, self.bench.driver, Random(f"gateway {seed}"), 0, BEGAN
        )
        ports(self.gateway.api)
        self.gateway.api.add_class(bandwidth(CLASS, 50_000_000, 10_000_000))
        self.gateway.add_lines(line(number) for number in range(1, sessions + 1))
        self.gateway.start(0)
        self.world.exchange(self.gateway, 0, self.gateway.flush(0), True)

    @property
    def now(self) -> int:
        """Nanoseconds."""
        return self.bench.now

    def step(self) -> None:
        """What is due, and then a little time."""
        bench, watch, gateway = self.bench, self.bench.watch, self.gateway
        watch.on("crowd")
        self.crowd.tick(self.now / SECOND)
        said = self.crowd.take()
        watch.on("switch")
        for _, frame in said:
            bench.engine.send_at(bench.access, bench.engine.now, frame)
        end = self.world.now(bench, 0 if said else self._idle())
        heard = self._pass(end)
        watch.on("gateway")
        gateway.tick(self.now)
        datagrams = gateway.flush(self.now)
        watch.on("radius")
        busy = bool(said or heard or datagrams)
        self.world.exchange(gateway, self.now, datagrams, busy)
        watch.on("crowd")
        for frame in heard:
            self.crowd.heard(self.now / SECOND, frame)

    def _pass(self, end: int) -> list[bytes]:
        """Let time pass; the gateway hears what is for it, and this is what subscribers hear."""
        bench, watch = self.bench, self.bench.watch
        heard = []
        while (event := bench.engine.run_until(end * PICOSECONDS)) is not None:
            kind, _, at, data = event
            end = self.world.soon(end, at // PICOSECONDS)
            if kind == "packet_in":
                watch.on("gateway")
                self.gateway.heard(at // PICOSECONDS, bench.cpu.packet_in(data))
                watch.on("switch")
            else:
                heard.append(data)
        return heard

    def _idle(self) -> int:
        """When the next has something to do, if nobody has now."""
        own = self.crowd.deadline * SECOND
        due = self.gateway.deadline
        return int(min(own, self.now + SECOND if due is None else due))

    def let(self, seconds: float) -> None:
        """Time passes."""
        end = self.now + int(seconds * SECOND)
        while self.now < end:
            self.step()

    # ---- Traffic, and one that dials again

    def traffic(self, seconds: float, but: int | None = None) -> tuple[Traffic, Traffic, set[int]]:
        """One packet to and one from everybody who is up, within so many seconds; what became of
        them, to subscribers and from them, and whose did not come. `but` gets none."""
        bench, crowd = self.bench, self.crowd.subscribers
        for port in (ACCESS_PORT, CORE_PORT):
            bench.engine.capture(bench.cables[port])
        up = {
            number: one.address
            for number, one in enumerate(crowd)
            if one.state is State.UP and one.address is not None and number != but
        }
        at, gap = bench.engine.now, int(seconds * SECOND * PICOSECONDS) // max(1, len(up))
        for place, (number, address) in enumerate(up.items()):
            moment = at + place * gap
            frame = to_subscriber(address, number, PROBE_BYTES)
            bench.engine.send_at(bench.core, moment, frame)
            crowd[number].send(from_subscriber(address, number, PROBE_BYTES))
            bench.engine.send_at(bench.access, moment, crowd[number].out.pop())
        if but is not None:
            self.crowd.vanish(self.now / SECOND, but)
            self.crowd.dial(self.now / SECOND, but)
        self.let(seconds + SETTLE)
        down = [self._to_whom(frame, up) for frame in self._captured(ACCESS_PORT, NODE_MAC)]
        back = [self._from_whom(frame, up) for frame in self._captured(CORE_PORT, PEER_MAC)]
        missing = set(up) - (set(down) & set(back))
        return _counted(up, down), _counted(up, back), missing

    def _captured(self, port: int, mac: int) -> list[bytes]:
        """Probes to the node behind a port."""
        data = self.bench.engine.drain_capture(self.bench.cables[port])
        to = mac.to_bytes(6, "big")
        return [each for _, each in frames(data) if each[:6] == to and Probe.of(each)]

    def _to_whom(self, frame: bytes, up: Mapping[int, IPv4Address]) -> int | None:
        """Who got a probe, if line, MAC, session and address are those of whom it was for."""
        probe, found = Probe.of(frame), inner_of(frame)
        assert probe is not None
        if found is None or probe.flow not in up:
            return None
        subscriber, said = self.crowd.subscribers[probe.flow], data_of(found.packet)
        right = (
            said is not None
            and subscriber.dialer is not None
            and subscriber.account.line.carries(found)
            and found.destination == subscriber.account.mac
            and said[0] == subscriber.dialer.session_id
            and said[2][16:20] == up[probe.flow].packed
        )
        return probe.flow if right else None

    def _from_whom(self, frame: bytes, up: Mapping[int, IPv4Address]) -> int | None:
        """Whose probe came to the core, if its source address is the sender's."""
        probe = Probe.of(frame)
        assert probe is not None
        address = up.get(probe.flow)
        source = frame[FRONT + 12 : FRONT + 16]
        return probe.flow if address is not None and source == address.packed else None

    def dial_again(self, number: int) -> int:
        """One of them loses its session and dials again while all others have traffic; how many
        others miss a packet, and how many rows changed that are not of that line."""
        own = self._rows_of(number)
        before = self.bench.entries
        _, _, missing = self.traffic(1.0, but=number)
        self.let(1.0)
        changed = before ^ self.bench.entries
        return len(missing) + len(changed - own - self._rows_of(number))

    def _rows_of(self, number: int) -> set[Entity]:
        """All rows of the sessions on the line of a subscriber."""
        known, rows = self.gateway.api.known, set[Entity]()
        for session in known.sessions.values():
            if session.line == number + 1:
                rows.update(session_rows(session, known.lines[session.line]))
                rows.update(session_meters(session.index, known.bandwidths[session.bandwidth]))
        return rows


def _counted(up: Mapping[int, IPv4Address], found: Sequence[int | None]) -> Traffic:
    right = [one for one in found if one is not None]
    return Traffic(len(up), len(right), len(found) - len(right))


def resident() -> int:
    """Bytes of memory that this process holds now."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def uncollected() -> Iterator[None]:
    """Python looks for cycles of dead objects again and again in all that is alive. With 35,000
    sessions that is a fifth of the time, and it finds nothing: memory is the same without."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
        gc.collect()


def measure(
    chosen: Sequence[Aaa], sessions: int, seed: int, schedule: Schedule, say: Say
) -> list[Outcome]:
    """One run for each of these; after one that was stopped there is none. Raises FreeRadiusError,
    ProgramError."""
    found: list[Outcome] = []
    for aaa in chosen:
        with uncollected():
            found.append(run(aaa, sessions, seed, schedule, say))
        if found[-1].stopped:
            break
    return found


def run(aaa: Aaa, sessions: int, seed: int, schedule: Schedule, say: Say) -> Outcome:
    """All of them dial, then all have traffic, then one dials again. When it is stopped by the
    keyboard, what there is is the outcome. Raises FreeRadiusError, ProgramError."""
    with outside(aaa, sessions, seed) as (users, world):
        exchange = Exchange(sessions, seed, schedule, users, world)
        before, watch = resident(), exchange.bench.watch
        watch.on("crowd")
        watch.seconds = dict.fromkeys(watch.seconds, 0.0)
        began = time.perf_counter()
        points: list[Point] = []
        down = up = Traffic(0, 0, 0)
        disturbed, stopped = 0, False
        try:
            exchange.crowd.start(exchange.now / SECOND)
            _all_in(exchange, sessions, aaa, points, say)
        except KeyboardInterrupt:
            stopped = True
        watch.on("crowd")
        wall, seconds = time.perf_counter() - began, dict(watch.seconds)
        memory, report = resident(), exchange.crowd.report()
        rows = len(exchange.bench.entries)
        if not stopped:
            say(f"{aaa}: a packet to and from each of {report.established} sessions ...")
            down, up, _ = exchange.traffic(0.2)
            say(f"{aaa}: one dials again ...")
            disturbed = exchange.dial_again(sessions // 2)
        return Outcome(
            aaa=aaa,
            wanted=sessions,
            seed=seed,
            start_rate=schedule.start_rate,
            outstanding=schedule.max_outstanding,
            established=report.established,
            failures=report.failures,
            cps=report.cps,
            rates=report.rates,
            wall=wall,
            seconds=seconds,
            memory_before=before,
            memory=memory,
            points=tuple(points),
            down=down,
            up=up,
            stray=exchange.crowd.report().stray + exchange.crowd.report().wrong_line,
            rows=rows,
            disturbed=disturbed,
            stopped=stopped,
        )


def _all_in(exchange: Exchange, wanted: int, aaa: Aaa, points: list[Point], say: Say) -> None:
    """Until all are up, or nobody has come in for too long."""
    began = last = exchange.now
    most = 0
    while exchange.now - last < PATIENCE:
        exchange.step()
        if exchange.gateway.sessions > most:
            most, last = exchange.gateway.sessions, exchange.now
        if most * POINTS >= wanted * (len(points) + 1):
            points.append(Point((exchange.now - began) / SECOND, most, resident()))
            say(f"{aaa}: {most} of {wanted} sessions ...")
        if most >= wanted and exchange.crowd.report().established >= wanted:
            return
