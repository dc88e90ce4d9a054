"""A subscriber dials in, step by step: each message, beside what both ends know then."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any, ClassVar

from p4lab.systems.bng.lines import subscriptions
from p4lab.systems.bng.views.decoding import Decoded, decoded
from p4lab.systems.bng.views.dialling import Call, Message, dial
from p4lab.systems.bng.views.explained import explained
from p4lab.systems.bng.views.ladder import ROW, WIDTH, height, ladder
from p4lab.widgets.lab import Lab
from p4lab.widgets.sent import Sent
from p4lab.widgets.view import SentView, script, style

_HERE = Path(__file__).parent
MILLISECOND = 1_000_000
LABEL = "A subscriber dials in"


class DialView(SentView):
    """A call through the program that has carried what was sent: of the subscriber named, else of
    the one that sent or received it. It has a network of its own; the lab's is left alone."""

    label: ClassVar[str] = "dial in"
    _esm = script("dial.js", _HERE)
    _css = style(_HERE / "views.css")

    def __init__(self, lab: Lab, sent: Sent | None = None, *, who: str = "") -> None:
        """Raises ValueError if nobody has this name."""
        self._who = who
        self._shown: tuple[object, str] = None, ""
        super().__init__(lab, sent)

    def draw(self, sent: Sent) -> None:
        name = self._who or _subscriber_of(sent)
        shown, self._shown = self._shown, (sent.program, name)
        if shown == self._shown:
            return  # the same call
        self._call = call = dial(sent.plan, sent.program, name)
        self._told = [(message, decoded(message.frame)) for message in call.messages]
        self._title = f"{name} dials in on line {call.subscription.number}"
        self._ending = _ending(name, call)
        self._base = ladder(name, self._told)
        self.data = {
            "title": self._title,
            "label": f"{LABEL}: {name} and the gateway",
            "name": name,
            "width": WIDTH,
            "height": height(len(self._told)),
            "row": ROW,
            "base": self._base,
            "steps": self._steps(name),
            "ending": self._ending,
            "good": call.online,
        }

    def _steps(self, name: str) -> list[dict[str, Any]]:
        steps = []
        before: dict[str, Any] = {}
        for message, found in self._told:
            rows = {row.name: row for row in message.known.rows}
            steps.append(
                {
                    "title": found.title,
                    "said": _said(name, message, found),
                    "lost": message.arrived is None,
                    "fields": [list(field) for field in found.fields],
                    "rows": [
                        {
                            "cells": list(row),
                            "subscriber": _is_new(before, row, 1),
                            "gateway": _is_new(before, row, 2),
                        }
                        for row in rows.values()
                    ],
                }
            )
            before = rows
        return steps

    @property
    def answer(self) -> str:
        """The first message that the gateway sends, in words."""
        return next((found.title for message, found in self._told if not message.up), "nothing")

    def told(self) -> str:
        """Every message in a line, and what came of it."""
        lines = [f"{'→' if message.up else '←'} {found.title}" for message, found in self._told]
        return "\n".join([self._title, *lines, self._ending])

    def drawn(self) -> str:
        picture = (
            f'<svg viewBox="0 0 {WIDTH:.0f} {height(len(self._told)):.0f}" role="img" class="p4d" '
            f'aria-label="{escape(str(self.data["label"]))}" style="max-width:{WIDTH:.0f}px">'
            f"{self._base}</svg>"
        )
        rows = self._told[-1][0].known.rows if self._told else ()
        known = "".join(
            f"<tr><th scope=row>{escape(row.name)}<td>{escape(row.subscriber)}"
            f"<td>{escape(row.gateway)}</tr>"
            for row in rows
        )
        name = escape(str(self.data["name"]))
        return (
            f"<p><b>{escape(self._title)}</b></p>{picture}<table class=p4d-known><thead><tr>"
            f"<th>at the end<th>{name}<th>gateway</tr></thead><tbody>{known}</tbody></table>"
            f"<p>{escape(self._ending)}</p>"
        )


def _subscriber_of(sent: Sent) -> str:
    """Who is a subscriber of those that a stream is about; the first of all if none is."""
    names = [one.host.name for one in subscriptions(sent.plan.topology, sent.plan.settings)]
    ends = [sent.stream.source.name, *(host.name for host in sent.stream.receivers)]
    return next((name for name in ends if name in names), names[0])


def _is_new(before: dict[str, Any], row: Any, cell: int) -> bool:
    """Whether a message has changed what an end knows."""
    return bool(before) and before[row.name][cell] != row[cell]


def _said(name: str, message: Message, found: Decoded) -> str:
    """A message in a sentence or two."""
    who = name if message.up else "the gateway"
    said = f"{message.sent / MILLISECOND:.1f} ms: {who} sends {found.title}. "
    if message.arrived is not None:
        return said + explained(found.title)
    if not message.up:
        return f"{said}It does not arrive."
    why = f" ({message.lost})" if message.lost else ""
    return f"{said}It does not get to the control plane: the program drops it{why}."


def _ending(name: str, call: Call) -> str:
    if call.problem:
        return f"The control plane stopped: {call.problem}"
    if call.online:
        return f"{name} is online: the rows of this session are in the switch."
    if not call.messages:
        return f"{name} said nothing."
    if call.messages[-1].arrived is None:
        return f"{name} is not online: its messages do not reach the control plane."
    return f"{name} is not online."
