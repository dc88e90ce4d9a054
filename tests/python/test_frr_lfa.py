"""Alternates against the definitions of RFC 5286 and RFC 7490, with networkx listing the paths.

If these fail, a router that repairs a failure sends packets back to itself, or gives up where there
is a way.
"""

from __future__ import annotations

from itertools import pairwise

import networkx
from hypothesis import given, settings

from bier_oracle import networks
from p4lab.control.igp import underlay
from p4lab.systems.frr.entries import coverage
from p4lab.systems.frr.lfa import alternate, downstream_alternate
from p4lab.topology import Failures, Topology


def network(*links: tuple[int, int, int]) -> Topology:
    numbers = sorted({end for a, b, _ in links for end in (a, b)})
    return Topology.from_data(
        {
            "name": "test",
            "description": "",
            "router": [{"number": number} for number in numbers],
            "host": [],
            "link": [{"a": f"r{a}", "b": f"r{b}", "cost": cost} for a, b, cost in links],
        }
    )


class Oracle:
    """All shortest paths, listed; nothing is computed from distances."""

    def __init__(self, topology: Topology) -> None:
        self.graph = topology.graph

    def paths(self, a: str, b: str) -> list[list[str]]:
        return list(networkx.all_shortest_paths(self.graph, a, b, weight="cost"))

    def length(self, a: str, b: str) -> int:
        return networkx.dijkstra_path_length(self.graph, a, b, weight="cost")

    def passes(self, a: str, b: str, node: str) -> bool:
        return any(node in path for path in self.paths(a, b))

    def crosses(self, a: str, b: str, hop: tuple[str, str]) -> bool:
        return any(hop in pairwise(path) for path in self.paths(a, b))


@settings(max_examples=60)
@given(topology=networks(8))
def test_neighbours_and_tunnel_ends(topology) -> None:
    oracle, igp = Oracle(topology), underlay(topology)
    for s in [router.name for router in topology.routers]:
        for d, e in igp.next_hops[s].items():
            around = [n.name for n, _ in topology.neighbours(s) if n.name != e]
            loop_free = {n for n in around if not oracle.passes(n, d, s)}
            remote = {
                (n, p)
                for n in around
                for p in igp.distances[s]
                if p not in (s, d, n) and not oracle.crosses(n, p, (s, e))
                if not oracle.crosses(p, e, (s, e))
                or not (oracle.passes(n, p, e) or oracle.passes(p, d, e))
            }
            chosen = alternate(topology, s, d)
            assert (chosen is not None) == bool(loop_free or remote)
            downstream = {n for n in around if oracle.length(n, d) < oracle.length(s, d)}
            second = downstream_alternate(topology, s, d)
            assert (second is not None) == bool(downstream)
            assert second is None or second.neighbour in downstream
            if chosen is None:
                continue
            assert chosen.downstream == (chosen.neighbour in downstream and chosen.tunnel is None)
            if chosen.tunnel is None:
                assert chosen.neighbour in loop_free
                node = d == e or not oracle.passes(chosen.neighbour, d, e)
            else:
                assert (chosen.neighbour, chosen.tunnel) in remote
                node = d == e or not (
                    oracle.passes(chosen.neighbour, chosen.tunnel, e)
                    or oracle.passes(chosen.tunnel, d, e)
                )
            assert chosen.node_protecting == node


@settings(max_examples=60)
@given(topology=networks(8))
def test_the_way_of_a_packet_avoids_what_failed(topology) -> None:
    """Hop by hop along the routers' own next hops, as they are before anything is recomputed."""
    igp = underlay(topology)
    for s in [router.name for router in topology.routers]:
        for d, e in igp.next_hops[s].items():
            chosen = alternate(topology, s, d)
            if chosen is None:
                continue
            end = chosen.tunnel or d
            way = [s, *igp.path(chosen.neighbour, end), *igp.path(end, d)[1:]]
            assert way[-1] == d
            assert not {(s, e), (e, s)} & set(pairwise(way))
            if chosen.node_protecting and d != e:
                assert e not in way


def test_the_ring_of_rfc_7490() -> None:
    """Section 4: S tunnels to C. Here S, E, D, C, B, A are routers 1 to 6."""
    ring = network((1, 2, 1), (2, 3, 1), (3, 4, 1), (4, 5, 1), (5, 6, 1), (6, 1, 1))
    for destination in ("r2", "r3"):
        chosen = alternate(ring, "r1", destination)
        assert chosen is not None
        assert (chosen.neighbour, chosen.tunnel) == ("r6", "r4")
    assert coverage(ring)["any"] == 1.0


def test_the_micro_loop_of_rfc_5286() -> None:
    """Figure 2: N protects S against the link to E, not against E itself. S, N, E, D are 1 to 4."""
    topology = network((1, 2, 5), (1, 3, 5), (2, 3, 4), (3, 4, 10))
    chosen = alternate(topology, "r1", "r4")
    assert chosen is not None
    assert chosen.neighbour == "r2"
    assert chosen.downstream
    assert not chosen.node_protecting


def test_a_known_failure_leaves_other_alternates() -> None:
    square = network((1, 2, 1), (2, 3, 1), (3, 4, 1), (4, 1, 1), (1, 3, 3))
    assert alternate(square, "r1", "r2").neighbour == "r3"
    without = alternate(square, "r1", "r2", Failures.of([("r1", "r3")]))
    assert (without.neighbour, without.tunnel) == ("r4", "r3")
    assert alternate(square, "r1", "r2", Failures.of([("r1", "r4"), ("r1", "r3")])) is None


def test_coverage() -> None:
    """A ring is covered by tunnels alone; in a tree there is no second way."""
    ring, tree = coverage(Topology.load("ring")), coverage(Topology.load("tree10"))
    assert ring["any"] == 1.0
    assert ring["remote"] > 0
    assert set(tree.values()) == {0.0}
