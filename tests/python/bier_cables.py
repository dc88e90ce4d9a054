"""Switches with p4/bier joined by cables, and RFC 8279's rule for what must arrive through them."""

from __future__ import annotations

from collections import Counter, deque
from functools import cache
from ipaddress import IPv4Address

from hypothesis import strategies as st

from p4lab import _engine
from p4lab.control.listeners import Member
from p4lab.engine import load_program
from p4lab.model.entries import Entries, diff
from p4lab.packets.probe import Probe, probe_frame
from p4lab.paths import ROOT
from p4lab.systems.bier.entries import bift_id, group_number, ideal_copies
from p4lab.topology import NO_FAILURES, Failures, Host, Topology

GROUP = IPv4Address("239.1.2.3")
BSLS = (64, 128, 256)


@cache
def program(bsl: int, file: str) -> _engine.Program:
    return load_program(ROOT / "p4/bier" / file, [("BSL", str(bsl))])


class Cables:
    """Switches joined by cables without delay: frames are handed on in the order they come out.

    What is on a link that is down is lost. Programs may number ports in their own way.
    """

    def __init__(self, topology: Topology, bsl: int, down: Failures = NO_FAILURES) -> None:
        self.topology = topology
        self.bsl = bsl
        self.down = down
        self.links: Counter[tuple[str, str]] = Counter()
        self.hosts: Counter[str] = Counter()
        self.switches: dict[str, _engine.Switch] = {}

    def add(self, router: str, file: str, entries: Entries) -> None:
        switch = _engine.Switch(program(self.bsl, file))
        switch.write(diff(frozenset(), entries))
        self.switches[router] = switch

    def to_switch(self, router: str, port: int) -> int:
        """The switch's number of a router's port."""
        return port

    def of_switch(self, router: str, port: int) -> int:
        """The number of a router's port that its switch calls so."""
        return port

    def inject(self, router: str, port: int, frame: bytes) -> None:
        """Let a frame come in at a router and follow all its copies to the end."""
        waiting = deque([(router, port, frame)])
        steps = 0
        while waiting:
            steps += 1
            assert steps < 5000, "frames run in a loop"
            here, port, data = waiting.popleft()
            for out_port, out in self.switches[here].process(self.to_switch(here, port), data):
                out_port = self.of_switch(here, out_port)
                far = self.topology.neighbour(here, out_port)
                assert far is not None, f"{here} sent to port {out_port}, where nothing is"
                self.links[here, far] += 1
                if self.down.has(self.topology.link(here, far)):
                    continue
                if far in self.switches:
                    waiting.append((far, self.topology.port(far, here), out))
                else:
                    assert Probe.of(out) is not None
                    self.hosts[far] += 1


def everyone(topology: Topology) -> frozenset[Member]:
    return members_of(topology.hosts)


def members_of(hosts: tuple[Host, ...] | set[Host]) -> frozenset[Member]:
    return frozenset(Member(h.router, h.port, group_number(str(GROUP))) for h in hosts)


def a_stream_reaches_its_subscribers_once(
    cables: Cables, source: Host, listeners: set[Host]
) -> None:
    """One packet of a source, and nothing but an ideal tree's copies of it."""
    cables.inject(source.router, source.port, probe_frame(source, GROUP, 1, 0))
    wanted = {h.name for h in listeners if h != source}
    assert cables.hosts == Counter(dict.fromkeys(wanted, 1))
    members = members_of(listeners)
    ideal = ideal_copies(cables.topology, source.name, int(GROUP), members, cables.bsl)
    ideal.pop((source.name, source.router), None)
    assert cables.links == Counter(ideal)


def any_bit_string_is_delivered_as_the_rfc_says(cables: Cables, data: st.DataObject) -> None:
    """Every router that is addressed gets the packet once, where everyone listens. A BitString may
    name routers that do not exist; they must not disturb the others."""
    topology, bsl = cables.topology, cables.bsl
    start = data.draw(st.sampled_from(topology.routers))
    si = data.draw(st.sampled_from([(r.own("bfr_id") - 1) // bsl for r in topology.routers]))
    bits = data.draw(st.integers(0, 2**bsl - 1))
    cables.inject(start.name, 200, bier_frame(bsl, si, bits))
    addressed = {
        router.name
        for router in topology.routers
        if (router.own("bfr_id") - 1) // bsl == si
        and bits >> ((router.own("bfr_id") - 1) % bsl) & 1
    }
    wanted = {host.name for host in topology.hosts if host.router in addressed}
    assert cables.hosts == Counter(dict.fromkeys(wanted, 1))
    between = {link: n for link, n in cables.links.items() if link[1] in cables.switches}
    assert all(count == 1 for count in between.values()), between


def bier_frame(bsl: int, si: int, bits: int) -> bytes:
    """A probe behind a BIER header, put together here from RFC 8296, section 2.1.1."""
    inner = probe_frame(Topology.load("paper").hosts[0], GROUP, 1, 0)[14:]
    code = {64: 1, 128: 2, 256: 3}[bsl]
    words = [bift_id(bsl, si) << 12 | 1 << 8 | 64, code << 20, 4 << 16 | 1]
    header = b"".join(word.to_bytes(4, "big") for word in words) + bits.to_bytes(bsl // 8, "big")
    return bytes(12) + b"\xab\x37" + header + inner
