"""Tables of this system's figures for the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from p4lab.systems.fabric.experiments.figure import Cell, Claim, Figure

if TYPE_CHECKING:
    from rich.table import Table

Judged = Sequence[tuple[Claim, list[int]]]
"""Claims with the seeds for which they do not hold"""


def table(figure: Figure, cells: Sequence[Cell]) -> Table:
    """Paper, formula, simulated; nothing of it for a series, which has too many points."""
    from rich.table import Table  # heavy: rich

    found = Table(title=f"Figure {figure.name}: {figure.title}", title_justify="left")
    for name in ("panel", "curve"):
        found.add_column(name)
    for name in (figure.x, "paper", "formula", f"simulated: {figure.y}"):
        found.add_column(name, justify="right")
    for cell in () if figure.series else cells:
        simulated = (
            str(cell.simulated) if cell.simulated.half_width else _short(cell.simulated.value)
        )
        numbers = (f"{cell.x:g}", _short(cell.paper), _short(cell.formula), simulated)
        found.add_row(cell.panel, cell.curve, *numbers)
    return found


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def claims_table(judged: Sequence[tuple[str, Judged]]) -> Table:
    """What must hold, figure by figure, and whether it does."""
    from rich.table import Table  # heavy: rich

    found = Table(title="What must hold", title_justify="left")
    for name in ("figure", "claim", "seen", "holds"):
        found.add_column(name)
    for name, claims in judged:
        for claim, broken in claims:
            found.add_row(name, claim.text, claim.seen, _holds(broken))
    return found


def _holds(broken: Sequence[int]) -> str:
    return f"not for {', '.join(f'seed {seed}' for seed in broken)}" if broken else "yes"


def record(figure: Figure, cells: Sequence[Cell], judged: Judged) -> dict[str, Any]:
    """The same as data."""
    return {
        "figure": figure.name,
        "title": figure.title,
        "cells": [
            {
                "panel": cell.panel,
                "curve": cell.curve,
                "x": cell.x,
                "paper": cell.paper,
                "formula": cell.formula,
                "simulated": cell.simulated.value,
                "half_width": cell.simulated.half_width,
            }
            for cell in cells
        ],
        "claims": [
            {"claim": claim.text, "seen": claim.seen, "not_for_seeds": broken}
            for claim, broken in judged
        ],
    }


def wrong(name: str, judged: Judged) -> list[str]:
    """A sentence for each claim that does not hold."""
    return [
        f"figure {name}: {claim.text}: {_holds(broken)} ({claim.seen})"
        for claim, broken in judged
        if broken
    ]
