"""Random networks for MSR6, and packets with a tree in front of them."""

from __future__ import annotations

import struct
from ipaddress import IPv6Address

from hypothesis import strategies as st

from p4lab.systems.msr6.encoded import Encoded
from p4lab.topology import Topology

INGRESS = IPv6Address("fd00:0:0:1::fe").packed
GROUP = IPv6Address("ff3e::4:1").packed


def ipv6(destination: bytes, next_header: int, payload: bytes, hop_limit: int = 64) -> bytes:
    """An IPv6 header and what follows it."""
    fixed = struct.pack("!IHBB", 6 << 28, len(payload), next_header, hop_limit)
    return fixed + INGRESS + destination + payload


def inner(hop_limit: int = 63) -> bytes:
    """A UDP packet to a group."""
    udp = struct.pack("!HHHH", 4000, 4001, 12, 0) + b"data"
    return ipv6(GROUP, 17, udp, hop_limit)


def packet(encoded: Encoded, hop_limit: int = 64) -> bytes:
    """What the ingress makes of a packet to a group: from its first IPv6 header on."""
    return ipv6(encoded.destination.address.packed, 43, encoded.header() + inner(), hop_limit)


@st.composite
def networks(draw: st.DrawFn, max_routers: int = 9) -> Topology:
    """Connected networks: a random tree, some more links, up to three hosts on a router.

    Router numbers spread over several sets of 128, links differ in cost, ports are in no order.
    """
    count = draw(st.integers(2, max_routers))
    ids = st.integers(1, 600)
    numbers = draw(st.lists(ids, min_size=count, max_size=count, unique=True))
    pairs = {(draw(st.integers(0, i - 1)), i) for i in range(1, count)}
    ends = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    more = draw(st.sets(ends, max_size=8))
    pairs |= {(min(pair), max(pair)) for pair in more if len(set(pair)) > 1}
    costs = st.integers(1, 3)
    return Topology.from_data(
        {
            "name": "random",
            "description": "",
            "router": [{"number": number} for number in numbers],
            "host": [
                {"name": f"h{number}_{index}", "router": f"r{number}"}
                for number in numbers
                for index in range(draw(st.integers(0, 3)))
            ],
            "link": [
                {"a": f"r{numbers[a]}", "b": f"r{numbers[b]}", "cost": draw(costs)}
                for a, b in draw(st.permutations(sorted(pairs)))
            ],
        }
    )
