"""BitStrings in traces, and how they are said."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from p4lab.steps import emits, extracts
from p4lab.tracing import Hop


def emitted_bits(packet: dict[str, Any]) -> int | None:
    """The BitString that a packet left with, as its deparser wrote it; None without one."""
    return _bits(emits(packet))


def arrived_bits(hop: Hop) -> int | None:
    """The BitString that a packet arrived with, as its parser read it; None without one."""
    return _bits(extracts(hop.packets[0]))


def _bits(steps: Iterable[dict[str, Any]]) -> int | None:
    for step in steps:
        if "bit_string" in step["fields"]:
            return int(step["fields"]["bit_string"], 0)
    return None
