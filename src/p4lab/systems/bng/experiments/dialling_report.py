"""The set-up rate as a table of numbers, a comparison and a figure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from p4lab.experiment import tidy
from p4lab.experiment.panels import BLUE, GREEN, ORANGE
from p4lab.systems.bng.experiments.bench import SECOND, origin
from p4lab.systems.bng.experiments.dialling import SLOW, Outcome
from p4lab.systems.bng.experiments.figures import save

if TYPE_CHECKING:
    from rich.table import Table

GOAL_RATE = 1000
GOAL_BYTES = 10**9
"""What 35,000 sessions may take of the memory of the control plane"""
COLOURS = {"local": BLUE, "slow": ORANGE, "freeradius": GREEN}
ANCHORS = (
    "For comparison (other machines, none of them checked here): BNG Blaster dials 400 a second "
    "by default; FreeRADIUS 3.2 answers 6,930 requests a second on two cores.",
)
MEGABYTE = 10**6


def by_formula(one: Outcome) -> float | None:
    """Calls per second: the schedule's, or what so many that wait at once allow. None with
    FreeRADIUS, where the machine says it."""
    if one.aaa == "freeradius":
        return None
    if one.aaa == "local":
        return one.start_rate
    wait = sum(SLOW) / 2 / SECOND
    busy = min(one.start_rate, one.outstanding / wait)
    # The first comes after half of the longest and shortest, and so do those at the end.
    return one.wanted / (one.wanted / busy + wait)


def per_processor_second(one: Outcome, *parts: str) -> float:
    """Sessions set up for each second of the processor that these parts took."""
    spent = sum(one.seconds[part] for part in parts)
    return one.established / spent if spent else 0.0


def records(found: Sequence[Outcome]) -> list[tidy.Row]:
    """One row per point on the way of a run, and what became of the whole run in each."""
    return [
        {
            **origin(one.seed),
            "aaa": one.aaa,
            "sessions_wanted": one.wanted,
            "start_rate_per_s": one.start_rate,
            "outstanding": one.outstanding,
            "at_s": point.seconds,
            "sessions": point.sessions,
            "memory_bytes": point.memory,
            "established": one.established,
            "failures": one.failures,
            "cps": one.cps,
            "wall_s": one.wall,
            **{f"{part}_processor_s": seconds for part, seconds in one.seconds.items()},
            "wrong_session": one.wrong_session,
            "disturbed": one.disturbed,
            "stopped": one.stopped,
        }
        for one in found
        for point in one.points
    ]


def summary(found: Sequence[Outcome]) -> list[dict[str, Any]]:
    """One record per run."""
    return [
        {
            "aaa": one.aaa,
            "sessions": one.wanted,
            "established": one.established,
            "failures": one.failures,
            "cps": one.cps,
            "formula_cps": by_formula(one),
            "wall_s": one.wall,
            "processor_s": one.seconds,
            "per_processor_second": per_processor_second(one, "gateway", "switch", "radius"),
            "memory_bytes": one.memory,
            "memory_before_bytes": one.memory_before,
            "rows": one.rows,
            "packets": one.down.sent + one.up.sent,
            "lost": one.down.sent + one.up.sent - one.down.arrived - one.up.arrived,
            "wrong_session": one.wrong_session,
            "disturbed": one.disturbed,
            "stopped": one.stopped,
        }
        for one in found
    ]


def wrong(found: Sequence[Outcome]) -> list[str]:
    """What must hold, and does not. How quickly this machine is, is not among it."""
    said = []
    for one in found:
        if one.established < one.wanted and not one.stopped:
            said.append(f"{one.aaa}: {one.established} of {one.wanted} sessions came up.")
        if one.wrong_session or one.stray:
            said.append(
                f"{one.aaa}: {one.wrong_session} packets in a wrong session, {one.stray} stray."
            )
        lost = one.down.sent + one.up.sent - one.down.arrived - one.up.arrived
        if lost:
            said.append(f"{one.aaa}: {lost} packets did not arrive.")
        if one.disturbed:
            said.append(f"{one.aaa}: one that dialled again disturbed {one.disturbed} others.")
        if one.memory > GOAL_BYTES:
            said.append(f"{one.aaa}: the process holds {one.memory / MEGABYTE:.0f} MB.")
    return said


def table(found: Sequence[Outcome]) -> Table:
    """Calls per second by formula beside the measured ones, and what they cost this machine."""
    from rich.table import Table  # heavy: rich

    table = Table(box=None, title="set-up of sessions")
    for column in (
        "users",
        "sessions",
        "calls/s,\nformula",
        "calls/s",
        "per processor\nsecond",
        "gateway,\nµs each",
        "switch,\nµs each",
        "RADIUS,\nµs each",
        "subscribers,\nµs each",
        "memory,\nMB",
        "wrong\nsession",
        "dis-\nturbed",
    ):
        table.add_column(column, justify="right")
    for one in found:
        formula = by_formula(one)
        each = {
            part: f"{1e6 * seconds / max(1, one.established):.0f}"
            for part, seconds in one.seconds.items()
        }
        table.add_row(
            one.aaa + (" (stopped)" if one.stopped else ""),
            f"{one.established:,}",
            "" if formula is None else f"{formula:.0f}",
            f"{one.cps:.0f}",
            f"{per_processor_second(one, 'gateway', 'switch', 'radius'):.0f}",
            each["gateway"],
            each["switch"],
            each["radius"],
            each["crowd"],
            f"{one.memory / MEGABYTE:.0f}",
            str(one.wrong_session),
            str(one.disturbed),
        )
    return table


def draw(found: Sequence[Outcome], path: Path, note: str) -> None:
    """Sessions over time, and memory over sessions. Raises OSError, ValueError."""
    save(
        path, [partial(_draw_sessions, found=found), partial(_draw_memory, found=found)], note=note
    )


def _draw_sessions(axis: Any, *, found: Sequence[Outcome]) -> None:
    for one in found:
        times = [0.0, *(point.seconds for point in one.points)]
        counts = [0, *(point.sessions for point in one.points)]
        clock = "processor time" if one.aaa == "freeradius" else "virtual time"
        label = f"{one.aaa}, {clock}: {one.cps:.0f} a second"
        axis.plot(times, counts, ".-", color=COLOURS[one.aaa], label=label)
    axis.set_xlabel("time since the first dialled [s]")
    axis.set_ylabel("sessions that are up")
    axis.legend(fontsize=7)


def _draw_memory(axis: Any, *, found: Sequence[Outcome]) -> None:
    for one in found:
        counts = [0, *(point.sessions for point in one.points)]
        memory = [one.memory_before, *(point.memory for point in one.points)]
        axis.plot(counts, [each / MEGABYTE for each in memory], ".-", color=COLOURS[one.aaa])
    axis.axhline(GOAL_BYTES / MEGABYTE, color="black", linestyle=":", label="1 GB, the goal")
    axis.set_xlabel("sessions that are up")
    axis.set_ylabel("memory of gateway, switch and subscribers [MB]")
    axis.set_ylim(bottom=0)
    axis.legend(fontsize=7)
