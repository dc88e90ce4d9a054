"""p4/bier-frr on the engine, on random networks: what a student sees when a link is killed.

Switches are joined by cables that lose everything while their link is down. The routers at its ends
know the state of their ports and nothing else; no table changes. Where a way is left, every
subscriber must get the packet, never twice, and no frame may go round in circles.
"""

from __future__ import annotations

from collections import Counter, deque
from functools import cache
from ipaddress import IPv4Address

import networkx
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bier_oracle import networks
from p4lab import _engine
from p4lab.control.igp import underlay
from p4lab.control.listeners import Member
from p4lab.engine import load_program
from p4lab.model.entries import diff
from p4lab.model.layout import CPU_PORT
from p4lab.network.cpu import CpuPort
from p4lab.packets.probe import Probe, probe_frame
from p4lab.paths import ROOT
from p4lab.scripts import defines_of
from p4lab.systems.bier.entries import group_number
from p4lab.systems.frr.entries import FULL, Protection, frr_entries, port_status
from p4lab.systems.frr.lfa import alternate
from p4lab.topology import Topology

GROUP = IPv4Address("239.1.2.3")
BSLS = (64, 128, 256)
FRR = ROOT / "p4" / "bier-frr"
LONGEST = 50  # hops; a packet in a loop makes 64 before its TTL is gone


@cache
def program(bsl: int) -> _engine.Program:
    return load_program(FRR / "v1model.p4", [("BSL", str(bsl))])


class Cables:
    """Switches joined by cables without delay; `dead` holds pairs of names that carry nothing."""

    def __init__(self, topology, bsl, members, protection=FULL):
        self.topology = topology
        self.links: Counter[tuple[str, str]] = Counter()
        self.hosts: Counter[str] = Counter()
        self.dead: set[frozenset[str]] = set()
        self.switches = {}
        for name, entries in frr_entries(topology, members, bsl, protection=protection).items():
            self.switches[name] = _engine.Switch(program(bsl))
            self.switches[name].write(diff(frozenset(), entries))

    def fail(self, a: str, b: str, down: bool = True) -> None:
        """The link carries nothing, and the routers at its ends see it."""
        (self.dead.add if down else self.dead.discard)(frozenset((a, b)))
        for here, there in ((a, b), (b, a)):
            if here in self.switches:
                port, frame = port_status(self.topology.port(here, there), down)
                told = CpuPort(CPU_PORT).packet_out(port, frame)
                assert self.switches[here].process(CPU_PORT, told) == []

    def inject(self, router: str, port: int, frame: bytes) -> None:
        """Let a frame come in at a router and follow all its copies to the end."""
        waiting = deque([(router, port, frame, 0)])
        while waiting:
            here, port, data, hops = waiting.popleft()
            assert hops < LONGEST, "a frame goes round in circles"
            for out_port, out in self.switches[here].process(port, data):
                far = self.topology.neighbour(here, out_port)
                assert far is not None, f"{here} sent to port {out_port}, where nothing is"
                if frozenset((here, far)) in self.dead:
                    continue
                self.links[here, far] += 1
                if far in self.switches:
                    waiting.append((far, self.topology.port(far, here), out, hops + 1))
                else:
                    assert Probe.of(out) is not None
                    self.hosts[far] += 1


@pytest.mark.parametrize("script", sorted((FRR / "tests").glob("*.stf")), ids=lambda p: p.stem)
def test_what_the_program_ships_passes(script) -> None:
    """Frame by frame, with headers computed by hand; the same scripts pass on simple_switch."""
    ((_, bsl),) = defines_of(script)
    done = _engine.stf(program(int(bsl)), str(script))
    assert done["passed"], done["text"]


def everyone(topology: Topology) -> frozenset[Member]:
    return frozenset(Member(h.router, h.port, group_number(str(GROUP))) for h in topology.hosts)


def core_links(topology: Topology):
    return [link for link in topology.links if not link.is_access]


def reachable_hosts(topology: Topology, source, dead) -> set[str]:
    """Whom a packet from a host can reach at all, without some links and routers."""
    graph = topology.graph.copy()
    for gone in dead:
        if isinstance(gone, str):
            graph.remove_node(gone)
        else:
            graph.remove_edge(*gone)
    near = networkx.node_connected_component(graph, source.name)
    return {host.name for host in topology.hosts if host.name in near} - {source.name}


def covered(topology: Topology, ends, node: bool = False) -> bool:
    """Whether each router in `ends` has an alternate for all it sends to the other ones."""
    igp = underlay(topology)
    found = [
        alternate(topology, here, destination)
        for here, failed in ends
        for destination, next_hop in igp.next_hops[here].items()
        if next_hop == failed and not (node and destination == failed)
    ]
    return all(found) and (not node or all(each.node_protecting for each in found))


def draw_case(data, topology, bsl, protection):
    source = data.draw(st.sampled_from(topology.hosts))
    cables = Cables(topology, bsl, everyone(topology), protection)
    return (
        cables,
        source,
        lambda: cables.inject(source.router, source.port, probe_frame(source, GROUP, 1, 0)),
    )


PROTECTIONS = st.sampled_from([Protection("link"), Protection("node")])


@settings(max_examples=60)
@given(topology=networks(7), bsl=st.sampled_from(BSLS), protection=PROTECTIONS, data=st.data())
def test_one_failed_link(topology, bsl, protection, data) -> None:
    """All whom a way is left to, as far as there are alternates, and each of them once."""
    assume(topology.hosts and core_links(topology))
    link = data.draw(st.sampled_from(core_links(topology)))
    cables, source, send = draw_case(data, topology, bsl, protection)
    cables.fail(link.a, link.b)
    send()
    wanted = reachable_hosts(topology, source, [(link.a, link.b)])
    assert set(cables.hosts.values()) <= {1}
    assert set(cables.hosts) <= wanted
    if covered(topology, [(link.a, link.b), (link.b, link.a)]):
        assert set(cables.hosts) == wanted
    cables.fail(link.a, link.b, down=False)
    cables.hosts.clear()
    send()
    assert cables.hosts == Counter(dict.fromkeys(reachable_hosts(topology, source, []), 1))


@settings(max_examples=60)
@given(topology=networks(7), bsl=st.sampled_from(BSLS), data=st.data())
def test_one_failed_router(topology, bsl, data) -> None:
    """Node protection serves those behind a router that failed, if the ways round it are known."""
    assume(topology.hosts)
    cables, source, send = draw_case(data, topology, bsl, Protection("node"))
    dead = data.draw(st.sampled_from([r.name for r in topology.routers]))
    assume(dead != source.router)
    near = [neighbour.name for neighbour, _ in topology.neighbours(dead)]
    for name in near:
        cables.fail(name, dead)
    send()
    wanted = reachable_hosts(topology, source, [dead])
    assert set(cables.hosts.values()) <= {1}
    assert set(cables.hosts) <= wanted
    if covered(topology, [(name, dead) for name in near], node=True):
        assert set(cables.hosts) == wanted


@settings(max_examples=80)
@given(topology=networks(7), bsl=st.sampled_from(BSLS), protection=PROTECTIONS, data=st.data())
def test_several_failed_links(topology, bsl, protection, data) -> None:
    """What was prepared for one failure need not suffice, but nothing is doubled and no frame
    circles, however many links have failed."""
    assume(topology.hosts and core_links(topology))
    cables, source, send = draw_case(data, topology, bsl, protection)
    for link in data.draw(st.sets(st.sampled_from(core_links(topology)), min_size=1, max_size=5)):
        cables.fail(link.a, link.b)
    send()
    assert set(cables.hosts.values()) <= {1}
    assert set(cables.hosts) <= reachable_hosts(topology, source, cables.dead)
