"""A speedometer for each subscriber: what a server offers, what is agreed, and what arrives."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any, ClassVar

from p4lab.systems.bng.views.driving import SECOND, Drive, Traffic
from p4lab.systems.bng.views.gauge import HEIGHT, WIDTH, gauge, lately, megabits
from p4lab.widgets.lab import Lab
from p4lab.widgets.sent import Sent
from p4lab.widgets.view import SentView, script, style

_HERE = Path(__file__).parent
MEGABIT = 1_000_000
LIMITS: tuple[int | None, ...] = (*(rate * MEGABIT for rate in (2, 5, 10, 20, 30)), None)
OFFERS = tuple(rate * MEGABIT for rate in (5, 10, 20, 40))
FIRST_LIMIT, FIRST_OFFER = 10 * MEGABIT, 20 * MEGABIT
WINDOWS = 10
"""That pass at a time"""


class SpeedView(SentView):
    """A network of its own with the program that has carried what was sent: a server sends to all
    subscribers, while what is agreed and what is sent change."""

    label: ClassVar[str] = "speed"
    _esm = script("speed.js", _HERE)
    _css = style(_HERE / "views.css")

    def __init__(self, lab: Lab, sent: Sent | None = None) -> None:
        self._traffic: Traffic | None = None
        super().__init__(lab, sent)
        self.on_msg(self._message)

    def draw(self, sent: Sent) -> None:
        if self._traffic is not None and sent.program is self._traffic.program:
            return  # one more packet of the lab's: what is agreed and what has been stay
        self._traffic = Traffic(sent.plan, sent.program, FIRST_LIMIT)
        self._offered = FIRST_OFFER
        self.run()

    @property
    def drives(self) -> dict[str, Drive]:
        """What there is of each subscriber, by name."""
        assert self._traffic is not None
        return self._traffic.drives

    def speed(self, who: str) -> str:
        """What a subscriber has got of late, in whole Mbit/s."""
        return f"{round(lately(self.drives[who].windows) / MEGABIT)} Mbit/s"

    def agree(self, who: str, limit: int | None) -> None:
        """Sells a subscriber so many bits per second, or no limit, and lets time pass."""
        assert self._traffic is not None
        self._traffic.agree(who, limit)
        self.run()

    def offer(self, rate: int) -> None:
        """Lets the server send so many bits per second to each subscriber from now on."""
        self._offered = rate
        self.run()

    def run(self) -> None:
        """Lets a fifth of a second pass."""
        assert self._traffic is not None
        if not self._traffic.problem:
            self._traffic.run(self._offered, WINDOWS)
        self._refresh()

    def _message(self, _: object, content: dict[str, Any], __: object) -> None:
        if content["do"] == "agree" and content["who"] in self.drives:
            self.agree(content["who"], LIMITS[content["choice"]])
        elif content["do"] == "offer":
            self.offer(OFFERS[content["choice"]])
        elif content["do"] == "run":
            self.run()

    def _refresh(self) -> None:
        assert self._traffic is not None
        self.data = {
            "title": str(self),
            "limits": [_limit(limit) for limit in LIMITS],
            "offers": [f"{megabits(rate)} Mbit/s" for rate in OFFERS],
            "offered": OFFERS.index(self._offered),
            "width": WIDTH,
            "height": HEIGHT,
            "problem": self._traffic.problem,
            "subscribers": [
                {
                    "name": name,
                    "limit": LIMITS.index(drive.limit),
                    "picture": gauge(drive.windows, drive.limit),
                    "said": _said(drive),
                    "bad": _is_over(drive) or _gets_nothing(drive),
                }
                for name, drive in self.drives.items()
            ],
        }

    def told(self) -> str:
        lines = [f"{one['name']}: {one['said']}" for one in self.data["subscribers"]]
        return "\n".join([str(self), *lines])

    def drawn(self) -> str:
        cards = "".join(
            f'<div class="p4d-card"><b>{escape(one["name"])}</b>'
            f'<svg viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" role="img" class="p4d" '
            f'aria-label="{escape(one["said"])}" style="max-width:{WIDTH:.0f}px">'
            f"{one['picture']}</svg><p>{escape(one['said'])}</p></div>"
            for one in self.data["subscribers"]
        )
        return f'<p><b>{escape(str(self))}</b></p><div class="p4d-cards">{cards}</div>'

    def __str__(self) -> str:
        assert self._traffic is not None
        if self._traffic.problem:
            return f"Nobody gets anything: {self._traffic.problem}"
        seconds = self._traffic.elapsed / SECOND
        return f"{seconds:.1f} s: {megabits(self._offered)} Mbit/s are sent to each subscriber"


def _limit(limit: int | None) -> str:
    return "no limit" if limit is None else f"{megabits(limit)} Mbit/s"


def _said(drive: Drive) -> str:
    """What a subscriber has of what was sent to it."""
    if drive.index is None:
        return "not online"
    if not drive.windows:
        return "nothing was sent"
    last = drive.windows[-1]
    said = f"gets {megabits(lately(drive.windows))} of {megabits(last.offered)} Mbit/s"
    agreed = "no limit" if last.limit is None else f"{megabits(last.limit)} are agreed"
    return f"{said}; {agreed}"


def _gets_nothing(drive: Drive) -> bool:
    """Whether a subscriber is not online, or nothing arrives of what is sent to it."""
    if drive.index is None:
        return True
    return bool(drive.windows) and drive.windows[-1].offered > 0 and not lately(drive.windows)


def _is_over(drive: Drive) -> bool:
    """Whether a subscriber has got much more than is agreed for the whole of the last 200 ms."""
    recent = drive.windows[-WINDOWS:]
    if drive.limit is None or len(recent) < WINDOWS:
        return False
    return all(window.delivered > 1.1 * drive.limit for window in recent)
