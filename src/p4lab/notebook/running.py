"""A network that keeps running between the cells of a notebook, and what is sent through it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from p4lab import _engine
from p4lab.grading.toml import is_named
from p4lab.model.control import Count, CountingDriver, Driver
from p4lab.model.entries import Entries, Match, TableEntry, Update
from p4lab.model.run import Plan, Received
from p4lab.model.tables import Tables
from p4lab.session.run import Session, virtual_network
from p4lab.topology import Link
from p4lab.tracing import follow
from p4lab.widgets.sent import Cut, Ends, Sent

REGISTERS = {"register", "Register"}
"""What v1model and TNA call them"""

Row = tuple[str, frozenset[tuple[str, Match]], int]
"""What identifies a row, the same for rows by hand and the control plane's"""


class Running:
    """A plan's session in virtual time, converged and ready to send.

    Entries can be changed by hand. What the control plane writes later wins over them. `unused`
    are the tables that it wanted to write and that the program does not apply (yet); `unheard` says
    what did not come to it, if so.
    """

    def __init__(self, plan: Plan, program: _engine.Program) -> None:
        """Raises NetworkError or NumberError."""
        self.plan = plan
        self.net = virtual_network(plan, program)
        self.program = program
        self.down: frozenset[Ends] = frozenset()
        self._numbers = {router.name: i for i, router in enumerate(plan.topology.routers)}
        self._hands = {name: _ByHand() for name in self._numbers}
        self._tables = {table["name"] for table in program.summary["tables"]}
        self.unused: set[str] = set()
        self._flow = 0
        self._session = Session(plan, self.net, driver=self._driver)
        self._session.start()
        self.unheard = self._session.converge_or_go_on()

    def _driver(self, router: str) -> Driver:
        def write(updates: Sequence[Update]) -> None:
            self.net.engine.write(self._numbers[router], updates)

        return _Reconciled(self.net.driver(router), write, self._hands[router], self._has)

    def _has(self, table: str) -> bool:
        """Whether the program has a table. A program without it can still be watched."""
        if any(name == table or name.endswith(f".{table}") for name in self._tables):
            return True
        self.unused.add(table)
        return False

    def send(self, stream: int = 1, packets: int = 1, cut: Cut | None = None) -> Sent:
        """Sends packets of one of the plan's streams, counted from 1, and follows each of them.

        Raises IndexError if there is no such stream, KeyError if there is no link to be cut.
        """
        link = self.plan.topology.link(*cut.ends) if cut else None
        self._flow += 1
        chosen = replace(self.plan.streams[stream - 1], flow=self._flow, packets=packets)
        self.net.trace()
        start = self._session.begin((chosen,))
        end = self._session.end(start, (chosen,))
        down = self.down
        if link and cut:
            end = max(end, start + (cut.end or cut.start))
            self._cut(link, cut, start)
        arrivals, problem = self.net.run_traced(end, self._session.controller, packets)
        self.net.trace(False)
        found = follow(self.plan.topology, arrivals, self.net.cpu.number)
        hops = tuple(hop for (flow, _), hop in found.items() if flow == self._flow)
        observed = self.net.observed((chosen,))
        seen = observed.received
        received = {
            host.name: seen.get((host.name, self._flow), Received(0, 0))
            for host in self.plan.topology.hosts
            if host in chosen.receivers or (host.name, self._flow) in seen
        }
        notes = observed.notes
        return Sent(
            self.plan, self.program, chosen, start, hops, received, down, problem, cut, notes
        )

    def _cut(self, link: Link, cut: Cut, start: int) -> None:
        """Lets a link fail, and come back if it shall, after `start`. Nobody is told."""
        self.net.set_link_at(link, start + cut.start, False)
        if cut.end is None:
            self.down |= {link.ends}
        else:
            self.net.set_link_at(link, start + cut.end, True)

    def set_link(self, link: Link, up: bool, *, tell: bool = False, seen: bool = True) -> None:
        """Takes a link down or up. The routers at its ends see it unless not `seen`; the control
        plane hears of it only if told."""
        self.net.set_link(link, up)
        if seen:
            self._session.plane.link_seen(link, up)
        self.down = self.down - {link.ends} if up else self.down | {link.ends}
        if tell:
            self._session.plane.link_changed(self.net.now, link, up)

    def entries(self, router: str, table: str) -> list[dict[str, Any]]:
        """The rows of a table as the switch has them. Raises ValueError for an unknown table."""
        return self.net.engine.entries(self._numbers[router], table)

    def read_cell(self, router: str, name: str, index: int) -> int:
        """What a cell of a register holds, or the packets in one of a counter. Raises ValueError
        for what is not there."""
        instances = self.program.summary["instances"]
        kinds = {one["type"] for one in instances if is_named(one["name"], name)}
        node = self._numbers[router]
        if kinds & REGISTERS:
            return self.net.engine.read_register(node, name, index)
        return self.net.engine.read_counter(node, name, index)[0]

    def write(self, router: str, updates: Sequence[Update]) -> None:
        """Changes rows by hand, all or none. Raises ValueError with what the switch says."""
        self.net.engine.write(self._numbers[router], updates)
        for update in updates:
            if isinstance(update.entity, TableEntry):
                self._hands[router].note(update.kind, _row(update.entity))


class _ByHand:
    """Which rows of a switch were made and removed behind the control plane's back."""

    def __init__(self) -> None:
        self.made: set[Row] = set()
        self.gone: set[Row] = set()

    def note(self, kind: str, row: Row) -> None:
        if kind == "delete":
            self.made.discard(row)
            self.gone.add(row)
        elif kind == "insert":
            self.gone.discard(row)
            self.made.add(row)


def _row(entry: TableEntry) -> Row:
    return entry.table.rsplit(".", 1)[-1], frozenset(entry.match), entry.priority


class _Reconciled:
    """A driver for a switch with rows that its control plane does not know, and for a program that
    lacks a table: its rows are left out."""

    def __init__(
        self,
        driver: CountingDriver,
        write: Callable[[Sequence[Update]], None],
        hand: _ByHand,
        has: Callable[[str], bool],
    ) -> None:
        self._driver = driver
        self._write = write
        self._hand = hand
        self._has = has
        self._tables = Tables()

    def write(self, updates: Sequence[Update]) -> None:
        self._write([fit for update in updates for fit in self._fit(update)])
        self._tables.apply(updates)

    def entries(self) -> Entries:
        """What the control plane has written, as if nobody else had."""
        return self._tables.entries

    def _fit(self, update: Update) -> list[Update]:
        if not isinstance(update.entity, TableEntry):
            return [update]
        if not self._has(update.entity.table):
            return []
        row = _row(update.entity)
        made, gone = row in self._hand.made, row in self._hand.gone
        self._hand.made.discard(row)
        self._hand.gone.discard(row)
        if update.kind == "delete":
            return [] if gone else [update]
        kind = "modify" if made else "insert" if gone else update.kind
        return [Update(kind, update.entity)]

    def packet_out(self, port: int, frame: bytes) -> None:
        self._driver.packet_out(port, frame)

    def counters(self, name: str, cells: Sequence[int]) -> dict[int, Count]:
        """What the switch has counted: hands do not change that."""
        return self._driver.counters(name, cells)
