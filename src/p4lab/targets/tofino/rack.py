"""The map of a rack: which router is which switch, and where the cables of a topology are.

    [[switch]]
    router = "r1"
    server = "127.0.0.1:50052"

    [[cable]]
    switch = "r1"
    front = 1
    to = "h1"

`hw/rack.example.toml` has all keys. A topology fits a rack if every one of its links has its ends
there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StrictInt

from p4lab.model.layout import MOST_LOOPS, TnaLayout
from p4lab.targets.tofino.chip import WEDGE, Chassis, chassis
from p4lab.targets.tofino.toml import HardwareError, parse, read
from p4lab.topology import Topology
from p4lab.topology.tomls import Problem, Source, Strict

LANES_OF = {"10G": 1, "25G": 1, "40G": 4, "50G": 2, "100G": 4}
# IEEE 802.3: clause 74 (fc) is for lanes of 10 and 25 Gb/s, clauses 91 and 108 (rs) for 25.
FECS_OF = {
    "10G": ("none", "fc"),
    "25G": ("none", "fc", "rs"),
    "40G": ("none", "fc"),
    "50G": ("none", "fc", "rs"),
    "100G": ("none", "rs"),
}
BFRT_PORT = 50052
SERVER = f"127.0.0.1:{BFRT_PORT}"
SHOWN = 8  # missing links that a message names

Speed = Literal["10G", "25G", "40G", "50G", "100G"]
Fec = Literal["none", "fc", "rs"]
Autoneg = Literal["default", "on", "off"]
Front = Annotated[StrictInt, Field(ge=1, le=64)]
Lane = Annotated[StrictInt, Field(ge=0, le=3)]


class SwitchRow(Strict):
    router: str
    chassis: str = WEDGE
    server: Annotated[str, Field(pattern=r"^[^\s:]+:[0-9]{1,5}$")] = SERVER
    recirculation: tuple[StrictInt, ...] = ()


class CableRow(Strict):
    switch: str
    front: Front
    lane: Lane = 0
    to: str
    speed: Speed = "100G"
    fec: Fec | None = None
    autoneg: Autoneg = "default"
    note: str = ""


class LoopRow(Strict):
    switch: str
    front: Front
    lane: Lane = 0
    speed: Speed = "100G"


class RackFile(Strict):
    """The schema of a rack's map."""

    name: str
    switch: Annotated[list[SwitchRow], Field(min_length=1)]
    cable: tuple[CableRow, ...] = ()
    loop: tuple[LoopRow, ...] = ()


@dataclass(frozen=True)
class Port:
    """A port of the chip as it is to be set. `to` is the neighbour behind it, "" for a loop."""

    front: int
    lane: int
    dev_port: int
    speed: Speed
    fec: Fec
    autoneg: Autoneg
    to: str
    note: str = ""

    @property
    def looped(self) -> bool:
        return not self.to

    @property
    def lanes(self) -> int:
        return LANES_OF[self.speed]

    def __str__(self) -> str:
        return f"{self.front}/{self.lane}"


@dataclass(frozen=True)
class SwitchSetup:
    """One router of a topology on its switch. `cables` is by port of the topology."""

    router: str
    chassis: Chassis
    server: str
    recirculation: tuple[int, ...]
    loops: tuple[Port, ...]
    cables: tuple[tuple[int, Port], ...]
    cpu: Port | None = None

    @property
    def port(self) -> int:
        """The TCP port of its server."""
        return int(self.server.rpartition(":")[2])

    def with_cpu(self) -> SwitchSetup:
        """The same with the Ethernet port to the CPU, for the control plane."""
        first = self.chassis.cpu_ethernet[0]
        cpu = Port(self.chassis.cpu_socket, 0, first, "10G", "none", "default", "CPU")
        return replace(self, cpu=cpu)

    @property
    def ports(self) -> tuple[Port, ...]:
        """All that are to be added, in order of the chip's numbers."""
        found = [port for _, port in self.cables] + list(self.loops)
        found += [self.cpu] if self.cpu else []
        return tuple(sorted(found, key=lambda port: port.dev_port))

    @property
    def layout(self) -> TnaLayout:
        """How the control plane lays its entries out here: loops of the chip take turns first."""
        numbers = {number: port.dev_port for number, port in self.cables}
        loops = self.recirculation + tuple(port.dev_port for port in self.loops)
        return TnaLayout(loops=loops, port=numbers.__getitem__)


class Rack:
    """A rack whose map is sound by itself: sockets exist, lanes are used once."""

    def __init__(self, file: RackFile, source: Source) -> None:
        """Raises HardwareError."""
        self.name = file.name
        self._file = file
        self._source = source
        self._problems: list[Problem] = []
        self._chassis: dict[str, Chassis] = {}
        self._servers: dict[str, str] = {}
        for i, row in enumerate(file.switch):
            self._add(i, row)
        rows: Iterable[tuple[str, int, CableRow | LoopRow]] = [
            *(("cable", i, row) for i, row in enumerate(file.cable)),
            *(("loop", i, row) for i, row in enumerate(file.loop)),
        ]
        taken: dict[tuple[str, int], str] = {}
        self._ports = {(kind, i): self._port(kind, i, row, taken) for kind, i, row in rows}
        if self._problems:
            raise HardwareError(self._problems)

    def _wrong(self, place: tuple[str | int, ...], text: str) -> None:
        self._problems.append(self._source.problem(place, text))

    def _add(self, i: int, row: SwitchRow) -> None:
        if row.router in self._chassis:
            self._wrong(("switch", i, "router"), f"there are two switches {row.router}: remove one")
            return
        try:
            found = chassis(row.chassis)
        except HardwareError as error:
            self._wrong(("switch", i, "chassis"), error.problems[0].text)
            return
        self._chassis[row.router] = found
        other = self._servers.setdefault(row.server, row.router)
        if other != row.router:
            self._wrong(("switch", i), f"{row.router} has the server of {other}, {row.server}")
        for j, port in enumerate(row.recirculation):
            if port not in found.recirculation or port in row.recirculation[:j]:
                known = ", ".join(map(str, found.recirculation))
                told = f"{port} is not a separate recirculation port of {found.name}: {known}"
                self._wrong(("switch", i, "recirculation", j), told)
        loops = len(row.recirculation) + sum(loop.switch == row.router for loop in self._file.loop)
        if loops > MOST_LOOPS:
            told = f"{row.router} has {loops} loops, and the program has rows for {MOST_LOOPS}"
            self._wrong(("switch", i), told)

    def _port(
        self, kind: str, i: int, row: CableRow | LoopRow, taken: dict[tuple[str, int], str]
    ) -> Port | None:
        found = self._chassis.get(row.switch)
        if found is None:
            known = ", ".join(self._chassis) or "none"
            self._wrong((kind, i, "switch"), f"no switch is named {row.switch!r}; known: {known}")
            return None
        if row.front not in found.sockets:
            last = found.sockets[-1]
            told = f"{found.name} has the sockets 1 to {last}, not {row.front}"
            self._wrong((kind, i, "front"), told)
            return None
        lanes = LANES_OF[row.speed]
        if row.lane % lanes:
            told = f"a port of {row.speed} has {lanes} lanes and begins at a multiple of that"
            self._wrong((kind, i, "lane"), f"{told}, not at lane {row.lane}")
            return None
        first = found.dev_port(row.front, row.lane)
        what = f"{kind} {i + 1}"
        for dev_port in range(first, first + lanes):
            other = taken.setdefault((row.switch, dev_port), what)
            if other is not what:
                told = f"{row.front}/{row.lane} of {row.switch} is used twice, by {other} and here"
                self._wrong((kind, i), told)
                return None
        if isinstance(row, LoopRow):
            return Port(row.front, row.lane, first, row.speed, "none", "default", "")
        fec = row.fec or ("rs" if row.speed == "100G" else "none")
        if fec not in FECS_OF[row.speed]:
            can = " or ".join(FECS_OF[row.speed])
            self._wrong((kind, i, "fec"), f"a port of {row.speed} has FEC {can}, not {fec}")
        return Port(row.front, row.lane, first, row.speed, fec, row.autoneg, row.to, row.note)

    def setups(self, topology: Topology) -> dict[str, SwitchSetup]:
        """Every router of a topology on its switch. Cables that the topology does not have stay
        unused. Raises HardwareError with what the rack lacks."""
        missing = [r.name for r in topology.routers if r.name not in self._chassis]
        ends = {
            (row.switch, row.to): self._ports["cable", i] for i, row in enumerate(self._file.cable)
        }
        setups, lacking = {}, []
        for i, row in enumerate(self._file.switch):
            if row.router not in {router.name for router in topology.routers}:
                continue
            cables = []
            for number, neighbour in topology.ports(row.router).items():
                port = ends.get((row.router, neighbour))
                if port is None:
                    lacking.append(f"{row.router} - {neighbour}")
                else:
                    cables.append((number, port))
            setups[row.router] = self._setup(i, row, tuple(cables))
        if missing or lacking:
            raise HardwareError([self._source.problem((), self._lack(topology, missing, lacking))])
        return setups

    def _setup(self, i: int, row: SwitchRow, cables: tuple[tuple[int, Port], ...]) -> SwitchSetup:
        found = self._chassis[row.router]
        loops = tuple(
            port
            for j, loop in enumerate(self._file.loop)
            if loop.switch == row.router and (port := self._ports["loop", j]) is not None
        )
        # Without any loop of its own a switch takes the chip's first, which is always there.
        own = tuple(row.recirculation) or (() if loops else found.recirculation[:1])
        return SwitchSetup(row.router, found, row.server, own, loops, cables)

    def _lack(self, topology: Topology, missing: list[str], lacking: list[str]) -> str:
        told = []
        if missing:
            told.append(f"no switch for {_some(missing)}: add [[switch]] rows")
        if lacking:
            told.append(f"no cable for {_some(lacking)}: add [[cable]] rows")
        return (
            f"the topology {topology.name} needs what this rack does not have: {'; '.join(told)}, "
            "or run another topology (--topology)"
        )


def _some(names: list[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def load(path: Path) -> Rack:
    """The rack whose map is in a file. Raises HardwareError."""
    return Rack(*read(path, RackFile))


def from_text(text: str, file: str = "rack.toml") -> Rack:
    """The same from text. Raises HardwareError."""
    return Rack(*parse(text.encode(), file, RackFile))


def every_port(topology: Topology) -> Rack:
    """A rack for a topology where nobody has one, as for models: port n of a router is socket n at
    100 Gb/s, or, for routers with more ports than sockets, a lane of one. Raises HardwareError."""
    found = chassis()
    sockets = len(found.sockets)
    switches = [
        SwitchRow(router=router.name, server=f"{router.name}:{BFRT_PORT}")
        for router in topology.routers
    ]
    cables = []
    for router in topology.routers:
        ports = topology.ports(router.name)
        if max(ports, default=0) > sockets * found.lanes:
            told = f"{router.name} has a port {max(ports)}; {found.name} has {sockets * 4} lanes"
            raise HardwareError([Problem(topology.name, 0, told)])
        wide = max(ports, default=0) <= sockets
        for number, neighbour in ports.items():
            lane, front = divmod(number - 1, sockets)
            speed: Speed = "100G" if wide else "25G"
            cables.append(
                CableRow(
                    switch=router.name,
                    front=found.sockets[front],
                    lane=lane,
                    to=neighbour,
                    speed=speed,
                )
            )
    file = RackFile(name="models", switch=switches, cable=tuple(cables))
    return Rack(file, Source(topology.name, {}))
