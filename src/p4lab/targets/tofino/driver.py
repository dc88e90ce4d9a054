"""What a control plane writes through: neutral entries in, rows of one Tofino out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from p4lab.control.entries import Entries, Update
from p4lab.control.tables import Tables
from p4lab.targets.tofino.bfrt import Bfrt, BfrtError
from p4lab.targets.tofino.journal import Journal, Ledger, journal_path
from p4lab.targets.tofino.plan import changes, enabling, opening, wanted_rows
from p4lab.targets.tofino.rack import SwitchSetup
from p4lab.targets.tofino.rows import Row, Value
from p4lab.targets.tofino.schema import PORT_STAT, Program

COUNTERS = ("$FramesReceivedOK", "$FramesTransmittedOK")


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
        send: Callable[[int, bytes], None] = nowhere,
        journal: Journal | None = None,
    ) -> None:
        """`send` gets a frame out of a port of the chip, by its CPU port."""
        self._bfrt = bfrt
        self._setup = setup
        self._program = program
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
        self._ledger.write(opening(self._setup))
        return recovered

    def write(self, updates: Sequence[Update]) -> None:
        """Carries all updates out or none. With the first of them the ports are enabled. Raises
        ValueError for what the program has no place for or the switch refuses."""
        tables = Tables()
        tables.apply([Update("insert", entity) for entity in self._tables.entries])
        tables.apply(updates)
        rows = wanted_rows(tables.entries, self._setup, self._program)
        steps = changes(self._rows, rows)
        if not self._up:
            steps += enabling(self._setup)
        try:
            self._ledger.write(steps)
        except BfrtError as error:
            raise ValueError(str(error)) from error
        self._tables, self._rows, self._up = tables, rows, True

    def entries(self) -> Entries:
        """What has been written, as the control plane said it."""
        return self._tables.entries

    def packet_out(self, port: int, frame: bytes) -> None:
        """Sends a frame out of a port of the topology."""
        self._send(self._ports[port], frame)

    def frames(self) -> dict[int, tuple[int, int]]:
        """Frames received and sent, by port of the topology. Raises BfrtError."""
        found = self._bfrt.counters(PORT_STAT, list(self._ports.values()))
        return {number: _frames(found[port]) for number, port in self._ports.items()}

    def close(self) -> None:
        """Puts the switch back as it was and ends the connection. Raises BfrtError."""
        try:
            self._ledger.restore()
        finally:
            self._bfrt.close()


def _frames(counters: dict[str, Value]) -> tuple[int, int]:
    received, sent = (counters.get(name, 0) for name in COUNTERS)
    assert isinstance(received, int) and isinstance(sent, int)
    return received, sent
