"""The provisioning calculator: sliders, and the front of the switch that they ask for."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from types import MappingProxyType
from typing import Any

import ipywidgets

from p4lab.systems.bier_tna.recirculation.equations import INTERNAL, PORTS, Provision
from p4lab.systems.bier_tna.recirculation.mixes import Calculation, Mix, Part, calculate

MIX = MappingProxyType({2: 0.05, 4: 0.05, 8: 0.0, 16: 0.0})
WIDTH, CELL, ROW = 560, 35, 16  # of the picture, in units of it
COLOURS = {"traffic": "#1f77b4", "loop": "#ff7f0e", "unused": "#dddddd", "lost": "#d62728"}


class Provisioning(ipywidgets.VBox):
    """Sliders for shares of the packets that go to so many next hops, what is encapsulated and
    decapsulated here, U and loopback ports; below them the ports and the losses."""

    def __init__(self, mix: Mapping[int, float], utilisation: float, ports: int) -> None:
        self._ports = ports
        self._shares = {
            hops: _slider(f"to {hops} next hops", share, 1.0, 0.005, ".1%")
            for hops, share in sorted(mix.items())
        }
        self._bfir = _slider("encapsulated here", 0.0, 1.0, 0.005, ".1%")
        self._bfer = _slider("decapsulated here", 0.0, 1.0, 0.005, ".1%")
        self._utilisation = _slider("U", utilisation, 10.0, 0.1, ".1f", least=0.5)
        self._loopback = ipywidgets.IntSlider(
            description="loopback ports", value=0, max=ports, style={"description_width": "11em"}
        )
        self._rule = ipywidgets.Checkbox(
            description="as many loopback ports as the rule wants", value=True, indent=False
        )
        self._view = ipywidgets.HTML()
        sliders = [*self._shares.values(), self._bfir, self._bfer, self._utilisation]
        for control in (*sliders, self._loopback, self._rule):
            control.observe(lambda _: self._paint(), "value")
        super().__init__([*sliders, self._rule, self._loopback, self._view])
        self._paint()

    @property
    def calculation(self) -> Calculation:
        """What the sliders say now. Raises ValueError if the shares are more than everything."""
        parts = tuple(Part(slider.value, hops) for hops, slider in self._shares.items())
        mix = Mix(parts, self._bfir.value, self._bfer.value)
        loopback = None if self._rule.value else self._loopback.value
        return calculate(mix, self._utilisation.value, self._ports, INTERNAL, loopback)

    def _paint(self) -> None:
        self._loopback.disabled = self._rule.value
        self._view.value = self._html()

    def _html(self) -> str:
        try:
            return picture(self.calculation)
        except ValueError as error:
            return f"<p>{escape(str(error))}</p>"

    def __str__(self) -> str:
        try:
            return summary(self.calculation)
        except ValueError as error:
            return str(error)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        live = super()._repr_mimebundle_(**kwargs) or {}
        return {**live, "text/html": self._html(), "text/plain": str(self)}


def provisioning(
    mix: Mapping[int, float] = MIX, utilisation: float = 4.0, ports: int = PORTS
) -> Provisioning:
    """The calculator for a notebook. `mix` has the shares to begin with, by number of next hops;
    what they leave to 1 is unicast."""
    return Provisioning(mix, utilisation, ports)


def summary(found: Calculation) -> str:
    """The calculation in plain text."""
    needed = found.needed
    lines = [
        f"R = {found.mix.factor:.3g} recirculations per packet, U = {found.utilisation:g}: "
        f"{needed.traffic} ports with traffic, {needed.physical} in loopback mode, "
        f"{needed.unused} unused."
    ]
    fewer = found.with_fewer
    if fewer is not None:
        lines.append(
            f"With {fewer.loops - found.internal} loopback ports each recirculation loses "
            f"{fewer.drop_probability:.1%}; of all copies that the mix asks for, "
            f"{fewer.lost_of_copies:.1%} are missing."
        )
    return "\n".join(lines)


def picture(found: Calculation) -> str:
    """The front of the switch, and for each part of the mix how much its last next hop misses, as
    SVG in HTML."""
    fewer = found.with_fewer
    use = found.needed
    if fewer is not None:
        loopback = fewer.loops - found.internal
        use = Provision(found.ports - loopback, fewer.loops, loopback, 0)
    kinds = ["traffic"] * use.traffic + ["loop"] * use.physical + ["unused"] * use.unused
    columns = WIDTH // CELL
    cells = [_cell(number, kind, columns) for number, kind in enumerate(kinds)]
    height = -(-len(kinds) // columns) * CELL + 6
    bars = []
    if fewer is not None:
        bars = [_bar(height + place * ROW, *lost) for place, lost in enumerate(fewer.lost)]
    height += len(bars) * ROW + 4
    legend = " ".join(
        f'<span style="color:{COLOURS[kind]}">■</span> {escape(word)}'
        for kind, word in (
            ("traffic", f"{use.traffic} with traffic"),
            ("loop", f"{use.physical} in loopback mode (and {found.internal} inside)"),
            ("unused", f"{use.unused} unused"),
        )
    )
    text = escape(summary(found)).replace("\n", "<br>")
    return (
        f'<div><p>{text}</p><svg xmlns="http://www.w3.org/2000/svg" role="img" '
        f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'font-family="sans-serif" font-size="11">{"".join(cells)}{"".join(bars)}</svg>'
        f"<p>{legend}</p></div>"
    )


def _cell(number: int, kind: str, columns: int) -> str:
    row, column = divmod(number, columns)
    x, y = column * CELL + 2, row * CELL + 2
    middle = CELL / 2
    ink = "#555555" if kind == "unused" else "#ffffff"
    return (
        f'<rect x="{x}" y="{y}" width="{CELL - 4}" height="{CELL - 4}" rx="3" '
        f'fill="{COLOURS[kind]}"/><text x="{x + middle - 2}" y="{y + middle + 2}" fill="{ink}" '
        f'text-anchor="middle">{number + 1}</text>'
    )


def _bar(y: float, part: Part, lost: float) -> str:
    left, width = 110, WIDTH - 180
    return (
        f'<text x="2" y="{y + 12}">{part.next_hops} next hops</text>'
        f'<rect x="{left}" y="{y + 3}" width="{width}" height="{ROW - 6}" fill="#eeeeee"/>'
        f'<rect x="{left}" y="{y + 3}" width="{width * lost:.1f}" height="{ROW - 6}" '
        f'fill="{COLOURS["lost"]}"/>'
        f'<text x="{left + width + 6}" y="{y + 12}">{lost:.1%} lost</text>'
    )


def _slider(
    what: str, value: float, most: float, step: float, form: str, least: float = 0.0
) -> ipywidgets.FloatSlider:
    return ipywidgets.FloatSlider(
        description=what,
        value=value,
        min=least,
        max=most,
        step=step,
        readout_format=form,
        style={"description_width": "11em"},
        layout={"width": "34em"},
    )
