"""What the switches of a network are given and send, with the reference, for a student's program
to repeat.

A network in virtual time is nothing but its switches, hosts, links and control plane, and all but
the switches are the same for every submission. So if a student's program sends for everything that
it is given what the reference has sent, bit for bit, the whole run is the reference's, and need not
be carried out: a few packets into each switch say as much.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from p4lab import _engine
from p4lab.grading.replay import Record
from p4lab.model.control import Count, CountingDriver
from p4lab.model.entries import Update
from p4lab.network.cpu import CpuPort

Sent = list[tuple[int, bytes]]
Packet = tuple[int, bytes, int]
"""Port, bytes and moment in picoseconds"""

MOST_EVENTS = 10_000
"""Of longer runs the traces do not hold all (`_engine.Network.take_traces`)"""


@dataclass(frozen=True)
class Given:
    """One thing that a switch was given, a batch or a packet, and what the reference sent then."""

    updates: Sequence[Update] = ()
    packet: Packet | None = None
    sent: Sent | None = None


@dataclass(frozen=True)
class Reading:
    """Cells of a counter that were looked at in the end; None: the program has no such counter."""

    name: str
    cells: tuple[int, ...]
    found: Mapping[int, Count] | None


@dataclass(frozen=True)
class Exchange:
    """What the routers of a network were given, each in its order, and what was read from them in
    the end. `seeds` are those of their switches, `cpu` their headers on the CPU port."""

    given: Mapping[str, Sequence[Given]]
    readings: Mapping[str, Sequence[Reading]]
    seeds: Mapping[str, int]
    cpu: CpuPort

    def is_repeated_by(self, program: _engine.Program) -> bool:
        """Whether a program sends the same for the same, and counts the same."""
        if CpuPort.of(program, self.cpu.number) != self.cpu:
            return False
        try:
            return all(self._is_repeated(router, program) for router in self.seeds)
        except ValueError:  # entries that do not fit
            return False

    def _is_repeated(self, router: str, program: _engine.Program) -> bool:
        switch = _switch(program, self.seeds[router], self.cpu)
        for one in self.given.get(router, ()):
            if one.packet is None:
                switch.write(one.updates)
            elif switch.process(*one.packet) != one.sent:
                return False
        return all(
            _read(switch, reading.name, reading.cells) == reading.found
            for reading in self.readings.get(router, ())
        )


def exchange(
    record: Record,
    readings: Mapping[str, Sequence[Reading]],
    seeds: Mapping[str, int],
    program: _engine.Program,
) -> Exchange | None:
    """The exchange of a run of the reference; None if switches by themselves do not send, or do not
    count, what they did in the network."""
    if len(record.events) >= MOST_EVENTS:
        return None
    switches = {router: _switch(program, seed, record.cpu) for router, seed in seeds.items()}
    given = defaultdict(list)
    for event in record.events:
        switch, arrival = switches[event.router], event.arrival
        if arrival is None:
            switch.write(event.updates)
            given[event.router].append(Given(event.updates))
            continue
        packet = arrival["port"], arrival["data"], arrival["time"]
        sent = switch.process(*packet)
        if sorted(sent) != sorted(arrival["sent"]):
            return None
        given[event.router].append(Given(packet=packet, sent=sent))
    found = Exchange(dict(given), readings, seeds, record.cpu)
    return found if found.is_repeated_by(program) else None


class Reader:
    """Drivers of a network that only read counters, and write down what."""

    def __init__(self, drivers: Callable[[str], CountingDriver]) -> None:
        self._drivers = drivers
        self.readings: dict[str, list[Reading]] = defaultdict(list)

    def driver(self, router: str) -> CountingDriver:
        """A router's driver, whose readings are kept."""
        driver = self._drivers(router)
        return _ReadDriver(driver, self.readings[router])


class _ReadDriver:
    """A driver that writes down which counters it reads."""

    def __init__(self, driver: CountingDriver, readings: list[Reading]) -> None:
        self._driver = driver
        self._readings = readings
        self.write = driver.write
        self.entries = driver.entries
        self.packet_out = driver.packet_out

    def counters(self, name: str, cells: Sequence[int]) -> dict[int, Count]:
        """As the driver's own. Raises ValueError."""
        try:
            found = self._driver.counters(name, cells)
        except ValueError:
            self._readings.append(Reading(name, tuple(cells), None))
            raise
        self._readings.append(Reading(name, tuple(cells), found))
        return found


def _switch(program: _engine.Program, seed: int, cpu: CpuPort) -> _engine.Switch:
    """A switch as networks have them."""
    switch = _engine.Switch(program, seed=seed)
    switch.set_cpu_port(cpu.number)
    return switch


def _read(switch: _engine.Switch, name: str, cells: Sequence[int]) -> dict[int, Count] | None:
    try:
        return {cell: Count(*switch.read_counter(name, cell)) for cell in cells}
    except ValueError:
        return None
