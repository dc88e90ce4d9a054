"""P4Runtime for the switches of an exercise, on the ports where the tutorials' controllers look."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType

from p4lab import _engine
from p4lab.exercise.files import Exercise, Switch
from p4lab.network import NetworkError

ADDRESS = "127.0.0.1"
LEAVING_SECONDS = 3


class Service(AbstractContextManager["Service"]):
    """A server for each switch. They listen in the network namespace in which they are made, also
    for switches that live in another one."""

    def __init__(self, exercise: Exercise, *, bmv2_compat: bool = False) -> None:
        """Raises NetworkError if a port is taken."""
        self._servers: dict[str, _engine.P4RuntimeServer] = {}
        folders = [exercise.folder, exercise.folder / "build"]
        for switch in exercise.switches:
            address = f"{ADDRESS}:{switch.p4runtime_port}"
            try:
                self._servers[switch.name] = _listening(address, folders, bmv2_compat)
            except OSError as error:
                self.close()
                raise NetworkError(
                    f"P4Runtime of {switch.name}: {error}. Is another exercise running?"
                ) from error

    def add(self, switch: Switch, forwarder: _engine.Forwarder) -> None:
        """Makes a switch the device of its server. Raises NetworkError."""
        try:
            self._servers[switch.name].add(switch.device, forwarder)
        except ValueError as error:
            raise NetworkError(f"P4Runtime of {switch.name}: {error}") from error

    def close(self) -> None:
        """Ends all connections."""
        for server in self._servers.values():
            server.close()
        self._servers.clear()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _listening(address: str, folders: Sequence[Path], bmv2_compat: bool) -> _engine.P4RuntimeServer:
    """A server at an address, which one that was closed just now may need a moment to leave."""
    deadline = time.monotonic() + LEAVING_SECONDS
    while True:
        try:
            return _engine.P4RuntimeServer(address, folders=folders, bmv2_compat=bmv2_compat)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
