"""Who sends in another's name: how far each attempt gets, and the line that ends it."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import ClassVar

from p4lab.systems.bng.lines import subscriptions
from p4lab.systems.bng.notation import IN_WORDS
from p4lab.systems.bng.views.spoofing import Attempt, spoof
from p4lab.widgets.lab import Lab
from p4lab.widgets.sent import Sent
from p4lab.widgets.svg import cross, dot, element, line, text
from p4lab.widgets.view import SentView, script, style

_HERE = Path(__file__).parent
STATIONS = ("line", "session", "address", "route")
"""What a packet of a subscriber has to pass"""
ENDS_AT = {
    "UNKNOWN_INTERFACE": 0,
    "UNKNOWN_LINE": 0,
    "WRONG_MAC": 0,
    "UNKNOWN_SESSION": 1,
    "SPOOFED": 2,
    "NO_ROUTE": 3,
}
WIDTH, HEAD, ROW = 520.0, 34.0, 44.0
FIRST, STEP = 60.0, 100.0


class SpoofView(SentView):
    """Through the program that has carried what was sent, in a network of its own: `who` sends in
    the name of `whom`, without that the second subscriber in the name of the first."""

    label: ClassVar[str] = "spoofing"
    _esm = script("spoof.js", _HERE)
    _css = style(_HERE / "views.css")

    def __init__(
        self, lab: Lab, sent: Sent | None = None, *, who: str = "", whom: str = ""
    ) -> None:
        """Raises ValueError for a name that no subscriber has."""
        self._who, self._whom = who, whom
        self._program: object = None
        super().__init__(lab, sent)

    def draw(self, sent: Sent) -> None:
        if sent.program is self._program:
            return  # the same attempts
        self._program = sent.program
        names = [one.host.name for one in subscriptions(sent.plan.topology, sent.plan.settings)]
        who, whom = self._who or names[1], self._whom or names[0]
        self._found = found = spoof(sent.plan, sent.program, who, whom)
        self._title = f"{who} sends to {found.server}, in the name of {whom}"
        if found.problem:
            self._title = f"Nobody can send: {found.problem}"
        self.data = {"title": self._title, "html": self._shown() if found.attempts else ""}

    @property
    def arrived(self) -> int:
        """Packets that got to the server."""
        return sum(attempt.arrived for attempt in self._found.attempts)

    def _shown(self) -> str:
        """Picture and table. Both hold only what is escaped."""
        rows = "".join(self._row(attempt) for attempt in self._found.attempts)
        return (
            f"{self._picture()}<table class=p4d-attempts><thead><tr><th scope=col>the packet has"
            "<th scope=col>what becomes of it<th scope=col>where</tr></thead>"
            f"<tbody>{rows}</tbody></table>"
        )

    def _row(self, attempt: Attempt) -> str:
        tone = "" if _is_right(attempt, self._found.who) else " class=bad"
        return (
            f"<tr><th scope=row data-head='the packet has'>{escape(attempt.title)}"
            f"<td data-head='what becomes of it'{tone}>{escape(_fate(attempt, self._found.who))}"
            f"<td data-head=where>{self._place(attempt)}</tr>"
        )

    def _place(self, attempt: Attempt) -> str:
        """The line that gave the reason, with its code."""
        if not attempt.file or attempt.arrived:
            return "–"
        lines = self._lab.source(attempt.file).splitlines()
        code = lines[attempt.line - 1].strip() if attempt.line <= len(lines) else ""
        place = f"{Path(attempt.file).name}:{attempt.line}"
        return f"{escape(place)} <code>{escape(code)}</code>"

    def _picture(self) -> str:
        found = self._found
        height = HEAD + ROW * len(found.attempts)
        ends = [*STATIONS, found.server]
        parts = [
            text((FIRST + STEP * number, 16), name, "p4d-station")
            for number, name in enumerate(ends)
        ]
        for number, attempt in enumerate(found.attempts):
            track = _track(attempt, found.who, HEAD + ROW * number + 26, len(ends) - 1)
            parts.append(track)
        return (
            f'<svg viewBox="0 0 {WIDTH:.0f} {height:.0f}" role="img" class="p4d p4d-tracks" '
            f'aria-label="How far each packet gets">{"".join(parts)}</svg>'
        )

    def told(self) -> str:
        lines = [f"{one.title}: {_fate(one, self._found.who)}" for one in self._found.attempts]
        return "\n".join([self._title, *lines])

    def drawn(self) -> str:
        return f"<p><b>{escape(self._title)}</b></p>{self.data['html']}"


def _track(attempt: Attempt, who: str, y: float, last: int) -> str:
    """How far one packet gets."""
    end = last if attempt.arrived else ENDS_AT.get(attempt.reason, 0)
    tone = "good" if _is_right(attempt, who) else "bad"
    far = FIRST + STEP * end
    parts = [
        text((FIRST - 44, y - 10), attempt.title, "p4d-whose"),
        line((FIRST - 44, y), (FIRST + STEP * last, y), "p4d-rail"),
        line((FIRST - 44, y), (far, y), f"p4d-way {tone}"),
    ]
    parts += [dot((FIRST + STEP * number, y), 3.5, "p4d-stop") for number in range(last)]
    parts.append(dot((far, y), 6, f"p4d-there {tone}") if attempt.arrived else cross((far, y)))
    return element("g", *parts)


def _is_honest(attempt: Attempt, who: str) -> bool:
    """Whether all that it says is the sender's own."""
    return set(attempt.whose) == {who}


def _is_right(attempt: Attempt, who: str) -> bool:
    """Whether the honest packet arrives, or a lie is dropped."""
    return attempt.arrived == _is_honest(attempt, who)


def _fate(attempt: Attempt, who: str) -> str:
    if attempt.arrived:
        return "it arrives" if _is_honest(attempt, who) else "it arrives, and nobody has noticed"
    if not attempt.reason or attempt.reason == "NONE":
        return "it is dropped, and nobody says why"
    return f"dropped: {IN_WORDS.get(attempt.reason, attempt.reason)}"
