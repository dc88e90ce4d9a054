"""A plain Linux router between P4 routers: it forwards packets to SIDs that are not its own.

If these fail, a tree of lab 04 must not lead over ordinary routers, which is what makes MSR6 easy
to introduce: those would have to be changed, or would damage lists, or answer for each other.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv6Address
from pathlib import Path

import pytest

from linux_leaf import GROUP, PROFILE, PROTOCOL_IPV6, SRH, error, inner, routing_header
from linux_stacks import NoNamespacesError, Room, Wire, colons, echo_request, open_room
from p4lab.packets.ip import ETHERTYPE_IPV6, PROTOCOL_ROUTING, PROTOCOL_UDP, ethernet, ipv6, udp

LEFT, RIGHT = IPv6Address("fd00:0:0:1::1"), IPv6Address("fd00:0:0:2::1")
ROUTER_LEFT, ROUTER_RIGHT = IPv6Address("fd00:0:0:1::fe"), IPv6Address("fd00:0:0:2::fe")
LEFT_MAC, RIGHT_MAC = 0x020000000011, 0x020000000012
ROUTER_LEFT_MAC, ROUTER_RIGHT_MAC = 0x020000000021, 0x020000000022
PREFIX = "5f00:0:0:0:2::/80"  # router 2 is behind the right cable
# The list of the profile's example: R2(1,5) R3(1,4) R5(2,3) R7(2,1) R8 R9 R10 R11, index 7 to 0.
LIST = [
    IPv6Address(f"5f00::{node}:{function}:{argument}:0")
    for node, function, argument in (
        *(("b", "600", "0"), ("a", "600", "0"), ("9", "600", "0"), ("8", "600", "0")),
        *(("7", "100", "201"), ("5", "100", "203"), ("3", "100", "104"), ("2", "100", "105")),
    )
]
SEEDS = range(24)


INNER = inner(GROUP, b"to the group")


def example(segments_left: int, **wrong: int) -> bytes:
    """The example's routing header and what it carries."""
    return routing_header(PROFILE, segments_left, PROTOCOL_IPV6, LIST, **wrong) + INNER


PAYLOADS = {
    "as the ingress sends it": example(7),
    "further down": example(4),
    "at a leaf": example(0),
    "Segments Left beyond the list": example(9),
    "Segments Left 255": example(255),
    "LastEntry beyond the list": example(7, last_entry=200),
    "an odd length": example(7, length=15),
    "a length of nothing": example(7, length=0),
    "longer than its packet": example(7, length=255),
    "no entries": routing_header(PROFILE, 0, PROTOCOL_IPV6, [], last_entry=0) + INNER,
    "cut off": example(7)[:3],
    "not there": b"",
    "type 4": routing_header(SRH, 7, PROTOCOL_IPV6, LIST) + INNER,
}


def drawn(seed: int) -> bytes:
    """A payload behind a routing header of type 253 of which nothing else is right."""
    chance = random.Random(seed)
    found = bytearray(chance.randbytes(8 * chance.randint(1, 30)))
    found[0], found[2] = PROTOCOL_IPV6, PROFILE
    return bytes(found) + INNER


@dataclass
class Router:
    """A Linux router that nobody has told of segment routing, and the cables on both sides."""

    left: Wire
    right: Wire
    marks: int = 0

    def carry(self, packet: bytes) -> tuple[list[bytes], list[bytes]]:
        """Sends a packet from the left; gives the frames that come back, and those on the right."""
        self.marks += 1
        mark = f"mark {self.marks:4}".encode()
        passing = udp(LEFT, RIGHT, (9, 9), mark)
        for each in (
            packet,
            echo_request(LEFT, ROUTER_LEFT, mark),
            ipv6(LEFT, RIGHT, PROTOCOL_UDP, passing),
        ):
            self.left.send(ethernet(ROUTER_LEFT_MAC, LEFT_MAC, ETHERTYPE_IPV6, each))
        return self.left.before(mark), self.right.before(mark)


def build(room: Room) -> Router:
    stack = room.stack()
    stack.set("conf.default.accept_dad=0", "conf.all.forwarding=1")
    left = room.cable(stack, "eth0", ROUTER_LEFT_MAC)
    right = room.cable(stack, "eth1", ROUTER_RIGHT_MAC)
    for address, neighbour, mac, interface in (
        (ROUTER_LEFT, LEFT, LEFT_MAC, "eth0"),
        (ROUTER_RIGHT, RIGHT, RIGHT_MAC, "eth1"),
    ):
        stack.run("ip", "-6", "addr", "add", f"{address}/64", "dev", interface, "nodad")
        there = (str(neighbour), "lladdr", colons(mac), "nud", "permanent", "dev", interface)
        stack.run("ip", "-6", "neigh", "replace", *there)
    stack.run("ip", "-6", "route", "add", PREFIX, "via", str(RIGHT), "dev", "eth1")
    ping = echo_request(LEFT, ROUTER_LEFT, b"ping")
    left.awake(ethernet(ROUTER_LEFT_MAC, LEFT_MAC, ETHERTYPE_IPV6, ping), b"ping")
    return Router(left, right)


@pytest.fixture(scope="module")
def router() -> Iterator[Router]:
    if not Path("/proc/sys/net/ipv6").exists():
        pytest.skip("this kernel has no IPv6")
    try:
        with open_room() as room:
            yield build(room)
    except NoNamespacesError as error:
        pytest.skip(f"no network namespaces: {error}")


def packet(payload: bytes, hops: int) -> bytes:
    """A packet to the first SID of the list, of router 2."""
    return ipv6(LEFT, LIST[-1], PROTOCOL_ROUTING, payload, hops=hops)


def passes(router: Router, payload: bytes) -> None:
    expected = packet(payload, 63)
    frame = ethernet(RIGHT_MAC, ROUTER_RIGHT_MAC, ETHERTYPE_IPV6, expected)
    assert router.carry(packet(payload, 64)) == ([], [frame]), payload.hex()


def runs_out(router: Router, payload: bytes) -> None:
    sent = packet(payload, 1)
    back, on = router.carry(sent)
    assert [error(frame[14:], sent) for frame in back] == ["error 3/0"], payload.hex()
    assert on == [], payload.hex()
    assert IPv6Address(back[0][22:38]) == ROUTER_LEFT, "the router speaks for itself"


@pytest.mark.parametrize("name", PAYLOADS)
def test_it_changes_nothing_but_the_hop_limit(router: Router, name: str) -> None:
    passes(router, PAYLOADS[name])


@pytest.mark.parametrize("name", PAYLOADS)
def test_it_answers_hop_limit_1_once(router: Router, name: str) -> None:
    runs_out(router, PAYLOADS[name])


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_is_in_the_routing_header(router: Router, seed: int) -> None:
    passes(router, drawn(seed))
    runs_out(router, drawn(seed))
