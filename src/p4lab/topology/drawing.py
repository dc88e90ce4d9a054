"""Pictures of a topology, for notebooks and reports."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from p4lab.topology import Topology

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROUTER, HOST, LINK, TREE = "#2b6cb0", "#d69e2e", "#cbd5e0", "#c53030"
_STEPS, _NEAREST, _STILL = 300, 0.01, 1e-4  # steps at most, distances in parts of the picture
_WORK = 3_000_000  # pairs of nodes in all steps: a few seconds


def layout(topology: Topology) -> dict[str, tuple[float, float]]:
    """A place for every node; the same topology always looks the same."""
    import networkx as nx  # heavy: networkx

    # Numbers instead of names: networkx goes through sets, whose order follows the hashes.
    names = list(topology.graph)
    graph = nx.relabel_nodes(topology.graph, {name: i for i, name in enumerate(names)})
    planar, embedding = nx.check_planarity(graph)
    found = nx.combinatorial_embedding_to_pos(embedding) if planar else _ring(len(names))
    start = _around_zero([complex(*found[i]) for i in range(len(names))])
    places = _around_zero(_spread(start, [list(graph[i]) for i in range(len(names))]))
    return {name: (place.real, place.imag) for name, place in zip(names, places, strict=True)}


def _ring(count: int) -> list[tuple[float, float]]:
    turns = (math.tau * i / count for i in range(count))
    return [(math.cos(turn), math.sin(turn)) for turn in turns]


def _around_zero(places: Sequence[complex]) -> list[complex]:
    """The places with their mean at 0 and coordinates from -1 to 1."""
    middle = sum(places) / len(places)
    most = max(max(abs((z - middle).real), abs((z - middle).imag)) for z in places)
    return [(z - middle) / (most or 1) for z in places]


def _spread(places: list[complex], links: Sequence[Sequence[int]]) -> list[complex]:
    """Fruchterman and Reingold's springs: all nodes push each other away, linked ones pull. Plain
    numbers, for browsers, which have no numpy: our networks are small."""
    count = len(places)
    ideal = count**-0.5
    wide = max(z.real for z in places) - min(z.real for z in places)
    high = max(z.imag for z in places) - min(z.imag for z in places)
    begin = max(wide, high) * 0.1
    steps = min(_STEPS, _WORK // count**2 + 1)
    for step in range(steps):
        farthest = begin * (1 - step / (steps + 1))
        moves = []
        for i, here in enumerate(places):
            force = 0j
            for there in places:
                away = here - there
                force += away * (ideal / max(abs(away), _NEAREST)) ** 2
            for j in links[i]:
                away = here - places[j]
                force -= away * max(abs(away), _NEAREST) / ideal
            moves.append(force * farthest / max(abs(force), _NEAREST))
        places = [z + move for z, move in zip(places, moves, strict=True)]
        if math.hypot(*map(abs, moves)) / count < _STILL:
            break
    return places


def draw(
    topology: Topology,
    copies: Mapping[tuple[str, str], int] | None = None,
    *,
    title: str = "",
) -> Figure:
    """The topology, with an arrow on each directed link that carried copies.

    `copies` maps (from, to) to a number of packets; numbers other than 1 are written beside
    their arrow.
    """
    from matplotlib.figure import Figure

    places = layout(topology)
    size = 4 + 0.35 * len(places) ** 0.7
    figure = Figure(figsize=(1.3 * size, size), layout="constrained")
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.set_title(title or f"{topology.name}: {topology.description}")
    for link in topology.links:
        (x0, y0), (x1, y1) = places[link.a], places[link.b]
        axes.plot([x0, x1], [y0, y1], color=LINK, linewidth=1.5, zorder=1)
    for (source, target), count in (copies or {}).items():
        if count:
            _arrow(axes, places[source], places[target], count)
    _nodes(axes, places, [r.name for r in topology.routers], "o", ROUTER, "router")
    _nodes(axes, places, [h.name for h in topology.hosts], "s", HOST, "host")
    if copies:
        axes.plot([], [], color=TREE, linewidth=2, label="a copy")
    axes.legend(loc="best", frameon=False, fontsize=8, markerscale=0.5)
    return figure


def _nodes(
    axes: object,
    places: dict[str, tuple[float, float]],
    names: list[str],
    marker: str,
    color: str,
    label: str,
) -> None:
    xs = [places[name][0] for name in names]
    ys = [places[name][1] for name in names]
    small = len(places) > 30
    axes.scatter(  # type: ignore[attr-defined]
        xs, ys, s=90 if small else 420, marker=marker, color=color, zorder=3, label=label
    )
    for name, x, y in zip(names, xs, ys, strict=True):
        axes.annotate(  # type: ignore[attr-defined]
            name,
            (x, y),
            color="black" if small else "white",
            fontsize=6 if small else 8,
            ha="center",
            va="bottom" if small else "center",
            xytext=(0, 5 if small else 0),
            textcoords="offset points",
            zorder=4,
        )


def _arrow(axes: object, start: tuple[float, float], end: tuple[float, float], count: int) -> None:
    axes.annotate(  # type: ignore[attr-defined]
        "",
        xy=end,
        xytext=start,
        arrowprops={
            "arrowstyle": "-|>",
            "color": TREE,
            "linewidth": 2,
            "shrinkA": 10,
            "shrinkB": 12,
            "mutation_scale": 14,
        },
        zorder=2,
    )
    if count != 1:
        middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
        axes.annotate(str(count), middle, color=TREE, fontsize=8, zorder=5)  # type: ignore[attr-defined]
