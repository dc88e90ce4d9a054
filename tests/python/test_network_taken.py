"""What a host has "received" is what its kernel would have read.

If these fail, `run` and the notebook praise a program that leaves a header in front of the packet,
and only `check` sees it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from p4lab.engine import load_program
from p4lab.model.run import Received, Stream
from p4lab.network.taken import Taken
from p4lab.network.virtual import VirtualNetwork
from p4lab.topology import Topology

PAIR = Topology.from_data(
    {
        "name": "pair",
        "description": "Two hosts at one router",
        "router": [{"number": 1}],
        "host": [{"name": "h1", "router": "r1"}, {"name": "h2", "router": "r1"}],
        "link": [],
    }
)
H1, H2 = PAIR.hosts
MS = 1_000_000
STREAM = Stream(1, H2.ip, H1, (H2,), 3, MS)

FORWARDS = """
#include <core.p4>
#include <v1model.p4>
header ethernet_t { bit<48> dst; bit<48> src; bit<16> kind; }
header ppp_t { bit<16> protocol; }
header ipv4_t { bit<64> front; bit<8> ttl; bit<8> protocol; bit<16> checksum; }
struct headers { ethernet_t ethernet; ppp_t ppp; ipv4_t ipv4; }
struct metadata { }
parser P(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start { p.extract(h.ethernet); p.extract(h.ipv4); transition accept; }
}
control V(inout headers h, inout metadata m) { apply { } }
control I(inout headers h, inout metadata m, inout standard_metadata_t s) {
    apply { s.egress_spec = 2; h.ethernet.dst = TO; WRONG }
}
control E(inout headers h, inout metadata m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in headers h) { apply { p.emit(h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"""


class Silent:
    """A control plane that has nothing to do."""

    def packet_in(self, now: int, router: str, packet: object) -> None:
        pass

    def timer(self, now: int) -> None:
        pass

    def next_timer(self) -> None:
        return None


def observed(tmp_path: Path, wrong: str = "", to: int = H2.mac):
    file = tmp_path / "forwards.p4"
    file.write_text(FORWARDS.replace("WRONG", wrong).replace("TO", f"48w{to:#x}"))
    with VirtualNetwork(PAIR, load_program(file, ())) as net:
        net.start(STREAM, net.now)
        net.run_until(100 * MS, Silent())
        return net.observed()


def test_a_packet_in_order_is_received(tmp_path):
    seen = observed(tmp_path)
    assert seen.received == {("h2", 1): Received(3, 0)}
    assert seen.notes == ()


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("h.ppp.setValid(); h.ppp.protocol = 0x21;", "IPv4, but version 0 follows"),
        ("h.ethernet.kind = 0x8847;", "EtherType 0x8847 is neither IPv4 nor IPv6"),
        ("h.ipv4.ttl = h.ipv4.ttl - 1;", "the checksum of the IPv4 header is wrong"),
        ("h.ipv4.front[47:32] = 20;", "a length of 20 bytes, and the packet has 86"),
    ],
)
def test_wrong_headers_are_not_received_and_the_reason_is_given(tmp_path, wrong, why):
    seen = observed(tmp_path, wrong)
    assert seen.received == {}
    (note,) = seen.notes
    assert note.startswith("h2 got 3 packets, but could not read them: ")
    assert note.endswith(f"{why}.")


def test_a_frame_for_another_mac_address_is_not_received(tmp_path):
    seen = observed(tmp_path, to=H1.mac)
    assert seen.received == {}
    assert seen.notes == (
        "h2 got 3 packets, but could not read them: Ethernet has another destination.",
    )


def test_what_should_not_be_there_counts_whether_it_can_be_read_or_not():
    """Copies for hosts that did not ask for them are a mistake of the program, whatever is in
    them."""
    taken = Taken([STREAM])
    taken.add("h1", 1, Received(1, 0), {"no reason": 4})
    assert taken.received == {("h1", 1): Received(5, 0)}
    assert taken.notes == ()


def test_many_hosts_are_named_in_one_sentence():
    hosts = tuple(replace(H2, name=f"h{number}") for number in range(7))
    taken = Taken([replace(STREAM, receivers=hosts)])
    for host in hosts:
        taken.add(host.name, 1, Received(0, 0), {"why": 1})
    assert taken.notes == (
        "h0 (1), h1 (1), h2 (1), h3 (1) and 3 more got packets, but could not read them: why.",
    )
