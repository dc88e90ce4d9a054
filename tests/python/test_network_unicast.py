"""Hosts talk to one host, not only to groups, on both networks.

If these fail, a lab about unicast sends frames that no router would get from a real host, or counts
what arrives as somebody else's.
"""

from __future__ import annotations

import os
import shutil

import pytest

from p4lab.control.igp import underlay
from p4lab.control.plane import EntryPlane
from p4lab.engine import load_program
from p4lab.model.entries import Entries, Exact, Lpm, TableEntry
from p4lab.model.run import Stream
from p4lab.network import open_network
from p4lab.network.virtual import VirtualNetwork
from p4lab.packets.probe import probe_frame
from p4lab.topology import Topology

MS = 1_000_000
TOOLS = ("mnexec", "ifconfig", "ip", "ethtool")
NETWORKS = [
    "virtual",
    pytest.param(
        "linux",
        marks=pytest.mark.skipif(
            os.geteuid() != 0 or any(shutil.which(tool) is None for tool in TOOLS),
            reason="Mininet needs root and its tools",
        ),
    ),
]

# A router takes what is addressed to itself: a frame for another MAC address is dropped.
ROUTER = """
#include <core.p4>
#include <v1model.p4>
header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
header ipv4_t {
    bit<64> start; bit<8> ttl; bit<8> protocol; bit<16> checksum; bit<32> src; bit<32> dst;
}
struct headers { ethernet_t ethernet; ipv4_t ipv4; }
struct metadata { }
parser P(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start { p.extract(h.ethernet); p.extract(h.ipv4); transition accept; }
}
control V(inout headers h, inout metadata m) { apply { } }
control I(inout headers h, inout metadata m, inout standard_metadata_t s) {
    action drop() { mark_to_drop(s); }
    action route(bit<9> port, bit<48> mac) { s.egress_spec = port; h.ethernet.dst = mac; }
    table own_macs {
        key = { h.ethernet.dst: exact @name("mac"); }
        actions = { NoAction; drop; }
        default_action = drop();
    }
    table routes {
        key = { h.ipv4.dst: lpm @name("destination"); }
        actions = { route; drop; }
        default_action = drop();
    }
    apply { if (own_macs.apply().hit) { routes.apply(); } }
}
control E(inout headers h, inout metadata m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in headers h) { apply { p.emit(h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"""

TOPOLOGY = Topology.from_data(
    {
        "name": "three",
        "description": "Three routers in a row",
        "router": [{"number": 1}, {"number": 2}, {"number": 3}],
        "host": [
            {"name": "h1", "router": "r1"},
            {"name": "h2", "router": "r1"},
            {"name": "h3", "router": "r3"},
        ],
        "link": [{"a": "r1", "b": "r2"}, {"a": "r2", "b": "r3", "delay": "1 ms"}],
    }
)


class Plane(EntryPlane):
    """Routes to all hosts, and the router's own MAC addresses."""

    def compute(self) -> dict[str, Entries]:
        return {router.name: frozenset(self._rows(router.name)) for router in TOPOLOGY.routers}

    def _rows(self, router: str) -> list[TableEntry]:
        rows = []
        for port in TOPOLOGY.ports(router):
            match = (("mac", Exact(TOPOLOGY.mac(router, port))),)
            rows.append(TableEntry("own_macs", match, "NoAction", ()))
        for host in TOPOLOGY.hosts:
            hop = underlay(TOPOLOGY).next_hop(router, host.router) or host.name
            far = 0 if hop == host.name else TOPOLOGY.port(hop, router)
            params = (("port", TOPOLOGY.port(router, hop)), ("mac", TOPOLOGY.mac(hop, far)))
            match = (("destination", Lpm(int(host.ip), 32)),)
            rows.append(TableEntry("routes", match, "route", params))
        return rows


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> object:
    file = tmp_path_factory.mktemp("router") / "router.p4"
    file.write_text(ROUTER)
    return load_program(file)


def stream(number: int, source: str, destination: str, packets: int = 20) -> Stream:
    there = TOPOLOGY.host(destination)
    return Stream(number, there.ip, TOPOLOGY.host(source), (there,), packets, MS)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_stream_to_a_host_arrives_there_and_nowhere_else(name: str, program: object) -> None:
    """Far away, next door on the same router, and back."""
    streams = [stream(1, "h1", "h3"), stream(2, "h1", "h2"), stream(3, "h3", "h2")]
    with open_network(name, TOPOLOGY, program) as net:
        plane = Plane(TOPOLOGY, net.driver)
        plane.start(net.now)
        for one in streams:
            net.start(one, net.now + MS)
        net.run_until(net.now + 500 * MS, plane)
        observed = net.observed()
    assert observed.sent == {1: 20, 2: 20, 3: 20}
    got = {key: (seen.unique, seen.duplicates) for key, seen in observed.received.items()}
    assert got == {("h3", 1): (20, 0), ("h2", 2): (20, 0), ("h2", 3): (20, 0)}
    assert observed.copies["r2", "r3"] == 20
    assert observed.copies["h1", "r1"] == 40


def test_what_is_for_another_host_is_not_taken(program: object) -> None:
    """A router that sends to the wrong host is caught by that host's network card."""

    class Wrong(Plane):
        def _rows(self, router: str) -> list[TableEntry]:
            if router != "r1":
                return super()._rows(router)
            params = (("port", TOPOLOGY.port("r1", "h2")), ("mac", TOPOLOGY.host("h3").mac))
            to_h3 = (("destination", Lpm(int(TOPOLOGY.host("h3").ip), 32)),)
            rows = [row for row in super()._rows(router) if row.match != to_h3]
            return [*rows, TableEntry("routes", to_h3, "route", params)]

    with VirtualNetwork(TOPOLOGY, program) as net:
        plane = Wrong(TOPOLOGY, net.driver)
        plane.start(net.now)
        net.start(stream(1, "h1", "h3"), net.now)
        net.run_until(500 * MS, plane)
        assert net.engine.report(net._nodes["h2"])[0]["unwanted"] == 20
        assert ("h3", 1) not in net.observed().received


def test_load_sends_to_a_host_as_well(program: object) -> None:
    there = TOPOLOGY.host("h3")
    with VirtualNetwork(TOPOLOGY, program) as net:
        plane = Plane(TOPOLOGY, net.driver)
        plane.start(net.now)
        net.measure(there)
        net.load(TOPOLOGY.host("h1"), there.ip, 1, rate=10**7, count=50)
        net.run_until(500 * MS, plane)
        assert net.measured(there)["frames"] == 50


def test_the_frame_goes_to_the_port_of_the_router() -> None:
    """As a host with a default gateway sends it; a group has a MAC address of its own."""
    host = TOPOLOGY.host("h2")
    frame = probe_frame(host, TOPOLOGY.host("h3").ip, 1, 0)
    assert int.from_bytes(frame[:6], "big") == TOPOLOGY.mac("r1", host.port)
    assert probe_frame(host, 0xEF010101, 1, 0)[:6].hex() == "01005e010101"
