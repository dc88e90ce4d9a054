"""BitStrings in traces, and how they are said."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from p4lab.steps import emits, extracts
from p4lab.tracing import Hop

MOST_NAMED = 12  # longer lists of bits are counted


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


def set_bits(value: int) -> list[int]:
    """The numbers of the bits that are set, from 1."""
    return [i + 1 for i in range(value.bit_length()) if value >> i & 1]


def bit_numbers(value: int) -> str:
    """The bits that are set as people say it: `bits 7 and 9`."""
    numbers = [str(number) for number in set_bits(value)]
    if not numbers:
        return "no bit"
    if len(numbers) > MOST_NAMED:
        return f"{len(numbers)} bits"
    *most, last = numbers
    return f"bits {', '.join(most)} and {last}" if most else f"bit {last}"
