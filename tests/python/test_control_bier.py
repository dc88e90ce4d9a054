"""If these fail, packets are lost, duplicated or loop, however right the P4 program is."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bier_oracle import forward, lookup, networks, send
from p4lab.control.igp import shortest_paths
from p4lab.control.listeners import Member
from p4lab.model.control import NumberError
from p4lab.model.entries import CloneSession, MulticastGroup, TableEntry
from p4lab.systems.bier.entries import bier_entries, bit_strings, group_number, ideal_copies
from p4lab.topology import Failures, Topology, names

GROUP = group_number("239.1.1.1")
OTHER = group_number("232.0.1.1")  # the same low 16 bits

BSLS = st.sampled_from([64, 128, 256])


def everybody(topology, *groups):
    return frozenset(Member(h.router, h.port, group) for h in topology.hosts for group in groups)


def bift(topology, entries_of, router, si, bsl):
    """The BIFT of a router as in the papers: bit -> (F-BM, neighbour)."""
    rows = {}
    for entry in entries_of[router]:
        if not isinstance(entry, TableEntry) or entry.table != "bift":
            continue
        match, params = dict(entry.match), dict(entry.params)
        if match["bift_id"].value == {64: 1, 128: 2, 256: 3}[bsl] << 16 | si:
            far = topology.neighbour(router, params["port"]) if "port" in params else router
            rows[match["remaining"].value.bit_length()] = (params["fbm"], far)
    return rows


def test_table_1_of_the_tofino_paper():
    topology = Topology.load("paper")
    entries = bier_entries(topology, everybody(topology, GROUP), 64)
    assert bift(topology, entries, "r1", 0, 64) == {
        1: (0b0001, "r1"),
        2: (0b1010, "r2"),
        3: (0b0100, "r3"),
        4: (0b1010, "r2"),
    }
    links, got = Counter(), Counter()
    forward(entries, topology.neighbour, "r1", 1 << 16, 0b1110, links, got)
    assert got == {"r2": 1, "r3": 1, "r4": 1}
    assert links == {("r1", "r2"): 1, ("r1", "r3"): 1, ("r2", "r4"): 1}


def test_example_of_rfc_8279_figure_5():
    topology = Topology.load("rfc8279")
    entries = bier_entries(topology, frozenset(), 64)
    four = {
        router: {bit: row for bit, row in bift(topology, entries, router, 0, 64).items() if bit < 5}
        for router in "ABC"
    }
    # The RFC gives B and C no BFR-id; here they have bits 5 and 6, masked out of the F-BMs.
    shown = {
        router: {bit: (fbm & 0b1111, far) for bit, (fbm, far) in rows.items()}
        for router, rows in four.items()
    }
    assert shown == {
        "A": {1: (0b0111, "B"), 2: (0b0111, "B"), 3: (0b0111, "B"), 4: (0b1000, "A")},
        "B": {1: (0b0011, "C"), 2: (0b0011, "C"), 3: (0b0100, "E"), 4: (0b1000, "A")},
        "C": {1: (0b0001, "D"), 2: (0b0010, "F"), 3: (0b1100, "B"), 4: (0b1100, "B")},
    }
    links, got = Counter(), Counter()
    forward(entries, topology.neighbour, "A", 1 << 16, 0b0101, links, got)
    assert got == {"D": 1, "E": 1}
    assert links == {("A", "B"): 1, ("B", "C"): 1, ("B", "E"): 1, ("C", "D"): 1}


def test_check_vector_of_rfc_8279_section_3():
    assert bit_strings([27, 235, 497], 256) == {0: 1 << 26 | 1 << 234, 1: 1 << 240}


@given(networks(), BSLS, st.data())
def test_every_addressed_bfer_gets_one_copy_and_nobody_else(topology, bsl, data):
    """RFC 8279, section 6.8, on random connected networks and random BitStrings."""
    entries = bier_entries(topology, frozenset(), bsl)
    start = data.draw(st.sampled_from(topology.routers)).name
    wanted = data.draw(st.sets(st.sampled_from(topology.routers)))
    for si, string in bit_strings([router.own("bfr_id") for router in wanted], bsl).items():
        in_set = {r.name for r in wanted if (r.own("bfr_id") - 1) // bsl == si}
        links, got = Counter(), Counter()
        bift_id = {64: 1, 128: 2, 256: 3}[bsl] << 16 | si
        forward(entries, topology.neighbour, start, bift_id, string, links, got)
        assert got == dict.fromkeys(in_set, 1)
        assert set(links.values()) <= {1}


@given(networks(), BSLS, st.data())
def test_from_host_to_hosts_as_the_ideal_tree_does(topology, bsl, data):
    """Subscribers get one copy, others none, and each link carries what the ideal tree needs."""
    if not topology.hosts:
        return
    members = frozenset(
        Member(host.router, host.port, group)
        for group in (GROUP, OTHER)
        for host in data.draw(st.sets(st.sampled_from(topology.hosts)))
    )
    entries = bier_entries(topology, members, bsl)
    source = data.draw(st.sampled_from(topology.hosts)).name
    links, hosts = send(topology, entries, source, GROUP)
    subscribed = {topology.neighbour(m.router, m.port) for m in members if m.group == GROUP} - {
        source
    }
    assert hosts == dict.fromkeys(subscribed, 1)
    assert links == ideal_copies(topology, source, GROUP, members, bsl)


@given(networks(), BSLS, st.data())
def test_after_failures_what_can_be_reached_is_reached_once(topology, bsl, data):
    down = Failures.of(
        data.draw(st.sets(st.sampled_from(topology.links), max_size=3)),
        data.draw(st.sets(st.sampled_from(topology.routers), max_size=1).map(_names)),
    )
    members = everybody(topology, GROUP)
    entries = bier_entries(topology, members, bsl, down)
    alive = topology.graph.copy()
    alive.remove_nodes_from(down.nodes)
    alive.remove_edges_from([tuple(pair) for pair in down.links])
    for host in topology.hosts:
        if host.router in down.nodes or not alive.has_edge(host.name, host.router):
            assert ideal_copies(topology, host.name, GROUP, members, bsl, down) == {}
            continue
        links, hosts = send(topology, entries, host.name, GROUP)
        reachable = networkx.node_connected_component(alive, host.name)
        others = {h.name for h in topology.hosts} - {host.name}
        assert hosts == dict.fromkeys(others & reachable, 1)
        assert links == ideal_copies(topology, host.name, GROUP, members, bsl, down)


def _names(routers):
    return {router.name for router in routers}


@given(networks())
def test_paths_are_shortest_and_form_a_tree(topology):
    igp = shortest_paths(topology)
    routers = {router.name for router in topology.routers}
    graph = topology.graph.subgraph(routers)
    for source in routers:
        lengths = networkx.single_source_dijkstra_path_length(graph, source, weight="cost")
        parents = {}
        for destination in routers:
            path = igp.path(source, destination)
            assert networkx.path_weight(graph, path, "cost") == lengths[destination]
            for parent, child in pairwise(path):
                assert parents.setdefault(child, parent) == parent


def test_equal_paths_go_through_the_lowest_router_number():
    topology = Topology.load("ring")
    igp = shortest_paths(topology)
    assert igp.path("r1", "r4") == ("r1", "r2", "r3", "r4")
    assert igp.path("r4", "r1") == ("r4", "r3", "r2", "r1")
    broken = shortest_paths(topology, Failures.of([("r3", "r2")]))
    assert broken.path("r1", "r4") == ("r1", "r6", "r5", "r4")
    assert shortest_paths(topology, Failures.of(nodes=["r1"])).path("r2", "r1") == ()


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("bsl", [64, 128, 256])
def test_shipped_topologies_deliver_to_every_host(name, bsl):
    topology = Topology.load(name)
    members = everybody(topology, GROUP)
    entries = bier_entries(topology, members, bsl)
    source = topology.hosts[0].name
    links, hosts = send(topology, entries, source, GROUP)
    assert hosts == {host.name: 1 for host in topology.hosts[1:]}
    assert links == ideal_copies(topology, source, GROUP, members, bsl)


def test_more_receivers_than_bits_make_one_copy_per_set():
    topology = Topology.load("sets")
    members = everybody(topology, GROUP)
    entries = bier_entries(topology, members, 64)["r1"]
    chain = [lookup(entries, "encap", group=GROUP, set=i)[1] for i in range(8)]
    assert [row["more_sets"] for row in chain] == [1] * 7 + [0]
    assert [row["bift_id"] for row in chain] == [0x10000 + si for si in range(8)]
    assert sum(row["bit_string"].bit_count() for row in chain) == 73
    assert lookup(entries, "encap", group=GROUP, set=8) == (None, {})


def test_numbers_every_target_needs():
    """A driver or a P4 program that counts on these would send copies nowhere."""
    topology = Topology.load("paper")
    entries = bier_entries(topology, everybody(topology, GROUP, OTHER), 256)["r1"]
    assert CloneSession(1, ((509, 1),)) in entries
    assert {e.group_id for e in entries if isinstance(e, MulticastGroup)} == {0x101, 0x102}
    assert lookup(entries, "port_mac", port=2)[1] == {"src": 0x020000000102, "dst": 0x020000000202}
    assert lookup(entries, "port_mac", port=1)[1]["dst"] == 0x020100000101
    assert lookup(entries, "bift", bift_id=0x30000, remaining=0b1111)[0] == "decapsulate"


def test_who_only_forwards_has_no_rows_for_groups():
    topology = Topology.load("rfc8279")
    entries = bier_entries(topology, everybody(topology, GROUP), 64)
    for router in "BC":
        assert {e.table for e in entries[router] if isinstance(e, TableEntry)} == {
            "bift",
            "port_mac",
        }


def test_membership_where_no_host_is_changes_nothing():
    topology = Topology.load("paper")
    nowhere = frozenset({Member("r1", 2, GROUP), Member("r1", 99, GROUP)})
    assert bier_entries(topology, nowhere, 64) == bier_entries(topology, frozenset(), 64)


def test_a_bfr_id_beyond_the_last_set_is_refused_with_a_remedy():
    topology = Topology.from_data(
        {"name": "far", "description": "", "router": [{"number": 1, "bfr_id": 16385}]}
    )
    with pytest.raises(NumberError, match=r"r1 has BFR-id 16385.*use a longer BitString"):
        bier_entries(topology, frozenset(), 64)
    assert bier_entries(topology, frozenset(), 128)["r1"]


def test_a_group_must_be_one():
    with pytest.raises(ValueError, match=r"10\.0\.0\.1 is not an IPv4 multicast group"):
        group_number("10.0.0.1")


def test_the_oracle_sees_a_wrong_f_bm():
    """The properties above would be worth nothing if F-BMs with only the own bit passed them."""
    topology = Topology.load("paper")
    entries = bier_entries(topology, everybody(topology, GROUP), 64)

    def own_bit_only(entry):
        if not isinstance(entry, TableEntry) or entry.table != "bift":
            return entry
        own = dict(entry.match)["remaining"].value
        return replace(entry, params=(("fbm", own), *entry.params[1:]))

    entries["r1"] = frozenset(map(own_bit_only, entries["r1"]))
    links, _ = send(topology, entries, "h1", GROUP)
    assert links["r1", "r2"] == 2
