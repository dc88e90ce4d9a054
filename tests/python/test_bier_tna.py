"""p4/bier on Tofinos: the entries of the same control plane, on random networks, against RFC 8279.

Whoever runs the lab's control plane for a Tofino, a virtual one or the one in the rack, relies on
these entries: every router that is addressed gets the packet once, by however many recirculation
ports, also beside v1model switches and around a port that is down.
"""

from __future__ import annotations

from collections import Counter
from functools import reduce
from operator import or_

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bier_cables import (
    BSLS,
    GROUP,
    Cables,
    a_stream_reaches_its_subscribers_once,
    any_bit_string_is_delivered_as_the_rfc_says,
    bier_frame,
    everyone,
    members_of,
)
from bier_oracle import networks
from p4lab.control.igp import underlay
from p4lab.control.listeners import Member
from p4lab.control.loops import loop_count
from p4lab.model.control import NumberError
from p4lab.model.entries import RegisterCell, Update
from p4lab.model.layout import TnaLayout, front_number, front_port
from p4lab.packets.probe import probe_frame
from p4lab.systems.bier.entries import bier_entries
from p4lab.systems.bier_tna.entries import backup_entries, tna_entries
from p4lab.systems.frr.lfa import alternate, neighbour_alternate
from p4lab.topology import NO_FAILURES, Failures, Topology

LOOPS = (68, 69, 196, 327)  # of three pipes


class TnaCables(Cables):
    """Some of the switches are Tofinos."""

    def __init__(
        self,
        topology: Topology,
        bsl: int,
        members: frozenset[Member],
        tofinos: frozenset[str],
        layout: TnaLayout,
        down: Failures = NO_FAILURES,
    ) -> None:
        super().__init__(topology, bsl, down)
        self.tofinos = tofinos
        neutral = bier_entries(topology, members, bsl)
        for name, tna in tna_entries(topology, members, bsl, layout=layout).items():
            if name in tofinos:
                self.add(name, "tna.p4", tna)
            else:
                self.add(name, "v1model.p4", neutral[name])

    def to_switch(self, router: str, port: int) -> int:
        return front_port(port) if router in self.tofinos else port

    def of_switch(self, router: str, port: int) -> int:
        return front_number(port) if router in self.tofinos else port


def some(data: st.DataObject, topology: Topology) -> frozenset[str]:
    """Which routers are Tofinos: often all, or one."""
    names = [router.name for router in topology.routers]
    return frozenset(data.draw(st.sets(st.sampled_from(names), min_size=1) | st.just(set(names))))


@settings(max_examples=40, deadline=None)
@given(topology=networks(), bsl=st.sampled_from(BSLS), k=st.integers(1, 4), data=st.data())
def test_a_stream_reaches_its_subscribers_once(topology, bsl, k, data) -> None:
    if not topology.hosts:
        return
    listeners = data.draw(st.sets(st.sampled_from(topology.hosts)))
    source = data.draw(st.sampled_from(topology.hosts))
    members = members_of(listeners)
    cables = TnaCables(topology, bsl, members, some(data, topology), TnaLayout(LOOPS[:k]))
    a_stream_reaches_its_subscribers_once(cables, source, listeners)


@settings(max_examples=40, deadline=None)
@given(topology=networks(), bsl=st.sampled_from(BSLS), k=st.integers(1, 4), data=st.data())
def test_any_bit_string_is_delivered_as_the_rfc_says(topology, bsl, k, data) -> None:
    tofinos, layout = some(data, topology), TnaLayout(LOOPS[:k])
    cables = TnaCables(topology, bsl, everyone(topology), tofinos, layout)
    any_bit_string_is_delivered_as_the_rfc_says(cables, data)


@settings(max_examples=40, deadline=None)
@given(topology=networks(), bsl=st.sampled_from(BSLS), data=st.data())
def test_around_a_link_that_is_down_before_the_control_plane_knows(topology, bsl, data) -> None:
    """Both ends see it. Who has a loop-free alternate by then, by the RFC's inequality, gets the
    packet once; who has none, nothing; nobody gets two."""
    cores = [link for link in topology.links if not link.is_access]
    if not cores or not topology.hosts:
        return
    broken = data.draw(st.sampled_from(cores))
    names = frozenset(router.name for router in topology.routers)
    down = Failures(frozenset({broken.ends}))
    cables = TnaCables(topology, bsl, everyone(topology), names, TnaLayout(LOOPS[:2]), down)
    for router, port in ((broken.a, broken.a_port), (broken.b, broken.b_port)):
        cell = RegisterCell("port_down", front_port(port), 1)
        cables.switches[router].write([Update("modify", cell)])
    source = data.draw(st.sampled_from(topology.hosts))
    cables.inject(source.router, source.port, probe_frame(source, GROUP, 1, 0))
    reached = {
        router.name
        for router in topology.routers
        if survives(topology, source.router, router.name, broken.ends)
    }
    wanted = {h.name for h in topology.hosts if h.router in reached and h != source}
    assert cables.hosts == Counter(dict.fromkeys(wanted, 1))


def survives(topology: Topology, start: str, end: str, broken: frozenset[str]) -> bool:
    """Whether a packet gets there, one hop after the other, by the inequality alone."""
    igp = underlay(topology)
    here = start
    for _ in topology.routers:
        if here == end:
            return True
        there = igp.next_hop(here, end)
        if there is None:
            return False
        if frozenset({here, there}) == broken:
            distance = igp.distances
            detours = [
                n.name
                for n, _ in topology.neighbours(here)
                if n.name != there
                and distance[n.name][end] < distance[n.name][here] + distance[here][end]
            ]
            if not detours:
                return False
            chosen = neighbour_alternate(topology, here, end)
            assert chosen is not None and chosen.neighbour in detours
            there = chosen.neighbour
        here = there
    return here == end


@given(topology=networks())
def test_an_alternate_without_a_tunnel_is_as_good_as_with_one_where_there_is_one(topology) -> None:
    for source in topology.routers:
        for end in topology.routers:
            any_kind = alternate(topology, source.name, end.name)
            if any_kind is not None and any_kind.tunnel is None:
                assert neighbour_alternate(topology, source.name, end.name) is not None


@given(topology=networks(), bsl=st.sampled_from(BSLS))
def test_backups_divide_what_is_behind_a_port(topology, bsl) -> None:
    """No BFER is in two backup F-BMs of one port, or a packet would go two ways at once."""
    for router in topology.routers:
        masks: dict[tuple[int, int], dict[int, int]] = {}
        for row in backup_entries(topology, router.name, bsl):
            if row.table != "backup":
                continue
            match, params = dict(row.match), dict(row.params)
            assert match["remaining"].value & params["fbm"], "its own bit, or it comes for ever"
            port = match["bift_id"].value, match["port"].value
            masks.setdefault(port, {})[params["port"]] = params["fbm"]
        for by_detour in masks.values():
            assert sum(by_detour.values()) == reduce(or_, by_detour.values())


@pytest.mark.parametrize("next_hops", range(1, 9))
def test_k_is_changed_while_packets_flow(next_hops: int) -> None:
    """With n next hops, every packet takes n - 1 turns; k may change between any two."""
    data = {
        "name": "fan",
        "description": "",
        "router": [{"number": n} for n in range(1, next_hops + 2)],
        "host": [{"name": f"h{n}", "router": f"r{n}"} for n in range(1, next_hops + 2)],
        "link": [{"a": "r1", "b": f"r{n}"} for n in range(2, next_hops + 2)],
    }
    topology = Topology.from_data(data)
    names = frozenset(router.name for router in topology.routers)
    cables = TnaCables(topology, 64, everyone(topology), names, TnaLayout(LOOPS))
    bits = (1 << next_hops + 1) - 2
    for times, k in enumerate((4, 1, 3, 2, 4), start=1):
        change = Update("modify", loop_count(k))
        cables.switches["r1"].write([change])
        cables.inject("r1", 200, bier_frame(64, 0, bits))
        assert cables.hosts == Counter({f"h{n}": times for n in range(2, next_hops + 2)})
        turn = cables.switches["r1"].read_register("turn", 0)
        assert turn < max(k, 2) or next_hops < 3


def test_front_ports() -> None:
    assert [front_port(n) for n in (0, 63, 64, 127, 128, 255)] == [0, 63, 128, 191, 256, 447]
    assert all(front_number(front_port(n)) == n for n in range(256))
    with pytest.raises(NumberError, match="front ports 0 to 255"):
        front_port(256)
    with pytest.raises(ValueError, match="not a front port"):
        front_number(68)


def test_layouts_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="1 to 64"):
        TnaLayout(())
    with pytest.raises(ValueError, match="once"):
        TnaLayout((68, 68))
    far = {"number": 2, "bfr_id": 40000}
    data = {"name": "far", "description": "", "router": [{"number": 1}, far, {"number": 3}]}
    data["link"] = [{"a": a, "b": b} for a, b in (("r1", "r2"), ("r1", "r3"), ("r2", "r3"))]
    topology = Topology.from_data(data)
    with pytest.raises(NumberError, match="32767"):
        tna_entries(topology, frozenset(), 256)
    assert tna_entries(topology, frozenset(), 256, layout=TnaLayout(backups="none"))
