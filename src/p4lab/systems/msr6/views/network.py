"""The network as SVG, with everything that happens on it: what belongs to a step has its number."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from p4lab.systems.msr6.views.journey import Copy
from p4lab.systems.msr6.views.steps import Step
from p4lab.topology import Topology
from p4lab.widgets.layout import Places
from p4lab.widgets.svg import Point, cross, dot, element, line, text

_LETTER = 6.4  # width of one in a pill
_TIP = 11.0
_ASIDE = 5.0


def network(topology: Topology, places: Places, steps: Sequence[Step], receivers: set[str]) -> str:
    """The picture without its outermost element. Links and nodes have their names, what was sent
    has its step (`data-step`) and its way (`data-way`)."""
    drawing = _Drawing(topology, places, steps)
    return "".join(
        [
            *drawing.links(),
            *drawing.glows(),
            *drawing.trails(),
            *drawing.nodes(receivers),
            *drawing.marks(),
        ]
    )


class _Drawing:
    def __init__(self, topology: Topology, places: Places, steps: Sequence[Step]) -> None:
        self._topology = topology
        self._at = places.nodes
        self._size = places.size
        self._steps = steps
        self._ways = dict.fromkeys(step.way for step in steps if step.way)

    def links(self) -> Iterator[str]:
        for link in self._topology.links:
            (x1, y1), (x2, y2) = self._at[link.a], self._at[link.b]
            yield element("line", class_="p4v-link", x1=x1, y1=y1, x2=x2, y2=y2)

    def glows(self) -> Iterator[str]:
        """What lights up below a way that is pointed at."""
        for source, target in self._ways:
            (x1, y1), (x2, y2) = self._at[source], self._at[target]
            way = f"{source} {target}"
            yield element("line", class_="p4m-glow", data_way=way, x1=x1, y1=y1, x2=x2, y2=y2)

    def trails(self) -> Iterator[str]:
        """An arrow for each copy on a link."""
        carried: Counter[tuple[str, str]] = Counter()
        for number, step in enumerate(self._steps):
            if step.way is None:
                continue
            carried[step.way] += 1
            start, end = self._ends(*step.way)
            more = []
            if carried[step.way] > 1:
                more.append(text(_between(start, end, 0.25), f"{carried[step.way]}×", "p4m-again"))
            tone = " bad" if step.tone == "bad" else ""
            yield element(
                "g",
                line(start, _before(start, end), "p4m-line"),
                element("path", d=_tip(start, end), class_="p4m-tip"),
                *more,
                class_=f"p4m-copy{tone}",
                data_step=number,
                data_way=" ".join(step.way),
            )

    def nodes(self, receivers: set[str]) -> Iterator[str]:
        for router in self._topology.routers:
            yield self._node(router.name, "router", "")
        for host in self._topology.hosts:
            yield self._node(host.name, "host", " wants" if host.name in receivers else "")

    def _node(self, name: str, kind: str, more: str) -> str:
        x, y = self._at[name]
        size = self._size
        if kind == "router":
            shape = dot((x, y), size, "")
        else:
            box = {"x": x - size, "y": y - 0.8 * size, "width": 2 * size, "height": 1.6 * size}
            shape = element("rect", **box, rx=size / 3)
        return element(
            "g",
            shape,
            text((x, y + 0.25 * size), name),
            class_=f"p4v-node {kind}{more}",
            data_node=name,
            tabindex=0,
            role="img",
            aria_label=f"{kind} {name}",
        )

    def marks(self) -> Iterator[str]:
        """What a copy carries, while it is on its way, and where packets end."""
        for number, step in enumerate(self._steps):
            parts: list[str] = []
            if step.way is not None:
                start, end = self._ends(*step.way)
                is_lost = isinstance(step.did, Copy) and step.did.lost
                middle = _between(start, end, 0.5)
                parts += [cross(middle, size=8.0)] if is_lost else list(_pill(middle, step.label))
            elif step.tone == "bad":
                x, y = self._at[step.router]
                at = (x + self._size, y - self._size)
                parts += [cross(at, size=6.0), text((at[0] + 10, at[1] + 4), step.label, "p4m-why")]
            if parts:
                tone = " bad" if step.tone == "bad" else ""
                stays = " stays" if step.tone == "bad" else ""
                yield element("g", *parts, class_=f"p4m-mark{tone}{stays}", data_step=number)

    def _ends(self, source: str, target: str) -> tuple[Point, Point]:
        """A link between the edges of its nodes, a little to the right if there is something on it
        in the other direction, too."""
        (x1, y1), (x2, y2) = self._at[source], self._at[target]
        length = math.hypot(x2 - x1, y2 - y1) or 1.0
        ux, uy = (x2 - x1) / length, (y2 - y1) / length
        gap = self._size + 3
        aside = _ASIDE if (target, source) in self._ways else 0.0
        right, down = -aside * uy, aside * ux
        start = x1 + gap * ux + right, y1 + gap * uy + down
        return start, (x2 - gap * ux + right, y2 - gap * uy + down)


def _between(start: Point, end: Point, part: float) -> Point:
    return start[0] + part * (end[0] - start[0]), start[1] + part * (end[1] - start[1])


def _before(start: Point, end: Point) -> Point:
    """Where a line ends and its arrowhead begins."""
    length = math.hypot(end[0] - start[0], end[1] - start[1]) or 1.0
    return _between(start, end, 1 - min(_TIP / length, 1.0))


def _tip(start: Point, end: Point) -> str:
    """An arrowhead at the end of a line. Markers would need ids, which views on a page share."""
    back = _before(start, end)
    dx, dy = 0.5 * (end[0] - back[0]), 0.5 * (end[1] - back[1])
    left, right = (back[0] - dy, back[1] + dx), (back[0] + dy, back[1] - dx)
    points = (f"{x:.1f} {y:.1f}" for x, y in (end, left, right))
    return f"M{'L'.join(points)}z"


def _pill(at: Point, words: str) -> Iterator[str]:
    width = 12 + _LETTER * len(words)
    x, y = at
    box = {"x": x - width / 2, "y": y - 9.5, "width": width, "height": 19.0}
    yield element("rect", **box, rx=9.5, class_="p4m-pill")
    yield text((x, y + 4), words, "p4m-label")
