"""A chip behind the server: what is written to its tables, our engine forwards by.

So what p4lab writes over BFRT is put to the test of packets, not of another look at numbers.
"""

from __future__ import annotations

import select
import socket
import subprocess
import threading
from typing import Any

from bfrt_fake.switch import ALL_PIPES, Entry, Switch, Table, _initial
from p4lab import _engine
from p4lab.engine import to_engine
from p4lab.model.entries import (
    CloneSession,
    DefaultAction,
    Entity,
    Exact,
    MulticastGroup,
    TableEntry,
    Ternary,
    diff,
)
from p4lab.model.layout import TNA_CPU_PORT
from p4lab.network.counting import ETH_P_ALL, LONGEST, PACKET_OUTGOING
from p4lab.systems.frr.link_agents import RTMGRP_LINK, carriers
from p4lab.targets.tofino.schema import GROUP, MIRROR, NODE, PORT, PORT_METADATA, PRIORITY

MOST = (1 << 24) - 1  # BFRT's first priority is 0, the engine's the largest


def _carrier(interface: str) -> bool:
    command = ["ip", "-o", "link", "show", "dev", interface]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return "LOWER_UP" in told


def number(value: Any) -> int:
    return int.from_bytes(value, "big") if isinstance(value, bytes) else value


class EngineSwitch(Switch):
    """A chip whose packets the engine forwards, between Linux interfaces by port of the chip."""

    def __init__(
        self, name: str, p4: str, chip: str, program: _engine.Program, ports: dict[int, str]
    ) -> None:
        super().__init__(name, p4, chip)
        self._engine = _engine.Switch(program)
        self._engine.set_cpu_port(TNA_CPU_PORT)
        self._held: frozenset[Entity] = frozenset()
        self._looped: set[int] = set()
        self._told: dict[int, int] = {}
        self._up: set[int] = set()
        self._busy = threading.Lock()
        self._cables = {port: self._cable(interface) for port, interface in ports.items()}
        numbers = {interface: port for port, interface in ports.items()}
        self.dead = {port for interface, port in numbers.items() if not _carrier(interface)}
        monitor = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        monitor.bind((0, RTMGRP_LINK))
        threading.Thread(target=self._monitor, args=(monitor, numbers), daemon=True).start()
        threading.Thread(target=self._forward, daemon=True).start()

    def _monitor(self, monitor: socket.socket, numbers: dict[str, int]) -> None:
        """What the real model does with --port-monitor."""
        while True:
            for interface, up in carriers(monitor.recv(1 << 16)):
                if interface in numbers:
                    self.cable(numbers[interface], up)

    @staticmethod
    def _cable(interface: str) -> socket.socket:
        cable = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        cable.bind((interface, ETH_P_ALL))
        return cable

    def _forward(self) -> None:
        """Frames of ports that are enabled, in and out."""
        numbers = {cable: port for port, cable in self._cables.items()}
        while True:
            for cable in select.select(list(numbers), [], [])[0]:
                frame, address = cable.recvfrom(LONGEST)
                if address[2] == PACKET_OUTGOING or numbers[cable] not in self._up:
                    continue
                with self._busy:
                    out = self._engine.process(numbers[cable], frame)
                for port, data in out:
                    if port in self._up:
                        self._cables[port].send(data)

    def apply(self, updates: Any, together: bool, pipe: int = ALL_PIPES) -> Any:
        answers = super().apply(updates, together, pipe)
        self._follow()
        return answers

    def _follow(self) -> None:
        """The engine gets what has changed, ports included."""
        wanted = frozenset(self._entities())
        told = {port: number(data["looped"]) for port, data in self._named_rows(PORT_METADATA)}
        with self._busy:
            self._engine.write(to_engine(diff(self._held, wanted)))
            for port in self.looped ^ self._looped:
                self._engine.set_loop(port, looped=port in self.looped)
            for port in told.keys() | self._told.keys():
                self._engine.set_port_metadata(port, told.get(port, 0) << 63)
        self._held, self._looped, self._told = wanted, set(self.looped), told
        self._up = {port for port, data in self._named_rows(PORT) if data["$PORT_ENABLE"]}

    # ---- Registers and counters are the engine's

    def _cell(self, table: Table, verb: str, entry: Any, pipe: int) -> None:
        super()._cell(table, verb, entry, pipe)
        index = self._index(table, entry.key)
        value = self.cells[table.name, index, 0]
        assert pipe == ALL_PIPES, "the engine writes all pipes"
        with self._busy:
            self._engine.write([("register", self._plain(table), index, value)])

    def _clear(self, table: Table) -> None:
        super()._clear(table)
        what = self._plain(table)
        with self._busy:
            for index in range(table.told["size"]):
                if table.kind == "Register":
                    self._engine.write([("register", what, index, 0)])
                else:
                    self._engine.write([("counter", what, index, 0, 0)])

    def cell(self, table: Table, index: int, pipe: int) -> int:
        with self._busy:
            return self._engine.read_register(self._plain(table), index, pipe)

    def count(self, table: Table, index: int) -> tuple[int, int]:
        with self._busy:
            return self._engine.read_counter(self._plain(table), index)

    def _named_rows(self, name: str) -> Any:
        """Rows of a table of the chip: the number that is their key, and their fields by name."""
        table = self.table(name)
        for key, row in table.rows.items():
            yield number(key[0][2]), self._named(table, row.data)

    def _entities(self) -> Any:
        for table in self.tables.values():
            if table.name.startswith("pipe.") and "action_specs" in table.told:
                yield from self._of_program(table)
        nodes = dict(self._named_rows(NODE))
        for group, data in self._named_rows(GROUP):
            copies = [nodes[node] for node in data["$MULTICAST_NODE_ID"]]
            replicas = [(p, number(c["$MULTICAST_RID"])) for c in copies for p in c["$DEV_PORT"]]
            yield MulticastGroup(group, tuple(replicas))
        for session, data in self._named_rows(MIRROR):
            if data["$session_enable"] and data["$ucast_egress_port_valid"]:
                yield CloneSession(session, ((number(data["$ucast_egress_port"]), 0),))

    def _of_program(self, table: Table) -> Any:
        names = {each["id"]: each["name"] for each in table.told["key"]}
        for key, row in table.rows.items():
            match: list[tuple[str, Exact | Ternary]] = []
            priority = 0
            for field, kind, *values in key:
                if names[field] == PRIORITY:
                    priority = MOST - number(values[0])
                elif kind == "ternary":
                    match.append((names[field], Ternary(number(values[0]), number(values[1]))))
                else:
                    match.append((names[field], Exact(number(values[0]))))
            action, params = self._action(table, row)
            yield TableEntry(self._plain(table), tuple(match), action, params, priority)
        if table.default != _initial(table) and table.default is not None:
            yield DefaultAction(self._plain(table), *self._action(table, table.default))

    @staticmethod
    def _plain(table: Table) -> str:
        return table.name.removeprefix("pipe.")

    @staticmethod
    def _action(table: Table, row: Entry) -> tuple[str, tuple[tuple[str, int], ...]]:
        (spec,) = [spec for spec in table.told["action_specs"] if spec["id"] == row.action]
        names = {each["id"]: each["name"] for each in spec["data"]}
        return spec["name"], tuple((names[i], number(value)) for i, value in row.data.items())
