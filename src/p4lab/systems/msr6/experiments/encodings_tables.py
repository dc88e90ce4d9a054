"""The comparison of encodings as tables on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from p4lab.plurals import count_of
from p4lab.systems.msr6.experiments.crossovers import Crossover
from p4lab.systems.msr6.experiments.stages import Stages
from p4lab.systems.msr6.experiments.summary import at_shown

if TYPE_CHECKING:
    from rich.table import Table


def table(rows: Sequence[dict[str, Any]], panel: str) -> Table:
    """All encodings for a group of SHOWN receivers, or the largest below."""
    from rich.table import Table  # heavy: rich

    own = at_shown(rows, panel)
    draws, all_draws = own[0]["draws"], max(r["draws"] for r in rows if r["panel"] == panel)
    whose = "1 draw" if draws == 1 else f"mean of {draws} draws"
    if draws < all_draws:
        whose += f" of {all_draws}, the others are smaller"
    reached = count_of(own[0]["x"], "receiver")
    table = Table(box=None, title=f"{panel}: {own[0]['routers']:.0f} routers, {reached}, {whose}")
    table.add_column("encoding", no_wrap=True)
    columns = ("packets", "tree_bytes", "root_bytes", "link_bytes", "copies_per_link", "busiest")
    names = ("packets", "list or\nbits, bytes", "headers at\ningress", "headers on\nlinks")
    for name in (*names, "copies\nper link", "passes,\nbusiest", "rows,\nrouter", "rows,\nbetween"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in own:
        cells = ["-" if row[key] is None else f"{row[key]:.4g}" for key in columns]
        cells += [f"{row['router_rows']:.4g}", "-" if row["rows"] is None else f"{row['rows']:.4g}"]
        mark = "" if row["encoded"] == row["draws"] else f" ({row['encoded']} draws)"
        table.add_row(row["encoding"] + mark, *cells)
    return table


def crossover_table(found: Sequence[Crossover], names: Sequence[str], key: str, said: str) -> Table:
    """Who needs less than whom, and where, in some panels."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, title=Text(f"{said}: the first needs less"))
    table.add_column("", no_wrap=True)
    for name in names:
        table.add_column(name, no_wrap=True)
    own = [one for one in found if one.measure == key]
    for pair in dict.fromkeys((one.first, one.second) for one in own):
        by_panel = {one.panel: one.said for one in own if (one.first, one.second) == pair}
        cells = [by_panel.get(name, "-") for name in names]
        table.add_row(f"{pair[0]}, {pair[1]}", *cells)
    return table


def stage_table(found: Sequence[Stages]) -> Table:
    """Stages, cycles and memory of the programs."""
    from rich.table import Table

    table = Table(box=None, title="Tofino 1, estimated by p4lab fit")
    table.add_column("program", no_wrap=True)
    for column in ("ingress\nstages", "egress\nstages", "ingress\ncycles", "TCAM", "SRAM"):
        table.add_column(column, justify="right", no_wrap=True)
    for one in found:
        numbers = (one.ingress, one.egress, one.ingress_cycles, one.tcams, one.srams)
        table.add_row(one.program, *map(str, numbers))
    return table
