"""SIDs and BitStrings in words: "router 2, End.RL: 1 child, entry 5".

This encoding is p4lab's own profile, not an IETF format.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import IPv6Address
from typing import Any

from p4lab.model.notation import set_bits
from p4lab.model.system import Carried
from p4lab.plurals import count_of
from p4lab.systems.msr6.encoded import ROUTING_TYPE
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
    """Node, function and argument of a 128-bit SID; the node alone if it is the prefix of all its
    SIDs. None if its locator is not the profile's."""
    sid = Sid.parse(number)
    if sid.locator != LOCATOR:
        return None
    if not sid.function and not sid.argument:
        return node_in_words(sid.node)
    said = f"{node_in_words(sid.node)}, {FUNCTIONS.get(sid.function, 'unknown function')}"
    argument = _argument_in_words(sid)
    return f"{said}: {argument}" if argument else said


def node_in_words(node: int) -> str:
    """A node number as what has it: routers their own, hosts one that counts from HOSTS + 1."""
    return f"router {node}" if node < HOSTS else f"host {node - HOSTS}"


def carried(headers: Sequence[Mapping[str, Any]]) -> Carried | None:
    """What a frame carries, from the headers of a trace: SL and the SID where it is going, or the
    BitString; None if it has no routing header of type 253."""
    routing, destination, entries = None, 0, []
    for step in headers:
        fields = {name: int(value, 0) for name, value in step["fields"].items()}
        if "segments_left" in fields and fields.get("routing_type") == ROUTING_TYPE:
            routing = fields
        elif "sid" in fields:
            entries.append(fields["sid"])
        elif "next_header" in fields and routing is None:
            destination = fields.get("dst_addr", 0)
    if routing is None:
        return None
    left = routing["segments_left"]
    if Sid.parse(destination).function == END_RGB and entries:
        return Carried(f"a BitString with {bits_in_words(entries[0])}", f"{entries[0]:b}", "text")
    where = sid_in_words(destination) or str(IPv6Address(destination))
    return Carried(f"Segments Left {left}, for {where}", f"SL {left}")


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
        return f"{count_of(children.n, 'child', 'children')}, entries from {children.pointer} down"
    if sid.function == END_RLB:
        local = LocalBits.parse(sid.argument)
        return f"{bits_in_words(local.bits)}, entries from {local.pointer} down"
    if sid.function == END_RGB:
        return f"set {GlobalSet.parse(sid.argument).si}"
    return ""
