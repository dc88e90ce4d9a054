"""A network that keeps running between the cells of a notebook, and what is sent through it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from p4lab import _engine
from p4lab.engine import to_engine
from p4lab.model.control import Driver
from p4lab.model.entries import Entries, TableEntry, Update
from p4lab.model.notation import MOST_NAMED, bit_numbers
from p4lab.model.run import Plan, Received, Stream
from p4lab.model.tables import Tables
from p4lab.network import NetworkError
from p4lab.network.virtual import PICOSECONDS, VirtualNetwork
from p4lab.session.run import DRAIN, MILLISECOND, UnheardError, control_plane, subscribe
from p4lab.steps import emits, short
from p4lab.systems.bier.bitstrings import emitted_bits
from p4lab.topology import Link, Topology
from p4lab.tracing import Hop, copies, follow

Ends = frozenset[str]

MOST_ARRIVALS = 1500
"""At switches, for one packet sent: ten times what the largest of our networks needs"""

ENTERS = {"original", "recirculated", "resubmitted"}
"""Kinds of packets in a trace that begin at the parser: each is a pass"""


@dataclass(frozen=True)
class Sent:
    """What became of the packets of one `send`.

    `hops` are the first hops of the packets, in the order in which they were sent; `received` is
    by host; `down` are the links that were down; `problem` says why the network was stopped.
    """

    topology: Topology
    stream: Stream
    start: int
    hops: tuple[Hop, ...]
    received: Mapping[str, Received]
    down: frozenset[Ends]
    problem: str = ""

    @property
    def missing(self) -> tuple[str, ...]:
        """Subscribers that did not get every packet."""
        return tuple(
            host.name
            for host in self.stream.receivers
            if self.received[host.name].unique < self.stream.packets
        )

    @property
    def duplicates(self) -> tuple[str, ...]:
        """Hosts that got a packet more than once."""
        return tuple(name for name, got in self.received.items() if got.duplicates)

    @property
    def ok(self) -> bool:
        """Every subscriber got every packet, exactly once."""
        return not (self.problem or self.missing or self.duplicates)

    def hop(self, router: str, packet: int = 0) -> Hop | None:
        """The first arrival of a packet at a router; None if it never came there."""
        found = [hop for hop in self.all_hops(packet) if hop.router == router]
        return min(found, key=lambda hop: hop.time, default=None)

    def all_hops(self, packet: int | None = None) -> list[Hop]:
        """Every arrival at a switch, of one packet or all, in the order of time."""
        chosen = self.hops if packet is None else self.hops[packet : packet + 1]
        found: list[Hop] = []
        waiting = list(chosen)
        while waiting:
            hop = waiting.pop()
            found.append(hop)
            waiting.extend(hop.next.values())
        return sorted(found, key=lambda hop: hop.time)

    def copies(self, source: str, target: str | None = None) -> int:
        """Frames that a node put on its cables, on all of them or towards one neighbour."""
        total = 0
        for first in self.hops:
            for (a, b), count in copies(first).items():
                total += count if a == source and target in (None, b) else 0
        return total

    def passes(self, router: str) -> int:
        """How often the first packet went through a router's pipeline, all arrivals together."""
        return sum(
            packet["kind"] in ENTERS
            for hop in self.all_hops(0)
            if hop.router == router
            for packet in hop.packets
        )

    def came_by(self, router: str) -> str:
        """The ports by which the first packet came into a router's pipeline, pass after pass; on
        TNA a looped port is one like the others."""
        ports = [
            str(packet["ingress_port"])
            for hop in self.all_hops(0)
            if hop.router == router
            for packet in hop.packets
            if packet["kind"] in ENTERS
        ]
        return ", ".join(ports) or "nothing"

    def busiest(self) -> int:
        """The most frames that one direction of a link carried."""
        carried: Counter[tuple[str, str]] = Counter()
        for first in self.hops:
            carried.update(copies(first))
        return max(carried.values(), default=0)

    def way(self, host: str) -> tuple[str, ...]:
        """The routers that the first copy of the first packet for a host went through, each as
        often as it did; empty if the host got none."""
        ways = [(hop, (hop.router,)) for hop in self.hops[:1]]
        found: list[tuple[int, tuple[str, ...]]] = []
        while ways:
            hop, way = ways.pop()
            if host in hop.delivered.values():
                found.append((hop.time, way))
            ways += [(after, (*way, after.router)) for after in hop.next.values()]
        return min(found)[1] if found else ()

    def bits(self, source: str, target: str) -> str:
        """The BitString of the first frame from a router to a neighbour, in words."""
        packet = self._left(source, target)
        found = emitted_bits(packet) if packet else None
        return (
            "nothing" if packet is None else "no BitString" if found is None else bit_numbers(found)
        )

    def headers(self, source: str, target: str) -> str:
        """The headers of the first frame from a router to a neighbour, in words."""
        packet = self._left(source, target)
        names = [short(step["header"]) for step in (emits(packet) if packet else [])]
        return ", ".join(names) or "nothing"

    def _left(self, source: str, target: str) -> dict[str, Any] | None:
        for hop in self.all_hops():
            for packet in hop.packets if hop.router == source else []:
                port = (packet["fate"] or {}).get("port")
                if port is not None and self.topology.neighbour(source, port) == target:
                    return packet
        return None

    def __str__(self) -> str:
        if self.problem:
            return self.problem
        what = "the packet" if self.stream.packets == 1 else f"all {self.stream.packets} packets"
        got = [name for name, got in self.received.items() if got.unique >= self.stream.packets]
        parts = [f"{_names(got)} got {what} to {self.stream.destination}"]
        if self.missing:
            parts.append(f"{_names(self.missing)} did not")
        if self.duplicates:
            parts.append(f"{_names(self.duplicates)} got duplicates")
        return "; ".join(parts) + "."


def _names(names: Sequence[str]) -> str:
    if len(names) > MOST_NAMED:
        return f"{len(names)} hosts"
    *most, last = names or ["nobody"]
    return f"{', '.join(most)} and {last}" if most else last


class Running:
    """A plan's network with its control plane and all subscriptions, ready to send.

    Entries can be changed by hand. What the control plane writes later wins over them. `unused`
    are the tables that it wanted to write and that the program does not apply (yet); `unheard` says
    that subscriptions did not come to it, if so.
    """

    def __init__(self, plan: Plan, program: _engine.Program) -> None:
        """Raises NetworkError or NumberError."""
        self.plan = plan
        self.net = VirtualNetwork(plan.topology, program, seed=plan.seed)
        self.program = program
        self.down: frozenset[Ends] = frozenset()
        self._numbers = {router.name: i for i, router in enumerate(plan.topology.routers)}
        self._hands = {name: _ByHand() for name in self._numbers}
        self._tables = {table["name"] for table in program.summary["tables"]}
        self.unused: set[str] = set()
        self._flow = 0
        self.plane = control_plane(plan, self._driver)
        self.plane.start(self.net.now)
        self.unheard = ""
        try:
            subscribe(plan, self.net, self.plane)
        except UnheardError as error:
            self.unheard = str(error)

    def _driver(self, router: str) -> Driver:
        def write(updates: Sequence[Update]) -> None:
            self.net.engine.write(self._numbers[router], to_engine(updates))

        return _Reconciled(self.net.driver(router), write, self._hands[router], self._has)

    def _has(self, table: str) -> bool:
        """Whether the program has a table. A program without it can still be watched."""
        if any(name == table or name.endswith(f".{table}") for name in self._tables):
            return True
        self.unused.add(table)
        return False

    def send(self, stream: int = 1, packets: int = 1) -> Sent:
        """Sends packets of one of the plan's streams, counted from 1, and follows each of them.

        Raises IndexError if there is no such stream.
        """
        self._flow += 1
        plan = self.plan
        chosen = replace(plan.streams[stream - 1], flow=self._flow, packets=packets)
        self.net.trace()
        start = self.net.now + MILLISECOND
        self.net.start(chosen, start)
        travel = sum(link.delay_ns for link in plan.topology.links)
        end = start + packets * chosen.interval_ns + travel + DRAIN
        arrivals, problem = self._watched(end, MOST_ARRIVALS * packets)
        self.net.trace(False)
        found = follow(plan.topology, arrivals)
        hops = tuple(hop for (flow, _), hop in found.items() if flow == self._flow)
        seen = self.net.observed().received
        received = {
            host.name: seen.get((host.name, self._flow), Received(0, 0))
            for host in plan.topology.hosts
            if host in chosen.receivers or (host.name, self._flow) in seen
        }
        return Sent(plan.topology, chosen, start, hops, received, self.down, problem)

    def _watched(self, end: int, most: int) -> tuple[dict[str, list[dict[str, Any]]], str]:
        """Lets time pass up to `end`: the traces by router, and why it was stopped before.

        A copy that multiplies in a loop would fill the memory with traces, so time passes in
        steps no longer than a link, and it ends with more arrivals than any sound program has.
        """
        delays = [link.delay_ns for link in self.plan.topology.links if link.delay_ns]
        step = min(delays, default=MILLISECOND)
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in self._numbers}
        count = 0
        try:
            while (due := self.net.engine.next_event_time) is not None and due <= end * PICOSECONDS:
                before = self._received()
                self.net.run_until(min(end, due // PICOSECONDS + step), self.plane)
                count += self._received() - before
                if count > most:
                    return found, f"More than {most} packets: very likely frames run in a loop."
                for router, traces in self.net.take_traces().items():
                    found[router].extend(traces)
            self.net.run_until(end, self.plane)
        except NetworkError as error:
            return found, str(error)
        return found, ""

    def _received(self) -> int:
        """Packets that came to all switches so far."""
        engine = self.net.engine
        return sum(engine.switch_stats(number)["received"] for number in self._numbers.values())

    def set_link(self, link: Link, up: bool, *, tell: bool = False, seen: bool = True) -> None:
        """Takes a link down or up. The routers at its ends see it unless not `seen`; the control
        plane hears of it only if told."""
        self.net.set_link(link, up)
        if seen:
            self.plane.link_seen(link, up)
        self.down = self.down - {link.ends} if up else self.down | {link.ends}
        if tell:
            self.plane.link_changed(self.net.now, link, up)

    def entries(self, router: str, table: str) -> list[dict[str, Any]]:
        """The rows of a table as the switch has them. Raises ValueError for an unknown table."""
        return self.net.engine.entries(self._numbers[router], table)

    def write(self, router: str, updates: Sequence[_engine.Update]) -> None:
        """Changes rows by hand, all or none. Raises ValueError with what the switch says."""
        self.net.engine.write(self._numbers[router], updates)
        for update in updates:
            if update[1] == "entry":
                self._hands[router].note(update)


class _ByHand:
    """Which rows of a switch were made and removed behind the control plane's back."""

    def __init__(self) -> None:
        self.made: set[Any] = set()
        self.gone: set[Any] = set()

    def note(self, update: _engine.Update) -> None:
        row = _row(update)
        if update[0] == "delete":
            self.made.discard(row)
            self.gone.add(row)
        elif update[0] == "insert":
            self.gone.discard(row)
            self.made.add(row)


def _row(update: _engine.Update) -> Any:
    """What identifies a row, the same for hand-made updates and the control plane's."""
    _, _, table, matches, priority = update[:5]
    return table.rsplit(".", 1)[-1], tuple(sorted(matches)), priority


class _Reconciled:
    """A driver for a switch with rows that its control plane does not know, and for a program that
    lacks a table: its rows are left out."""

    def __init__(
        self,
        driver: Driver,
        write: Callable[[Sequence[Update]], None],
        hand: _ByHand,
        has: Callable[[str], bool],
    ) -> None:
        self._driver = driver
        self._write = write
        self._hand = hand
        self._has = has
        self._tables = Tables()

    def write(self, updates: Sequence[Update]) -> None:
        self._write([fit for update in updates for fit in self._fit(update)])
        self._tables.apply(updates)

    def entries(self) -> Entries:
        """What the control plane has written, as if nobody else had."""
        return self._tables.entries

    def _fit(self, update: Update) -> list[Update]:
        if not isinstance(update.entity, TableEntry):
            return [update]
        if not self._has(update.entity.table):
            return []
        row = _row(to_engine([Update("insert", update.entity)])[0])
        made, gone = row in self._hand.made, row in self._hand.gone
        self._hand.made.discard(row)
        self._hand.gone.discard(row)
        if update.kind == "delete":
            return [] if gone else [update]
        kind = "modify" if made else "insert" if gone else update.kind
        return [Update(kind, update.entity)]

    def packet_out(self, port: int, frame: bytes) -> None:
        self._driver.packet_out(port, frame)
