"""p4/bier on the engine against RFC 8279, on random networks, memberships and BitStrings.

A student takes what the engine shows for what BIER does. Here the engine forwards frames from
switch to switch, and what arrives is compared with what the RFC's rule says must arrive: every
addressed router that can be reached gets the packet exactly once, nobody else gets it, and no
link carries it twice.
"""

from __future__ import annotations

from collections import Counter, deque
from functools import cache
from ipaddress import IPv4Address

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bier_oracle import networks
from p4lab import _engine
from p4lab.control.bier import Member, bier_entries, bift_id, group_number, ideal_copies
from p4lab.control.entries import diff
from p4lab.engine import load_program, to_engine
from p4lab.lab.plan import ROOT
from p4lab.packets.probe import Probe, probe_frame
from p4lab.topology import Topology

GROUP = IPv4Address("239.1.2.3")
BSLS = (64, 128, 256)


@cache
def program(bsl: int) -> _engine.Program:
    return load_program(ROOT / "p4/bier/v1model.p4", [("BSL", str(bsl))])


class Cables:
    """Switches joined by cables without delay: frames are handed on in the order they come out."""

    def __init__(self, topology: Topology, bsl: int, members: frozenset[Member]) -> None:
        self.topology = topology
        self.links: Counter[tuple[str, str]] = Counter()
        self.hosts: Counter[str] = Counter()
        self.switches = {}
        for name, entries in bier_entries(topology, members, bsl).items():
            switch = _engine.Switch(program(bsl))
            switch.write(to_engine(diff(frozenset(), entries)))
            self.switches[name] = switch

    def inject(self, router: str, port: int, frame: bytes) -> None:
        """Let a frame come in at a router and follow all its copies to the end."""
        waiting = deque([(router, port, frame)])
        steps = 0
        while waiting:
            steps += 1
            assert steps < 5000, "frames run in a loop"
            here, port, data = waiting.popleft()
            for out_port, out in self.switches[here].process(port, data):
                far = self.topology.neighbour(here, out_port)
                assert far is not None, f"{here} sent to port {out_port}, where nothing is"
                self.links[here, far] += 1
                if far in self.switches:
                    waiting.append((far, self.topology.port(far, here), out))
                else:
                    assert Probe.of(out) is not None
                    self.hosts[far] += 1


def subscribe(data: st.DataObject, topology: Topology) -> frozenset[Member]:
    listeners = data.draw(st.sets(st.sampled_from(topology.hosts))) if topology.hosts else set()
    return frozenset(Member(h.router, h.port, group_number(str(GROUP))) for h in listeners)


@settings(max_examples=60)
@given(topology=networks(), bsl=st.sampled_from(BSLS), data=st.data())
def test_a_stream_reaches_its_subscribers_once(topology, bsl, data) -> None:
    if not topology.hosts:
        return
    members = subscribe(data, topology)
    source = data.draw(st.sampled_from(topology.hosts))
    cables = Cables(topology, bsl, members)
    cables.inject(source.router, source.port, probe_frame(source, GROUP, 1, 0))
    wanted = {
        topology.neighbour(m.router, m.port)
        for m in members
        if (m.router, m.port) != (source.router, source.port)
    }
    assert cables.hosts == Counter(dict.fromkeys(wanted, 1))
    ideal = ideal_copies(topology, source.name, int(GROUP), members, bsl)
    ideal.pop((source.name, source.router), None)
    assert cables.links == Counter(ideal)


@settings(max_examples=60)
@given(topology=networks(), bsl=st.sampled_from(BSLS), data=st.data())
def test_any_bit_string_is_delivered_as_the_rfc_says(topology, bsl, data) -> None:
    """A BitString may name routers that do not exist; they must not disturb the others."""
    everyone = frozenset(Member(h.router, h.port, group_number(str(GROUP))) for h in topology.hosts)
    cables = Cables(topology, bsl, everyone)
    start = data.draw(st.sampled_from(topology.routers))
    si = data.draw(st.sampled_from([(r.bfr_id - 1) // bsl for r in topology.routers]))
    bits = data.draw(st.integers(0, 2**bsl - 1))
    cables.inject(start.name, 200, bier_frame(bsl, si, bits))
    addressed = {
        router.name
        for router in topology.routers
        if (router.bfr_id - 1) // bsl == si and bits >> ((router.bfr_id - 1) % bsl) & 1
    }
    wanted = {host.name for host in topology.hosts if host.router in addressed}
    assert cables.hosts == Counter(dict.fromkeys(wanted, 1))
    between_routers = {
        link: count for link, count in cables.links.items() if link[1] in cables.switches
    }
    assert all(count == 1 for count in between_routers.values()), between_routers


def bier_frame(bsl: int, si: int, bits: int) -> bytes:
    """A probe behind a BIER header, put together here from RFC 8296, section 2.1.1."""
    topology = Topology.load("paper")
    inner = probe_frame(topology.hosts[0], GROUP, 1, 0)[14:]
    words = [
        bift_id(bsl, si) << 12 | 1 << 8 | 64,
        {64: 1, 128: 2, 256: 3}[bsl] << 20,
        4 << 16 | 1,
    ]
    header = b"".join(word.to_bytes(4, "big") for word in words) + bits.to_bytes(bsl // 8, "big")
    return bytes(12) + b"\xab\x37" + header + inner


@pytest.mark.parametrize("bsl", BSLS)
@pytest.mark.parametrize("name", ["paper", "rfc8279", "ring", "tree10", "fanout64", "sets"])
def test_the_shipped_topologies(name: str, bsl: int) -> None:
    topology = Topology.load(name)
    members = frozenset(Member(h.router, h.port, group_number(str(GROUP))) for h in topology.hosts)
    source = topology.hosts[0]
    cables = Cables(topology, bsl, members)
    cables.inject(source.router, source.port, probe_frame(source, GROUP, 1, 0))
    assert cables.hosts == Counter(h.name for h in topology.hosts if h != source)
