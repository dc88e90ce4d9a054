"""P4Runtime for the switches of an exercise, on the ports where the tutorials' controllers look."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType

from p4lab import _engine
from p4lab.exercise.files import Exercise, Switch
from p4lab.network import NetworkError

ADDRESS = "127.0.0.1"


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
                server = _engine.P4RuntimeServer(address, folders=folders, bmv2_compat=bmv2_compat)
            except OSError as error:
                self.close()
                raise NetworkError(
                    f"P4Runtime of {switch.name}: {error}. Is another exercise running?"
                ) from error
            self._servers[switch.name] = server

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
