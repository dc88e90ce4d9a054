"""Two paths between two routers that share no link, and no router where that is possible.

Of all pairs that share no router, the one of least total cost; if every pair shares one, the
cheapest of those that share no link (Suurballe 1974, Bhandari 1999: here as two units of flow at
the least cost, with every router split in two). A shortest path and then the shortest of what is
left would be neither: the shortest path can be in the way of every second one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from p4lab.control.igp import underlay
from p4lab.model.control import NumberError
from p4lab.topology import NO_FAILURES, Failures, Link, Topology

if TYPE_CHECKING:
    import networkx

Path = tuple[str, ...]
"""Names of routers, both ends included"""
Pair = tuple[Path, Path]


def path_cost(topology: Topology, path: Path) -> int:
    """The sum of the costs of a path's links."""
    return sum(topology.link(a, b).cost for a, b in pairwise(path))


def path_links(topology: Topology, path: Path) -> tuple[Link, ...]:
    """The links of a path, in order."""
    return tuple(topology.link(a, b) for a, b in pairwise(path))


@lru_cache(maxsize=1024)
def disjoint_pair(
    topology: Topology, source: str, target: str, down: Failures = NO_FAILURES
) -> Pair:
    """The pair of least total cost without what is down, the cheaper path first.

    Raises NumberError with the link that every path needs, if there is no pair.
    """
    for shares_routers in (False, True):
        pair = _cheapest(topology, source, target, down, shares_routers)
        if pair is not None:
            first, second = sorted(pair, key=lambda path: (path_cost(topology, path), path))
            return first, second
    raise NumberError(_why_none(topology, source, target, down))


def _cheapest(
    topology: Topology, source: str, target: str, down: Failures, shares_routers: bool
) -> list[Path] | None:
    """Two units of flow at the least cost, as paths. No link carries both: there and back would
    cancel out, since costs are positive."""
    import networkx  # heavy: networkx

    graph = _split(topology, source, target, down, shares_routers)
    try:
        flow = networkx.min_cost_flow(graph)
    except networkx.NetworkXUnfeasible:
        return None
    return [_walk(flow, source, target) for _ in range(2)]


def _split(
    topology: Topology, source: str, target: str, down: Failures, shares_routers: bool
) -> networkx.DiGraph:
    """Every router as a node where packets come in and one where they leave, joined by an arc that
    carries one path, or two if routers may be shared."""
    import networkx  # heavy: networkx

    graph = networkx.DiGraph()
    for router in topology.routers:
        if router.name in down.nodes:
            continue
        both = shares_routers or router.name in (source, target)
        graph.add_edge((router.name, "in"), (router.name, "out"), capacity=1 + both, weight=0)
        for neighbour, link in topology.neighbours(router.name):
            if not down.has(link):
                out, into = (router.name, "out"), (neighbour.name, "in")
                graph.add_edge(out, into, capacity=1, weight=link.cost)
    graph.add_node((source, "out"), demand=-2)
    graph.add_node((target, "in"), demand=2)
    return graph


def _walk(flow: dict[tuple[str, str], dict[tuple[str, str], int]], at: str, target: str) -> Path:
    """One of the two paths; takes it out of the flow."""
    path = [at]
    while at != target:
        out = flow[at, "out"]
        into = min(node for node, amount in out.items() if amount)
        out[into] -= 1
        at = into[0]
        path.append(at)
    return tuple(path)


def _why_none(topology: Topology, source: str, target: str, down: Failures) -> str:
    shortest = underlay(topology, down).path(source, target)
    if not shortest:
        return f"no way leads from {source} to {target}, let alone two."
    for link in path_links(topology, shortest):
        without = Failures(down.links | {link.ends}, down.nodes)
        if not underlay(topology, without).reaches(source, target):
            return (
                f"there are no two paths from {source} to {target} that share no link: "
                f"all of them need {link.a}-{link.b}."
            )
    raise AssertionError("two paths without a common link, and none was found")


def explicit_pair(
    topology: Topology,
    source: str,
    target: str,
    hops: Sequence[Sequence[str]],
    down: Failures = NO_FAILURES,
) -> Pair:
    """Two paths by the routers that each of them has to pass, in this order; between them it takes
    the shortest way. A path without any takes the shortest that shares no link with the other.

    Raises NumberError with a sentence if there is none, or if the two share a link.
    """
    given = [_through(topology, source, target, each, down) if each else () for each in hops]
    for number, path in enumerate(given):
        if not path:
            other = frozenset(link.ends for link in path_links(topology, given[1 - number]))
            rest = Failures(down.links | other, down.nodes)
            given[number] = _through(topology, source, target, (), rest)
    first, second = given
    common = set(path_links(topology, first)) & set(path_links(topology, second))
    for link in path_links(topology, first):
        if link in common:
            raise NumberError(
                f"both paths from {source} to {target} use {link.a}-{link.b}: "
                "name other routers for one of them."
            )
    return first, second


def _through(
    topology: Topology, source: str, target: str, hops: Sequence[str], down: Failures
) -> Path:
    igp = underlay(topology, down)
    path: list[str] = [source]
    for end in (*hops, target):
        part = igp.path(path[-1], end)
        if not part:
            raise NumberError(f"no way leads from {path[-1]} to {end} for a path to {target}.")
        path += part[1:]
    twice = [name for name in path if path.count(name) > 1]
    if twice:
        raise NumberError(
            f"the path {'-'.join(path)} passes {twice[0]} twice: name its routers in another order."
        )
    return tuple(path)
