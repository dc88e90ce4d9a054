"""Who is offered twice the rate gets the rate: per session, both ways, and per class of traffic.

The meters are the engine's, in virtual time. They count bytes of frames as they come in (from the
core with its two labels, from subscribers with all headers of the access), and so does this. What
the buckets hold at the beginning is gone before it is measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from p4lab.experiment import tidy
from p4lab.experiment.panels import BLUE, GREY
from p4lab.network.virtual import PICOSECONDS
from p4lab.plurals import count_of
from p4lab.systems.bng.api import Api, bandwidth
from p4lab.systems.bng.experiments.bench import (
    ACCESS_PORT,
    OWN_MAC,
    SECOND,
    Bench,
    address,
    cable,
    from_subscriber,
    line,
    mac,
    misplaced,
    origin,
    ports,
    sessions,
    to_subscriber,
)
from p4lab.systems.bng.experiments.figures import save
from p4lab.systems.bng.ppp.codes import IPV4
from p4lab.systems.bng.pppoe.packets import SESSION, data

if TYPE_CHECKING:
    from rich.table import Table

MEGABIT = 10**6
LENGTH = 532
"""Bytes of a frame from the core, as in the paper"""
OFF = 0.05
"""Of the rate, beyond which a meter does not keep to it"""
WARM_UP = SECOND // 4
"""A bucket holds 50 ms of its rate: offered twice the rate, it is empty after as long"""
DSCPS = (0, 8, 34, 46)
"""One for each class of traffic"""


@dataclass(frozen=True)
class Case:
    """A subscriber: its limits and what it is offered, in bits per second. `classes` and `offered`
    go together; without classes all is of class 0."""

    name: str
    offered: tuple[int, ...]
    down: int | None = None
    up: int | None = None
    classes: tuple[int, ...] = ()

    @property
    def expected(self) -> int:
        """What should be delivered: of each class its rate at most, of all the session's."""
        rates = self.classes or self.offered
        passed = sum(map(min, self.offered, rates))
        return min(passed, self.down or self.up or passed)


def cases() -> list[Case]:
    """Sessions at three rates, offered twice as much, both ways; four classes; classes within a
    session; and one that keeps to its rate."""
    found = []
    for rate in (5, 20, 100):
        limit = rate * MEGABIT
        found.append(Case(f"session {rate}M, down", (2 * limit,), down=limit))
        found.append(Case(f"session {rate}M, up", (2 * limit,), up=limit))
    for number, rate in enumerate((2, 4, 8, 16)):
        limits = tuple(rate * MEGABIT if each == number else 100 * MEGABIT for each in range(4))
        offered = tuple(2 * rate * MEGABIT if each == number else 0 for each in range(4))
        found.append(Case(f"class {number}, {rate}M", offered, classes=limits))
    four = tuple(rate * MEGABIT for rate in (2, 4, 8, 16))
    found.append(Case("four classes, 30M", tuple(2 * rate for rate in four), classes=four))
    both = (16 * MEGABIT, 16 * MEGABIT)
    offered = (32 * MEGABIT, 32 * MEGABIT)
    found.append(Case("two of 16M in 20M", offered, down=20 * MEGABIT, classes=both))
    found.append(Case("within its rate", (18 * MEGABIT,), down=20 * MEGABIT))
    return found


@dataclass(frozen=True)
class Outcome:
    """What became of one case in one run; bits per second."""

    case: Case
    seed: int
    delivered: float
    wrong_session: int


def measure(seed: int, seconds: float) -> list[Outcome]:
    """All cases at once, each with a subscriber of its own, for so long. Raises ProgramError."""
    bench, chosen = Bench(seed), cases()
    _provide(bench, chosen)
    for number, case in enumerate(chosen, 1):
        _offer(bench, number, case)
    bench.engine.run_until(WARM_UP * PICOSECONDS)
    bench.engine.capture(bench.cables[ACCESS_PORT])
    for node in (bench.access, bench.core):
        bench.engine.measure(node)
    bench.engine.run_until((WARM_UP + int(seconds * SECOND)) * PICOSECONDS)
    _, wrong = misplaced(bench.engine.drain_capture(bench.cables[ACCESS_PORT]))
    arrived = {
        flow["flow"]: flow["frames"]
        for node in (bench.access, bench.core)
        for flow in (bench.engine.measured(node) or {"flows": ()})["flows"]
    }
    found = []
    for number, case in enumerate(chosen, 1):
        frames = sum(arrived.get(_flow(number, each), 0) for each in range(len(case.offered)))
        bits = 8 * frames * len(_frame(number, case, 0))
        found.append(Outcome(case, seed, bits / seconds, wrong))
    return found


def _provide(bench: Bench, chosen: Sequence[Case]) -> None:
    """Lines, sessions and limits of all cases."""
    api = Api()
    ports(api)
    for number, dscp in enumerate(DSCPS):
        api.set_traffic(dscp, number, 0)
    for number, case in enumerate(chosen, 1):
        api.add_line(line(number))
        api.add_class(bandwidth(case.name, case.down, case.up, case.classes))
        for session in sessions(case.name, (number,)):
            api.add_session(session)
    bench.driver.write(api.take())


def _offer(bench: Bench, number: int, case: Case) -> None:
    node = bench.access if case.up else bench.core
    for each, rate in enumerate(case.offered):
        if rate:
            frame = _frame(number, case, each)
            bench.engine.generate(node, frame, rate=rate, flow=_flow(number, each))


def _flow(number: int, traffic_class: int) -> int:
    return 4 * number + traffic_class


def _frame(number: int, case: Case, traffic_class: int) -> bytes:
    """What is offered, as it comes in."""
    if case.up is None:
        return to_subscriber(address(number), 0, LENGTH, DSCPS[traffic_class])
    packet = data(number, IPV4, from_subscriber(address(number), 0, LENGTH))
    return cable(number).frame(OWN_MAC.to_bytes(6, "big"), mac(number), SESSION, packet)


# ---- What is told of it


def records(found: Sequence[Outcome]) -> list[tidy.Row]:
    """One row per case."""
    return [
        {
            **origin(one.seed),
            "case": one.case.name,
            "offered_bps": sum(one.case.offered),
            "formula_bps": one.case.expected,
            "delivered_bps": one.delivered,
            "wrong_session": one.wrong_session,
        }
        for one in found
    ]


def wrong(rows: Sequence[tidy.Row]) -> list[str]:
    """Cases that are off their rate by more than 5 %, and packets in wrong sessions."""
    found = [
        f"{row['case']}: {_megabits(row['delivered_bps'])} instead of "
        f"{_megabits(row['formula_bps'])} Mbit/s"
        for row in rows
        if abs(_number(row["delivered_bps"]) / _number(row["formula_bps"]) - 1) > OFF
    ]
    lost = max(int(_number(row["wrong_session"])) for row in rows)  # it is that of the run
    return found + ([f"{count_of(lost, 'packet')} came to a wrong session."] if lost else [])


def _number(value: tidy.Value) -> float:
    return float(value or 0)


def _megabits(value: tidy.Value) -> str:
    return f"{_number(value) / MEGABIT:.2f}"


def table(rows: Sequence[tidy.Row]) -> Table:
    """Rate by formula beside the measured one."""
    from rich.table import Table  # heavy: rich

    table = Table(box=None, title="policing, Mbit/s")
    table.add_column("case")
    for column in ("offered", "formula", "measured", "off, %"):
        table.add_column(column, justify="right")
    for row in rows:
        off = 100 * (_number(row["delivered_bps"]) / _number(row["formula_bps"]) - 1)
        rates = [_megabits(row[name]) for name in ("offered_bps", "formula_bps", "delivered_bps")]
        table.add_row(str(row["case"]), *rates, f"{off:+.2f}")
    return table


def draw(rows: Sequence[tidy.Row], path: Path, note: str) -> None:
    """Offered, by formula and delivered of every case. Raises OSError, ValueError."""
    save(path, [partial(_draw_bars, rows=rows)], note=note)


def _draw_bars(axis: Any, *, rows: Sequence[tidy.Row]) -> None:
    places = list(range(len(rows)))
    for shift, name, colour, label in (
        (0.2, "offered_bps", GREY, "offered"),
        (-0.2, "delivered_bps", BLUE, "delivered"),
    ):
        values = [_number(row[name]) / MEGABIT for row in rows]
        axis.barh([place + shift for place in places], values, 0.38, color=colour, label=label)
    formula = [_number(row["formula_bps"]) / MEGABIT for row in rows]
    axis.plot(formula, [p - 0.2 for p in places], "|", color="black", markersize=9, label="formula")
    axis.set_yticks(places, [str(row["case"]) for row in rows], fontsize=7)
    axis.invert_yaxis()
    axis.set_xscale("log")
    axis.set_xlabel("rate of frames as they come in [Mbit/s]")
    axis.legend(fontsize=7)
