"""What both views are: a picture that changes step by step, with a sentence for each step."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from p4lab.widgets.lab import Lab
from p4lab.widgets.sent import Sent
from p4lab.widgets.view import SentView, script, style

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Step:
    """What is drawn on the picture at a step, in SVG; `said` in a sentence or more, and `short` in
    a few words, which `tone` colours: "good", "bad" or plain."""

    layer: str
    said: str
    short: str
    tone: str = ""


@dataclass(frozen=True)
class Story:
    """A picture of `width` by `height` units with the steps on it. `unit` says what a step is,
    `best` is the step to be shown where there is only one, `ending` what came of all."""

    title: str
    label: str
    unit: str
    width: float
    height: float
    base: str
    steps: tuple[Step, ...]
    best: int
    ending: str

    def svg(self, number: int) -> str:
        """The picture at one step; nothing if there is none."""
        if not self.steps:
            return ""
        layer = self.steps[number].layer
        return (
            f'<svg viewBox="0 0 {self.width:.0f} {self.height:.0f}" role="img" class="p4c" '
            f'aria-label="{escape(self.label)}" style="max-width:{self.width:.0f}px">'
            f"{self.base}<g>{layer}</g></svg>"
        )


class StepView(SentView):
    """A story of what was sent, the last unless told, told by `story`."""

    _esm = script("steps.js", _HERE)
    _css = style(_HERE / "steps.css")

    def __init__(self, lab: Lab, sent: Sent | None = None) -> None:
        super().__init__(lab, sent)

    def story(self, sent: Sent) -> Story:
        raise NotImplementedError

    def draw(self, sent: Sent) -> None:
        self._story = story = self.story(sent)
        self.data = {
            "title": story.title,
            "label": story.label,
            "unit": story.unit,
            "width": story.width,
            "height": story.height,
            "base": story.base,
            "steps": [_plain(step) for step in story.steps],
            "ending": story.ending,
            "ok": sent.ok,
        }

    def told(self) -> str:
        story = self._story
        return "\n".join([story.title, *(step.short for step in story.steps), story.ending])

    def drawn(self) -> str:
        story = self._story
        items = "".join(f"<li>{escape(step.short)}</li>" for step in story.steps)
        said = f"<p>{escape(story.steps[story.best].said)}</p>" if story.steps else ""
        return (
            f"<p><b>{escape(story.title)}</b></p>{story.svg(story.best)}{said}"
            f"<ol>{items}</ol><p>{escape(story.ending)}</p>"
        )


def _plain(step: Step) -> dict[str, Any]:
    return {"layer": step.layer, "said": step.said, "short": step.short, "tone": step.tone}
