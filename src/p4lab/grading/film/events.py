"""What a packet does in the student's program, event by event, for who looks at it step by step."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from p4lab.grading.probes import Statement
from p4lab.grading.ways import probe_of, sync_of
from p4lab.steps import Lines, Step, short

Packets = Sequence[Mapping[str, Any]]

_AROUND = ("clone", "recirculate", "resubmit")  # externs that make a further pass


@dataclass(frozen=True)
class Event:
    """A step of one of the packets that a sending became, or a statement that `ran` and left none;
    the last of a packet is its fate. `at` is the number of the stretch (`ways.stretches`) that it
    is in, of all `sendings`."""

    at: int
    sending: int
    packet: Mapping[str, Any]
    step: Step | None = None
    ran: Statement | None = None
    is_fate: bool = False


def events(
    sendings: Sequence[Packets], statements: Mapping[int, Statement], ignore: frozenset[str]
) -> Iterator[Event]:
    """All events of the packets of all sendings, in order; `at` counts as `stretches` does."""
    at = 0
    for sending, packets in enumerate(sendings):
        for packet in packets:
            silent: Event | None = None  # a statement that has left no step yet
            for step in packet["steps"]:
                number = probe_of(step)
                if number is not None:
                    if silent is not None:
                        yield silent
                    statement = statements.get(number)
                    silent = None
                    if statement is not None:
                        silent = Event(at, sending, packet, ran=statement)
                    continue
                if silent is not None and _is_of(step, silent.ran):
                    silent = None
                yield Event(at, sending, packet, step=step)
                if sync_of(step, ignore) is not None:
                    at += 1
            if silent is not None:
                yield silent
            fate = packet["fate"] or {"kind": "lost"}
            yield Event(at, sending, packet, step=fate, is_fate=True)
            at += 1
        at += 1  # after its last fate there is one more, in which nothing happens


def _is_of(step: Step, ran: Statement | None) -> bool:
    """Whether a step is a statement's own."""
    return ran is not None and step.get("line") is not None and ran.line <= step["line"] <= ran.last


def is_telling(event: Event, own: Collection[str], reads: Collection[str]) -> bool:
    """Whether an event is worth a frame: what the student's `own` files do, tables, further passes,
    fates, and headers that the parser `reads` and that matter."""
    if event.ran is not None:
        return bool(event.ran.target) and event.ran.file in own
    step = event.step or {}
    kind = step["kind"]
    if event.is_fate or kind in ("table", "reject"):
        return True
    if kind == "extract":
        return short(step["header"]) in reads
    if kind == "extern" and str(step["name"]).startswith(_AROUND):
        return True
    return kind in ("change", "extern") and _file(step) in own


def _file(step: Step) -> str:
    return str(step.get("file") or "")


def said(event: Event, lines: Lines) -> str:
    """An event in one line."""
    if event.ran is not None:
        return f"{event.ran.text.rstrip(';')}: as it was"
    step = event.step or {}
    if event.is_fate:
        return _fate(step)
    if step["kind"] == "extract":
        return f"the parser reads the header {short(step['header'])}"
    text = lines.text(step)
    for whole in filter(None, (step.get("table"), step.get("action"))):
        text = text.replace(whole, short(whole))
    return text


def _fate(fate: Step) -> str:
    kind = fate["kind"]
    if kind == "sent":
        return f"the packet leaves on port {fate['port']}"
    if kind == "dropped":
        return f"the packet is dropped: {fate['reason']}"
    if kind == "replicated":
        return f"copies go to the ports of group {fate['group']}"
    return "the packet is lost" if kind == "lost" else "the packet goes round once more"
