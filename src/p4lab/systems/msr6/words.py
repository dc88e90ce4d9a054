"""SIDs and BitStrings in words: "router 2, End.RL: 1 child, entry 5".

This encoding is p4lab's own profile, not an IETF format.
"""

from __future__ import annotations

from p4lab.model.notation import set_bits
from p4lab.systems.msr6.sids import (
    END_DT6,
    END_RGB,
    END_RL,
    END_RLB,
    HOSTS,
    LOCATOR,
    GlobalSet,
    ListArgument,
    LocalBits,
    Sid,
)

FUNCTIONS = {END_RL: "End.RL", END_RLB: "End.RLB", END_RGB: "End.RGB", END_DT6: "End.DT6"}


def sid_in_words(number: int) -> str | None:
    """Node, function and argument of a 128-bit SID; None if its locator is not the profile's."""
    sid = Sid.parse(number)
    if sid.locator != LOCATOR:
        return None
    said = f"{node_in_words(sid.node)}, {FUNCTIONS.get(sid.function, 'unknown function')}"
    argument = _argument_in_words(sid)
    return f"{said}: {argument}" if argument else said


def node_in_words(node: int) -> str:
    """A node number as what has it: routers their own, hosts one that counts from HOSTS + 1."""
    return f"router {node}" if node < HOSTS else f"host {node - HOSTS}"


def bits_in_words(bits: int) -> str:
    """All bits that are set, however many; bit 1 is the lowest."""
    numbers = ", ".join(map(str, set_bits(bits)))
    return f"bit{'s' if ',' in numbers else ''} {numbers}" if numbers else "no bit"


def _argument_in_words(sid: Sid) -> str:
    """Empty if the function has none."""
    if sid.function == END_RL:
        children = ListArgument.parse(sid.argument)
        if children.n == 1:
            return f"1 child, entry {children.pointer}"
        return f"{children.n} children, entries from {children.pointer} down"
    if sid.function == END_RLB:
        local = LocalBits.parse(sid.argument)
        return f"{bits_in_words(local.bits)}, entries from {local.pointer} down"
    if sid.function == END_RGB:
        return f"set {GlobalSet.parse(sid.argument).si}"
    return ""
