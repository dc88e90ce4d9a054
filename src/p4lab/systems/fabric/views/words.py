"""How ports, VOQs and moments are named in pictures and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from p4lab.systems.fabric.ports import PLACES, TERMINALS

Named: TypeAlias = tuple[str, int, int, int]
"""A place as the engine names it: what it is, its two ports, its lane"""
Waiting: TypeAlias = tuple[Named, Named, int, int]
"""Who, for whom, and the frame: flow and number"""

NANOSECOND = 1000
LOSSLESS = 5
"""The first lane of the lossless class"""


def port(number: int) -> str:
    """`1.0`, leaf and place; the surrogate is `1.S`."""
    leaf, place = divmod(number, PLACES)
    return f"{leaf}.S" if place == TERMINALS else f"{leaf}.{place}"


def voq(source: int, target: int) -> str:
    return f"{port(source)}→{port(target)}"


def place(named: Named) -> str:
    """Who waits, or is waited for, in a word or two."""
    kind, source, target, lane = named
    if kind == "voq":
        return f"VOQ {voq(source, target)}"
    what = "egress buffer" if kind == "egress" else "ingress pool"
    return f"{what} of {port(source)}, lane {lane % LOSSLESS}"


def short(named: Named) -> str:
    """The same where there is little room."""
    kind, source, target, _ = named
    return f"VOQ {voq(source, target)}" if kind == "voq" else f"{kind} {port(source)}"


def waiting(one: Waiting) -> str:
    """Why one waits for another."""
    who, whom, flow, number = one
    frame = f"frame {number} of flow {flow}"
    if who[0] == "voq" and whom[0] == "voq":
        return f"{place(who)} waits until {place(whom)} sends {frame}"
    if who[0] == "voq":
        return f"{place(who)} waits for credits: the {place(whom)} is full"
    if whom[0] == "pool":
        return f"The {place(who)} cannot pass {frame} on: the {place(whom)} is full"
    if who[0] == "pool":
        return f"The {place(who)} waits until {place(whom)} sends {frame}"
    return f"The {place(who)} keeps credits for {frame} of {place(whom)}"


def moment(picos: int) -> str:
    """A time in ns, with the thousands apart."""
    return f"{picos / NANOSECOND:,.1f} ns"


def flow(number: int, tree: Sequence[tuple[int, Sequence[int]]]) -> str:
    """`flow 0: 0.0 to 0.1, 1.0`"""
    sender, to = tree[0]
    return f"flow {number}: {port(sender)} to {', '.join(port(one) for one in to)}"


def listed(found: Sequence[Any]) -> str:
    """`1, 2 and 3`"""
    *rest, last = map(str, found)
    return f"{', '.join(rest)} and {last}" if rest else last
