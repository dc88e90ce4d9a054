"""The estimate as a picture: stages from left to right, in each what lies in it."""

from __future__ import annotations

from collections import defaultdict
from html import escape

from p4lab.fit import chip
from p4lab.fit.estimate import Estimate, GressEstimate, Part, PipeEstimate, Placed
from p4lab.fit.terminal import place, verdict

COLUMN, BOX, GAP, LEFT, TOP = 118, 34, 6, 92, 92
BARS = 64
COLOURS = {"exact": "#cfe3f7", "ternary": "#f9dcc4", "hash action": "#dcefd3", "no key": "#eeeeee"}
CRITICAL = "#b3261e"
STYLE = (
    "text{font-family:sans-serif;font-size:11px;fill:#222}"
    ".small{font-size:9.5px;fill:#555}.big{font-size:14px;font-weight:bold}"
)


def drawing(estimate: Estimate) -> str:
    """An SVG document of all pipes, one below the other."""
    parts: list[str] = []
    top, width = 0, 0
    for pipe in estimate.pipes:
        drawn, height, wide = _pipe(estimate, pipe)
        parts.append(f'<g transform="translate(0,{top})">{"".join(drawn)}</g>')
        top, width = top + height, max(width, wide)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top}" '
        f'viewBox="0 0 {width} {top}" role="img" aria-label="Stages of {escape(estimate.program)}">'
        f'<style>{STYLE}</style><rect width="100%" height="100%" fill="#ffffff"/>'
        f"{''.join(parts)}</svg>\n"
    )


def _pipe(estimate: Estimate, pipe: PipeEstimate) -> tuple[list[str], int, int]:
    count = len(pipe.stages)
    width = LEFT + count * COLUMN + GAP
    out = [
        _text(GAP, 18, " ".join(estimate.caveats), "small"),
        _text(GAP, 38, verdict(estimate, pipe), "big"),
        _legend(58),
    ]
    for number in range(count):
        x = LEFT + number * COLUMN
        fill = "#fafafa" if number % 2 else "#f2f2f2"
        fill = "#fbe9e7" if number >= chip.STAGES else fill
        out.append(f'<rect x="{x}" y="{TOP - 20}" width="{COLUMN}" height="HEIGHT" fill="{fill}"/>')
        out.append(_text(x + COLUMN / 2, TOP - 6, f"stage {number}", anchor="middle"))
    y = TOP
    for gress in pipe.gresses:
        drawn, height = _gress(estimate, gress, y, count)
        out += drawn
        y += height
    out += _bars(pipe, y)
    y += BARS
    height = y - TOP + 20
    out = [part.replace('height="HEIGHT"', f'height="{height}"') for part in out]
    return out, y + GAP, width


def _gress(estimate: Estimate, gress: GressEstimate, y: int, count: int) -> tuple[list[str], int]:
    out = [_text(GAP, y + 14, gress.gress, "big")]
    if gress.cycles is not None and gress.nanoseconds is not None:
        out.append(_text(GAP, y + 30, f"{gress.cycles} cycles", "small"))
        out.append(_text(GAP, y + 43, f"{gress.nanoseconds:.0f} ns", "small"))
    critical = {(step.unit, step.line) for step in gress.critical_path}
    rows: dict[int, int] = defaultdict(int)
    way: list[tuple[float, float]] = []
    for unit in gress.units:
        if unit.kind == "condition":
            continue
        on_path = (unit.name, unit.line) in critical
        for part in unit.parts:
            number = part.stage
            if number >= count:
                continue
            x = LEFT + number * COLUMN + GAP / 2
            at = y + rows[number] * (BOX + GAP)
            rows[number] += 1
            out.append(_box(estimate, unit, part, x, at, on_path))
            if on_path:
                way.append((x + (COLUMN - GAP) / 2, at + BOX / 2))
    if len(way) > 1:
        points = " ".join(f"{px:.0f},{py:.0f}" for px, py in way)
        line = f'<polyline points="{points}" fill="none" stroke="{CRITICAL}" opacity="0.35"/>'
        out.insert(0, line)
    return out, max([2, *rows.values()]) * (BOX + GAP) + 12


def _box(estimate: Estimate, unit: Placed, part: Part, x: float, y: float, critical: bool) -> str:
    stroke = f'stroke="{CRITICAL}" stroke-width="2"' if critical else 'stroke="#999"'
    fill = COLOURS.get(unit.layout, "#eeeeee")
    where = place(estimate, unit)
    kinds = ((part.tcams, "TCAM"), (part.srams, "SRAM"))
    blocks = " ".join(f"{number} {what}" for number, what in kinds if number)
    short = " ".join(f"{number}{what[0]}" for number, what in kinds if number)
    name = unit.name.rpartition(".")[2] if unit.kind != "statements" else "statements"
    second = f"line {where}" if where.isdigit() else where
    title = f"{unit.name} ({second}), {unit.layout}: {blocks or 'no memory'}"
    if len(unit.parts) > 1:
        title += f", {part.entries} of {unit.entries} entries"
    if unit.resources:
        title += ", " + ", ".join(unit.resources)
    return (
        f"<g><title>{escape(title)}</title>"
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{COLUMN - GAP}" height="{BOX}" rx="4" '
        f'fill="{fill}" {stroke}/>'
        + _text(x + 5, y + 14, _short(name, 17))
        + _text(x + 5, y + 27, _short(f"{second}  {short}", 23), "small")
        + "</g>"
    )


def _bars(pipe: PipeEstimate, y: int) -> list[str]:
    """How full the memories of each stage are."""
    out = []
    kinds = (
        ("SRAM", chip.SRAMS, [stage.srams for stage in pipe.stages]),
        ("TCAM", chip.TCAM_ROWS * chip.TCAM_COLUMNS, [stage.tcams for stage in pipe.stages]),
        ("tables", chip.LOGICAL_TABLES, [stage.logical_tables for stage in pipe.stages]),
    )
    for row, (name, most, numbers) in enumerate(kinds):
        top = y + row * 18
        out.append(_text(GAP, top + 11, f"{name} of {most}", "small"))
        for number, taken in enumerate(numbers):
            x = LEFT + number * COLUMN + GAP / 2
            wide = (COLUMN - GAP - 28) * min(1.0, taken / most)
            out.append(
                f'<rect x="{x:.0f}" y="{top + 3}" width="{wide:.1f}" height="9" fill="#777"/>'
            )
            out.append(_text(x + wide + 4, top + 11, str(taken), "small"))
    return out


def _legend(y: int) -> str:
    out, x = [], GAP
    for name, colour in COLOURS.items():
        out.append(
            f'<rect x="{x}" y="{y - 10}" width="12" height="12" fill="{colour}" stroke="#999"/>'
        )
        out.append(_text(x + 16, y, name, "small"))
        x += 28 + 6 * len(name)
    out.append(
        f'<rect x="{x}" y="{y - 10}" width="12" height="12" fill="none" stroke="{CRITICAL}" '
        'stroke-width="2"/>'
    )
    out.append(
        _text(x + 16, y, "on the longest chain of dependencies; T: TCAM blocks, S: SRAM", "small")
    )
    return "".join(out)


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    style = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}"{style}>{escape(text)}</text>'


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
