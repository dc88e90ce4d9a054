"""MSR6 on the bench: a router in the middle of a tree, and a packet of each encoding that it sends
on to three next hops.

Rows and frames are written by hand, so that they stay the same when a control plane changes. The
encoding is p4lab's own profile, not an IETF format (p4/msr6/README.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv6Address

from p4lab.bench.programs import Subject
from p4lab.engine import load_program
from p4lab.model.entries import (
    CloneSession,
    Entity,
    Exact,
    Lpm,
    TableEntry,
    Ternary,
    Update,
)
from p4lab.packets.ip import (
    ETHERTYPE_IPV6,
    PROTOCOL_IPV6,
    PROTOCOL_ROUTING,
    PROTOCOL_UDP,
    ethernet,
    ipv6,
)
from p4lab.paths import ROOT

PROGRAM = ROOT / "p4" / "msr6" / "v1model.p4"
COPIES = 3
HERE = 2  # the router that is measured; its next hops have the numbers behind it
RL, RLB, RGB, DT6 = 0x0100, 0x0200, 0x0300, 0x0600
ALL = (1 << COPIES) - 1
SENDER, INGRESS = IPv6Address("fd00:0:0:1::1"), IPv6Address("fd00:0:0:1::fe")
GROUP = IPv6Address("ff3e::4:1")
PAYLOAD = bytes(12)


def subjects() -> list[Subject]:
    """The same router, and a packet of each encoding."""
    program, updates = load_program(PROGRAM), router()
    return [
        Subject(f"{name}, {COPIES} copies", program, updates, frame)
        for name, frame in frames().items()
    ]


def router() -> list[Update]:
    """All three behaviours, with a next hop behind each of the ports 1 to COPIES."""
    entities: list[Entity] = [CloneSession(1, ((509, 0),))]
    behaviours = {
        RL: ("rl", ()),
        RLB: ("rlb", (("known", ALL), ("transits", ALL))),
        RGB: ("rgb", ()),
    }
    for function, (action, params) in behaviours.items():
        key = (("sid", Exact(sid(HERE, function) >> 32)),)
        entities.append(TableEntry("local_sids", key, action, params))
    for port in range(1, COPIES + 1):
        bit = 1 << port - 1
        next_hop = HERE + port
        route = (("destination", Lpm(sid(next_hop, 0), 80)),)
        entities.append(TableEntry("ipv6_routes", route, "route", (("port", port),)))
        adjacency = (("bits", Ternary(bit, bit)),)
        transit = (("own", bit), ("port", port))
        first = COPIES + 1 - port  # the lowest bit wins
        entities.append(TableEntry("adjacencies", adjacency, "transit", transit, priority=first))
        receiver = (("set", Exact(0)), ("bit_string", Ternary(bit, bit)))
        forward = (("fbm", bit), ("port", port), ("sid", sid(next_hop, RGB)))
        entities.append(TableEntry("bift", receiver, "forward", forward, priority=first))
        macs = (("src", 0x020000000200 | port), ("dst", 0x020000000001 | next_hop << 8))
        entities.append(TableEntry("port_mac", (("port", Exact(port)),), "rewrite", macs))
    return [Update("insert", entity) for entity in entities]


def frames() -> dict[str, bytes]:
    """By encoding, a packet whose header is as long as this tree needs it."""
    nodes = range(HERE + COPIES, HERE, -1)  # entry 0 is the last child
    pointer = COPIES - 1
    leaves = [sid(node, DT6) for node in nodes]
    routers = [sid(node, RLB, 1 << 16) for node in nodes]
    return {
        "TE": frame(sid(HERE, RL, COPIES << 24 | pointer << 16), COPIES, leaves),
        "TE with RLB": frame(sid(HERE, RLB, ALL << 16 | pointer << 8), COPIES, routers),
        "BE": frame(sid(HERE, RGB), 1, [ALL]),
    }


def sid(node: int, function: int, argument: int = 0) -> int:
    """A segment identifier as a 128-bit number."""
    return 0x5F00 << 112 | node << 48 | function << 32 | argument


def frame(destination: int, segments_left: int, entries: Sequence[int]) -> bytes:
    """Ethernet, IPv6, a routing header with this list, and an IPv6 packet to a group in it."""
    fixed = bytes([PROTOCOL_IPV6, 2 * len(entries), 253, segments_left, len(entries) - 1, 0, 0, 0])
    routing = fixed + b"".join(entry.to_bytes(16, "big") for entry in entries)
    inside = ipv6(SENDER, GROUP, PROTOCOL_UDP, PAYLOAD, hops=63)
    packet = ipv6(INGRESS, IPv6Address(destination), PROTOCOL_ROUTING, routing + inside, hops=63)
    return ethernet(0x020000000200, 0x020000000102, ETHERTYPE_IPV6, packet)
