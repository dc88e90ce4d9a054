"""The network, with packets on their way."""

from __future__ import annotations

from collections import Counter
from html import escape
from itertools import groupby
from typing import Any

import traitlets

from p4lab.model.run import Received, Stream
from p4lab.steps import emits, short
from p4lab.topology import Topology
from p4lab.tracing import Hop
from p4lab.widgets.flights import MAX_FLIGHTS, NO_PORT, UNCHOSEN, Flight, flights
from p4lab.widgets.lab import Lab
from p4lab.widgets.layout import FLAT, Places, beside, edge, half_width, place
from p4lab.widgets.sent import Sent
from p4lab.widgets.view import SentView, script

_PORT = " (egress_spec is the dropping port)"
"""What the engine adds to a drop, and says nothing to who has called mark_to_drop"""


class TopologyView(SentView):
    """Plays what one `send` put on the links, the last unless told. `follow`: shows later ones as
    they are sent. `playing`: begins by itself."""

    _esm = script("topology.js")
    down: traitlets.List[Any] = traitlets.List().tag(sync=True)
    """Links that are down now, as pairs of names"""
    playing = traitlets.Bool().tag(sync=True)

    def __init__(
        self,
        lab: Lab,
        sent: Sent | None = None,
        *,
        follow: bool = False,
        playing: bool = False,
    ) -> None:
        self._follow = follow
        self._places: Places | None = None
        super().__init__(lab, sent)
        self.playing = playing
        self._watch()
        lab.watch(self._watch)
        self.on_msg(self._message)

    def draw(self, sent: Sent) -> None:
        if self._places is None:  # nodes stay where they are, whoever sends next
            self._places = place(sent.topology, sent.stream.source.name)
        self._flights = flights(sent)
        self.data = {
            "width": self._places.width,
            "height": self._places.height,
            "size": self._places.size,
            "title": f"The network {sent.topology.name}",
            "nodes": _nodes(sent, self._places),
            "links": [[link.a, link.b] for link in sent.topology.links],
            "flights": [flight.to_json() for flight in self._flights[:MAX_FLIGHTS]],
            "events": _events(sent, self._flights[:MAX_FLIGHTS]),
            "streams": [_ends(stream, sent.topology) for stream in sent.plan.streams],
            "stream": self._stream(),
            "summary": self.told(),
            "ok": sent.ok,
        }

    def _watch(self) -> None:
        self.down = sorted(sorted(ends) for ends in self._lab.down)
        if self._follow and self._lab.sent is not None and self._lab.sent is not self._sent:
            self.show(self._lab.sent)

    def _message(self, _: object, content: dict[str, Any], __: object) -> None:
        """A click: send one more packet, of the same stream or of another, and show it; or cut or
        mend a link. A view that plays by itself shows at once what comes of that."""
        what = content.get("do")
        try:
            if what == "link":
                a, b = content["ends"]
                self._lab.set_link(a, b, up=frozenset((a, b)) in self._lab.down)
            if what == "send" or self.playing:
                sent = self._lab.send(int(content.get("stream", self._stream())) + 1)
                if sent is not self._sent:
                    self.show(sent)
        except Exception as error:  # a click has no cell where a traceback could stand
            self.send({"error": str(error)})

    def _stream(self) -> int:
        """Which of the plan's streams is shown."""
        return [self._sent.is_of(stream) for stream in self._lab.plan.streams].index(True)

    def told(self) -> str:
        left_out = len(self._flights) - MAX_FLIGHTS
        more = f" The first {MAX_FLIGHTS} of {len(self._flights)} frames are shown."
        return f"{self._sent}{more if left_out > 0 else ''}"

    def drawn(self) -> str:
        events = "".join(f"<li>{escape(event['text'])}</li>" for event in self.data["events"])
        return (
            f"{_svg(self.data, self._flights, self.down)}"
            f"<p>{escape(self.told())}</p><ol>{events}</ol>"
        )


def _ends(stream: Stream, topology: Topology) -> str:
    """From whom to whom, in a menu."""
    names = {str(host.ip_of(stream.destination.version)): host.name for host in topology.hosts}
    target = names.get(str(stream.destination), str(stream.destination))
    return f"{stream.source.name} → {target}"


def _nodes(sent: Sent, places: Places) -> list[dict[str, Any]]:
    """`takes` is how many frames a host can read and should get: one more is wrong."""
    receivers = {host.name for host in sent.stream.receivers}
    unwanted = set(sent.unwanted)
    marks = sent.system.marks(sent.plan)
    roles = {sent.stream.source.name: "source", **dict.fromkeys(receivers, "receiver")}
    boxes = beside(sent.topology, places, {**marks, **roles})
    nodes: list[dict[str, Any]] = []
    for router in sent.topology.routers:
        x, y = places.nodes[router.name]
        mark = marks.get(router.name, "")
        node = {"name": router.name, "kind": "router", "x": x, "y": y, "note": "", "mark": mark}
        nodes.append(node)
    for host in sent.topology.hosts:
        x, y = places.nodes[host.name]
        role = roles.get(host.name, "")
        node = {"name": host.name, "kind": "host", "x": x, "y": y, "note": role, "mark": role}
        if host.name in receivers or host.name in unwanted:
            got = sent.received.get(host.name, Received(0, 0))
            node["takes"] = 0 if host.name in unwanted else got.unique
        node["half"] = half_width(host.name, places.size)
        nodes.append(node)
    for node in nodes:
        if node["name"] in boxes:
            left, _, right, bottom = boxes[node["name"]]
            node["mark_at"] = [(left + right) / 2, bottom - 3]
    return nodes


def _events(sent: Sent, found: list[Flight]) -> list[dict[str, Any]]:
    """One line for each node that sends at a moment, and one for what reached the hosts."""
    events = []
    order = sorted(found, key=lambda flight: (flight.start, flight.source))
    for (start, source), group in groupby(order, key=lambda flight: (flight.start, flight.source)):
        text = "; ".join(f"to {_said(flight)}" for flight in group)
        events.append({"time": start, "text": f"{source} sends {text}"})
    seen = {flight.source for flight in found}
    for hop in sent.all_hops():
        if hop.router not in seen:
            fates = ", ".join(sorted({_fate(sent, hop, one) for one in hop.packets} - {""}))
            at = hop.time - sent.all_hops()[0].time
            events.append(
                {"time": at, "text": f"{hop.router} sends nothing: {fates.replace(_PORT, '')}"}
            )
    events.sort(key=lambda event: event["time"])
    end = max((flight.end for flight in found), default=0)
    return [*events, {"time": end, "text": str(sent)}]


def _said(flight: Flight) -> str:
    what = f" with {flight.said}" if flight.said else ""
    return f"{flight.target}{what}{f', but {flight.lost}' if flight.lost else ''}"


def _fate(sent: Sent, hop: Hop, packet: dict[str, Any]) -> str:
    fate = packet["fate"]
    if fate is None:
        return "the packet was lost"
    if packet["id"] in hop.given:
        why = _reason(sent, packet)
        return f"it gave the packet to the control plane{f': reason {why}' if why else ''}"
    if fate["kind"] == "dropped":
        return str(fate["reason"])
    if fate["kind"] == "sent":
        if fate["port"] == NO_PORT:
            return f"{UNCHOSEN} (port {NO_PORT})"
        return f"it was sent to port {fate['port']}, which has no cable"
    return ""


def _reason(sent: Sent, packet: dict[str, Any]) -> str:
    """Why the control plane got a packet, as the system names it; empty if no header says it."""
    for step in emits(packet):
        text = step["fields"].get("reason", "")
        try:
            reason = int(text, 0)
        except ValueError:
            continue  # none, or an enum
        name = f"{short(step['header'])}.reason"
        if reason:
            return sent.system.notation_for(sent.plan).words(name, reason, reason.bit_length())
    return ""


def _svg(data: dict[str, Any], found: list[Flight], down: list[list[str]]) -> str:
    """The whole way at once: an arrow where copies went, with how many."""
    at = {node["name"]: (node["x"], node["y"]) for node in data["nodes"]}
    half = {node["name"]: node.get("half") for node in data["nodes"]}
    size = data["size"]
    parts = [
        f'<svg viewBox="0 0 {data["width"]:.0f} {data["height"]:.0f}" role="img" '
        f'aria-label="{escape(data["summary"])}" class="p4v-net" '
        f'style="max-width:{data["width"]:.0f}px">',
        '<defs><marker id="p4v-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" '
        'markerHeight="6" orient="auto"><path d="M0 0L8 4L0 8z" class="p4v-tip"/></marker></defs>',
    ]
    for a, b in data["links"]:
        (x1, y1), (x2, y2) = at[a], at[b]
        off = " down" if sorted((a, b)) in down else ""
        parts.append(
            f'<line class="p4v-link{off}" x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}"/>'
        )
    carried = Counter((flight.source, flight.target) for flight in found)
    for (source, target), count in carried.items():
        (x1, y1), (x2, y2) = at[source], at[target]
        length = max(1.0, ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5)
        ux, uy = (x2 - x1) / length, (y2 - y1) / length
        near, far = (edge(half[node], size, ux, uy) + 3 for node in (source, target))
        parts.append(
            f'<line class="p4v-trail" marker-end="url(#p4v-tip)" x1="{x1 + ux * near:.0f}" '
            f'y1="{y1 + uy * near:.0f}" x2="{x2 - ux * far:.0f}" y2="{y2 - uy * far:.0f}"/>'
        )
        if count > 1:
            parts.append(
                f'<text class="p4v-count" x="{(x1 + x2) / 2:.0f}" y="{(y1 + y2) / 2 - 6:.0f}">'
                f"{count}</text>"
            )
    for node in data["nodes"]:
        shape = (
            f'<circle cx="{node["x"]:.0f}" cy="{node["y"]:.0f}" r="{size:.0f}"/>'
            if node["kind"] == "router"
            else f'<rect x="{node["x"] - node["half"]:.0f}" y="{node["y"] - size * FLAT:.0f}" '
            f'width="{2 * node["half"]:.0f}" height="{2 * FLAT * size:.0f}" rx="6"/>'
        )
        parts.append(
            f'<g class="p4v-node {node["kind"]}">{shape}<text x="{node["x"]:.0f}" '
            f'y="{node["y"] + 4:.0f}">{escape(node["name"])}</text></g>'
        )
    return "".join([*parts, "</svg>"])
