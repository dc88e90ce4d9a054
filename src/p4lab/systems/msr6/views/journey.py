"""What every router did with a packet and its tree, from the engine's traces."""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from p4lab.steps import ENTERS, Widths, emits
from p4lab.systems.msr6.views.frames import Frame
from p4lab.tracing import Hop
from p4lab.widgets.sent import Sent

_REASON, _NO_REASON = "drop_reason_t.", "NONE"


@dataclass(frozen=True)
class Look:
    """What a table with a row for each bit said: `waiting` are the bits that it was asked for,
    `taken` those that the row answers for (an adjacency's own bit, or an F-BM)."""

    action: str
    waiting: int
    taken: int


@dataclass
class Copy:
    """A frame that a router sent. `target` is a neighbour or the router itself, empty where the
    port has no cable; `lost` says why it never arrived; `next` is where it did, if at a router."""

    frame: Frame
    target: str
    port: int
    look: Look | None
    lost: str = ""
    next: Visit | None = None


@dataclass(frozen=True)
class End:
    """A packet that went no further at a router. `reason` has the program's name for it, or the
    engine's words; `place` is where that was decided. `told`: it went to the control plane."""

    reason: str
    place: str
    told: bool
    look: Look | None


@dataclass
class Visit:
    """A router with a frame, and all that it did with it, in as many passes as that took. `tree`
    tells the trees of a packet apart; None where it carries none."""

    router: str
    source: str
    time: int
    frame: Frame
    tree: int | None
    origin: Visit | None
    did: list[Copy | End] = field(default_factory=list)

    @property
    def copies(self) -> list[Copy]:
        return [one for one in self.did if isinstance(one, Copy)]

    @property
    def ends(self) -> list[End]:
        return [one for one in self.did if isinstance(one, End)]


def journey(sent: Sent, packet: int = 0) -> list[Visit]:
    """The visits of a packet that was sent (0 is the first) and of all that it became, in the order
    of time."""
    if packet >= len(sent.hops):
        return []
    return list(_Follower(sent).follow(sent.hops[packet]))


class _Follower:
    def __init__(self, sent: Sent) -> None:
        summary = sent.program.summary
        self._sent = sent
        self._widths = Widths(summary)
        self._cpu_port = sent.system.cpu_port(summary["package"])
        self._trees = 0

    def follow(self, first: Hop) -> Iterator[Visit]:
        waiting: list[tuple[int, int, Hop, Copy | None, Visit | None]] = [
            (first.time, 0, first, None, None)
        ]
        count = 0
        while waiting:
            _, _, hop, came, origin = heapq.heappop(waiting)
            for visit, onward in self._visits(hop, came, origin):
                yield visit
                for copy, after in onward:
                    count += 1
                    heapq.heappush(waiting, (after.time, count, after, copy, visit))

    def _visits(
        self, hop: Hop, came: Copy | None, origin: Visit | None
    ) -> list[tuple[Visit, list[tuple[Copy, Hop]]]]:
        """What one arrival led to: a visit for each frame that the router has read, with the copies
        that came to a router."""
        found: list[tuple[Visit, list[tuple[Copy, Hop]]]] = []
        packets = {packet["id"]: packet for packet in hop.packets}
        visits: dict[int, Visit] = {}  # of every packet of the trace
        looks: dict[int, Look | None] = {}
        for packet in hop.packets:
            number, parent = packet["id"], packet["parent"]
            if parent is None:
                visit = self._visit(hop, hop.source, Frame.of(hop.data), origin)
                if came is not None:
                    came.next = visit
                found.append((visit, []))
            elif packet["kind"] in ENTERS:
                visit = self._again(hop, packets[parent], visits[parent], looks[parent])
                if visit is not visits[parent]:
                    found.append((visit, []))
            else:
                visit = visits[parent]
            visits[number] = visit
            looks[number] = _look(packet) or (None if packet["kind"] in ENTERS else looks[parent])
            onward = next(copies for one, copies in found if one is visit)
            made = self._fate(hop, packet, packets, looks[number])
            if made is not None:
                visit.did.append(made)
            if isinstance(made, Copy) and number in hop.next:
                onward.append((made, hop.next[number]))
        return found

    def _visit(self, hop: Hop, source: str, frame: Frame, origin: Visit | None) -> Visit:
        tree = None
        if frame.has_tree:
            tree = origin.tree if origin is not None else None
            if tree is None:
                tree, self._trees = self._trees, self._trees + 1
        return Visit(hop.router, source, hop.time, frame, tree, origin)

    def _again(self, hop: Hop, parent: dict[str, Any], visit: Visit, look: Look | None) -> Visit:
        """The visit that a further pass belongs to: the same, if the packet is what it was, or that
        of a frame which the router has made for itself."""
        frame = Frame.made(emits(parent), self._widths)
        if frame.is_same(visit.frame):
            return visit
        own = self._visit(hop, hop.router, frame, visit)
        visit.did.append(Copy(frame, hop.router, parent["ingress_port"] or 0, look, "", own))
        return own

    def _fate(
        self, hop: Hop, packet: dict[str, Any], packets: dict[int, Any], look: Look | None
    ) -> Copy | End | None:
        fate = packet["fate"]
        if fate is None:
            return End("lost without a word", "", False, look)
        if fate["kind"] == "dropped":
            return _end(fate["reason"], packet, packets, False, look)
        if fate["kind"] != "sent":
            return None
        if fate["port"] == self._cpu_port:
            return _end("sent to the control plane", packet, packets, True, look)
        topology = self._sent.topology
        target = topology.neighbour(hop.router, fate["port"])
        lost = ""
        if target is not None and packet["id"] not in hop.next.keys() | hop.delivered.keys():
            is_down = topology.link(hop.router, target).ends in self._sent.down
            lost = "the link is down" if is_down else "it is lost on the link"
        return Copy(Frame.of(fate["data"]), target or "", fate["port"], look, lost)


def _look(packet: dict[str, Any]) -> Look | None:
    """What the table of adjacencies, or the BIFT, said in a pass."""
    for step in reversed(packet["steps"]):
        if step["kind"] == "table":
            keys = {key["name"]: key["value"] for key in step["key"]}
            args = {arg["name"]: arg["value"] for arg in step["args"]}
            waiting = keys.get("bits", keys.get("bit_string"))
            taken = args.get("own", args.get("fbm"))
            if waiting is not None and taken is not None:
                return Look(step["action"].rsplit(".", 1)[-1], waiting, taken)
    return None


def _end(
    words: str, packet: dict[str, Any], packets: dict[int, Any], told: bool, look: Look | None
) -> End:
    """Why a packet went no further: the last reason that the program has written down."""
    own: dict[str, Any] | None = packet
    while own is not None:
        for step in reversed(own["steps"]):
            after = str(step.get("after", "")) if step["kind"] == "change" else ""
            if after.startswith(_REASON) and not after.endswith(_NO_REASON):
                place = f"{os.path.basename(step['file'])}:{step['line']}" if step["file"] else ""
                return End(after.removeprefix(_REASON), place, told, look)
        own = None if own["kind"] in ENTERS else packets.get(own["parent"])
    return End(words, "", told, look)
