"""BitStrings in traces, and how they are said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from p4lab.model.notation import bit_numbers
from p4lab.steps import emits


def bit_string(headers: Iterable[Mapping[str, Any]]) -> int | None:
    """The BitString of a frame, from its headers as steps of a trace; None without one."""
    for step in headers:
        if "bit_string" in step["fields"]:
            return int(step["fields"]["bit_string"], 0)
    return None


def emitted_bits(packet: Mapping[str, Any]) -> int | None:
    """The BitString that a packet left with, as its deparser wrote it; None without one."""
    return bit_string(emits(packet))


def bits(sent: Any, source: str, target: str) -> str:
    """The BitString of the first frame from a router to a neighbour, in words; `sent` is what was
    sent in a notebook (p4lab.widgets.sent)."""
    packet = sent.frame(source, target)
    if packet is None:
        return "nothing"
    found = emitted_bits(packet)
    return "no BitString" if found is None else bit_numbers(found)
