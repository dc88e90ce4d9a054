"""What was sent through a running network, as views and questions look at it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from p4lab import _engine, registry
from p4lab.model.notation import MOST_NAMED
from p4lab.model.run import Plan, Received, Stream
from p4lab.model.system import System
from p4lab.plurals import count_of
from p4lab.steps import ENTERS, emits, short
from p4lab.topology import Topology
from p4lab.tracing import Hop, all_hops, copies
from p4lab.widgets.known import known_node
from p4lab.widgets.offers import offered

Ends = frozenset[str]
"""The names of both ends of a link"""


@dataclass(frozen=True)
class Cut:
    """A link that fails while packets are on their way, `start` nanoseconds after the first of them
    has left, and works again from `end` on, if that is not None."""

    ends: Ends
    start: int
    end: int | None = None


@dataclass(frozen=True, repr=False)
class Sent:
    """What became of the packets of one `send`.

    `program` is what ran, and `stream` one of the plan's, with packets as they were sent. `hops`
    are the first hops of the packets, in the order in which they were sent; `received` is by host;
    `down` are the links that were down from the first packet on, and `cut` is one that failed
    later; `problem` says why the network was stopped; `notes` what else there is to say, such as
    what hosts could not read; `age` says when each file of the program was
    last written, and `whose` which program it is, in words. A system may have more questions
    (`System.answers`), which are methods here.
    """

    plan: Plan
    program: _engine.Program
    stream: Stream
    start: int
    hops: tuple[Hop, ...]
    received: Mapping[str, Received]
    down: frozenset[Ends]
    problem: str = ""
    cut: Cut | None = None
    notes: tuple[str, ...] = ()
    age: Mapping[Path, int] = field(default_factory=dict)
    whose: str = ""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # Python's own questions, which no system answers
            raise AttributeError(name)
        return offered(self, self.system.answers, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.system.answers]

    @property
    def topology(self) -> Topology:
        return self.plan.topology

    @property
    def system(self) -> System:
        """Who knows what the packets carry."""
        return registry.find(self.plan.system)

    def is_of(self, stream: Stream) -> bool:
        """Whether these are packets of a stream of the plan."""
        return (self.stream.source, self.stream.destination) == (stream.source, stream.destination)

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
    def unwanted(self) -> tuple[str, ...]:
        """Hosts that got a packet and should not have."""
        wanted = {host.name for host in self.stream.receivers}
        return tuple(
            name for name, got in self.received.items() if got.unique and name not in wanted
        )

    @property
    def ok(self) -> bool:
        """Every subscriber got every packet, exactly once, and nobody else did."""
        return not (self.problem or self.missing or self.duplicates or self.unwanted)

    def hop(self, router: str, packet: int = 0) -> Hop | None:
        """The first arrival of a packet at a router; None if it never came there."""
        found = [hop for hop in self.all_hops(packet) if hop.router == router]
        return min(found, key=lambda hop: hop.time, default=None)

    def all_hops(self, packet: int | None = None) -> list[Hop]:
        """Every arrival at a switch, of one packet or all, in the order of time."""
        return all_hops(self.hops if packet is None else self.hops[packet : packet + 1])

    def copies(self, source: str, target: str | None = None) -> int:
        """Frames that a node put on its cables, on all of them or towards one neighbour."""
        total = 0
        for first in self.hops:
            for (a, b), count in copies(first).items():
                total += count if a == source and target in (None, b) else 0
        return total

    def passes(self, router: str) -> int:
        """How often the first packet went through a router's pipeline, all arrivals together."""
        return sum(hop.passes for hop in self.all_hops(0) if hop.router == router)

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
        ways: list[tuple[Hop, tuple[str, ...]]] = [(hop, (hop.router,)) for hop in self.hops[:1]]
        found: list[tuple[int, tuple[str, ...]]] = []
        while ways:
            hop, way = ways.pop()
            if host in hop.delivered.values():
                found.append((hop.time, way))
            ways += [(after, (*way, after.router)) for after in hop.next.values()]
        return min(found)[1] if found else ()

    def headers(self, source: str, target: str) -> str:
        """The headers of the first frame from a router to a neighbour, in words. Raises ValueError
        for a node that is not there."""
        for name in (source, target):
            known_node(self.topology, name)
        packet = self.frame(source, target)
        names = [short(step["header"]) for step in (emits(packet) if packet else [])]
        return ", ".join(names) or "nothing"

    def frame(self, source: str, target: str) -> dict[str, Any] | None:
        """The first packet that a router sent to a neighbour, as the engine's trace has it."""
        for hop in self.all_hops():
            for packet in hop.packets if hop.router == source else []:
                port = (packet["fate"] or {}).get("port")
                if port is not None and self.topology.neighbour(source, port) == target:
                    return packet
        return None

    @property
    def _unread(self) -> set[str]:
        """Subscribers that got frames, but nothing that they could read."""
        reached = {name for hop in self.all_hops() for name in hop.delivered.values()}
        silent = {name for name in self.missing if not self.received[name].unique}
        return reached & silent if self.notes else set()

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        if self.problem:
            return self.problem
        what = "the packet" if self.stream.packets == 1 else f"all {self.stream.packets} packets"
        got = [name for name, got in self.received.items() if got.unique >= self.stream.packets]
        if not got and len(self.missing) == 1 and self.received[self.missing[0]].unique:
            (host,) = self.missing
            some = f"{self.received[host].unique} of {self.stream.packets} packets"
            return f"{host} got {some} to {self.stream.destination}."
        unread = self._unread
        what = "a readable packet" if unread and not got else what
        parts = [f"{_names(got)} got {what} to {self.stream.destination}"]
        # The notes say of the others what they got.
        missing = [name for name in self.missing if name not in unread or not got]
        if missing:
            parts.append(f"{_names(missing)} {'did not' if got else 'should have'}")
        if self.unwanted:
            parts.append(f"{_names(self.unwanted)} should not have")
        if self.duplicates:
            parts.append(f"{_names(self.duplicates)} got duplicates")
        if not (self.stream.receivers or got or self.unwanted):
            parts[-1] += ", as it should be"
        return " ".join([f"{'; '.join(parts)}.", *self.notes])


def _names(names: Sequence[str]) -> str:
    if len(names) > MOST_NAMED:
        return count_of(len(names), "host")
    *most, last = names or ["nobody"]
    return f"{', '.join(most)} and {last}" if most else last
