"""The circle of sequence numbers: copy by copy, what a PTE did with each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from p4lab.plurals import count_of
from p4lab.systems.protect.settings import ProtectSettings
from p4lab.systems.protect.views.copies import ACCEPTED, Arrival, arrivals, protecting
from p4lab.systems.protect.views.ring import CENTRE, COPY, HEIGHT, LABELS, WIDTH, Ring
from p4lab.systems.protect.views.slots import Slots
from p4lab.systems.protect.views.steps import Step, StepView, Story
from p4lab.systems.protect.views.words import head, short, verdict, why, window
from p4lab.widgets.sent import Sent
from p4lab.widgets.svg import Point, cross, dot, element, line, text

MOST_COPIES = 200
"""More than anybody steps through; what is left out is said"""

HANDS = {"match": "last accepted", "highest": "highest accepted", "vector": "highest accepted"}
"""Policies that remember one number, and what it is"""


class CircleView(StepView):
    """Steps through the copies of what was sent as they came to the end of their connection."""

    def story(self, sent: Sent) -> Story:
        placed = protecting(sent)
        label = "The circle of sequence numbers"
        if placed is None:
            source, target = sent.stream.source.name, sent.stream.destination
            title = f"No connection protects what {source} sends to {target}"
            return Story(title, label, "copy", WIDTH, HEIGHT, "", (), 0, "")
        egress = placed.connection.egress
        found = arrivals(sent, placed)
        if not found:
            title = f"{egress} got no copy with a number"
            return Story(title, label, "copy", WIDTH, HEIGHT, "", (), 0, str(sent))
        settings: ProtectSettings = sent.plan.settings
        shown = found[:MOST_COPIES]
        title = f"{egress}, which ends connection {placed.connection.name}: {_policy(settings)}"
        if len(shown) < len(found):
            title += f"; the first {MOST_COPIES} of {len(found)} copies"
        drawing = _Drawing(shown, settings, sent.all_hops()[0].time)
        steps = tuple(drawing.step(number) for number in range(len(shown)))
        return Story(
            title,
            f"{label} at {egress}, step by step",
            "copy",
            WIDTH,
            HEIGHT,
            drawing.base(),
            steps,
            drawing.best,
            _ending(sent, shown),
        )


def _policy(settings: ProtectSettings) -> str:
    numbers = f"2^{settings.sn_bits} numbers"
    if settings.accept == "highest":
        return f"policy highest, {numbers}, window of {window(settings)}"
    if settings.accept == "slots":
        return f"policy slots, {numbers}, {settings.history} slots, window of {window(settings)}"
    return f"policy {settings.accept}, {numbers}"


def _ending(sent: Sent, shown: Sequence[Arrival]) -> str:
    accepted = sum(arrival.verdict == ACCEPTED for arrival in shown)
    came = count_of(len(shown), "copy", "copies")
    return f"{came} came, {accepted} {'was' if accepted == 1 else 'were'} accepted; {sent}"


def fates(shown: Sequence[Arrival]) -> list[str]:
    """What a verdict means for the packet, copy by copy: "lost" where it is the last copy that came
    and none was accepted, "twice" where another one was, else nothing."""
    last = {arrival.packet: number for number, arrival in enumerate(shown)}
    accepted: set[int] = set()
    found = []
    for number, arrival in enumerate(shown):
        fate = ""
        if arrival.verdict == ACCEPTED:
            fate = "twice" if arrival.packet in accepted else ""
            accepted.add(arrival.packet)
        elif arrival.packet not in accepted and last[arrival.packet] == number:
            fate = "lost"
        found.append(fate)
    return found


_MEANS = {
    "lost": "No copy of this packet was accepted, and no other one comes: it is lost.",
    "twice": "Another copy of this packet was accepted before: the host gets it twice.",
    "": "",
}


class _Drawing:
    """The pictures of a run of copies. `zero` is the moment from which times count."""

    def __init__(self, shown: Sequence[Arrival], settings: ProtectSettings, zero: int) -> None:
        self._shown = shown
        self._settings = settings
        self._zero = zero
        self._fates = fates(shown)
        size = 1 << settings.sn_bits
        self._ring = Ring([arrival.number % size for arrival in shown], size)
        self._slots = Slots(shown, settings.history) if settings.accept == "slots" else None

    @property
    def best(self) -> int:
        """The step that tells most by itself: one that loses a packet, or else the last."""
        lost = [number for number, fate in enumerate(self._fates) if fate]
        return lost[0] if lost else len(self._shown) - 1

    def base(self) -> str:
        slots = self._slots.base() if self._slots else ""
        return self._ring.base() + slots + _legend(self._settings)

    def step(self, number: int) -> Step:
        arrival, fate = self._shown[number], self._fates[number]
        said = [
            head(arrival, self._zero),
            why(arrival, self._settings),
            verdict(arrival, self._settings, fate == "lost"),
            _MEANS[fate],
        ]
        tone = "bad" if fate else "good" if arrival.verdict == ACCEPTED else ""
        line_ = short(arrival, self._zero, fate == "lost")
        if fate:
            line_ += ": the packet is lost" if fate == "lost" else ": for the second time"
        return Step("".join(self._layer(number)), " ".join(filter(None, said)), line_, tone)

    def _layer(self, number: int) -> Iterator[str]:
        arrival = self._shown[number]
        yield self._window(arrival)
        yield from self._marks(number)
        if self._slots:
            yield self._slots.layer(number, self._ring.at(arrival.number))
        elif self._settings.accept in HANDS:
            yield from self._hands(arrival)
        yield _copy(arrival, self._ring)

    def _window(self, arrival: Arrival) -> str:
        """Which numbers are new at this moment."""
        cell, settings = arrival.cell, self._settings
        if cell is None or not arrival.verdict or settings.accept not in ("highest", "slots"):
            return ""
        if cell.before is None or arrival.forgot:
            return self._ring.everything()
        return self._ring.window((cell.before + 1) % self._ring.size, settings.steps)

    def _marks(self, number: int) -> Iterator[str]:
        """The numbers of copies so far: accepted, or come and not accepted."""
        latest: dict[int, tuple[int, bool]] = {}
        for arrival in self._shown[: number + 1]:
            packet, accepted = latest.get(arrival.number, (arrival.packet, False))
            accepted = packet == arrival.packet and accepted
            latest[arrival.number] = arrival.packet, accepted or arrival.verdict == ACCEPTED
        for sequence, (_, accepted) in latest.items():
            place = self._ring.at(sequence)
            yield dot(place, 6.5, "p4c-accepted") if accepted else cross(place)

    def _hands(self, arrival: Arrival) -> Iterator[str]:
        cell = arrival.cell
        if cell is None:
            return
        if cell.before is not None:
            yield self._ring.hand(cell.before)
        if cell.before is None or cell.after != cell.before:
            yield self._ring.hand(cell.after, "p4c-hand next")
        held = "nothing" if cell.before is None else str(cell.before)
        yield dot(CENTRE, 5, "p4c-pin")
        below = CENTRE[1] + 34
        yield text((CENTRE[0], below), held, "p4c-held")
        yield text((CENTRE[0], below + 16), HANDS[self._settings.accept], "p4c-small")


def _copy(arrival: Arrival, ring: Ring) -> str:
    """The copy, outside at its number, in the colour of its path and with its verdict."""
    number = arrival.number % ring.size
    x, y = ring.at(number, COPY)
    sign = "✓" if arrival.verdict == ACCEPTED else "✕"
    good = "good" if arrival.verdict == ACCEPTED else "bad"
    path = f"path{arrival.path}"
    return element(
        "g",
        line(ring.at(number, COPY - 10), ring.at(number, LABELS + 9), f"p4c-way {path}"),
        element("rect", x=x - 24, y=y - 12, width=48, height=24, rx=12, class_=f"p4c-pill {path}"),
        text((x - 7, y + 5), str(arrival.number), "p4c-copy"),
        text((x + 13, y + 5), sign, f"p4c-sign {good}"),
        data_number=number,
        data_path=arrival.path,
        data_verdict=arrival.verdict or "dropped",
    )


def _legend(settings: ProtectSettings) -> str:
    """What the marks mean, in two rows below the circle."""
    marks: list[tuple[str, str]] = []
    if settings.accept in ("highest", "slots"):
        whose = " for this slot" if settings.accept == "slots" else ""
        marks.append((_swatch("p4c-window"), f"new{whose}: {window(settings)} ahead"))
    marks += [
        (dot((0, 0), 6.5, "p4c-accepted"), "a copy was accepted"),
        (cross((0, 0)), "copies came, none was accepted"),
        (_swatch("p4c-way path1"), "copy by path 1"),
        (_swatch("p4c-way path2"), "copy by path 2"),
    ]
    if settings.accept in HANDS:
        marks.append((_swatch("p4c-hand"), HANDS[settings.accept]))
    return legend(marks, (22, HEIGHT - 76), 250, 2)


def _swatch(class_: str) -> str:
    return line((-10, 0), (10, 0), class_)


def legend(marks: Sequence[tuple[str, str]], at: Point, width: float, columns: int) -> str:
    """Marks with words, in rows."""
    parts = []
    for number, (mark, words) in enumerate(marks):
        x = at[0] + width * (number % columns)
        y = at[1] + 24 * (number // columns)
        moved = element("g", mark, transform=f"translate({x} {y})")
        parts.append(moved + text((x + 16, y + 4), words, "p4c-legend"))
    return "".join(parts)
