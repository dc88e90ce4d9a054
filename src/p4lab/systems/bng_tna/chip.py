"""The gateway's entries as the chip has them: its numbers of ports, a meter for each class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from p4lab.model.control import Count, CountingDriver
from p4lab.model.entries import (
    Entity,
    Entries,
    Exact,
    MeterCell,
    MulticastGroup,
    TableEntry,
    Update,
)
from p4lab.systems.bng.entries import TRAFFIC_CLASSES

PORT = "port"
"""What key fields and parameters are called that hold a port"""
OF_CLASSES = "class_meter"
"""The meter with a cell for each class of each session; on the chip a meter for each class, with
a cell for each session: `class_meter_0`, ..."""


class OnChip:
    """A driver of a chip for a control plane that counts ports as the topology does."""

    def __init__(self, driver: CountingDriver, ports: Mapping[int, int]) -> None:
        """`ports`: the chip's number of each port of the router."""
        self._driver = driver
        self._there = dict(ports)
        self._here = {there: port for port, there in ports.items()}

    def write(self, updates: Sequence[Update]) -> None:
        """Applies all updates between two packets, or none of them and raises."""
        self._driver.write([Update(u.kind, to_chip(u.entity, self._there)) for u in updates])

    def entries(self) -> Entries:
        """What the switch holds now, as it was written."""
        return frozenset(from_chip(one, self._here) for one in self._driver.entries())

    def packet_out(self, port: int, frame: bytes) -> None:
        """Sends a frame out of a port of the topology."""
        self._driver.packet_out(port, frame)

    def counters(self, name: str, cells: Sequence[int]) -> dict[int, Count]:
        """What cells of a counter hold: the chip's counters have the same names and cells."""
        return self._driver.counters(name, cells)


def to_chip(entity: Entity, ports: Mapping[int, int]) -> Entity:
    """An entry of the gateway for the chip."""
    if isinstance(entity, MeterCell) and entity.meter == OF_CLASSES:
        session, number = divmod(entity.index, TRAFFIC_CLASSES)
        return replace(entity, meter=f"{OF_CLASSES}_{number}", index=session)
    return _at_ports(entity, ports)


def from_chip(entity: Entity, ports: Mapping[int, int]) -> Entity:
    """The entry that was written as this."""
    if isinstance(entity, MeterCell) and entity.meter.startswith(f"{OF_CLASSES}_"):
        number = int(entity.meter.removeprefix(f"{OF_CLASSES}_"))
        index = TRAFFIC_CLASSES * entity.index + number
        return replace(entity, meter=OF_CLASSES, index=index)
    return _at_ports(entity, ports)


def _at_ports(entity: Entity, ports: Mapping[int, int]) -> Entity:
    if isinstance(entity, MulticastGroup):
        copies = tuple((ports.get(port, port), rid) for port, rid in entity.replicas)
        return replace(entity, replicas=copies)
    if not isinstance(entity, TableEntry):
        return entity
    match = tuple(
        (name, Exact(ports.get(own.value, own.value)))
        if name == PORT and isinstance(own, Exact)
        else (name, own)
        for name, own in entity.match
    )
    params = tuple(
        (name, ports.get(value, value) if name == PORT else value) for name, value in entity.params
    )
    return replace(entity, match=match, params=params)
