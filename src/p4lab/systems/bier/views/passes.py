"""One packet's passes through one router as a row of small steps, from the engine's trace."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from p4lab.model.notation import bit_numbers
from p4lab.steps import ENTERS, extracts
from p4lab.systems.bier.bitstrings import emitted_bits
from p4lab.topology import Topology
from p4lab.tracing import Hop

_ONCE_MORE = "goes round once more"
_AROUND = ("clone", "recirculate", "resubmit")  # externs that make a further pass


@dataclass(frozen=True)
class State:
    """What is known at a step; None where there is nothing (yet). `to` is the neighbour."""

    bit_string: int | None = None
    remaining: int | None = None
    fbm: int | None = None
    action: str | None = None
    port: int | None = None
    to: str | None = None


@dataclass(frozen=True)
class Step:
    """One thing that happened, with names of the program as `code`, and the state after it. `line`
    is 0 where there is no source."""

    text: str
    file: str
    line: int
    state: State
    changed: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain data; BitStrings as binary text."""
        state = asdict(self.state)
        for name in ("bit_string", "remaining", "fbm"):
            state[name] = None if state[name] is None else f"{state[name]:b}"
        return {**asdict(self), "state": state}


@dataclass
class Pass:
    """One way through the pipeline. `number` counts from 1; `outcome` is what left the router."""

    number: int
    packet: int
    steps: list[Step] = field(default_factory=list)
    outcome: str = ""


def passes(
    hop: Hop, topology: Topology, own: Collection[str], quiet: Collection[str]
) -> list[Pass]:
    """The passes of a packet at a router, in the order in which they were made.

    Changes of values are shown for the files in `own` (all, if it is empty), and not in the
    blocks in `quiet`.
    """
    reader = _Reader(hop, topology, own, quiet)
    entered = [packet for packet in hop.packets if packet["kind"] in ENTERS]
    return [reader.read(packet, number) for number, packet in enumerate(entered, 1)]


class _Reader:
    def __init__(
        self, hop: Hop, topology: Topology, own: Collection[str], quiet: Collection[str]
    ) -> None:
        self.hop = hop
        self.topology = topology
        self.own = own
        self.quiet = quiet
        self.packets = {packet["id"]: packet for packet in hop.packets}
        self.ends: dict[int, State] = {}
        headers = {step.get("header") for packet in hop.packets for step in packet["steps"]}
        self.is_tna = "ig_intr_md" in headers

    def _entered(self, packet: dict[str, Any]) -> int:
        """The packet that came to the parser and of which this one is a copy."""
        while packet["kind"] not in ENTERS:
            packet = self.packets[packet["parent"]]
        return int(packet["id"])

    def read(self, packet: dict[str, Any], number: int) -> Pass:
        """All steps of pass `number`, and what became of the packet and its copies."""
        found = Pass(number, packet["id"])
        parent = packet["parent"]
        before = self.ends[self._entered(self.packets[parent])] if parent is not None else State()
        state = State(remaining=before.remaining)
        for step in self._telling(packet):
            after = self._after(state, step)
            changed = tuple(
                name
                for name, value in asdict(after).items()
                if value is not None and value != getattr(state, name)
            )
            state = after
            found.steps.append(Step(self._said(step), step["file"], step["line"], state, changed))
        outcomes = sorted(self._outcomes(packet["id"]), key=lambda one: _ONCE_MORE in one[0])
        found.outcome = "; ".join(text for text, _ in outcomes)
        for text, place in outcomes:
            found.steps.append(Step(text, place["file"], place["line"], state, ()))
        self.ends[packet["id"]] = state
        return found

    def _telling(self, packet: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The steps that say something about the bits or come from the student's file, and on TNA
        behind them what egress did with the mirror."""
        mirrors = [one for one in self.hop.packets if self._is_mirror_of(one, packet)]
        read = [id(step) for step in extracts(packet)]
        block, asked = "", not self.is_tna
        for step in [*packet["steps"], *(step for one in mirrors for step in one["steps"])]:
            kind = step["kind"]
            if kind == "block":
                block = step["name"] or ""
            is_own = not self.own or step["file"] in self.own
            if kind == "extern":
                name = step["name"] or ""
                wanted = name.startswith(_AROUND) or name.endswith("mirror.emit")
            elif kind == "extract":  # by the first parser: egress reads the same once more
                wanted = "bit_string" in step["fields"] and id(step) in read
            elif kind in ("table", "change"):
                asked = asked or kind == "table"  # what TNA programs fill in before says little
                wanted = is_own and block not in self.quiet and asked
            else:
                wanted = kind in ("reject", "undefined", "out_of_fuel")
            if wanted:
                yield step

    def _is_mirror_of(self, packet: dict[str, Any], parent: dict[str, Any]) -> bool:
        """Whether a packet is a clone that begins at the egress parser, as on TNA."""
        if packet["kind"] != "ingress clone" or packet["parent"] != parent["id"]:
            return False
        return any(step["kind"] == "state" for step in packet["steps"])

    def _after(self, state: State, step: dict[str, Any]) -> State:
        if step["kind"] == "extract":
            return replace(state, bit_string=int(step["fields"]["bit_string"], 0))
        if step["kind"] == "change":
            name = step["name"].rsplit(".", 1)[-1]
            if name == "bit_string":
                return replace(state, bit_string=int(step["after"], 0))
            if name == "remaining":
                return replace(state, remaining=int(step["after"], 0))
        if step["kind"] == "table":
            keys = {key["name"]: key["value"] for key in step["key"]}
            args = {arg["name"]: arg["value"] for arg in step["args"]}
            action = (step["action"] or "").rsplit(".", 1)[-1]
            if "remaining" not in keys and "bit_string" not in args:
                return state
            if len(keys) == 1 and not args:  # only asks whether anything remains
                return state
            port = args.get("port")
            return replace(
                state,
                remaining=keys.get("remaining", state.remaining),
                fbm=args.get("fbm"),
                action=action,
                port=port,
                to=None if port is None else self.topology.neighbour(self.hop.router, port),
            )
        return state

    def _said(self, step: dict[str, Any]) -> str:
        if step["kind"] == "extract":
            bits = bit_numbers(int(step["fields"]["bit_string"], 0))
            return f"The parser reads the {_short(step['header'])} header: {bits}."
        if step["kind"] == "change":
            return f"`{_short(step['name'])}`: {_value(step, 'before')} → {_value(step, 'after')}"
        if step["kind"] == "table":
            args = ", ".join(
                f"{arg['name']}={_bits_or(arg['name'], arg['value'])}" for arg in step["args"]
            )
            keys = ", ".join(
                f"{key['name']}={_bits_or(key['name'], key['value'])}" for key in step["key"]
            )
            how = "hit" if step["hit"] else "miss"
            action = (step["action"] or "").rsplit(".", 1)[-1]
            return f"Table `{_short(step['table'])}` [{keys}]: {how}, {action}({args})"
        if step["kind"] == "extern" and step["name"].endswith("mirror.emit"):
            return (
                "mirror: the packet as it came in goes to egress by itself, with a header in front"
            )
        if step["kind"] == "extern" and step["name"].startswith("clone"):
            return f"{step['name']}: a copy of the packet as it came in is kept for the next pass"
        return str(step["text"])

    def _outcomes(self, entered: int) -> Iterator[tuple[str, dict[str, Any]]]:
        """What became of a packet and of its copies in the same pass, with the place of drops."""
        nowhere = {"file": "", "line": 0}
        for packet in self.hop.packets:
            if packet["id"] != entered and (
                packet["kind"] in ENTERS or self._entered(packet) != entered
            ):
                continue
            fate = packet["fate"]
            if fate is None:
                yield "lost without a word", nowhere
            elif fate["kind"] == "sent":
                neighbour = self.topology.neighbour(self.hop.router, fate["port"])
                bits = emitted_bits(packet)
                what = "" if bits is None else f" with {bit_numbers(bits)}"
                to = f"to {neighbour}" if neighbour else "where no cable is"
                yield f"sent on port {fate['port']} {to}{what}", nowhere
            elif fate["kind"] == "dropped":
                yield f"dropped: {fate['reason']}", fate if fate.get("file") else nowhere
            elif fate["kind"] == "again":
                by = self._looped_port(fate)
                again = f"{_ONCE_MORE}{by}"
                yield again if packet["id"] == entered else f"a copy {again}", nowhere

    def _looped_port(self, fate: dict[str, Any]) -> str:
        """By which looped port a packet comes back, on TNA."""
        port = self.packets.get(fate["id"], {}).get("ingress_port")
        return f" by port {port}" if self.is_tna and port is not None else ""


def _short(name: str) -> str:
    """The name without what all names of a program begin with."""
    parts = name.replace("$valid", "isValid()").split(".")
    return ".".join(parts[1:][-2:]) if parts[0] in ("hdr", "meta") else parts[-1]


def _value(step: dict[str, Any], which: str) -> str:
    name = step["name"].rsplit(".", 1)[-1]
    text = str(step[which])
    if name in ("bit_string", "remaining", "fbm"):
        return bit_numbers(int(text, 0))
    return text


def _bits_or(name: str, value: int) -> str:
    return bit_numbers(value) if name in ("bit_string", "remaining", "fbm") else str(value)
