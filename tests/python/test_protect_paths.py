"""Two paths without a common link: the cheapest pair there is, or the reason why there is none.

If these fail, one broken cable takes both copies with it, or a pair that exists is not found.
"""

from __future__ import annotations

from itertools import combinations

import networkx
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from p4lab.model.control import NumberError
from p4lab.systems.protect.paths import disjoint_pair, explicit_pair, path_cost, path_links
from p4lab.topology import Failures, Topology


def network(routers: int, links: dict[tuple[int, int], int]) -> Topology:
    """Routers r1, r2, ... and links by their numbers, with costs."""
    return Topology.from_data(
        {
            "name": "drawn",
            "description": "A network",
            "router": [{"number": number} for number in range(1, routers + 1)],
            "link": [{"a": f"r{a}", "b": f"r{b}", "cost": cost} for (a, b), cost in links.items()],
        }
    )


@st.composite
def networks(draw: st.DrawFn) -> Topology:
    routers = draw(st.integers(3, 7))
    pairs = list(combinations(range(1, routers + 1), 2))
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, min_size=2, max_size=12))
    costs = draw(st.lists(st.integers(1, 9), min_size=len(chosen), max_size=len(chosen)))
    return network(routers, dict(zip(chosen, costs, strict=True)))


def all_pairs(topology: Topology, source: str, target: str) -> list[tuple[bool, int]]:
    """Of every pair of simple paths that share no link: whether it shares a router, and its cost.
    By trying them all."""
    graph = topology.graph
    found = []
    paths = list(networkx.all_simple_paths(graph, source, target))
    for one, other in combinations(paths, 2):
        if set(path_links(topology, tuple(one))) & set(path_links(topology, tuple(other))):
            continue
        shares = bool(set(one[1:-1]) & set(other[1:-1]))
        cost = path_cost(topology, tuple(one)) + path_cost(topology, tuple(other))
        found.append((shares, cost))
    return found


@given(networks())
def test_no_pair_is_better(topology: Topology) -> None:
    """Without a common router first, then by cost; against all pairs of paths."""
    best = min(all_pairs(topology, "r1", "r2"), default=None)
    note(str([(link.a, link.b, link.cost) for link in topology.links]))
    if best is None:
        with pytest.raises(NumberError):
            disjoint_pair(topology, "r1", "r2")
        return
    pair = disjoint_pair(topology, "r1", "r2")
    for path in pair:
        assert path[0] == "r1" and path[-1] == "r2" and len(set(path)) == len(path)
    assert not set(path_links(topology, pair[0])) & set(path_links(topology, pair[1]))
    costs = [path_cost(topology, path) for path in pair]
    assert costs == sorted(costs)
    shares = bool(set(pair[0][1:-1]) & set(pair[1][1:-1]))
    assert (shares, sum(costs)) == best


@given(networks())
def test_the_link_that_is_named_is_one_that_every_path_needs(topology: Topology) -> None:
    """What a user is told to double must help."""
    graph = topology.graph
    try:
        disjoint_pair(topology, "r1", "r2")
    except NumberError as error:
        if not networkx.has_path(graph, "r1", "r2"):
            assert "no way leads from r1 to r2" in str(error)
            return
        a, b = str(error).rstrip(".").rsplit(" ", 1)[1].split("-")
        rest = graph.copy()
        rest.remove_edge(a, b)
        assert not networkx.has_path(rest, "r1", "r2")


def test_the_shortest_path_may_be_in_the_way() -> None:
    """Suurballe's example: the shortest path uses both of the cheap links, and what is left leads
    nowhere. Taking it first and then the next would find no pair."""
    links = {(1, 3): 1, (3, 4): 1, (4, 2): 1, (1, 4): 3, (3, 2): 3}
    pair = disjoint_pair(network(4, links), "r1", "r2")
    assert set(pair) == {("r1", "r3", "r2"), ("r1", "r4", "r2")}


def test_what_is_down_is_not_used() -> None:
    ring = network(4, {(1, 3): 1, (3, 2): 1, (1, 4): 1, (4, 2): 1, (1, 2): 9})
    assert ("r1", "r2") not in disjoint_pair(ring, "r1", "r2")
    without = Failures.of([("r1", "r3")])
    assert disjoint_pair(ring, "r1", "r2", without) == (("r1", "r4", "r2"), ("r1", "r2"))
    assert disjoint_pair(ring, "r1", "r2", Failures.of(nodes=["r4"])) == (
        ("r1", "r3", "r2"),
        ("r1", "r2"),
    )


SQUARE = network(4, {(1, 3): 1, (3, 2): 1, (1, 4): 1, (4, 2): 1, (3, 4): 1})


@pytest.mark.parametrize(
    ("hops", "pair"),
    [
        ((("r4",), ("r3",)), (("r1", "r4", "r2"), ("r1", "r3", "r2"))),
        ((("r4",), ()), (("r1", "r4", "r2"), ("r1", "r3", "r2"))),
        (((), ("r3",)), (("r1", "r4", "r2"), ("r1", "r3", "r2"))),
    ],
)
def test_named_routers_are_passed_in_their_order(hops: object, pair: object) -> None:
    assert explicit_pair(SQUARE, "r1", "r2", hops) == pair


@pytest.mark.parametrize(
    ("hops", "reason"),
    [
        ((("r3",), ("r3",)), "both paths from r1 to r2 use r1-r3"),
        ((("r3", "r4"), ("r4",)), "both paths from r1 to r2 use r4-r2|r1 to r2 use r2-r4"),
        ((("r3", "r1"), ()), "passes r1 twice"),
    ],
)
def test_named_routers_that_do_not_make_two_paths_are_refused(hops: object, reason: str) -> None:
    with pytest.raises(NumberError, match=reason):
        explicit_pair(SQUARE, "r1", "r2", hops)


def test_the_second_path_has_to_go_somewhere() -> None:
    line = network(3, {(1, 3): 1, (3, 2): 1})
    with pytest.raises(NumberError, match="no way leads from r1 to r2"):
        explicit_pair(line, "r1", "r2", (("r3",), ()))
    with pytest.raises(NumberError, match="all of them need r1-r3"):
        disjoint_pair(line, "r1", "r2")
