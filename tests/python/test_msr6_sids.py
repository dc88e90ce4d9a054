"""SIDs as addresses.

If these fail, routers, Linux hosts and the pages of lab 04 speak of different addresses.
"""

from __future__ import annotations

from ipaddress import IPv6Address, IPv6Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p4lab.model.control import NumberError
from p4lab.systems.msr6 import sids
from p4lab.systems.msr6.sids import GlobalSet, ListArgument, LocalBits, Sid
from p4lab.topology import Topology

BYTES, WORDS = st.integers(0, 0xFF), st.integers(0, 0xFFFF)


@pytest.mark.parametrize(
    ("sid", "address"),
    [
        (Sid(2, sids.END_RL, ListArgument(1, 5).pack()), "5f00::2:100:105:0"),
        (Sid(0x12, sids.END_RLB, LocalBits(0x8003, 7).pack()), "5f00::12:200:8003:700"),
        (Sid(1, sids.END_RGB, GlobalSet(3).pack()), "5f00::1:300:300:0"),
        (sids.leaf(0x8001), "5f00::8001:600:0:0"),
    ],
)
def test_where_the_parts_are(sid: Sid, address: str) -> None:
    assert sid.address == IPv6Address(address)
    assert Sid.parse(int(IPv6Address(address))) == sid


@given(st.integers(0, (1 << 128) - 1))
def test_every_address_comes_back(number: int) -> None:
    assert Sid.parse(number).pack() == number


@given(first=BYTES, second=BYTES, bits=WORDS, reserved=BYTES)
def test_arguments_come_back_whatever_is_reserved(first, second, bits, reserved) -> None:
    of_list = ListArgument(first, second)
    assert ListArgument.parse(of_list.pack() | reserved) == of_list
    assert LocalBits.parse(LocalBits(bits, first).pack() | reserved) == LocalBits(bits, first)
    assert GlobalSet.parse(GlobalSet(first).pack() | reserved) == GlobalSet(first)


def test_a_nodes_prefix_holds_its_sids_and_no_others() -> None:
    prefix = IPv6Network((sids.locator_prefix(7), sids.PREFIX_LENGTH))
    assert Sid(7, 0xFFFF, 0xFFFFFFFF).address in prefix
    assert Sid(7, 0).address in prefix
    assert Sid(8, 0).address not in prefix
    assert prefix.subnet_of(IPv6Network("5f00::/16"))  # RFC 9602


def test_hosts_have_numbers_of_their_own() -> None:
    topology = Topology.load("tree10")
    numbers = sids.node_numbers(topology)
    assert numbers["r3"] == 3
    assert [numbers[host.name] for host in topology.hosts[:3]] == [0x8001, 0x8002, 0x8003]
    assert len(set(numbers.values())) == len(topology.routers) + len(topology.hosts)


def test_a_router_that_has_a_hosts_number_is_named() -> None:
    data = {"name": "high", "description": "", "router": [{"number": 0x8000}], "link": []}
    with pytest.raises(NumberError, match=r"router r32768 .* up to 32767"):
        sids.node_numbers(Topology.from_data({**data, "host": []}))


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: Sid(1 << 16, 0), "node 65536"),
        (lambda: ListArgument(256, 0).pack(), "number of children 256"),
        (lambda: ListArgument(1, -1).pack(), "pointer -1"),
        (lambda: LocalBits(1 << 16, 0).pack(), "local bit string 65536"),
        (lambda: GlobalSet(256).pack(), "set identifier 256"),
    ],
)
def test_what_does_not_fit_is_said(make, what: str) -> None:
    with pytest.raises(NumberError, match=what):
        make()
