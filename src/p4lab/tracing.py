"""What one packet met at every hop: through parsers, tables and externs, across all switches."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from p4lab.engine import load_program
from p4lab.model.run import Plan
from p4lab.network.virtual import PICOSECONDS, VirtualNetwork
from p4lab.packets.probe import Probe
from p4lab.session.run import DRAIN, MILLISECOND, UnheardError, control_plane, cut, subscribe
from p4lab.topology import Topology

if TYPE_CHECKING:
    from rich.tree import Tree

# Steps that repeat what others show: blocks are headings, emits follow from validity.
_QUIET = {"emit"}


@dataclass
class Hop:
    """One arrival at one switch. `packets` are the packet itself and all that the switch made of
    it (clones, replicas, later passes), as the engine gives them; `next` are the arrivals that
    its sent packets became, by packet id; `delivered` the hosts they reached."""

    router: str
    port: int
    source: str
    time: int
    data: bytes
    packets: list[dict[str, Any]]
    next: dict[int, Hop] = field(default_factory=dict)
    delivered: dict[int, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain data: bytes as hexadecimal, time in nanoseconds."""
        return {
            "router": self.router,
            "port": self.port,
            "source": self.source,
            "time": self.time,
            "data": self.data.hex(),
            "packets": [_plain(packet) for packet in self.packets],
            "next": {str(number): hop.to_json() for number, hop in self.next.items()},
            "delivered": {str(number): host for number, host in self.delivered.items()},
        }


def trace(plan: Plan, stream: int = 1, say: Callable[[str], None] = lambda _: None) -> Hop:
    """Follows the first packet of a stream (counted from 1) through a network in virtual time.

    Raises NetworkError, ProgramError, or IndexError if there is no such stream.
    """
    chosen = plan.streams[stream - 1]
    say(f"compiling {plan.program.name}")
    defines = [("BSL", str(plan.bsl))]
    program = load_program(
        plan.program, defines, bmv2_compat=plan.bmv2_compat, undefined=plan.undefined
    )
    with VirtualNetwork(plan.topology, program, seed=plan.seed) as net:
        plane = control_plane(plan, net.driver)
        plane.start(net.now)
        say("subscribing")
        try:
            subscribe(plan, net, plane)
        except UnheardError as error:  # the packet can be followed all the same
            say(str(error))
        cut(plan, net, plane)
        net.trace()
        say("following one packet")
        start = net.now + MILLISECOND
        net.start(chosen, start)
        travel = sum(link.delay_ns for link in plan.topology.links)
        net.run_until(start + travel + DRAIN, plane)
        arrivals = net.take_traces()
    found = follow(plan.topology, arrivals)
    if (chosen.flow, 0) not in found:
        raise IndexError("the packet reached no switch")
    return found[chosen.flow, 0]


def follow(
    topology: Topology, arrivals: dict[str, list[dict[str, Any]]]
) -> dict[tuple[int, int], Hop]:
    """The first hop of every probe in what `VirtualNetwork.take_traces` gave, by flow and sequence
    number; a probe that reached no switch is not there."""
    hops: dict[tuple[int, int], list[Hop]] = {}
    for router, traces in arrivals.items():
        for item in traces:
            if probe := Probe.of(item["data"]):
                time = item["time"] // PICOSECONDS
                hop = Hop(router, item["port"], "", time, item["data"], item["packets"])
                hops.setdefault((probe.flow, probe.sequence), []).append(hop)
    return {
        probe: _join(topology, sorted(of_probe, key=lambda hop: hop.time))
        for probe, of_probe in sorted(hops.items())
    }


def _join(topology: Topology, hops: list[Hop]) -> Hop:
    """Ties what one switch has sent to what the next has received; gives the first hop."""
    for hop in hops:
        hop.source = topology.neighbour(hop.router, hop.port) or "?"
    waiting = hops[1:]
    for hop in hops:
        for packet in hop.packets:
            fate = packet["fate"]
            if not fate or fate["kind"] != "sent":
                continue
            neighbour = topology.neighbour(hop.router, fate["port"])
            if neighbour is None:
                continue
            if any(host.name == neighbour for host in topology.hosts):
                hop.delivered[packet["id"]] = neighbour
                continue
            for other in waiting:
                if (other.router, other.source, other.data) == (
                    neighbour,
                    hop.router,
                    fate["data"],
                ):
                    hop.next[packet["id"]] = other
                    waiting.remove(other)
                    break
    return hops[0]


def render(first: Hop) -> Tree:
    """The whole way as a tree for a terminal."""
    from rich.tree import Tree

    tree = Tree(f"[bold]{first.source}[/] sends {len(first.data)} bytes")
    _render_hop(tree, first)
    return tree


def _render_hop(tree: Tree, hop: Hop) -> None:
    node = tree.add(f"[bold cyan]{hop.router}[/], port {hop.port}, from {hop.source}")
    nodes = {}
    for packet in hop.packets:
        parent = nodes.get(packet["parent"], node)
        nodes[packet["id"]] = own = parent.add(_title(packet))
        for step in packet["steps"]:
            if step["kind"] not in _QUIET:
                own.add(_step(step))
        own.add(_fate(packet, hop))
        if packet["id"] in hop.next:
            _render_hop(own, hop.next[packet["id"]])


def _title(packet: dict[str, Any]) -> str:
    passes = f", pass {packet['pass'] + 1}" if packet["pass"] else ""
    return f"[bold]packet {packet['id']}[/] ({packet['kind']}{passes})"


# Values that readers know in another form than as a number, in keys, arguments, fields and changes.
_VALUE = re.compile(
    r"\b(bit_string|remaining|fbm|group|destination|src|dst|\w+_addr)"
    r"(?:=|: (0x[0-9a-f]+|\d+) -> )(0x[0-9a-f]+|\d+)\b"
)
_SETS = {"bit_string", "remaining", "fbm"}
_LONGEST_SET = 16


def _text(step: dict[str, Any]) -> str:
    """A step in words, sets of receivers and addresses as people write them."""

    def told(found: re.Match[str]) -> str:
        name, old, new = found[1], found[2], _value(found[1], found[3])
        return f"{name}: {_value(name, old)} -> {new}" if old else f"{name}={new}"

    return _VALUE.sub(told, step["text"])


def _value(name: str, text: str) -> str:
    number = int(text, 0)
    if name in _SETS:
        bits = [str(bit + 1) for bit in range(number.bit_length()) if number >> bit & 1]
        return f"{{{', '.join(bits)}}}" if len(bits) <= _LONGEST_SET else text
    if 1 << 32 <= number < 1 << 48:
        return number.to_bytes(6, "big").hex(":")
    return str(IPv4Address(number)) if 1 << 24 <= number < 1 << 32 else text


def _step(step: dict[str, Any]) -> str:
    from rich.markup import escape

    place = f"  [dim]{escape(_place(step))}[/]" if step["file"] else ""
    text = escape(_text(step))
    style = {"table": "yellow", "block": "blue", "reject": "red", "change": "green"}
    colour = style.get(step["kind"])
    return f"[{colour}]{text}[/]{place}" if colour else f"{text}{place}"


def _fate(packet: dict[str, Any], hop: Hop) -> str:
    from rich.markup import escape

    fate = packet["fate"]
    if fate is None:
        return "[red]lost without a word[/]"
    if fate["kind"] == "sent":
        target = hop.delivered.get(packet["id"]) or (
            hop.next[packet["id"]].router if packet["id"] in hop.next else "nobody"
        )
        return f"[bold green]sent on port {fate['port']} to {target}[/], {len(fate['data'])} bytes"
    if fate["kind"] == "dropped":
        place = f" at {escape(_place(fate))}" if fate["file"] else ""
        return f"[bold red]dropped[/]: {escape(fate['reason'])}{place}"
    if fate["kind"] == "replicated":
        copies = ", ".join(map(str, fate["ids"]))
        return f"replicated to group {fate['group']} as packets {copies}"
    return f"goes on as packet {fate['id']}"


def _place(item: dict[str, Any]) -> str:
    return f"{PurePath(item['file']).name}:{item['line']}"


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def copies(first: Hop) -> dict[tuple[str, str], int]:
    """Frames that one packet became, by directed link; names of routers and hosts."""
    found: dict[tuple[str, str], int] = {}
    waiting = [first]
    while waiting:
        hop = waiting.pop()
        arrival = (hop.source, hop.router)
        found[arrival] = found.get(arrival, 0) + 1
        for host in hop.delivered.values():
            found[hop.router, host] = found.get((hop.router, host), 0) + 1
        waiting.extend(hop.next.values())
    return found
