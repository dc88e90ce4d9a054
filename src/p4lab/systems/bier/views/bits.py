"""The bit-string stepper: one packet at one router, forward and back through its passes."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path
from typing import Any

from p4lab.model.notation import bit_numbers
from p4lab.systems.bier.views.passes import Pass, passes
from p4lab.widgets.sent import Sent
from p4lab.widgets.view import RouterView, script, style

_HERE = Path(__file__).parent


class BitView(RouterView):
    """Steps through what a router did with the bits of a packet, beside the lines that did it."""

    label = "bits"
    _esm = script("bits.js", _HERE)
    _css = style(_HERE / "bits.css")

    def draw(self, sent: Sent) -> None:
        hop = sent.hop(self._router)
        topology = sent.topology
        summary = sent.program.summary
        blocks = [block["name"] for block in summary["blocks"]]
        quiet = blocks[3:] if summary["package"] == "V1Switch" else []
        self._passes: list[Pass] = []
        self._came = f"{self._router} got no packet"
        if hop is not None:
            self._passes = passes(hop, topology, self._lab.own_files, quiet)
            self._came = f"{self._router}, a packet from {hop.source} on port {hop.port}"
        names = {router.own("bfr_id"): router.name for router in topology.routers}
        width = min(max(names), self._lab.plan.settings.bsl)
        self.data = {
            "title": self._came,
            "names": [names.get(number, "") for number in range(1, width + 1)],
            "passes": [_pass(one) for one in self._passes],
            "sources": self._sources(),
        }

    def _sources(self) -> dict[str, dict[str, Any]]:
        """The text of every file that a step is in."""
        files = {step.file for one in self._passes for step in one.steps if step.file}
        return {
            file: {"name": os.path.basename(file), "lines": self._lab.source(file).splitlines()}
            for file in sorted(files)
        }

    def told(self) -> str:
        lines = [f"pass {one.number}: {one.outcome}" for one in self._passes]
        return "\n".join([self._came, *lines])

    def drawn(self) -> str:
        rows = "".join(_row(one) for one in self._passes)
        return (
            f"<p>{escape(self._came)}</p><table><thead><tr><th>pass<th>BitString<th>remaining"
            "<th>F-BM<th>action<th>remaining after<th>what left</tr></thead>"
            f"<tbody>{rows}</tbody></table>"
        )


def _pass(one: Pass) -> dict[str, Any]:
    return {
        "number": one.number,
        "outcome": one.outcome,
        "steps": [step.to_json() for step in one.steps],
    }


def _row(one: Pass) -> str:
    """A pass in one line: what it began with, what the table said, what was left."""

    def bits(value: int | None) -> str:
        return "" if value is None else bit_numbers(value)

    found = next((step.state for step in one.steps if step.state.action), None)
    first = one.steps[0].state if one.steps else None
    last = one.steps[-1].state if one.steps else None
    cells = [
        str(one.number),
        bits(first.bit_string) if first else "",
        bits(found.remaining) if found else "",
        bits(found.fbm) if found else "",
        (found.action or "") if found else "",
        bits(last.remaining) if last else "",
        one.outcome,
    ]
    return "<tr>" + "".join(f"<td>{escape(cell)}" for cell in cells) + "</tr>"
