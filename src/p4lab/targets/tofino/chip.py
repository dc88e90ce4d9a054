"""Which port of a Tofino is behind which socket at the front: `hw/wedge100bf-32x.toml`.

A port of the chip (dev_port) is pipe << 7 | local. A pipe has the local ports 0 to 63 for sockets,
four lanes to a MAC of 100 Gb/s; 64 to 67 may lead to the CPU, 68 to 71 lead back to ingress.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Annotated

from pydantic import BeforeValidator, Field, StrictInt

from p4lab.targets.tofino.toml import HARDWARE, HardwareError, read
from p4lab.topology.tomls import Problem, Source, Strict
from p4lab.topology.units import rate_bits_per_second

WEDGE = "wedge100bf-32x"
LOCAL_PORTS = 72  # of a pipe
SOCKET_PORTS = 64  # of these, those that may have a socket
LANES = 4  # of a MAC

DevPort = Annotated[StrictInt, Field(ge=0, le=511)]


def pipe(dev_port: int) -> int:
    """The pipe of a port of the chip."""
    return dev_port >> 7


def local(dev_port: int) -> int:
    """The number of a port of the chip in its pipe."""
    return dev_port & 0x7F


class FrontRow(Strict):
    port: Annotated[StrictInt, Field(ge=1, le=64)]
    mac: Annotated[StrictInt, Field(ge=0, le=63)]
    dev_port: DevPort


class ChassisFile(Strict):
    """The schema of a port map."""

    name: str
    pipes: Annotated[StrictInt, Field(ge=1, le=4)]
    lanes: Annotated[StrictInt, Field(ge=1, le=LANES)]
    lane_rate: Annotated[int, BeforeValidator(rate_bits_per_second)]
    recirculation: list[DevPort]
    cpu_ethernet: Annotated[list[DevPort], Field(min_length=1)]
    cpu_socket: Annotated[StrictInt, Field(ge=1, le=65)]
    cpu_pcie: DevPort
    front: Annotated[list[FrontRow], Field(min_length=1)]


@dataclass(frozen=True)
class Chassis:
    """A switch as its port map describes it. `lane_rate` is in bit/s."""

    name: str
    pipes: int
    lanes: int
    lane_rate: int
    recirculation: tuple[int, ...]
    cpu_ethernet: tuple[int, ...]
    cpu_socket: int
    cpu_pcie: int
    front: tuple[tuple[int, int], ...]
    """Sockets and the ports of their first lanes, in the order of the file"""

    @cached_property
    def _dev_ports(self) -> dict[int, int]:
        return dict(self.front)

    @cached_property
    def _sockets(self) -> dict[int, tuple[int, int]]:
        return {
            first + lane: (socket, lane)
            for socket, first in self.front
            for lane in range(self.lanes)
        }

    @property
    def sockets(self) -> tuple[int, ...]:
        """The numbers of the sockets at the front, in order."""
        return tuple(sorted(self._dev_ports))

    def dev_port(self, socket: int, lane: int = 0) -> int:
        """The port of the chip behind a lane of a socket. Raises KeyError."""
        if not 0 <= lane < self.lanes:
            raise KeyError(lane)
        return self._dev_ports[socket] + lane

    def socket(self, dev_port: int) -> tuple[int, int]:
        """Socket and lane of a port of the chip. Raises KeyError for ports without a socket."""
        return self._sockets[dev_port]


@lru_cache(maxsize=4)
def chassis(name: str = WEDGE) -> Chassis:
    """The chassis whose map is in `hw/`. Raises HardwareError."""
    known = sorted(path.stem for path in HARDWARE.glob("*.toml") if "." not in path.stem)
    if name not in known:
        told = f"there is no port map of a chassis {name!r}; choose from {', '.join(known)}"
        raise HardwareError([Problem("hw", 0, told)])
    return build(*read(HARDWARE / f"{name}.toml", ChassisFile))


def build(file: ChassisFile, source: Source) -> Chassis:
    """A chassis from a file whose rows are sound by themselves. Raises HardwareError."""
    problems: list[Problem] = []
    taken: dict[int, str] = {}

    def take(place: tuple[str | int, ...], dev_port: int, what: str, limit: int) -> None:
        if pipe(dev_port) >= file.pipes or local(dev_port) >= limit:
            told = f"dev_port {dev_port} of {what} is none of a chip with {file.pipes} pipes"
            problems.append(source.problem(place, told))
            return
        other = taken.setdefault(dev_port, what)
        if other is not what:
            problems.append(
                source.problem(place, f"dev_port {dev_port} is used twice: for {other} and {what}")
            )

    numbers: dict[int, int] = {}
    for i, row in enumerate(file.front):
        if numbers.setdefault(row.port, i) != i:
            problems.append(source.problem(("front", i), f"there are two sockets {row.port}"))
        if row.dev_port % LANES:
            told = f"dev_port {row.dev_port} is not the first lane of a MAC: a multiple of {LANES}"
            problems.append(source.problem(("front", i, "dev_port"), told))
            continue
        what = f"socket {row.port}"
        for lane in range(file.lanes):
            take(("front", i, "dev_port"), row.dev_port + lane, what, SOCKET_PORTS)
    for key in ("recirculation", "cpu_ethernet"):
        for i, dev_port in enumerate(getattr(file, key)):
            take((key, i), dev_port, f"{key}[{i}]", LOCAL_PORTS)
    if problems:
        raise HardwareError(problems)
    return Chassis(
        file.name,
        file.pipes,
        file.lanes,
        file.lane_rate,
        tuple(file.recirculation),
        tuple(file.cpu_ethernet),
        file.cpu_socket,
        file.cpu_pcie,
        tuple((row.port, row.dev_port) for row in file.front),
    )
