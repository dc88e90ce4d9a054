"""The recirculation experiments on a terminal: tables of what was found beside the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from p4lab.plurals import count_of
from p4lab.systems.bier_tna.recirculation.results import ERRATA, MEAN_NEXT_HOPS, PORTIONS

if TYPE_CHECKING:
    from rich.table import Table

SHOWN = 0.015  # Gb/s; narrower intervals only fill the table


def _names(rows: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((row["source"], row["arbitration"]) for row in rows))


def _title(source: str, arbitration: str) -> str:
    return f"bmv2\n{arbitration}" if source == "bmv2" else f"simulated\n{arbitration}"


def last(rows: Sequence[dict[str, Any]]) -> Table:
    """What the last next hop gets, beside the paper's values."""
    from rich.table import Table  # heavy: rich

    table = Table(box=None, title="throughput at the last next hop, Gb/s (table 2, figure 14)")
    for column in ("next\nhops", "loops", "paper's\nmodel", "paper,\nmeasured", "equations\n1, 2"):
        table.add_column(column, justify="right")
    names = _names(rows)
    for name in names:
        table.add_column(_title(*name), justify="right")
    last = [row for row in rows if row["next_hop"] == row["next_hops"]]
    for n, k in dict.fromkeys((row["next_hops"], row["loops"]) for row in last):
        own = [row for row in last if (row["next_hops"], row["loops"]) == (n, k)]
        first = own[0]
        cells = [f"{first['paper_model']:g}", f"{first['paper_measured']:g}"]
        cells += [f"{first['formula']:.2f}", *(_cell(own, name) for name in names)]
        table.add_row(str(n), str(k), *cells)
    return table


def every(rows: Sequence[dict[str, Any]]) -> Table:
    """What every next hop gets where some lose."""
    from rich.table import Table

    table = Table(box=None, title="every next hop where recirculation ports are too few, Gb/s")
    for column in ("next\nhops", "loops", "next\nhop", "equations\n1, 2"):
        table.add_column(column, justify="right")
    names = _names(rows)
    for name in names:
        table.add_column(_title(*name), justify="right")
        if name[0] == "engine":
            table.add_column("limit", justify="right")
    short = [row for row in rows if row["next_hops"] > row["loops"] + 1]
    keys = dict.fromkeys((row["next_hops"], row["loops"], row["next_hop"]) for row in short)
    for key in keys:
        own = [r for r in short if (r["next_hops"], r["loops"], r["next_hop"]) == key]
        cells = [f"{own[0]['formula']:.2f}"]
        for name in names:
            cells.append(_cell(own, name))
            if name[0] == "engine":
                limit = next(r["limit"] for r in own if (r["source"], r["arbitration"]) == name)
                cells.append("none" if limit is None else f"{limit:.2f}")
        table.add_row(*map(str, key), *cells)
    return table


def timing(rows: Sequence[dict[str, Any]]) -> Table:
    """What the last next hop gets, by the time that packets need back to ingress."""
    from rich.table import Table

    arrivals = (
        "packets at equal intervals out of the full loop for encapsulation"
        if rows[0]["collapsed"]
        else "Poisson traffic"
    )
    table = Table(
        box=None,
        title=f"tail drop, {arrivals}, last next hop, Gb/s; packets need so long back "
        f"(one takes {rows[0]['service']:.0f} ns on the wire)",
    )
    table.add_column("", justify="right")
    cells = dict.fromkeys((row["next_hops"], row["loops"]) for row in rows)
    for n, k in cells:
        table.add_column(f"{count_of(n, 'next hop')},\n{count_of(k, 'loop')}", justify="right")
    own = [[row for row in rows if (row["next_hops"], row["loops"]) == cell] for cell in cells]
    for runs in zip(*own, strict=True):
        values = (f"{row['value']:.2f} ± {row['half_width']:.2f}" for row in runs)
        table.add_row(f"{runs[0]['latency']} ns", *values)
    table.add_row("paper, measured", *(f"{runs[0]['paper_measured']:g}" for runs in own))
    return table


def _cell(rows: Sequence[dict[str, Any]], name: tuple[str, str]) -> str:
    row = next((r for r in rows if (r["source"], r["arbitration"]) == name), None)
    if row is None:
        return ""
    known = row["half_width"] and row["half_width"] >= SHOWN
    return f"{row['value']:.2f}" + (f" ± {row['half_width']:.2f}" if known else "")


def loss(rows: Sequence[dict[str, Any]]) -> Table:
    """What is lost after each recirculation, beside the formula."""
    from rich.table import Table

    table = Table(box=None, title="loss after n recirculations, 11 next hops (figure 15)")
    for column in ("loops", "n", "p, simulated", "1-(1-p)^n", "simulated"):
        table.add_column(column, justify="right")
    for row in rows:
        numbers = (f"{row[name]:.4f}" for name in ("p", "formula", "value"))
        table.add_row(str(row["loops"]), str(row["recirculations"]), *numbers)
    return table


def checked(rows: Sequence[dict[str, Any]]) -> Table:
    """What was lost with as many recirculation ports as equation 3 wants, and with one less."""
    from rich.table import Table

    table = Table(box=None, title="equation 3 put to the test (figures 16 and 17)")
    table.add_column("point")
    columns = ("m", "m'", "loopback\nports", "load of\nloops", "dropped per\nrecirculation")
    for column in (*columns, "with one\nport less", "formula\nfor that"):
        table.add_column(column, justify="right")
    for row in rows:
        point = (
            f"R = {row['R']:g}, U = {row['U']:g}"
            if row["figure"] == 16
            else f"{row['a']:.1%} multicast, n = {row['n']}, U = 4"
        )
        less = (row["dropped_with_one_less"], row["formula_with_one_less"])
        table.add_row(
            point,
            *(str(row[name]) for name in ("m", "loops", "physical")),
            f"{row['load_of_loops']:.1%}",
            f"{row['dropped']:.2%}",
            *(f"{share:.2%}" for share in less),
        )
    return table


def figure17(rows: Sequence[dict[str, Any]]) -> Table:
    """Loopback ports by share of multicast and number of next hops."""
    from rich.table import Table

    table = Table(box=None, title="loopback ports by next hops n, U = 4 (figure 17)")
    table.add_column("multicast")
    for n in MEAN_NEXT_HOPS:
        table.add_column(str(n), justify="right")
    for a in PORTIONS:
        own = [row for row in rows if row["figure"] == 17 and row["a"] == a]
        table.add_row(f"{a:.1%}", *(str(row["physical"]) for row in own))
    return table


def errata() -> list[dict[str, str]]:
    """Where the paper differs from its formulas, as plain data."""
    return [asdict(erratum) for erratum in ERRATA]


def notes(why: str) -> str:
    """The same in words, and `why` something was not measured."""
    lines = [why] if why else []
    lines.append("where the paper differs from its formulas:")
    for erratum in errata():
        lines.append(
            f"  {erratum['where']}: {erratum['paper']}; right: {erratum['right']} "
            f"({erratum['why']})"
        )
    return "\n".join(lines)
