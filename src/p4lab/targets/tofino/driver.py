"""What a control plane writes through: entries for a Tofino in, rows of one switch out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import NamedTuple

from p4lab.model.control import Count
from p4lab.model.entries import Entries, Update
from p4lab.model.tables import Tables
from p4lab.targets.tofino.bfrt import Bfrt, BfrtError
from p4lab.targets.tofino.journal import Change, Journal, Ledger, journal_path
from p4lab.targets.tofino.plan import changes, enabling, opening, wanted_rows
from p4lab.targets.tofino.rack import SwitchSetup
from p4lab.targets.tofino.rows import Row, Value
from p4lab.targets.tofino.schema import (
    BYTES,
    CELL,
    COUNTER_CELL,
    DROPPED,
    PACKETS,
    PIPELINE,
    PORT,
    PORT_STAT,
    PORT_UP,
    QUEUED,
    Program,
)

COUNTERS = ("$FramesReceivedOK", "$FramesTransmittedOK")
KEY = "$DEV_PORT"


class Loop(NamedTuple):
    """A port that leads back: frames that went round, None where the chip counts none, and packets
    that found its queue full, None where the switch does not tell."""

    port: int
    frames: int | None
    dropped: int | None


def nowhere(port: int, frame: bytes) -> None:
    """For switches whose CPU port nobody has: frames of the control plane are not sent."""


class TofinoDriver:
    """One switch. `open` finds it as it is, `close` puts it back as it was."""

    def __init__(
        self,
        bfrt: Bfrt,
        setup: SwitchSetup,
        program: Program,
        *,
        status: str = "",
        send: Callable[[int, bytes], None] = nowhere,
        journal: Journal | None = None,
    ) -> None:
        """`status` is the program's register that says which ports are down, if it has one. `send`
        gets a frame out of a port of the chip, by its CPU port."""
        self._bfrt = bfrt
        self._setup = setup
        self._program = program
        self._status = status
        self._send = send
        self._ports = {number: port.dev_port for number, port in setup.cables}
        self._ledger = Ledger(bfrt, journal or Journal(journal_path(setup.server), bfrt.program))
        self._tables = Tables()
        self._rows: list[Row] = []
        self._up = False

    def open(self) -> int:
        """Puts back what an earlier run has left (how many rows that were), then makes the ports,
        disabled. Raises BfrtError."""
        recovered = self._ledger.recover()
        self._ledger.write(opening(self._setup, self._program, self._status))
        return recovered

    def write(self, updates: Sequence[Update]) -> None:
        """Carries all updates out or none. With the first of them the ports are enabled. Raises
        ValueError for what the program has no place for or the switch refuses."""
        tables = Tables()
        tables.apply([Update("insert", entity) for entity in self._tables.entries])
        tables.apply(updates)
        rows = wanted_rows(tables.entries, self._program)
        steps = changes(self._rows, rows)
        if not self._up:
            steps += enabling(self._setup)
        try:
            self._ledger.write(steps)
        except BfrtError as error:
            raise ValueError(str(error)) from error
        self._tables, self._rows, self._up = tables, rows, True

    def put(self, rows: Sequence[Row]) -> None:
        """Rows that no entry stands for, put back in the end as all others. Raises BfrtError."""
        self._ledger.write([Change("put", row) for row in rows])

    def entries(self) -> Entries:
        """What the switch holds of what has been written, read from it: somebody may have changed
        it, or started it anew. Raises BfrtError."""
        self._ledger.forget()
        held = self._ledger.held(self._rows)
        there = []
        for entity in self._tables.entries:
            if all(row in held for row in wanted_rows([entity], self._program)):
                there.append(entity)
        self._tables = Tables()
        self._tables.apply([Update("insert", entity) for entity in there])
        self._rows = wanted_rows(there, self._program)
        return self._tables.entries

    def packet_out(self, port: int, frame: bytes) -> None:
        """Sends a frame out of a port of the topology."""
        self._send(self._ports[port], frame)

    def watch(self, told: Callable[[int, bool], None]) -> None:
        """From now on `told` is called, from a thread, with every port of the topology that gets
        or loses its link. Raises BfrtError."""
        numbers = {port: number for number, port in self._ports.items()}

        def heard(port: int, up: bool) -> None:
            if port in numbers:
                told(numbers[port], up)

        self._bfrt.watch(heard)

    def links(self) -> dict[int, bool]:
        """Which ports of the topology have a link. Raises BfrtError."""
        found = self._bfrt.counted(PORT, KEY, list(self._ports.values()), (PORT_UP,))
        return {
            number: bool(fields.get(PORT_UP))
            for number, fields in zip(self._ports, found, strict=True)
        }

    def frames(self) -> dict[int, tuple[int, int]]:
        """Frames received and sent, by port of the topology. Raises BfrtError."""
        found = self._bfrt.counted(PORT_STAT, KEY, list(self._ports.values()), COUNTERS)
        return {n: _frames(fields) for n, fields in zip(self._ports, found, strict=True)}

    def loops(self) -> tuple[Loop, ...]:
        """What the ports that lead back have done, in the order in which they take turns. Raises
        BfrtError."""
        front = [port.dev_port for port in self._setup.loops]
        ports = [*self._setup.recirculation, *front]
        stats = self._bfrt.counted(PORT_STAT, KEY, front, COUNTERS)
        frames = {port: _frames(fields) for port, fields in zip(front, stats, strict=True)}
        dropped: dict[int, int] = {}
        if self._bfrt.has(QUEUED):  # our own switch has no traffic manager whose queues fill
            queued = self._bfrt.counted(QUEUED, "dev_port", ports, (DROPPED,))
            dropped = {
                port: _number(fields.get(DROPPED))
                for port, fields in zip(ports, queued, strict=True)
            }
        return tuple(
            Loop(port, frames[port][1] if port in frames else None, dropped.get(port))
            for port in ports
        )

    def counters(self, name: str, cells: Sequence[int]) -> dict[int, Count]:
        """What these cells of a counter of the program hold, read from the chip now. Raises
        ValueError if the program has no such counter, or the counter no such cell."""
        table = f"{PIPELINE}.{self._program.counter(name)}"
        try:
            found = self._bfrt.counted(table, COUNTER_CELL, cells)
        except BfrtError as error:
            raise ValueError(str(error)) from error
        return {cell: _count(fields) for cell, fields in zip(cells, found, strict=True)}

    def all_counters(self) -> dict[str, dict[int, Count]]:
        """The cells of all counters of the program that hold something. Raises BfrtError."""
        found = {}
        for name in self._program.counters:
            rows = self._bfrt.all_counted(f"{PIPELINE}.{name}")
            counts = {cell: _count(fields) for cell, fields in rows.items()}
            found[name] = {cell: count for cell, count in counts.items() if any(count)}
        return found

    def registers(self, name: str, cells: Sequence[int]) -> dict[int, tuple[int, ...]]:
        """What these cells of a register of the program hold in each pipe, read from the chip now.
        Raises BfrtError, and ValueError if the program has no such register."""
        full = self._program.register(name)
        found = self._bfrt.counted(f"{PIPELINE}.{full}", CELL, cells)
        return {cell: _pipes(fields) for cell, fields in zip(cells, found, strict=True)}

    def reset(self) -> None:
        """All registers and counters of the program as at the beginning, whatever packets have
        made of them. Raises BfrtError."""
        for name in (*self._program.registers, *self._program.counters):
            self._bfrt.clear(f"{PIPELINE}.{name}")
        self._ledger.forget()

    def close(self) -> None:
        """Puts the switch back as it was and ends the connection. Raises BfrtError."""
        with ExitStack() as last:  # each of them, whatever becomes of the others
            last.callback(self._bfrt.close)
            last.callback(self._ledger.restore)
            last.callback(self._bfrt.unwatch)


def _frames(fields: dict[str, Value]) -> tuple[int, int]:
    received, sent = (_number(fields.get(name)) for name in COUNTERS)
    return received, sent


def _count(fields: dict[str, Value]) -> Count:
    return Count(_number(fields.get(PACKETS)), _number(fields.get(BYTES)))


def _pipes(fields: dict[str, Value]) -> tuple[int, ...]:
    """A register's only field, by pipe."""
    values = next(iter(fields.values()), ())
    found = values if isinstance(values, tuple) else (values,)
    return tuple(_number(value) for value in found)


def _number(value: Value | None) -> int:
    return value if isinstance(value, int) else 0
