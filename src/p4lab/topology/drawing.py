"""Pictures of a topology, for notebooks and reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from p4lab.topology import Topology

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROUTER, HOST, LINK, TREE = "#2b6cb0", "#d69e2e", "#cbd5e0", "#c53030"


def layout(topology: Topology) -> dict[str, tuple[float, float]]:
    """A place for every node; the same topology always looks the same."""
    import networkx as nx  # heavy: networkx and matplotlib

    # Numbers instead of names: networkx goes through sets, whose order follows the hashes.
    names = list(topology.graph)
    graph = nx.relabel_nodes(topology.graph, {name: i for i, name in enumerate(names)})
    planar, _ = nx.check_planarity(graph)
    start = nx.planar_layout(graph) if planar else nx.circular_layout(graph)
    places = nx.spring_layout(graph, pos=start, iterations=300, seed=1, weight=None)
    return {names[i]: (float(x), float(y)) for i, (x, y) in sorted(places.items())}


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
