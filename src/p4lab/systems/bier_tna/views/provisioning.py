"""The provisioning calculator: sliders, and the front of the switch that they ask for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import Any

from p4lab.errors import ArgumentError
from p4lab.plurals import count_of
from p4lab.systems.bier_tna.recirculation.equations import INTERNAL, PORTS, Provision
from p4lab.systems.bier_tna.recirculation.mixes import Calculation, Mix, Part, calculate
from p4lab.widgets.view import View, script, style

MIX = MappingProxyType({2: 0.05, 4: 0.05, 8: 0.0, 16: 0.0})
MOST_USED, STEP_USED = 10.0, 0.1
_HERE = Path(__file__).parent

BFIR, BFER, UTILISATION, LOOPBACK = "bfir", "bfer", "utilisation", "loopback"


@dataclass(frozen=True)
class Slider:
    """A number to be chosen: what it is, in which unit (of one), and from where to where."""

    name: str
    label: str
    unit: str
    least: float
    most: float
    step: float

    def shown(self, value: float) -> str:
        """The value with its unit."""
        if self.unit == "%":
            return f"{value:.1%}"
        return count_of(f"{value:g}", self.unit)


class Provisioning(View):
    """Sliders for shares of the packets that go to so many next hops, what is encapsulated and
    decapsulated here, how often a recirculation port may be used, and loopback ports; below them
    the ports and the losses."""

    _esm = script("provisioning.js", _HERE)
    _css = style(_HERE / "provisioning.css")

    def __init__(self, mix: Mapping[int, float], utilisation: float, ports: int) -> None:
        super().__init__()
        self._ports = ports
        self._hops = sorted(mix)
        self._sliders = [
            *(Slider(f"to {n}", f"to {n} next hops", "%", 0, 1, 0.005) for n in self._hops),
            Slider(BFIR, "encapsulated here", "%", 0, 1, 0.005),
            Slider(BFER, "decapsulated here", "%", 0, 1, 0.005),
            Slider(
                UTILISATION,
                "U: how many times as much a recirculation port may be used as others",
                "time",
                0.5,
                MOST_USED,
                STEP_USED,
            ),
            Slider(LOOPBACK, "ports in loopback mode", "port", 0, ports, 1),
        ]
        self._values = {f"to {n}": share for n, share in mix.items()}
        self._values |= {BFIR: 0.0, BFER: 0.0, UTILISATION: utilisation, LOOPBACK: 0}
        self._by_rule = True
        self._refresh()
        self.on_msg(self._message)

    def set(self, name: str, value: float) -> None:
        """Moves a slider: `to 4`, bfir, bfer, utilisation, or loopback, which no rule chooses
        then. Raises ValueError for a slider that is not there."""
        slider = next((one for one in self._sliders if one.name == name), None)
        if slider is None:
            names = ", ".join(one.name for one in self._sliders)
            raise ArgumentError(f"there is no slider {name!r}; choose from {names}.")
        self._values[name] = min(slider.most, max(slider.least, value))
        self._by_rule = self._by_rule and name != LOOPBACK
        self._refresh()

    def follow_the_rule(self, by_rule: bool) -> None:
        """Whether as many ports are in loopback mode as the rule wants."""
        self._by_rule = by_rule
        self._refresh()

    def _message(self, _: object, content: dict[str, Any], __: object) -> None:
        if "rule" in content:
            self.follow_the_rule(bool(content["rule"]))
        else:
            self.set(content["name"], float(content["value"]))

    @property
    def calculation(self) -> Calculation:
        """What the sliders say now. Raises ValueError if the shares are more than everything."""
        parts = tuple(Part(self._values[f"to {n}"], n) for n in self._hops)
        mix = Mix(parts, self._values[BFIR], self._values[BFER])
        loopback = None if self._by_rule else int(self._values[LOOPBACK])
        return calculate(mix, self._values[UTILISATION], self._ports, INTERNAL, loopback)

    def _refresh(self) -> None:
        try:
            found = self.calculation
        except ValueError as error:
            said, drawn = str(error), f"<p>{escape(str(error))}</p>"
        else:
            said, drawn = summary(found), picture(found)
            if self._by_rule:
                self._values[LOOPBACK] = found.needed.physical
        self.data = {
            "sliders": [
                {
                    **{"name": one.name, "label": one.label, "step": one.step},
                    **{"least": one.least, "most": one.most},
                    "value": self._values[one.name],
                    "shown": one.shown(self._values[one.name]),
                    "still": one.name == LOOPBACK and self._by_rule,
                }
                for one in self._sliders
            ],
            "rule": self._by_rule,
            "said": said,
            "drawn": drawn,
        }

    def __str__(self) -> str:
        return self.data["said"]

    def summary(self) -> str:
        return self.data["said"]

    def picture(self) -> str:
        return self.data["drawn"]


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
        f"{count_of(needed.traffic, 'port')} with traffic, {needed.physical} in loopback mode, "
        f"{needed.unused} unused."
    ]
    fewer = found.with_fewer
    if fewer is not None:
        ports = count_of(fewer.loops - found.internal, "loopback port")
        lines.append(
            f"With {ports} each recirculation loses "
            f"{fewer.drop_probability:.1%}; of all copies that the mix asks for, "
            f"{fewer.lost_of_copies:.1%} are missing."
        )
    return "\n".join(lines)


def picture(found: Calculation) -> str:
    """The front of the switch, and for each part of the mix how much its last next hop misses, as
    HTML."""
    fewer = found.with_fewer
    use = found.needed
    if fewer is not None:
        loopback = fewer.loops - found.internal
        use = Provision(found.ports - loopback, fewer.loops, loopback, 0)
    legend = (
        ("traffic", f"{use.traffic} with traffic"),
        ("loop", f"{use.physical} in loopback mode (and {found.internal} inside)"),
        ("unused", f"{use.unused} unused"),
    )
    kinds = ["traffic"] * use.traffic + ["loop"] * use.physical + ["unused"] * use.unused
    cells = "".join(
        f'<span class="p4v-port {kind}">{number}{_SIGNS[kind]}</span>'
        for number, kind in enumerate(kinds, 1)
    )
    keys = "".join(
        f'<span><i class="p4v-port {kind}">{_SIGNS[kind] or "&nbsp;"}</i> {escape(text)}</span>'
        for kind, text in legend
    )
    front = "The ports at the front: " + ", ".join(text for _, text in legend)
    bars = "".join(_bars(found))
    return (
        f"<p>{escape(summary(found)).replace(chr(10), '<br>')}</p>"
        f'<div class="p4v-front" role="img" aria-label="{escape(front)}">{cells}</div>'
        f'<p class="p4v-legend" aria-hidden="true">{keys}</p>{bars}'
    )


_SIGNS = {"traffic": "", "loop": "↺", "unused": ""}


def _bars(found: Calculation) -> Iterator[str]:
    """What the last next hop of each part of the mix misses, if there are too few ports."""
    if found.with_fewer is None:
        return
    rows = "".join(
        f'<tr><th scope="row">{part.next_hops} next hops<td><span class="p4v-meter">'
        f'<i style="width:{lost:.1%}"></i></span><td class="n">{lost:.1%} lost</tr>'
        for part, lost in found.with_fewer.lost
    )
    yield (
        '<table class="p4v-lost-by"><caption>Packets that never reach the last next hop</caption>'
        f"<tbody>{rows}</tbody></table>"
    )
