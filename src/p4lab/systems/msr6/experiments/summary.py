"""The comparison of encodings as numbers: rows for a file, and means with confidence intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from p4lab.experiment import tidy
from p4lab.experiment.confidence import Mean, mean
from p4lab.paths import ROOT
from p4lab.systems.msr6.experiments.comparison import Observation, Scope, Sent, cells
from p4lab.systems.msr6.experiments.crossovers import Measure, measures

PROGRAM = ROOT / "p4" / "msr6" / "v1model.p4"
SHOWN = 32
"""Receivers where only one group is shown"""


def records(found: Sequence[Observation], scope: Scope) -> list[tidy.Row]:
    """One row per network, group and encoding. What could not be encoded has no numbers."""
    origin = tidy.origin(0, PROGRAM)
    empty = dict.fromkeys((field.name for field in fields(Sent)), None)
    return [
        {
            **replace(origin, seed=one.seed).columns,
            "part": one.part,
            "network": one.network,
            "routers": one.routers,
            "links": one.links,
            "tree": scope.shape,
            "segments": scope.segments,
            "receivers": one.receivers,
            "tree_links": one.tree_links,
            "encoding": one.encoding,
            "router_rows": one.router_rows,
            "routes": one.routes,
            **(empty if one.sent is None else asdict(one.sent)),
        }
        for one in found
    ]


@dataclass(frozen=True)
class Quantity:
    """Something that figures show of a draw, on a scale with ticks at powers of `base`, or on a
    linear one. `measure` is the key of what crossovers are found in, if it is one of these."""

    key: str
    label: str
    of: Callable[[Observation, Sent], float]
    base: int | None = 10
    measure: str = ""


def _compared(measure: Measure) -> Quantity:
    """What is compared, as it is."""
    return Quantity(
        measure.key, measure.said, lambda _, sent: measure.of(sent), measure=measure.key
    )


def quantities(payload: int) -> tuple[Quantity, ...]:
    """All that is summed up. What is on links is also given per link of the tree of shortest
    paths."""
    return (
        *map(_compared, measures(payload)),
        Quantity(
            "link_bytes_per_link",
            "headers on links\n[bytes per link of the tree]",
            lambda one, sent: sent.link_bytes / one.tree_links,
            base=2,
            measure="link_bytes",
        ),
        Quantity(
            "wire_bytes_per_link",
            f"headers and {payload:,} bytes\n[bytes per link of the tree]",
            lambda one, sent: sent.wire_bytes(payload) / one.tree_links,
            base=None,
            measure="wire_bytes",
        ),
        Quantity("packets", "leave the ingress\n[packets per send]", lambda _, sent: sent.packets),
        Quantity(
            "copies_per_link",
            "copies on links\n[per link of the tree]",
            lambda one, sent: sent.copies / one.tree_links,
            base=None,
        ),
        Quantity("longest", "longest header\n[bytes]", lambda _, sent: sent.longest),
        Quantity("passes", "all routers\n[passes per send]", lambda _, sent: sent.passes),
        Quantity("busiest", "busiest router\n[passes per send]", lambda _, sent: sent.busiest),
        Quantity("rows", "routers between\n[rows per group]", lambda _, sent: sent.rows),
    )


def summary(found: Sequence[Observation], payload: int) -> list[dict[str, Any]]:
    """One record per panel, encoding and step: means of all draws that could be encoded, each with
    half the 95 % confidence interval."""
    records = []
    for (panel, encoding), cell in cells(found).items():
        for x, draws in cell.items():
            sent = [(one, one.sent) for one in draws if one.sent is not None]
            record: dict[str, Any] = {
                "part": draws[0].part,
                "panel": panel,
                "encoding": encoding,
                "receivers": draws[0].receivers,
                "x": x,
                "draws": len(draws),
                "encoded": len(sent),
                "routers": mean([one.routers for one in draws]).value,
                "router_rows": mean([one.router_rows for one in draws]).value,
                "routes": mean([one.routes for one in draws]).value,
            }
            for quantity in quantities(payload):
                value = mean([quantity.of(*one) for one in sent]) if sent else Mean(0, 0)
                record[quantity.key] = value.value if sent else None
                record[f"{quantity.key}_half_width"] = value.half_width if sent else None
            records.append(record)
    return records


def at_shown(rows: Sequence[dict[str, Any]], panel: str) -> list[dict[str, Any]]:
    """All encodings of a panel for a group of SHOWN receivers, or the largest below."""
    own = [row for row in rows if row["panel"] == panel]
    count = max(row["x"] for row in own if row["x"] <= SHOWN)
    return [row for row in own if row["x"] == count]


def refused(found: Sequence[Observation]) -> list[dict[str, Any]]:
    """Encodings that could not encode all draws of a panel: how many they could not, out of how
    many, from which step on, and why the first one could not be."""
    results = []
    for (panel, encoding), cell in cells(found).items():
        draws = [one for step in cell.values() for one in step]
        lost = [one for one in draws if one.sent is None]
        if lost:
            results.append(
                {
                    "panel": panel,
                    "encoding": encoding,
                    "refused": len(lost),
                    "of": len(draws),
                    "from": min(one.x for one in lost),
                    "why": lost[0].why,
                }
            )
    return results
