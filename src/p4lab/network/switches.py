"""The switches of a network on Linux interfaces: one interface, whatever runs the program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from p4lab import _engine
from p4lab.model.control import Count, CountingDriver, PacketIn
from p4lab.model.entries import Entries, Update
from p4lab.model.layout import CPU_PORT
from p4lab.model.tables import Tables
from p4lab.network.cpu import CpuPort

PICOSECONDS = 1000  # per nanosecond
INBOX = 4096  # frames for the controller that may wait

News = tuple[int, str, PacketIn]
"""A frame for the controller: nanoseconds, router, the frame and where it came in"""


@dataclass(frozen=True)
class Wire:
    """What a link does to packets, where veth pairs do nothing to them."""

    rate: int | None
    """bit/s; None: as fast as it can"""
    delay: int = 0
    """Nanoseconds"""
    jitter: int = 0
    """Nanoseconds, added to the delay at most"""
    loss: float = 0.0
    """Share of the packets"""


class Switches(Protocol):
    """All switches of a network. They are started in the namespace where their interfaces are."""

    target: str
    notes: tuple[str, ...]
    """What a reader of the counts must know"""

    @property
    def now(self) -> int:
        """Nanoseconds since the switches began."""

    def start(self, router: str, number: int, ports: Mapping[int, str]) -> None:
        """Starts a router's switch on interfaces, by port. Raises NetworkError or OSError."""

    def driver(self, router: str) -> CountingDriver:
        """What writes a router's entries."""

    def news(self, timeout: float) -> News | None:
        """The next frame for the controller; None after `timeout` seconds without one."""

    def set_port(self, router: str, port: int, up: bool) -> None:
        """Takes a port down or up."""

    def emulate(self, router: str, port: int, wire: Wire, *, both: bool) -> None:
        """Gives the link at a port these properties for what the switch sends, and with `both`
        also for what it receives."""

    def probes(self) -> dict[tuple[str, int], tuple[int, int]]:
        """Probes sent and received, by router and port."""

    def stop(self) -> None:
        """Ends all switches."""


class EngineSwitches:
    """The engine's, in threads of this process."""

    target = "engine"
    notes: tuple[str, ...] = ()

    def __init__(
        self,
        program: _engine.Program,
        *,
        cpu_port: int = CPU_PORT,
        seed: int = 0,
        backend: str | None = None,
        engine: str | None = "interpreter",
    ) -> None:
        """`backend` and `engine` as for `_engine.Forwarder`."""
        self._program = program
        self._cpu = CpuPort.of(program, cpu_port)
        self._seed = seed
        self._backend = backend
        self._engine = engine
        self._inbox = _engine.Inbox(INBOX)
        self._names: dict[int, str] = {}
        self._forwarders: dict[str, _engine.Forwarder] = {}
        self._tables: dict[str, Tables] = {}

    @property
    def now(self) -> int:
        return self._inbox.now // PICOSECONDS

    def start(self, router: str, number: int, ports: Mapping[int, str]) -> None:
        self._names[number] = router
        self._tables[router] = Tables()
        self._forwarders[router] = _engine.Forwarder(
            self._program,
            list(ports.items()),
            self._inbox,
            switch=number,
            cpu_port=self._cpu.number,
            seed=self._seed << 16 | number,
            backend=self._backend,
            engine=self._engine,
        )

    def forwarder(self, router: str) -> _engine.Forwarder:
        """The switch itself."""
        return self._forwarders[router]

    def driver(self, router: str) -> CountingDriver:
        return ForwarderDriver(self._forwarders[router], self._tables[router], self._cpu)

    def news(self, timeout: float) -> News | None:
        found = self._inbox.get(timeout)
        if found is None:
            return None
        switch, time, data = found
        return time // PICOSECONDS, self._names[switch], self._cpu.packet_in(data)

    def set_port(self, router: str, port: int, up: bool) -> None:
        self._forwarders[router].set_port(port, up)

    def emulate(self, router: str, port: int, wire: Wire, *, both: bool) -> None:
        self._forwarders[router].emulate(
            port,
            rate=wire.rate,
            delay=wire.delay * PICOSECONDS,
            jitter=wire.jitter * PICOSECONDS,
            loss=wire.loss,
            both=both,
            seed=self._seed,
        )

    def probes(self) -> dict[tuple[str, int], tuple[int, int]]:
        return {
            (router, port): (counts["sent"]["probes"], counts["received"]["probes"])
            for router, forwarder in self._forwarders.items()
            for port, counts in forwarder.stats()["ports"].items()
        }

    def stop(self) -> None:
        for forwarder in self._forwarders.values():
            forwarder.stop()
        self._forwarders.clear()


class ForwarderDriver:
    """Writes to one of the engine's switches."""

    def __init__(self, forwarder: _engine.Forwarder, tables: Tables, cpu: CpuPort) -> None:
        self._forwarder = forwarder
        self._tables = tables
        self._cpu = cpu

    def write(self, updates: Sequence[Update]) -> None:
        """Apply all updates between two packets, or none and raise ValueError."""
        self._forwarder.write(updates)
        self._tables.apply(updates)

    def entries(self) -> Entries:
        """What has been written to the switch, by whichever driver."""
        return self._tables.entries

    def counters(self, name: str, cells: Sequence[int]) -> dict[int, Count]:
        """What these cells of a counter hold now. Raises ValueError."""
        return {cell: Count(*self._forwarder.read_counter(name, cell)) for cell in cells}

    def packet_out(self, port: int, frame: bytes) -> None:
        """Send a frame out of a port."""
        self._forwarder.send_from_cpu(self._cpu.packet_out(port, frame))
