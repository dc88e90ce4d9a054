"""What a run of BIER on TNA ends with: deliveries, and what each next hop gets of a full line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from p4lab.engine import ProgramError
from p4lab.experiment.confidence import Mean
from p4lab.model.report import DeliveryReport
from p4lab.model.run import Plan
from p4lab.plurals import count_of
from p4lab.systems.bier_tna.recirculation.equations import LINE_RATE, throughputs
from p4lab.systems.bier_tna.recirculation.results import PAPER_TABLE2
from p4lab.systems.bier_tna.recirculation.simulation import Setup, simulate

if TYPE_CHECKING:
    from rich.console import RenderableType

PACKETS = 60_000  # that come in at the most, of each arbitration: a second
TOLERANCE = 0.03 * LINE_RATE
"""Gb/s by which the sum over all next hops may miss that of the equations: a queue may treat next
hops unequally, but the loops are as busy"""

SHOWN = ("equal-drop", "tail-drop")
"""Whom a full queue drops: all alike, as in the equations, or who comes last, as chips do"""


@dataclass(frozen=True)
class NextHopRow:
    """What a next hop got, in Gb/s: simulated with queues that drop all alike and at their tail,
    each with half its 95 % confidence interval, by equations 1 and 2, and in the paper's table 2 by
    its model and measured (the last next hop only)."""

    next_hop: int
    equal_drop: float
    equal_drop_half_width: float
    tail_drop: float
    tail_drop_half_width: float
    equations: float
    paper_model: float | None
    paper_measured: float | None


@dataclass(frozen=True)
class LineReport(DeliveryReport):
    """Deliveries, and a saturated line."""

    next_hops: tuple[NextHopRow, ...] = ()
    loops: int = 1

    def to_json(self) -> dict[str, Any]:
        """The deliveries' keys, and `line`: loops, next_hops."""
        data = super().to_json()
        line = {"loops": self.loops, "next_hops": data.pop("next_hops")}
        return {**data, "line": line}

    def render(self, limit: int = 40) -> RenderableType:
        """The deliveries, then a row for each next hop."""
        from rich.console import Group  # heavy: rich
        from rich.table import Table

        table = Table(
            title=f"Gb/s of a full line of 100, {count_of(self.loops, 'recirculation port')}",
            title_style="bold",
        )
        names = ("next hop", "all drop alike", "equations 1, 2", "drop at the tail")
        for name in (*names, "paper, model", "paper, measured"):
            table.add_column(name, justify="right")
        for row in self.next_hops:
            table.add_row(
                str(row.next_hop),
                f"{row.equal_drop:.1f} ± {row.equal_drop_half_width:.1f}",
                f"{row.equations:.1f}",
                f"{row.tail_drop:.1f} ± {row.tail_drop_half_width:.1f}",
                _known(row.paper_model),
                _known(row.paper_measured),
            )
        return Group(super().render(limit), table)


def _known(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def saturated(plan: Plan, found: DeliveryReport) -> LineReport:
    """The report with a line of 100 Gb/s through the plan's program, in virtual time; its next hops
    and recirculation ports are settings. What goes wrong there is a problem of the run."""
    wanted, loops = plan.settings.next_hops, plan.settings.loops
    try:
        equal, tail = (_throughput(plan, arbitration) for arbitration in SHOWN)
    except (ValueError, ProgramError) as error:
        return _line(found, (), loops, f"a full line: {error}")
    model, measured = PAPER_TABLE2.get((wanted, loops), (None, None))
    formula = throughputs(wanted, loops)
    rows = tuple(
        NextHopRow(
            number + 1,
            equal[number].value,
            equal[number].half_width,
            tail[number].value,
            tail[number].half_width,
            formula[number],
            model if number + 1 == wanted else None,
            measured if number + 1 == wanted else None,
        )
        for number in range(wanted)
    )
    return _line(found, rows, loops, *_short(rows))


def _line(
    found: DeliveryReport, rows: tuple[NextHopRow, ...], loops: int, *problems: str
) -> LineReport:
    known = {item.name: getattr(found, item.name) for item in fields(found)}
    known["problems"] = (*found.problems, *problems)
    return LineReport(**known, next_hops=rows, loops=loops)


def _throughput(plan: Plan, arbitration: str) -> tuple[Mean, ...]:
    settings = plan.settings
    setup = Setup(
        settings.next_hops,
        settings.loops,
        arbitration,
        seed=plan.seed,
        most_packets=PACKETS,
        program=plan.program,
    )
    return simulate(setup).throughput


def _short(rows: Sequence[NextHopRow]) -> list[str]:
    """What the loops did not carry although they could have."""
    got, could = sum(row.equal_drop for row in rows), sum(row.equations for row in rows)
    if abs(got - could) <= TOLERANCE:
        return []
    return [f"all next hops together got {got:.1f} Gb/s of a full line, the equations {could:.1f}"]
