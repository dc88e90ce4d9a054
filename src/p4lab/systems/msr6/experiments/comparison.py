"""What each encoding needs for the same groups, over many draws.

A draw is a network, a router where packets come in, and the order in which leaves join. All
encodings get the same draws, so differences between them are not differences between networks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

from p4lab.model.control import NumberError
from p4lab.spread.sweep import Sweep, Task
from p4lab.systems.msr6 import trees
from p4lab.systems.msr6.experiments.encodings import ENCODINGS, Case, Encoding, copies
from p4lab.systems.msr6.experiments.networks import Draw, RandomRegular, Source, counts, draw
from p4lab.systems.msr6.settings import Shape
from p4lab.systems.msr6.tree import Tree

SHAPES: tuple[Shape, ...] = ("cheapest", "steiner")
Part = Literal["receivers", "size"]
"""What grows: the group in a network, or the network around a group"""

SIZES = (50, 100, 200, 400, 800, 1600, 3200)
"""Routers of the networks that grow"""
GROUPS = (2, 8, 32)
"""Receivers in these"""


@dataclass(frozen=True)
class Scope:
    """How much is compared: networks by name, draws of each from this seed on, entries that a list
    may have, which trees are encoded where the encoding leaves the choice, and networks that
    grow."""

    sources: Mapping[str, Source]
    draws: int
    seed: int
    segments: int
    shape: Shape
    sizes: Sequence[int] = SIZES


@dataclass(frozen=True)
class Sent:
    """What a packet to a group takes. Bytes are those of headers: `tree_bytes` of list or bits
    alone, `root_bytes` of all in front of the packet, both for all `packets` that leave the
    ingress; `longest` of one of these; `link_bytes` on all links. `copies` are those on links."""

    packets: int
    tree_bytes: int
    root_bytes: int
    longest: int
    link_bytes: int
    copies: int
    passes: int
    busiest: int
    """Passes at the router with the most of them"""
    rows: int
    """For the group, in routers that are neither its ingress nor receive"""

    def wire_bytes(self, payload: int) -> int:
        """On all links, for packets of so many bytes."""
        return self.link_bytes + payload * self.copies


@dataclass(frozen=True)
class Observation:
    """One encoding for one group. Without `sent`, the tree cannot be encoded; `why` says so."""

    part: Part
    network: str
    seed: int
    routers: int
    links: int
    receivers: int
    tree_links: int
    """Of the tree of shortest paths"""
    encoding: str
    router_rows: float
    """A router's, for this encoding and no group: the mean of all routers"""
    routes: int
    """A router's to nodes, where copies find their way by them"""
    sent: Sent | None
    why: str = ""

    @property
    def panel(self) -> str:
        """What stays the same while `x` grows."""
        return self.network if self.part == "receivers" else _some(self.receivers)

    @property
    def x(self) -> int:
        return self.receivers if self.part == "receivers" else self.routers


def _some(receivers: int) -> str:
    return f"{receivers} receivers"


def measure(scope: Scope, sweep: Sweep) -> list[Observation]:
    """All draws of all networks. Raises SweepError."""
    seeds = range(scope.seed, scope.seed + scope.draws)
    bare = replace(scope, sources={}, draws=1, seed=0, sizes=())
    tasks = [
        Task(f"{name}, seed {seed}", observe_groups, (name, source, seed, bare))
        for name, source in scope.sources.items()
        for seed in seeds
    ]
    tasks += [
        Task(f"{size} routers, seed {seed}", observe_size, (size, seed, bare))
        for size in scope.sizes
        for seed in seeds
    ]
    return [one for found in sweep.all(tasks) for one in found]


def observe_groups(name: str, source: Source, seed: int, scope: Scope) -> list[Observation]:
    """Groups of all sizes in one network."""
    drawn = draw(source, name, seed)
    return list(observe("receivers", name, seed, drawn, counts(len(drawn.order)), scope))


def observe_size(size: int, seed: int, scope: Scope) -> list[Observation]:
    """Some groups in a network of so many routers."""
    drawn = draw(RandomRegular(size), f"{size} routers", seed)
    return list(observe("size", "random regular", seed, drawn, GROUPS, scope))


def observe(
    part: Part, name: str, seed: int, drawn: Draw, groups: Sequence[int], scope: Scope
) -> Iterator[Observation]:
    """All encodings for groups of so many receivers: the first ones of the draw."""
    network, graph = drawn.network, drawn.network.graph
    rows = {
        encoding: fmean(encoding.rows(network, router) for router in network.routers)
        for encoding in ENCODINGS
    }
    every = trees.least_cost(graph, drawn.root, drawn.order[: max(groups)])
    for count in groups:
        receivers = drawn.order[:count]
        unicast = every.only(receivers)
        steiner = scope.shape == "steiner"
        tree = trees.steiner(graph, drawn.root, receivers) if steiner else unicast
        case = Case(network, tree, unicast, scope.segments)
        for encoding in ENCODINGS:
            sent, why = _send(encoding, case)
            yield Observation(
                part,
                name,
                seed,
                len(network.routers),
                network.links,
                count,
                copies(unicast),
                encoding.name,
                rows[encoding],
                len(graph.arcs) if encoding.by_routes else 0,
                sent,
                why,
            )


def _send(encoding: Encoding, case: Case) -> tuple[Sent | None, str]:
    try:
        packets = encoding.send(case)
    except NumberError as error:
        return None, str(error)
    passes = encoding.passes(packets, case.network.hosts)
    return (
        Sent(
            packets=len(packets),
            tree_bytes=sum(packet.tree_bytes for packet in packets),
            root_bytes=sum(packet.header for packet in packets),
            longest=max(packet.header for packet in packets),
            link_bytes=sum(packet.on_links for packet in packets),
            copies=sum(copies(packet.tree) for packet in packets),
            passes=passes.total(),
            busiest=max(passes.values()),
            rows=0 if encoding.loops else _inside(packets[0].tree),
        ),
        "",
    )


def _inside(tree: Tree) -> int:
    """Routers of a tree that are neither its root nor receive."""
    return len({*tree.parents} - {tree.root, *tree.receivers})


Cells = dict[tuple[str, str], dict[int, list[Observation]]]


def cells(found: Sequence[Observation]) -> Cells:
    """Observations by panel and encoding, then by what grows, in order."""
    by_cell: Cells = {}
    for one in found:
        by_cell.setdefault((one.panel, one.encoding), {}).setdefault(one.x, []).append(one)
    return by_cell


def panels(found: Sequence[Observation], part: Part) -> list[str]:
    return list(dict.fromkeys(one.panel for one in found if one.part == part))
