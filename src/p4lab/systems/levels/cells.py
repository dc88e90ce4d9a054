"""What the cells of a counter or a register hold, port by port, as a picture in a notebook."""

from __future__ import annotations

from html import escape
from typing import Any

BAR = 40  # pixels: the highest bar
WIDTH, GAP, HEAD = 56, 16, 24


class CellView:
    """The cells of the ports that have a cable, as they are now; a cell is drawn as a bar."""

    def __init__(self, lab: Any, name: str) -> None:
        """`lab` is that of a notebook. Raises ValueError for what its program has not."""
        (router,) = lab.topology.routers
        self.name = name
        self.cells = {
            port: (host, lab.read_cell(router.name, name, port))
            for port, host in lab.topology.ports(router.name).items()
        }

    def __repr__(self) -> str:
        told = (f"{self.name}[{port}] = {value}" for port, (_, value) in self.cells.items())
        return ", ".join(told)

    def _repr_html_(self) -> str:
        most = max(1, *(value for _, value in self.cells.values()))
        width = len(self.cells) * (WIDTH + GAP)
        bars = "".join(self._bar(place, port, most) for place, port in enumerate(self.cells))
        return (
            f'<svg viewBox="0 0 {width} {HEAD + BAR + 40}" width="{width}" role="img" '
            f'aria-label="{escape(repr(self))}" style="font:13px system-ui,sans-serif;'
            f'color:var(--jp-ui-font-color1,currentColor);max-width:100%">{bars}</svg>'
        )

    def _bar(self, place: int, port: int, most: int) -> str:
        host, value = self.cells[port]
        left, height = place * (WIDTH + GAP), BAR * value / most
        middle, ground = left + WIDTH / 2, HEAD + BAR
        return (
            f'<rect x="{left}" y="{ground - height:.1f}" width="{WIDTH}" height="{height:.1f}" '
            'rx="3" fill="#1c7ed6"/>'
            f'<line x1="{left}" x2="{left + WIDTH}" y1="{ground}" y2="{ground}" '
            'stroke="currentColor"/>'
            f'<text x="{middle}" y="{ground - height - 6:.1f}" text-anchor="middle" '
            f'fill="currentColor" font-weight="600">{value}</text>'
            f'<text x="{middle}" y="{ground + 16}" text-anchor="middle" fill="currentColor">'
            f"{escape(self.name)}[{port}]</text>"
            f'<text x="{middle}" y="{ground + 32}" text-anchor="middle" fill="currentColor" '
            f'opacity=".75">{escape(host)}</text>'
        )
