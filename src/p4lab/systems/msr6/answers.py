"""What a router tells the sender of a packet that it refuses: one ICMPv6 error (RFC 4443).

The switch sends such a packet to its control plane once, as it came in, whatever number of copies
the packet asked for. What is wrong with it is read from the packet itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv6Address

from p4lab.packets.icmp import Problem, no_route, parameter_problem, time_exceeded
from p4lab.packets.ip import IPV6_BYTES
from p4lab.systems.msr6.encoded import FIXED_BYTES
from p4lab.systems.msr6.sids import END_RGB, END_RLB
from p4lab.systems.msr6.walk import Place, Reason, refusal

ARGUMENT = 36
"""Where the argument of the destination's SID begins, counted from the first byte of the packet"""

POINTERS: Mapping[Reason, int] = {
    Reason.HDR_EXT_LEN: IPV6_BYTES + 1,
    Reason.ROUTING_TYPE: IPV6_BYTES + 2,
    Reason.SEGMENTS_LEFT: IPV6_BYTES + 3,
    Reason.LAST_ENTRY: IPV6_BYTES + 4,
    Reason.NO_COPY: ARGUMENT,
    Reason.TOO_MANY: ARGUMENT,
    Reason.NO_ADJACENCY: ARGUMENT,
}
"""The byte that is wrong"""


def answer(router: IPv6Address, place: Place, packet: bytes) -> bytes | str:
    """The error that `router` sends to the source of an IPv6 packet, or why it sends none."""
    reason = refusal(place, packet)
    if reason is None:
        return "nothing is wrong with it"
    return _error(router, packet, reason) or "must not be answered"


def _error(router: IPv6Address, packet: bytes, reason: Reason) -> bytes | None:
    if reason is Reason.TIME_EXCEEDED:
        return time_exceeded(router, packet)
    if reason is Reason.NO_ROUTE:
        return no_route(router, packet)
    if reason is Reason.UPPER_LAYER:
        return parameter_problem(
            router, packet, Problem.SR_UPPER_LAYER_HEADER, _upper_layer(packet)
        )
    if reason is Reason.TOO_LONG:
        return parameter_problem(router, packet, Problem.EXTENSION_HEADER_TOO_BIG, IPV6_BYTES)
    function = int.from_bytes(packet[34:36], "big")
    if reason is Reason.POINTER:
        pointer = ARGUMENT + (2 if function == END_RLB else 1)
    elif reason is Reason.NO_COPY and function == END_RGB:
        pointer = IPV6_BYTES + FIXED_BYTES
    else:
        pointer = POINTERS[reason]
    return parameter_problem(router, packet, Problem.ERRONEOUS_FIELD, pointer)


def _upper_layer(packet: bytes) -> int:
    """Where what follows IPv6, and a routing header if there is one, begins."""
    if packet[6] != 43:
        return IPV6_BYTES
    return IPV6_BYTES + 8 + 8 * packet[IPV6_BYTES + 1]
