"""Both paths in time: when each copy left the PTI, where it was, and when it came to the PTE."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from p4lab.systems.protect.entries import Placed
from p4lab.systems.protect.views.chart import HEAD, LEFT, TITLED, WIDER, WIDTH, Band, Chart
from p4lab.systems.protect.views.circle import legend
from p4lab.systems.protect.views.copies import ACCEPTED, Arrival, arrivals, protecting
from p4lab.systems.protect.views.steps import Step, StepView, Story
from p4lab.systems.protect.views.ways import Way, ways
from p4lab.systems.protect.views.words import is_behind, milliseconds, sign
from p4lab.widgets.sent import Sent
from p4lab.widgets.svg import Point, cross, dot, element, line, text

WORD = 110.0  # units that the name of a link that is down takes
WORDS = 260.0  # that a title takes, at most
NAMED = 34.0  # from the title of the strip to that
MANY_PACKETS = 20
"""That are told apart in a narrow picture"""
MOST_PACKETS = 40
"""More than lines can be told apart; what is left out is said"""


class TimeView(StepView):
    """The copies of what was sent as lines over time, one picture for each path; steps from packet
    to packet."""

    def story(self, sent: Sent) -> Story:
        placed = protecting(sent)
        label = "Both paths in time"
        found = ways(sent, placed) if placed else []
        if placed is None or not found:
            title = "Nothing was put on two paths"
            if placed is not None:
                title = f"{placed.connection.ingress} put nothing on its two paths"
            return Story(title, label, "packet", WIDTH, 60, "", (), 0, str(sent))
        packets = sorted({way.packet for way in found})
        drawing = _Drawing(sent, placed, [way for way in found if way.packet < MOST_PACKETS])
        name = placed.connection.name
        title = f"Connection {name}: every copy on its way, from top to bottom"
        if packets[-1] >= MOST_PACKETS:
            title += f"; the first {MOST_PACKETS} of {len(packets)} packets"
        steps = tuple(drawing.step(packet) for packet in packets if packet < MOST_PACKETS)
        return Story(
            title,
            f"{label}: the copies of connection {name}",
            "packet",
            drawing.width,
            drawing.height,
            drawing.base(),
            steps,
            drawing.best,
            str(sent),
        )


class _Drawing:
    """The picture of a run."""

    def __init__(self, sent: Sent, placed: Placed, found: Sequence[Way]) -> None:
        self._sent = sent
        self._placed = placed
        self._ways = found
        self._zero = found[0].left
        self._judged = {arrival.order: arrival for arrival in arrivals(sent, placed)}
        last = max(way.end for way in found) - self._zero
        self.width = WIDTH if found[-1].packet < MANY_PACKETS else WIDER
        self._chart = Chart(last, self.width)
        self._bands = self._stack()
        self._strip = self._bands[1].bottom + 62
        self.height = self._strip + 122

    def _stack(self) -> tuple[Band, Band]:
        first = Band(self._placed.pair[0], HEAD)
        return first, Band(self._placed.pair[1], first.bottom + 52)

    @property
    def best(self) -> int:
        """The packet that tells most by itself: one that is lost, or of which a copy is."""
        packets = sorted({way.packet for way in self._ways})
        worth = {packet: self._worth(packet) for packet in packets}
        return packets.index(max(packets, key=lambda packet: worth[packet]))

    def _worth(self, packet: int) -> int:
        own = self._of(packet)
        lost = any(way.lost for way in own)
        return 2 * (not self._accepted(packet)) + lost

    def _of(self, packet: int) -> list[Way]:
        return [way for way in self._ways if way.packet == packet]

    def _judgement(self, way: Way) -> Arrival | None:
        return None if way.arrived is None else self._judged.get(way.arrived)

    def _is_accepted(self, way: Way) -> bool:
        found = self._judgement(way)
        return found is not None and found.verdict == ACCEPTED

    def _accepted(self, packet: int) -> list[Way]:
        return [way for way in self._of(packet) if self._is_accepted(way)]

    def base(self) -> str:
        """Everything but what is told of one packet."""
        chart, pair = self._chart, self._placed.pair
        parts = [chart.grid(HEAD, self._strip + 20)]
        for path, (band, routers) in enumerate(zip(self._bands, pair, strict=True), 1):
            parts.append(band.rails(f"path {path}: {' – '.join(routers)}", chart.right))
        parts += self._cut()
        parts += [self._line(way) for way in self._ways]
        parts += self._results()
        return "".join([*parts, _legend(self._strip + 80)])

    def _cut(self) -> Iterator[str]:
        """The time in which a link was down, as an area between its ends."""
        cut, chart = self._sent.cut, self._chart
        if cut is None:
            return
        for band in self._bands:
            for upper, lower in zip(band.routers, band.routers[1:], strict=False):
                if frozenset((upper, lower)) == cut.ends:
                    end = chart.last if cut.end is None else cut.end
                    x, until = chart.x(cut.start), chart.x(max(end, cut.start))
                    y = band.y(upper)
                    yield element(
                        "rect",
                        x=x,
                        y=y,
                        width=max(until - x, 3.0),
                        height=band.y(lower) - y,
                        class_="p4c-cut",
                    )
                    words = f"{upper}–{lower} is down"
                    beside = until if until - x < WORD else x
                    yield text((beside + 5, band.y(lower) - 6), words, "p4c-cut-word")

    def _line(self, way: Way, more: str = "") -> str:
        """A copy from router to router, with what became of it."""
        band = self._bands[way.path - 1]
        chart = self._chart
        points = [
            (chart.x(time - self._zero), band.y(router))
            for router, time in way.points
            if router in band.routers
        ]
        shape = [*points]
        end = ""
        if way.lost:
            shape.append(self._ending(way, points[-1]))
            end = cross(shape[-1])
        elif way.arrived is not None:
            good = "good" if self._is_accepted(way) else "bad"
            end = dot(points[-1], 5, f"p4c-end {good} path{way.path}")
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in shape)
        return element(
            "g",
            element("path", d=path, class_=f"p4c-copyway path{way.path}{more}"),
            end,
            data_packet=way.packet,
            data_path=way.path,
        )

    def _ending(self, way: Way, last: Point) -> Point:
        """Where a lost copy ends: on the link where it was, when that failed, or else midway."""
        band = self._bands[way.path - 1]
        source, _, target = way.lost.partition("-")
        if not target or target not in band.routers:
            return last
        link, cut = self._sent.topology.link(source, target), self._sent.cut
        part = 0.5
        if cut is not None and cut.ends == link.ends and link.delay_ns:
            on_link = cut.start - (way.end - self._zero)
            part = min(max(on_link / link.delay_ns, 0.12), 1.0)
        return (
            last[0] + part * (self._chart.x(link.delay_ns) - self._chart.x(0)),
            last[1] + part * (band.y(target) - last[1]),
        )

    def _results(self) -> Iterator[str]:
        """What goes on from the PTE, when, and by which path it came."""
        y, egress = self._strip, self._placed.connection.egress
        receiver = self._sent.stream.receivers[0].name
        yield line((LEFT, y), (self._chart.right, y), "p4c-rail")
        yield text(
            (LEFT, y - NAMED), f"what {egress} accepts, on its way to {receiver}", "p4c-name"
        )
        yield text((LEFT - 10, y + 4), egress, "p4c-router")
        for way in self._ways:
            if self._is_accepted(way):
                x = self._chart.x(way.end - self._zero)
                side = -1 if way.path == 1 else 1
                yield dot((x, y), 4.5, f"p4c-end good path{way.path}")
                yield text((x, y + 4 + 14 * side), _name(way), f"p4c-small path{way.path}")
        for packet in sorted({way.packet for way in self._ways}):
            if not self._accepted(packet):
                last = max(self._of(packet), key=lambda way: way.end)
                x = self._chart.x(last.end - self._zero)
                yield text((x + 5, y + 18), f"✕ {_name(last)}", "p4c-missing")

    def step(self, packet: int) -> Step:
        """One packet, drawn strongly, with the skew of its copies."""
        own = self._of(packet)
        layer = "".join(self._line(way, " now") for way in own) + "".join(self._marks(own))
        parts = [self._said(way) for way in own]
        accepted = self._accepted(packet)
        receiver = self._sent.stream.receivers[0].name
        arrived = [way for way in own if way.arrived is not None]
        if len(arrived) == 2:
            skew = abs(arrived[0].end - arrived[1].end)
            parts.append(f"The skew is {milliseconds(skew)}.")
        tone = "good"
        if not accepted:
            parts.append(f"{receiver} does not get this packet.")
            tone = "bad"
        elif len(accepted) > 1:
            parts.append(f"{receiver} gets this packet {len(accepted)} times.")
            tone = "bad"
        words = "; ".join(self._fate(way) for way in own)
        return Step(layer, " ".join(parts), f"packet {packet + 1}: {words}", tone)

    def _marks(self, own: Sequence[Way]) -> Iterator[str]:
        """Names the packet where it begins, and measures the skew above the axis."""
        for way in own:
            band = self._bands[way.path - 1]
            x = self._chart.x(way.left - self._zero)
            yield text((x, band.top - 7), _name(way), f"p4c-start path{way.path}")
        arrived = sorted((way for way in own if way.arrived is not None), key=lambda way: way.end)
        for way in arrived:
            x = self._chart.x(way.end - self._zero)
            yield from self._drop(x, self._bands[way.path - 1].bottom)
        if len(arrived) == 2 and arrived[0].end < arrived[1].end:
            left, right = (self._chart.x(way.end - self._zero) for way in arrived)
            y = self._strip + 20
            yield line((left, y), (right, y), "p4c-skew")
            words = f"skew {milliseconds(arrived[1].end - arrived[0].end)}"
            yield text(((left + right) / 2, y - 5), words, "p4c-skew-word")

    def _drop(self, x: float, top: float) -> Iterator[str]:
        """A line down from where a copy arrives, but not through the words in its way."""
        words = [self._bands[1].top - TITLED, self._strip - NAMED] if x < LEFT + WORDS else []
        for y in words:
            if y > top:
                yield line((x, top), (x, y - 13), "p4c-drop")
                top = y + 5
        yield line((x, top), (x, self._strip + 20), "p4c-drop")

    def _said(self, way: Way) -> str:
        number = "without a number" if way.number is None else f"number {way.number}"
        start = f"Path {way.path}, {number}: leaves at {milliseconds(way.left - self._zero)}"
        if way.lost:
            where = f"on {way.lost.replace('-', '–')}" if "-" in way.lost else f"at {way.lost}"
            return f"{start}, lost {where}."
        return f"{start}, arrives at {milliseconds(way.end - self._zero)}, {self._verdict(way)}."

    def _verdict(self, way: Way) -> str:
        judged = self._judgement(way)
        if judged is None or not judged.verdict:
            return "dropped unasked" if judged else "not seen as a copy"
        if is_behind(judged, not self._accepted(way.packet)):
            return "discarded as one that lies behind"
        return "accepted" if judged.verdict == ACCEPTED else f"discarded as a {judged.verdict}"

    def _fate(self, way: Way) -> str:
        judged = self._judgement(way)
        if way.lost:
            return f"path {way.path} ✕ lost {'on' if '-' in way.lost else 'at'} {way.lost}"
        is_lost = not self._accepted(way.packet)
        said = sign(judged, is_lost) if judged else "✕ dropped"
        return f"path {way.path} {said} at {milliseconds(way.end - self._zero)}"


def _name(way: Way) -> str:
    return "?" if way.number is None else str(way.number)


def _legend(y: float) -> str:
    marks = [
        (line((-10, 0), (10, 0), "p4c-copyway path1"), "copy on path 1"),
        (line((-10, 0), (10, 0), "p4c-copyway path2"), "copy on path 2"),
        (dot((0, 0), 5, "p4c-end good"), "arrives, accepted"),
        (dot((0, 0), 5, "p4c-end bad"), "arrives, discarded"),
        (cross((0, 0)), "lost on the way"),
    ]
    return legend(marks, (LEFT + 10, y), 165, 3)
