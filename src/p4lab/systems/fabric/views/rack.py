"""The rack as a map: what every leaf carries, from moment to moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from p4lab import _engine
from p4lab.errors import ArgumentError
from p4lab.systems.fabric.parameters import in_force
from p4lab.systems.fabric.ports import LEAVES_OF_RACK, TERMINALS
from p4lab.systems.fabric.runs import MICROSECOND, Scenario, prepared
from p4lab.systems.fabric.trees import Tree
from p4lab.systems.fabric.views import words
from p4lab.widgets.view import View, script, style

HERE = Path(__file__).parent
GIGABIT = 1000
"""In bits of a nanosecond's picoseconds: bits / ps * 1000 are Gb/s"""
KINDS = ("up", "loop", "out")


@dataclass(frozen=True)
class Loads:
    """What each leaf carried in an interval that ended at `time` (ps), in Gb/s: cells into links,
    frames back into its surrogate, frames to its servers; and cells over each spine."""

    time: int
    up: tuple[float, ...]
    loop: tuple[float, ...]
    out: tuple[float, ...]
    spines: tuple[float, ...]


class RackView(View):
    """All leaves of a fabric in their racks, with their loads, step by step."""

    _esm = script("rack.js", HERE)
    _css = style(HERE / "fabric.css")

    def __init__(
        self, loads: Sequence[Loads], trees: Sequence[Tree], values: Mapping[str, Any], ending: str
    ) -> None:
        super().__init__()
        self._loads = loads
        self._trees = trees
        self._ending = ending
        self._most = {
            "up": values["link.gbps"] * values["link.count"],
            "loop": values["line.gbps"],
            "out": values["line.gbps"] * TERMINALS,
        }
        self.data = {
            "title": "The rack",
            "rack": LEAVES_OF_RACK,
            "most": self._most,
            "levels": _levels(trees),
            "moments": [_plain(one) for one in loads],
            "ending": ending,
        }

    @property
    def loads(self) -> Sequence[Loads]:
        return self._loads

    def picture(self) -> str:
        last = self._loads[-1]
        head = "".join(
            f'<th scope="col">{name}</th>'
            for name in ("leaf", "into links", "into the surrogate", "to servers")
        )
        rows = "".join(
            f'<tr><th scope="row">{leaf}</th>'
            + "".join(f"<td>{value:.0f}</td>" for value in row)
            + "</tr>"
            for leaf, row in enumerate(zip(last.up, last.loop, last.out, strict=True))
        )
        return (
            f"<p><b>The rack</b>, in Gb/s, after {words.moment(last.time)}</p><table><thead><tr>"
            f"{head}</tr></thead><tbody>{rows}</tbody></table><p>{escape(self._ending)}</p>"
        )

    def summary(self) -> str:
        last = self._loads[-1]
        servers, links, loops = (f"{sum(row):.0f}" for row in (last.out, last.up, last.loop))
        return (
            f"{len(last.out)} leaves, {words.moment(last.time)}: {servers} Gb/s to servers, "
            f"{links} into links, {loops} into surrogates"
        )


def rack_view(scenario: Scenario, *, every: float = 1, seed: int = 1) -> RackView:
    """All leaves of a scenario, one step for each `every` microseconds of its run. Raises
    ValueError."""
    fabric = prepared(scenario, seed)
    values = in_force(scenario.settings, scenario.extra)
    cell = values["cell.bytes"]
    assert isinstance(cell, int | float)  # or else there would be no fabric
    step, end = round(every * MICROSECOND), round(scenario.micros * MICROSECOND)
    if not 0 < step <= end:
        raise ArgumentError(f"a step of {every} us in a run of {scenario.micros} us.")
    loads, ending = [], ""
    before = _counts(fabric)
    while fabric.now + step <= end:
        if fabric.run(fabric.now + step) == "deadlock":
            ending = f"Deadlock: nothing moves any more after {words.moment(fabric.now)}."
            break
        now = _counts(fabric)
        loads.append(_between(before, now, fabric.now, step, cell))
        before = now
    return RackView(loads, [flow.tree for flow in scenario.flows], values, ending)


Counts = tuple[Sequence[tuple[int, ...]], Sequence[int]]


def _counts(fabric: _engine.Fabric) -> Counts:
    leaves, spines = fabric.loads()
    return leaves, spines


def _between(before: Counts, now: Counts, time: int, step: int, cell: float) -> Loads:
    """Rows of leaves are cells within, into and out of links, bytes to servers and looped."""

    def rates(column: int, octets: float) -> tuple[float, ...]:
        pairs = zip(before[0], now[0], strict=True)
        more = (new[column] - old[column] for old, new in pairs)
        return tuple(count * octets * 8 * GIGABIT / step for count in more)

    spines = zip(before[1], now[1], strict=True)
    crossed = tuple((new - old) * cell * 8 * GIGABIT / step for old, new in spines)
    return Loads(time, rates(1, cell), rates(4, 1), rates(3, 1), crossed)


def _plain(one: Loads) -> dict[str, Any]:
    rows = {name: [round(value) for value in getattr(one, name)] for name in (*KINDS, "spines")}
    return {"time": words.moment(one.time), **rows}


def _levels(trees: Sequence[Tree]) -> dict[str, int]:
    """For each leaf whose surrogate makes copies, the least level at which it does."""
    found: dict[int, int] = {}
    for tree in trees:
        depth = {tree[0][0]: 0}
        for port, children in tree:
            for child in children:
                depth[child] = depth[port] + 1
        for port, _ in tree[1:]:
            leaf = port // 8
            found[leaf] = min(depth[port], found.get(leaf, depth[port]))
    return {str(leaf): level for leaf, level in found.items()}
