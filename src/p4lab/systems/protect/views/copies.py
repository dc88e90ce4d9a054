"""What became of each copy of a protected packet, from the engine's traces.

The verdict, and what the registers held, are what the switch did. Nothing is judged a second time
here; only how far one number is ahead of another is counted (`Arrival.ahead`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from p4lab.steps import extracts
from p4lab.systems.protect.entries import Placed
from p4lab.systems.protect.expected import journey
from p4lab.systems.protect.placement import placements
from p4lab.tracing import Hop
from p4lab.widgets.sent import Sent

ACCEPTED, DUPLICATE, ROGUE = "accepted", "duplicate", "rogue"
"""What a PTE says of a copy: verdict_t of p4/protect/headers.p4"""

LAST = "pte_last_sn", "pte_last_time"
SLOT = "slot_sn", "slot_time"
"""Registers of numbers, and of when those were accepted (p4/protect/README.md)"""

_REGISTER = re.compile(r"(?P<name>\w+)\.(?:read|write)\((?P<args>.*)\)$")


@dataclass(frozen=True)
class Cell:
    """A cell of a register of numbers as a copy found it and left it. It held nothing before if no
    number was accepted there; `time` is when that was, in microseconds of the switch."""

    index: int
    before: int | None
    after: int
    time: int


@dataclass(frozen=True)
class Arrival:
    """A copy at the PTE. `packet` counts those that were sent, from 0; `time` is in nanoseconds;
    `order` is its place among all arrivals at the PTE; `path` is 1 or 2, or 0 for a wrong address;
    `verdict` is empty for a copy that was not judged, and `reason` says why it was given up, if it
    was. `now` and `reset` are microseconds of the switch."""

    packet: int
    time: int
    order: int
    path: int
    number: int
    verdict: str
    reason: str
    cell: Cell | None
    now: int
    reset: int

    def ahead(self, size: int) -> int:
        """How many steps it is from what the cell held on to this number, on a circle of `size`
        numbers."""
        assert self.cell is not None and self.cell.before is not None
        return (self.number - self.cell.before) % size

    @property
    def forgot(self) -> bool:
        """Whether what the cell held was older than the reset time."""
        cell = self.cell
        if cell is None or cell.before is None or not self.reset:
            return False
        return self.now - cell.time > self.reset


def protecting(sent: Sent) -> Placed | None:
    """The first connection that what was sent belongs to; None if nobody protects it."""
    placed = placements(sent.plan)
    steps = journey(sent.topology, placed, sent.stream)
    return next((step for step in steps if isinstance(step, Placed)), None)


def arrivals(sent: Sent, placed: Placed) -> list[Arrival]:
    """Every copy at the end of a connection, in the order in which the switch took them."""
    found = [
        arrival
        for packet in range(len(sent.hops))
        for hop in sent.all_hops(packet)
        if hop.router == placed.connection.egress
        for arrival in [_arrival(hop, packet, placed)]
        if arrival is not None
    ]
    return sorted(found, key=lambda arrival: arrival.order)


def _arrival(hop: Hop, packet: int, placed: Placed) -> Arrival | None:
    """A copy of the connection; None for any other packet."""
    number, address = numbered(hop.packets[0], placed)
    if number is None:
        return None
    seen = _Seen(hop.packets[0]["steps"])
    paths = {int(placed.address(path)): path for path in (1, 2)}
    fate = hop.packets[0]["fate"] or {}
    reason = seen.reason or (str(fate["reason"]) if fate.get("kind") == "dropped" else "")
    return Arrival(
        packet,
        hop.time,
        hop.order,
        paths.get(address, 0),
        number,
        seen.verdict,
        reason,
        seen.cell(),
        seen.now,
        seen.reset,
    )


def numbered(packet: dict[str, Any], placed: Placed) -> tuple[int | None, int]:
    """The number that a packet came with, if it is a copy of the connection, and the address that
    its tunnel leads to."""
    address = 0
    for step in extracts(packet):
        fields = step["fields"]
        if {"cid", "sn"} <= fields.keys():
            is_own = int(fields["cid"], 0) == placed.connection.cid
            return (int(fields["sn"], 0) if is_own else None), address
        address = int(fields.get("dst_addr", "0"), 0)
    return None, 0


@dataclass
class _Seen:
    """What the steps of a packet say of its judgement."""

    steps: Sequence[dict[str, Any]]
    verdict: str = ""
    reason: str = ""
    now: int = 0
    reset: int = 0
    read: dict[str, tuple[int, int]] = field(default_factory=dict)
    written: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        nothing = {"kind": "", "name": "", "file": "", "line": 0}
        for step, following in pairwise([*self.steps, nothing]):
            if step["kind"] == "change":
                self._change(step)
            elif step["kind"] == "table":
                args = {arg["name"]: arg["value"] for arg in step["args"]}
                self.reset = args.get("reset_time", self.reset)
            elif step["kind"] == "extern" and step["name"].startswith("register."):
                self._register(step, following)

    def _change(self, step: dict[str, Any]) -> None:
        name = step["name"].rsplit(".", 1)[-1]
        after = str(step["after"])
        value = after.rsplit(".", 1)[-1].lower()
        if after.startswith("verdict_t."):
            self.verdict = value if value in (ACCEPTED, DUPLICATE, ROGUE) else ""
        elif after.startswith("drop_reason_t."):
            self.reason = "" if value == "none" else value.replace("_", " ")
        elif name == "now" and not self.now:
            self.now = int(after, 0)

    def _register(self, step: dict[str, Any], following: dict[str, Any]) -> None:
        """A reading gives its value to a variable: if that held another one, by the next step."""
        found = _REGISTER.search(step["text"])
        if found is None:
            return
        name = found["name"]
        args = dict(part.split("=", 1) for part in found["args"].split(", "))
        index = int(args["index"], 0)
        if "value" in args:
            self.written[name] = int(args["value"], 0)
            return
        place = ("file", "line")
        changed = following["kind"] == "change" and all(
            following[key] == step[key] for key in place
        )
        value = following["after"] if changed else args["result"]
        self.read[name] = index, int(value, 0)

    def cell(self) -> Cell | None:
        """The cell of numbers that was asked."""
        for numbers, times in (LAST, SLOT):
            if numbers in self.read:
                index, before = self.read[numbers]
                _, time = self.read.get(times, (index, 0))
                after = self.written.get(numbers, before)
                return Cell(index, before if time else None, after, time)
        return None


def numbers(sent: Sent, source: str, target: str) -> str:
    """The numbers of the copies that a router sent to a neighbour, in the order of their packets:
    "1, 2, 3"."""
    found = (str(number) for number in _numbers(sent, source, target))
    return ", ".join(found) or "none"


def _numbers(sent: Sent, source: str, target: str) -> Iterator[int]:
    for packet in range(len(sent.hops)):
        for hop in sent.all_hops(packet):
            if (hop.source, hop.router) == (source, target):
                for step in extracts(hop.packets[0]):
                    if {"cid", "sn"} <= step["fields"].keys():
                        yield int(step["fields"]["sn"], 0)


def outcome(sent: Sent, router: str) -> str:
    """What a router did with the first packet, in a few words."""
    hop = sent.hop(router)
    if hop is None:
        return "nothing"
    ports = [
        packet["fate"]["port"]
        for packet in hop.packets
        if packet["fate"] and packet["fate"]["kind"] == "sent"
    ]
    cpu = sent.system.cpu_port("V1Switch")
    if cpu in ports:
        return "it goes to the control plane"
    known = [port for port in ports if sent.topology.neighbour(router, port)]
    if not known:
        return "it is dropped"
    return "it leaves once" if len(known) == 1 else f"it leaves {len(known)} times"
