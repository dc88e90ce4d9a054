"""What a student's switches were given in a network, and what the reference makes of the same.

A program with registers or meters does with a packet what those before it have led to. So each
router has one switch with the reference, its twin, which is given all that the student's switch
was given, in the same order: entries, packets of the control plane, packets of links.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from p4lab import _engine
from p4lab.model.control import Driver
from p4lab.model.entries import Entries, Update
from p4lab.network.cpu import CpuPort
from p4lab.network.virtual import PICOSECONDS, VirtualNetwork


@dataclass(frozen=True)
class Event:
    """A batch that was written to a router, or the trace of a packet that came to it (as
    `take_traces` gives it), at a moment in picoseconds."""

    time: int
    router: str
    updates: tuple[Update, ...] = ()
    arrival: _engine.Arrival | None = None


@dataclass(frozen=True)
class Record:
    """What the switches of a network were given, in the order of time; what happens to one router
    stays in its order. `cpu` are the headers of their frames on the CPU port."""

    events: tuple[Event, ...]
    cpu: CpuPort


class Recorder:
    """Writes down what the switches of a network are given, from its beginning on."""

    def __init__(self, net: VirtualNetwork) -> None:
        self._net = net
        self._events: list[Event] = []
        net.trace()

    def driver(self, router: str) -> Driver:
        """A router's driver, whose batches are recorded."""
        return _RecordedDriver(self, self._net.driver(router), router)

    def wrote(self, router: str, updates: Sequence[Update]) -> None:
        """A router has taken a batch."""
        now = self._net.now * PICOSECONDS
        self._events.append(Event(now, router, updates=tuple(updates)))

    def look(self) -> None:
        """Takes what has come to the switches since the last look, which was before whatever is
        done to them next."""
        for router, traces in self._net.take_traces().items():
            self._events += [Event(item["time"], router, arrival=item) for item in traces]

    def record(self) -> Record:
        """All of it so far."""
        self.look()
        events = sorted(self._events, key=lambda event: (event.time, event.router))
        return Record(tuple(events), self._net.cpu)


class _RecordedDriver:
    """A driver that tells a recorder what was written."""

    def __init__(self, recorder: Recorder, driver: Driver, router: str) -> None:
        self._recorder = recorder
        self._driver = driver
        self._router = router

    def write(self, updates: Sequence[Update]) -> None:
        self._recorder.look()
        self._driver.write(updates)
        self._recorder.wrote(self._router, updates)

    def entries(self) -> Entries:
        return self._driver.entries()

    def packet_out(self, port: int, frame: bytes) -> None:
        self._driver.packet_out(port, frame)


class Twins:
    """The switches of the reference for a record of a student's program."""

    def __init__(self, record: Record, make: Callable[[], _engine.Switch], cpu: CpuPort) -> None:
        """`make` gives a new switch with the reference, `cpu` are its headers on the CPU port."""
        self._record = record
        self._make = make
        self._cpu = cpu

    def unlike(self, judged: Callable[[bytes], bool]) -> Iterator[tuple[Event, dict[str, Any]]]:
        """The packets of which a twin makes something else, among those that are `judged`, in the
        order of time; each with its trace in the reference."""
        twins: dict[str, _engine.Switch] = defaultdict(self._make)
        for place, event in enumerate(self._record.events):
            try:
                sent = self._give(twins[event.router], event)
            except ValueError:  # entries that only the student's tables have room for
                return
            if event.arrival is None or not judged(event.arrival["data"]):
                continue
            if sorted(sent) != sorted(event.arrival["sent"]):
                yield event, self._trace(event, self._record.events[:place])

    def _give(self, switch: _engine.Switch, event: Event) -> list[tuple[int, bytes]]:
        """What comes out when a switch is given what an event says. Raises ValueError."""
        if event.arrival is not None:
            return switch.process(*self._packet(event.arrival))
        switch.write(event.updates)
        return []

    def _trace(self, last: Event, before: Sequence[Event]) -> dict[str, Any]:
        """The trace of an event's packet by a switch that was given all `before` it, too."""
        assert last.arrival is not None
        switch = self._make()
        for event in before:
            if event.router == last.router:
                self._give(switch, event)
        return switch.trace(*self._packet(last.arrival))

    def _packet(self, arrival: _engine.Arrival) -> tuple[int, bytes, int]:
        """Port, bytes and moment of a packet, as the reference has to be given it."""
        port, data = arrival["port"], arrival["data"]
        if port == self._record.cpu.number:
            port = self._cpu.number
            data = self._cpu.packet_out(*self._record.cpu.packet_out_of(data))
        return port, data, arrival["time"]
