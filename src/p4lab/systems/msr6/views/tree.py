"""The tree of a packet beside the header bytes that encode it."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from p4lab.systems.msr6.views.acts import scenes
from p4lab.systems.msr6.views.journey import journey
from p4lab.systems.msr6.views.layers import layers
from p4lab.systems.msr6.views.names import Names
from p4lab.systems.msr6.views.network import network
from p4lab.systems.msr6.views.panel import panel
from p4lab.systems.msr6.views.pointing import Pointing
from p4lab.systems.msr6.views.steps import Step, steps
from p4lab.systems.msr6.views.telling import Telling
from p4lab.widgets.lab import Lab
from p4lab.widgets.sent import Sent
from p4lab.widgets.view import SentView, script, style

_HERE = Path(__file__).parent

MOST_STEPS = 150
"""More than anybody steps through; what is left out is said"""

WIDEST = 800.0
"""A network that is wider stands above its header, not beside it"""

PROFILE = (
    "The drafts' layouts are not public. This encoding is p4lab's own profile, not an IETF format."
)


class TreeView(SentView):
    """Steps along the journey of a packet, the first of what was sent last unless told. Pointing at
    an entry shows its branch, pointing at a node shows the entries that it reads."""

    _esm = script("tree.js", _HERE)
    _css = style(_HERE / "tree.css")

    def __init__(
        self, lab: Lab, sent: Sent | None = None, *, packet: int = 1, follow: bool = False
    ) -> None:
        """`packet` counts from 1. `follow`: shows later ones as they are sent."""
        self._packet = packet
        self._follow = follow
        super().__init__(lab, sent)
        lab.watch(self._watch)

    def draw(self, sent: Sent) -> None:
        names = Names(sent.topology)
        visits = journey(sent, self._packet - 1)
        found = scenes(visits, names)
        pointing = Pointing(found, names)
        every = list(steps(found, pointing, Telling(sent, names)))
        self._steps = every[:MOST_STEPS]
        self._title = _title(sent, len(every))
        places = layers(sent.topology, sent.stream.source.name)
        receivers = {host.name for host in sent.stream.receivers}
        self._panels = [panel(step, names) for step in self._steps]
        self.data = {
            "title": self._title,
            "label": f"{self._title} {sent}",
            "width": places.width,
            "height": places.height,
            "large": places.width > WIDEST,
            "base": network(sent.topology, places, self._steps, receivers),
            "steps": [
                _plain(step, one) for step, one in zip(self._steps, self._panels, strict=True)
            ],
            "points": pointing.to_json(),
            "ending": str(sent),
            "ok": sent.ok,
            "profile": PROFILE,
        }

    def _watch(self) -> None:
        last = self._lab.sent
        if self._follow and last is not None and last is not self._sent:
            self.show(last)

    @property
    def _first(self) -> int:
        """The step at which the whole tree is in the header for the first time; else the first."""
        trees = (number for number, step in enumerate(self._steps) if step.frame.has_tree)
        return next(trees, 0)

    def told(self) -> str:
        said = [step.short for step in self._steps]
        return "\n".join([self._title, *said, str(self._sent)])

    def drawn(self) -> str:
        data = self.data
        items = "".join(f"<li>{escape(step.short)}</li>" for step in self._steps)
        shown = said = ""
        if self._steps:
            said = f"<p>{escape(self._steps[self._first].said)}</p>"
            shown = f'<div class="p4m-panel">{self._panels[self._first]}</div>'
        return (
            f"<p><b>{escape(self._title)}</b></p>"
            f'<svg viewBox="0 0 {data["width"]:.0f} {data["height"]:.0f}" role="img" '
            f'class="p4v-net p4m-net still" aria-label="{escape(data["label"])}" '
            f'style="max-width:{data["width"]:.0f}px">{data["base"]}</svg>'
            f"{said}{shown}<ol>{items}</ol><p>{escape(str(self._sent))}</p><p>{escape(PROFILE)}</p>"
        )


def _title(sent: Sent, count: int) -> str:
    stream = sent.stream
    shown = f", the first {MOST_STEPS} of {count} steps" if count > MOST_STEPS else ""
    return f"What {stream.source.name} sends to {stream.destination}{shown}"


def _plain(step: Step, shown: str) -> dict[str, Any]:
    return {
        "said": step.said,
        "short": step.short,
        "tone": step.tone,
        "router": step.router,
        "tree": step.scene.visit.tree,
        "panel": shown,
    }
