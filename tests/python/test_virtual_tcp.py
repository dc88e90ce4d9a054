"""Hosts with a TCP in virtual time, from Python.

If these fail, an experiment on goodput is told a number that the network did not give.
"""

import math
import re

import networkx as nx
import pytest

from p4lab import _engine
from p4lab.experiment.goodput import PARALLEL, goodput_windows, parallel
from p4lab.experiment.steady import steady_state
from p4lab.model.entries import Exact, TableEntry, Update
from p4lab.network.virtual import VirtualNetwork
from p4lab.packets.pcapng import frames
from p4lab.paths import ROOT
from p4lab.topology import Topology

US = 10**6
MS = 10**9
GIGABIT = 10**9
PAGE = ROOT / "docs" / "virtual-time.md"

# Sends each frame where its destination lives.
FORWARDING = """
#include <core.p4>
#include <v1model.p4>
header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
struct headers { ethernet_t ethernet; }
struct metadata {}
parser P(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start { p.extract(h.ethernet); transition accept; }
}
control V(inout headers h, inout metadata m) { apply {} }
control I(inout headers h, inout metadata m, inout standard_metadata_t s) {
    action out_of(bit<9> port) { s.egress_spec = port; }
    action drop() { mark_to_drop(s); }
    table stations {
        key = { h.ethernet.dst: exact; }
        actions = { out_of; drop; }
        default_action = drop();
    }
    apply { stations.apply(); }
}
control E(inout headers h, inout metadata m, inout standard_metadata_t s) { apply {} }
control D(packet_out p, in headers h) { apply { p.emit(h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"""


def program():
    compilation = _engine.compile_text("forwarding.p4", FORWARDING)
    assert compilation.program is not None, compilation.render()
    return compilation.program


def station(mac, port):
    entry = TableEntry("stations", (("h.ethernet.dst", Exact(mac)),), "out_of", (("port", port),))
    return Update("insert", entry)


def two_hosts(*, seed=1, mtu=1500, engine="interpreter", **link):
    """A network of a server and a client with one switch between them; their numbers."""
    net = _engine.Network(seed)
    switch = net.add_switch("s1", program(), engine=engine)
    hosts = []
    for port in (1, 2):
        mac = 0x020000000000 + port
        host = net.add_host(f"h{port}", mac)
        net.connect((host, 0), (switch, port), **link)
        net.set_tcp(host, 0x0A000000 + port, mtu=mtu)
        net.write(switch, [station(mac, port)])
        hosts.append(host)
    return net, *hosts


def pairs(count, rate, *, seed=1):
    """Servers with `rate` at one switch, their clients at another, 100 Gb/s everywhere. Gives the
    network and each pair's transfers."""
    net = _engine.Network(seed)
    switches = [net.add_switch(name, program()) for name in ("s1", "s2")]
    fast = {"rate": 100 * GIGABIT, "delay": US, "overhead": 24}
    net.connect((switches[0], 9), (switches[1], 9), **fast)
    hosts = {}
    for side, switch in enumerate(switches):
        for port in range(1, count + 1):
            mac = 0x020000000000 | side << 8 | port
            hosts[side, port] = net.add_host(f"h{side}.{port}", mac)
            net.connect((hosts[side, port], 0), (switch, port), **fast)
            net.set_tcp(hosts[side, port], 10 << 24 | side << 8 | port, rate=(rate, None)[side])
            for other, node in enumerate(switches):
                net.write(node, [station(mac, port if other == side else 9)])
    how = {"within": 20 * US, "seed": seed}
    return net, {
        f"pair {port}": parallel(net, hosts[0, port], hosts[1, port], **how)
        for port in range(1, count + 1)
    }


@pytest.mark.parametrize("engine", ["interpreter", "jit"])
@pytest.mark.parametrize("mtu", [1500, 1472, 9000])
def test_a_flow_through_a_switch_has_the_rate_of_the_line_but_for_headers(mtu, engine):
    """Ethernet 14, IPv4 20, TCP 20; with overhead=24: preamble and gap 20, checksum 4."""
    link = {"rate": 10 * GIGABIT, "delay": US, "overhead": 24}
    net, server, client = two_hosts(mtu=mtu, engine=engine, **link)
    flow = net.transfer(server, client)
    net.run_until(MS)
    window = goodput_windows(net, {"flow": [flow]}, 5 * MS)
    expected = 10 * GIGABIT * (mtu - 40) / (mtu + 14 + 24)
    assert window()["flow"] == pytest.approx(expected, rel=0.001)
    seen = net.transferred(flow)
    assert seen["wrong"] == seen["retransmitted"] == 0
    assert seen["acknowledged"] <= seen["delivered"] <= seen["written"]


def test_pairs_fill_the_line_between_two_switches_when_they_are_enough():
    """The shape of figure 3 of P4-Protect, with hosts of 28 Gb/s: three do not fill 100 Gb/s, four
    do, and then share it."""
    share = 1460 / 1514  # of a frame
    for count, expected in ((1, 28 * share), (3, 84 * share), (4, 100 * 1460 / 1538)):
        net, groups = pairs(count, 28 * GIGABIT)
        assert all(len(flows) == PARALLEL for flows in groups.values())
        window = goodput_windows(net, groups, 50 * US)
        steady = steady_state(window, target=0.02, most=400)
        total = sum(mean.value for mean in steady.means.values())
        assert total == pytest.approx(expected * GIGABIT, rel=0.005)
        for mean in steady.means.values():
            assert mean.value == pytest.approx(total / count, rel=0.02)


def test_the_seed_decides_the_run():
    def run(seed):
        net, groups = pairs(2, 28 * GIGABIT, seed=seed)
        net.fingerprint_on()
        net.run_until(MS // 2)
        return net.fingerprint, [net.transferred(n) for flows in groups.values() for n in flows]

    assert run(1) == run(1)
    assert run(1) != run(2)


def test_a_file_arrives_whole_over_a_line_that_loses():
    net, server, client = two_hosts(rate=GIGABIT, delay=100 * US, jitter=50 * US, loss=0.01)
    flow = net.transfer(server, client, bytes=1_000_000, window=30_000, congestion="reno")
    net.run_until(600 * 10**12)
    seen = net.transferred(flow)
    assert seen["done"]
    assert (seen["delivered"], seen["wrong"]) == (1_000_000, 0)
    assert seen["retransmitted"] > 0
    assert seen["segments"] - seen["retransmitted"] >= math.ceil(1_000_000 / 1460)


def test_hosts_of_a_topology_have_their_addresses():
    topology = Topology.load("ring")
    net = VirtualNetwork(topology, program())
    server, client = topology.hosts[:2]
    graph = nx.Graph((link.a, link.b) for link in topology.links)
    for host in (server, client):
        for router in topology.routers:
            link = topology.link(router.name, nx.shortest_path(graph, router.name, host.name)[1])
            port = link.a_port if link.a == router.name else link.b_port
            net.driver(router.name).write([station(host.mac, port)])
    numbers = [net.set_tcp(host, mtu=1000) for host in (server, client)]
    flow = net.engine.transfer(*numbers, bytes=96_000)
    cable = net._number(topology.link(client.name, client.router))
    net.engine.capture(cable)
    net.engine.run_until(10**12)
    assert net.engine.transferred(flow)["done"]
    seen = [frame for _, frame in frames(net.engine.drain_capture(cable)) if len(frame) > 66]
    assert {frame[26:34] for frame in seen} == {server.ip.packed + client.ip.packed}
    assert max(map(len, seen)) == 14 + 1000


def test_what_makes_no_sense_is_refused():
    net, server, client = two_hosts()
    bare = net.add_host("h3", 3)
    for wrong, sentence in (
        (lambda: net.transfer(server, client, congestion="bbr"), '"none", "reno" or "cubic"'),
        (
            lambda: net.transfer(server, bare),
            "h3 has no TCP; give it an address",
        ),
        (lambda: net.transfer(server, server), "h1 cannot send to itself"),
        (lambda: net.transfer(server, client, window=0), "256 to 1073741824 bytes, not 0"),
        (lambda: net.set_tcp(bare, 1, mtu=20), "128 to 65535 bytes here, not 20"),
        (lambda: net.set_tcp(server, 1), "h1 has a TCP already"),
        (lambda: net.transferred(7), "there is no transfer number 7"),
    ):
        with pytest.raises(ValueError, match=re.escape(sentence)):
            wrong()


def test_the_example_of_the_page_prints_what_the_page_says(capsys):
    part = PAGE.read_text().split("## Hosts with a TCP")[1]
    code, output = re.search(
        r"```python\n(.*?)```\n\nIt prints\n\n```\n(.*?)```", part, re.S
    ).groups()
    exec(compile(code, str(PAGE), "exec"), {"__name__": "example"})
    assert capsys.readouterr().out == output
