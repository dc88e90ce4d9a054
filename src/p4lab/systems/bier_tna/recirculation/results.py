"""Table 2 and figures 14 to 17 of the paper as data: paper, formula, simulated, measured."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from p4lab import __version__
from p4lab.experiment import tidy
from p4lab.spread.sweep import Sweep, Task
from p4lab.systems.bier_tna.recirculation import bench, measured
from p4lab.systems.bier_tna.recirculation.equations import (
    LINE_RATE,
    drop_probability,
    loss_after,
    provision,
    throughput,
)
from p4lab.systems.bier_tna.recirculation.limits import fluid_limit
from p4lab.systems.bier_tna.recirculation.mixes import Mix, Part, with_loops
from p4lab.systems.bier_tna.recirculation.overload import Loss, mix_of, overload
from p4lab.systems.bier_tna.recirculation.simulation import Outcome, Setup, simulate

SOURCE = (
    "Merling, Lindner, Menth: Hardware-Based Evaluation of Scalable and Resilient Multicast With "
    "BIER in P4, IEEE Access 2021"
)
NEXT_HOPS = (1, 2, 3, 4)
LOOPS = (1, 2, 3)
# By (next hops, recirculation ports): the model T and the measurement M at the last next hop, Gb/s
PAPER_TABLE2: dict[tuple[int, int], tuple[float, float]] = {
    **{(n, k): (100.0, 99.32) for n in NEXT_HOPS for k in LOOPS if n <= k + 1},
    (3, 1): (38.2, 43.3),
    (4, 1): (15.74, 19.0),
    (4, 2): (53.14, 50.5),
}
# Figure 15 names no other curves than these and the diagonal; figures 16 and 17 give no list of U.
RECIRCULATIONS = (1, 2, 4, 6, 10)
UTILISATIONS = (1, 2, 3, 4, 5, 10)
PORTIONS = (0.01, 0.025, 0.05, 0.1)
MEAN_NEXT_HOPS = tuple(range(0, 17))
FIGURE17_U = 4

# (R, U) and (a, n) that are simulated: whole and fractional, and beside the steps of the curves.
CHECKED16 = ((0.5, 1), (1, 1), (1.2, 1), (1.21, 1), (2.12, 2), (2.13, 2), (3, 3), (1, 4), (4, 4))
CHECKED17 = ((0.01, 13), (0.01, 14), (0.025, 6), (0.025, 7), (0.05, 4), (0.05, 16), (0.1, 16))
LOSSES15 = (9, 8, 7, 5)  # recirculation ports for 11 next hops
OVERLOADED = tuple(cell for cell, (model, _) in PAPER_TABLE2.items() if model < 100)
TIMES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)  # from a loop back to ingress, in service times


@dataclass(frozen=True)
class Erratum:
    """A statement of the paper that its own formulas do not bear out."""

    where: str
    paper: str
    right: str
    why: str


ERRATA = (
    Erratum(
        "table 2, T(4) with 1 and 2 ports",
        "15.74 and 53.14 Gb/s",
        "16.07 and 53.25 Gb/s",
        "p was rounded to 0.46 and 0.19 before it was raised to the third power",
    ),
    Erratum(
        "section VII-D, 2.5 % multicast",
        "no loopback port for up to 5 next hops",
        "for up to 6",
        "32 x 0.025 x 5 / 4 is exactly 1, which the internal port carries",
    ),
    Erratum(
        "section VII-D, R = a (n - 1)",
        "n - 1 recirculations per multicast packet",
        "1 more where it gets its BIER header, in the paper's program 1 more where it loses it",
        "section V-B recirculates then, too; for n = 0 the formula gives R < 0, which counts as 0",
    ),
    Erratum(
        "section VII-C",
        "the number of physical recirculation ports (m - 1)",
        "m' - 1",
        "m are the ports with traffic; a misprint",
    ),
    Erratum(
        "section VII-C, R >= 3 and U <= 3",
        "half of the 32 ports or even more",
        "15 for R = U = 3, else 18 and more for whole numbers",
        "m = 16 needs m' = 16, of which one is internal",
    ),
)


# ---- Table 2 and figure 14 ----


def run_table2(
    cells: Iterable[tuple[int, int]], arbitrations: Sequence[str], setup: Setup, sweep: Sweep
) -> list[Outcome]:
    """Simulates all cells with all arbitrations, otherwise as `setup`. Raises SweepError."""
    tasks = []
    for next_hops, loops in cells:
        for arbitration in arbitrations:
            what = f"{next_hops} next hops, {loops} recirculation ports, {arbitration}"
            one = replace(setup, next_hops=next_hops, loops=loops, arbitration=arbitration)
            tasks.append(Task(what, simulate, (one,)))
    return sweep.all(tasks)


def table2(
    outcomes: Sequence[Outcome], on_bmv2: Sequence[measured.Measurement] = ()
) -> list[dict[str, Any]]:
    """One record per run and next hop. Gb/s; None where there is no value.

    paper_model and paper_measured are of the last next hop alone, as in the paper. `formula` is
    equations 1 and 2, `limit` the fluid limit of the run's arbitration.
    """
    records: list[dict[str, Any]] = []
    for run in outcomes:
        setup = run.setup
        records += [
            {
                "source": "engine",
                "arbitration": setup.arbitration,
                **_cell(setup.next_hops, setup.loops, i, setup.offered),
                "limit": setup.limit[i - 1] if setup.limit else None,
                "value": got.value,
                "half_width": got.half_width,
                "offered": setup.offered,
                "packets": run.packets,
                "frame": setup.frame,
                "collapsed": setup.collapsed,
                **_origin(setup),
            }
            for i, got in enumerate(run.throughput, start=1)
        ]
    for one in on_bmv2:
        records += [
            {
                "source": "bmv2",
                "arbitration": "looped-first",
                **_cell(one.next_hops, one.loops, i, LINE_RATE),
                "limit": None,
                "value": value,
                "half_width": None,
                "offered": LINE_RATE,
                "packets": one.sent,
                "frame": measured.FRAME,
                "collapsed": False,
                **_FORMULA,
                "engine_build": "bmv2",
                "program_hash": _hash(measured.PROGRAM),
            }
            for i, value in enumerate(one.throughput, start=1)
        ]
    return records


def _cell(next_hops: int, loops: int, i: int, offered: float) -> dict[str, Any]:
    """What the paper and its formulas have for next hop i of n on k recirculation ports, if so many
    Gb/s ask for their first copy."""
    paper = PAPER_TABLE2.get((next_hops, loops)) if i == next_hops else None
    model, chip = paper or (None, None)
    return {
        "next_hops": next_hops,
        "loops": loops,
        "next_hop": i,
        "paper_model": model,
        "paper_measured": chip,
        "formula": throughput(i, next_hops, loops, offered),
    }


_FORMULA: dict[str, Any] = {"seed": None, "p4lab_version": __version__}
"""Where a row is from that nothing was run for"""


def _origin(setup: Setup) -> dict[str, Any]:
    """Where a row is from. A program that came compiled has no files to tell it by."""
    program = setup.program or bench.PROGRAM
    return {
        "seed": setup.seed,
        "p4lab_version": __version__,
        "engine_build": tidy.engine_build(),
        "program_hash": _hash(program) if isinstance(program, Path) else None,
    }


@cache
def _hash(program: Path) -> str:
    return tidy.program_hash(program, [("BSL", str(bench.BSL))])


def run_timing(setup: Setup, sweep: Sweep) -> list[dict[str, Any]]:
    """Tail drop under a source without a beat (Poisson), by how long packets need from a loop back
    to ingress: one record per cell of table 2 that is overloaded, and time. In the collapsed setup
    the loop for encapsulation, which is always full, has a beat. Raises SweepError."""
    tasks = []
    for next_hops, loops in OVERLOADED:
        for times in TIMES:
            latency = round(times * setup.service)
            what = f"{next_hops} next hops, {loops} recirculation ports, {latency} ns"
            one = replace(
                setup,
                next_hops=next_hops,
                loops=loops,
                arbitration="tail-drop",
                pattern="poisson",
                latency=latency,
            )
            tasks.append(Task(what, simulate, (one,)))
    return [
        {
            "next_hops": run.setup.next_hops,
            "loops": run.setup.loops,
            "latency": run.setup.latency,
            "service": setup.service,
            "paper_measured": PAPER_TABLE2[run.setup.next_hops, run.setup.loops][1],
            "value": run.last.value,
            "half_width": run.last.half_width,
            "packets": run.packets,
            "frame": setup.frame,
            "collapsed": setup.collapsed,
            **_origin(setup),
        }
        for run in sweep.all(tasks)
    ]


def tail_drop_bounds(next_hops: int, loops: int) -> tuple[float, float]:
    """The least and the most that the last next hop gets under any of the orders of `limits`, in
    Gb/s: where tail drop ends depends on timing, and is between them."""
    orders = ("random", "looped-first", "fresh-first")
    values = [fluid_limit(order, next_hops, loops)[-1] for order in orders]
    return min(values), max(values)


# ---- Figure 15 ----


def run_figure15(setup: Setup, sweep: Sweep) -> list[dict[str, Any]]:
    """Loss after 1, 2, ... recirculations, simulated with equal drop: one record per number of
    recirculations and run. The abscissa is what the first recirculation lost. Raises SweepError."""
    next_hops = max(RECIRCULATIONS) + 1
    cells = [(next_hops, loops) for loops in LOSSES15]
    records = []
    for run in run_table2(cells, ("equal-drop",), setup, sweep):
        first = run.throughput[0].value
        p = 1 - run.throughput[1].value / first
        for m in RECIRCULATIONS:
            records.append(
                {
                    "figure": 15,
                    "loops": run.setup.loops,
                    "recirculations": m,
                    "p": p,
                    "p_of_equation_1": drop_probability(next_hops, run.setup.loops),
                    "formula": loss_after(p, m),
                    "value": 1 - run.throughput[m].value / first,
                    **_origin(run.setup),
                }
            )
    return records


# ---- Figures 16 and 17 ----


def figure16(factors: Iterable[float]) -> list[dict[str, Any]]:
    """Equation 3 for every U of `UTILISATIONS`: one record per curve and R."""
    return [
        {"figure": 16, "U": u, "R": r, **_provision(r, u), **_FORMULA}
        for u in UTILISATIONS
        for r in factors
    ]


def figure17() -> list[dict[str, Any]]:
    """Equation 3 with R = a (n - 1), as the paper has it, and with one recirculation more for
    packets that get their BIER header here."""
    return [
        {
            "figure": 17,
            "a": a,
            "n": n,
            "R": a * (n - 1),
            "U": FIGURE17_U,
            **_provision(a * (n - 1), FIGURE17_U),
            "physical_at_bfir": provision(a * max(0, n), FIGURE17_U).physical,
            **_FORMULA,
        }
        for a in PORTIONS
        for n in MEAN_NEXT_HOPS
    ]


def _provision(factor: float, utilisation: float) -> dict[str, int]:
    found = provision(factor, utilisation)
    return {"m": found.traffic, "loops": found.loops, "physical": found.physical}


def check_provisioning(seed: int, sweep: Sweep) -> list[dict[str, Any]]:
    """Simulates the points `CHECKED16` and `CHECKED17`: what is lost with the m' of equation 3, and
    with one recirculation port less. One record per point. Raises SweepError."""
    wanted: list[tuple[dict[str, Any], Mix, float, float]] = [
        ({"figure": 16, "R": r, "U": u}, mix_of(r), r, u) for r, u in CHECKED16
    ]
    wanted += [
        ({"figure": 17, "a": a, "n": n}, Mix((Part(a, n),)), a * (n - 1), FIGURE17_U)
        for a, n in CHECKED17
    ]
    return sweep.all(
        [
            Task(
                f"figure {point['figure']}: R = {factor:g}, U = {utilisation:g}",
                check_point,
                (point, mix, factor, utilisation, seed),
            )
            for point, mix, factor, utilisation in wanted
        ]
    )


def check_point(
    point: Mapping[str, Any], mix: Mix, factor: float, utilisation: float, seed: int
) -> dict[str, Any]:
    """One of `check_provisioning`."""
    rule = provision(factor, utilisation)
    with_rule = overload(mix, rule.traffic, utilisation, rule.loops, seed)
    with_fewer = (
        overload(mix, rule.traffic, utilisation, rule.loops - 1, seed)
        if rule.loops > 1
        else Loss(0, 1, 1)
    )
    load = rule.traffic * factor / utilisation
    return {
        **point,
        "m": rule.traffic,
        "loops": rule.loops,
        "physical": rule.physical,
        "dropped": with_rule.share,
        "dropped_with_one_less": with_fewer.share,
        "formula_with_one_less": with_loops(
            mix, rule.traffic / utilisation, rule.loops - 1
        ).drop_probability,
        "load_of_loops": load / rule.loops,
        **_origin(Setup(2, 1, seed=seed)),
    }


def write_csv(records: Sequence[dict[str, Any]], path: Path) -> None:
    """Tidy data: one row per record, an empty cell where there is no value. Raises OSError."""
    columns = list(dict.fromkeys(name for record in records for name in record))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(records)
