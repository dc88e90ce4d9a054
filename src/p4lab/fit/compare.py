"""Estimate and truth side by side: which table of the compiler is which of ours."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from p4lab.fit.estimate import Estimate, GressEstimate, Placed
from p4lab.fit.truth import GressTruth, PipeTruth, Truth


@dataclass(frozen=True)
class TableRow:
    """A table with both placements; an empty one where only one side knows it."""

    name: str
    line: int | None
    estimate: tuple[int, ...]
    truth: tuple[int, ...]


def pipe_truth(truth: Truth, name: str, count: int) -> PipeTruth | None:
    """The compiler's pipe for one of ours: by name, or the only one there is."""
    by_name = {pipe.name: pipe for pipe in truth.pipes}
    if name in by_name:
        return by_name[name]
    return truth.pipes[0] if count == len(truth.pipes) == 1 else None


def gress_truth(pipe: PipeTruth, gress: str) -> GressTruth | None:
    return next((own for own in pipe.gresses if own.gress == gress), None)


def table_rows(estimate: Estimate, gress: GressEstimate, truth: GressTruth) -> list[TableRow]:
    """All tables of one direction. The compiler names statements `tbl_FILE<line>`, and an action
    that is called `tbl_ACTION`."""
    left = dict(truth.tables)
    rows = []
    for unit in gress.units:
        if unit.kind == "condition":
            continue
        known = next((name for name in left if _same(name, unit, gress, estimate)), None)
        stages = left.pop(known) if known else ()
        rows.append(TableRow(unit.name, unit.line, unit.stages, stages))
    rows += [TableRow(name, None, (), stages) for name, stages in left.items() if stages]
    return rows


def _same(name: str, unit: Placed, gress: GressEstimate, estimate: Estimate) -> bool:
    if unit.kind == "table":
        return name in (unit.name, f"{gress.control}.{unit.name}")
    if unit.kind == "statements":
        stem = Path(unit.file or estimate.program).stem
        own = f"tbl_{re.sub(r'[^A-Za-z0-9_]', '_', stem)}{unit.line}"
    else:
        own = f"tbl_{unit.name.removesuffix('()').rpartition('.')[2]}"
    return name == own or re.fullmatch(rf"{re.escape(own)}_\d+", name) is not None
