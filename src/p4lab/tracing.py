"""What one packet met at every hop: through parsers, tables and externs, across all switches."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from p4lab import _engine
from p4lab.model.notation import Notation
from p4lab.model.run import Plan
from p4lab.network.virtual import GIVEN_UP, LOOP, PICOSECONDS, VirtualNetwork
from p4lab.packets.probe import Probe
from p4lab.plurals import count_of
from p4lab.session.run import open_virtual
from p4lab.steps import ENTERS, Lines, short
from p4lab.topology import Topology

if TYPE_CHECKING:
    from rich.tree import Tree

# Steps that repeat what others show: blocks are headings, emits follow from validity.
_QUIET = {"emit"}

MOST_PASSES, MOST_PACKETS = 1024, 16_383
"""What the engine lets one arriving packet make of itself: what makes more is stopped as a loop"""
FIRST_PASSES, FIRST_PACKETS = 4, 64
"""What is kept of a loop at the most: the others repeat them"""


@dataclass
class Hop:
    """One arrival at one switch. `packets` are the packet itself and all that the switch made of
    it (clones, replicas, later passes), as the engine gives them; `next` are the arrivals that
    its sent packets became, by packet id; `delivered` the hosts they reached; `given` the packets
    that the control plane got. `order` is its place among all arrivals at this switch. Of a loop
    there are only the first packets: `left_out` is how many more there were, and `passes` are those
    of all. `problem` says of a first hop why the packet was not followed to its end."""

    router: str
    port: int
    source: str
    time: int
    data: bytes
    packets: list[dict[str, Any]]
    next: dict[int, Hop] = field(default_factory=dict)
    delivered: dict[int, str] = field(default_factory=dict)
    given: set[int] = field(default_factory=set)
    order: int = 0
    passes: int = 1
    left_out: int = 0
    problem: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain data: bytes as hexadecimal, time in nanoseconds."""
        loop = {"problem": self.problem, "left_out": self.left_out}
        return {
            "router": self.router,
            "port": self.port,
            "source": self.source,
            "time": self.time,
            "data": self.data.hex(),
            "packets": [_plain(packet) for packet in self.packets],
            "next": {str(number): hop.to_json() for number, hop in self.next.items()},
            "delivered": {str(number): host for number, host in self.delivered.items()},
            **{name: value for name, value in loop.items() if value},
        }


def trace(
    plan: Plan,
    stream: int = 1,
    say: Callable[[str], None] = lambda _: None,
    program: _engine.Program | None = None,
) -> Hop:
    """Follows the first packet of a stream (counted from 1) through a network in virtual time;
    `program` is the plan's where it is compiled already.

    Raises NetworkError, ProgramError, or IndexError if there is no such stream.
    """
    chosen = replace(plan.streams[stream - 1], packets=1)
    with open_virtual(plan, program) as session:
        net = session.net
        assert isinstance(net, VirtualNetwork)
        session.start()
        say("subscribing")
        if unheard := session.converge_or_go_on():  # the packet can be followed all the same
            say(unheard)
        session.fail()
        net.trace()
        say("following one packet")
        end = session.end(session.begin((chosen,)), (chosen,))
        arrivals, problem = net.run_traced(end, session.controller)
    found = follow(plan.topology, arrivals, net.cpu.number)
    if (chosen.flow, 0) not in found:
        raise IndexError("the packet reached no switch")
    first = found[chosen.flow, 0]
    first.problem = problem or _given_up(first)
    return first


def _given_up(first: Hop) -> str:
    """Which switch stopped the packet as a loop, if one did. The rest of the network goes on then,
    so nothing else says it."""
    for hop in all_hops([first]):
        if hop.left_out:
            what = "too_many_passes" if hop.passes > MOST_PASSES else "too_many_packets"
            return f"{hop.router} {GIVEN_UP[what]}: {LOOP}."
    return ""


def follow(
    topology: Topology, arrivals: Mapping[str, Sequence[_engine.Arrival]], cpu_port: int
) -> dict[tuple[int, int], Hop]:
    """The first hop of every probe in what `VirtualNetwork.take_traces` gave, by flow and sequence
    number; a probe that reached no switch is not there."""
    hops: dict[tuple[int, int], list[Hop]] = {}
    for router, traces in arrivals.items():
        for order, item in enumerate(traces):
            if probe := Probe.of(item["data"]):
                time = item["time"] // PICOSECONDS
                packets = _first(item["packets"])
                hop = Hop(router, item["port"], "", time, item["data"], packets)
                hop.order = order
                hop.passes = sum(packet["kind"] in ENTERS for packet in item["packets"])
                hop.left_out = len(item["packets"]) - len(packets)
                hops.setdefault((probe.flow, probe.sequence), []).append(hop)
    return {
        probe: _join(topology, sorted(of_probe, key=lambda hop: hop.time), cpu_port)
        for probe, of_probe in sorted(hops.items())
    }


def _first(packets: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The packets of an arrival, of a loop the first ones."""
    last = max((packet["pass"] for packet in packets), default=0)
    if last < MOST_PASSES and len(packets) <= MOST_PACKETS:
        return packets
    return [one for one in packets if one["pass"] < FIRST_PASSES][:FIRST_PACKETS]


def _join(topology: Topology, hops: list[Hop], cpu_port: int) -> Hop:
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
                if fate["port"] == cpu_port:
                    hop.given.add(packet["id"])
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


class Writer:
    """Writes a trace for a terminal: the values in its steps by a notation. `summary` is that of
    the program, which says how wide they are. `routers` and `field` leave out the rest: other
    switches, and steps that have nothing to do with the field."""

    def __init__(
        self,
        notation: Notation,
        summary: Mapping[str, Any],
        routers: Collection[str] = (),
        field: str = "",
    ) -> None:
        self._lines = Lines(notation, summary)
        self._routers = routers
        self._field = field

    def tree(self, first: Hop) -> Tree:
        """The whole way."""
        from rich.tree import Tree  # heavy: rich, for nothing but terminals

        tree = Tree(f"[bold]{first.source}[/] sends {_bytes(first.data)}")
        self._add(tree, first)
        return tree

    def _add(self, tree: Tree, hop: Hop) -> None:
        if self._routers and hop.router not in self._routers:
            for further in hop.next.values():
                self._add(tree, further)
            return
        node = tree.add(f"[bold cyan]{hop.router}[/], port {hop.port}, from {hop.source}")
        nodes: dict[int, Any] = {}
        for packet in hop.packets:
            parent = nodes.get(packet["parent"], node)
            nodes[packet["id"]] = own = parent.add(_title(packet))
            for step in packet["steps"]:
                if step["kind"] not in _QUIET and self._is_about(step):
                    own.add(self._step(step))
            own.add(_fate(packet, hop))
            if packet["id"] in hop.next:
                self._add(own, hop.next[packet["id"]])
        if hop.left_out:
            node.add(f"[bold red]and so on: {hop.left_out:,} more packets[/]")

    def _is_about(self, step: dict[str, Any]) -> bool:
        """Whether a step changes the field, reads it from the packet or has it in a key."""
        if not self._field:
            return True
        header, _, last = self._field.rpartition(".")
        if step["kind"] == "extract":
            return short(step["header"]) == header and last in step["fields"]
        if step["kind"] == "table":
            return any(short(key["name"]) == last for key in step["key"])
        name = step.get("name", "")
        return bool(name == self._field or name.endswith(f".{self._field}"))

    def _step(self, step: dict[str, Any]) -> str:
        from rich.markup import escape

        place = f"  [dim]{escape(_place(step))}[/]" if step["file"] else ""
        text = escape(self.text(step))
        style = {"table": "yellow", "block": "blue", "reject": "red", "change": "green"}
        colour = style.get(step["kind"])
        return f"[{colour}]{text}[/]{place}" if colour else f"{text}{place}"

    def text(self, step: dict[str, Any]) -> str:
        """A step in one line. What the engine calls `$next` of a header stack is P4's nextIndex."""
        return self._lines.text(step).replace(".$next", ".nextIndex")

    def value(self, step: dict[str, Any], name: str, text: str) -> str:
        """A number of a step, as it belongs to a name there."""
        return self._lines.value(step, name, text)


def _title(packet: dict[str, Any]) -> str:
    passes = f", pass {packet['pass'] + 1}" if packet["pass"] else ""
    return f"[bold]packet {packet['id']}[/] ({packet['kind']}{passes})"


def _fate(packet: dict[str, Any], hop: Hop) -> str:
    from rich.markup import escape

    fate = packet["fate"]
    if fate is None:
        return "[red]lost without a word[/]"
    if packet["id"] in hop.given:
        size = _bytes(fate["data"])
        return f"[bold green]given to the control plane[/] on port {fate['port']}, {size}"
    if fate["kind"] == "sent":
        target = hop.delivered.get(packet["id"]) or (
            hop.next[packet["id"]].router if packet["id"] in hop.next else "nobody"
        )
        return f"[bold green]sent on port {fate['port']} to {target}[/], {_bytes(fate['data'])}"
    if fate["kind"] == "dropped":
        place = f" at {escape(_place(fate))}" if fate["file"] else ""
        return f"[bold red]dropped[/]: {escape(fate['reason'])}{place}"
    if fate["kind"] == "replicated":
        copies = ", ".join(map(str, fate["ids"]))
        return f"replicated to group {fate['group']} as packets {copies}"
    return f"goes on as packet {fate['id']}"


def _bytes(data: bytes) -> str:
    return count_of(len(data), "byte")


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
    for hop in all_hops([first]):
        arrival = (hop.source, hop.router)
        found[arrival] = found.get(arrival, 0) + 1
        for host in hop.delivered.values():
            found[hop.router, host] = found.get((hop.router, host), 0) + 1
    return found


def all_hops(first: Sequence[Hop]) -> list[Hop]:
    """Every arrival at a switch of packets that are given by their first hops, in time order."""
    found: list[Hop] = []
    waiting = list(first)
    while waiting:
        hop = waiting.pop()
        found.append(hop)
        waiting.extend(hop.next.values())
    return sorted(found, key=lambda hop: (hop.time, hop.order))
