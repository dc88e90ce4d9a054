"""Table V: what sessions cost of a Tofino's memory, by `p4lab fit` of `p4/bng/tna.p4`.

The paper has two sizes and says that 35,000 subscribers need "additional optimization"; a line
through its two points is what its own program would need by SRAM alone. Programs differ (ours
polices, counts bytes and has IPv6 and multicast), so the slope can be compared, and the rest less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from p4lab.experiment import tidy
from p4lab.experiment.panels import BLUE, GREY, RED
from p4lab.fit import chip, estimate_file
from p4lab.systems.bng.experiments.bench import PROGRAM
from p4lab.systems.bng.experiments.figures import save

if TYPE_CHECKING:
    from rich.table import Table

TNA_PROGRAM = PROGRAM.with_name("tna.p4")
SIZES = (1024, 2048, 4096, 8192, 16_384, 24_576, 32_768, 36_864, 40_960, 49_152, 65_536)
PAPER_SRAM = {4096: 12.81, 8192: 15.94}
PAPER_TCAM = {4096: 15.97, 8192: 15.97}
PAPER_STAGES = 9
GOAL = 35_000
TCAMS = chip.TCAM_COLUMNS * chip.TCAM_ROWS
"""Blocks of a stage"""


@dataclass(frozen=True)
class Outcome:
    """Percent of the chip's blocks, and stages; None if there is no place in twelve stages, and why
    not."""

    sessions: int
    sram: float | None = None
    tcam: float | None = None
    stages: int | None = None
    why_not: str | None = None


def extrapolated(sessions: float) -> float:
    """Percent of SRAM on the line through the paper's two points."""
    (low, first), (high, second) = sorted(PAPER_SRAM.items())
    return first + (second - first) * (sessions - low) / (high - low)


def measure(say: Callable[[str], object], sizes: Sequence[int] = SIZES) -> list[Outcome]:
    """The program with room for so many sessions. Raises ProgramError."""
    found = []
    for sessions in sizes:
        say(f"{sessions} sessions ...")
        found.append(_fit(sessions))
    return found


def _fit(sessions: int) -> Outcome:
    (pipe,) = estimate_file(TNA_PROGRAM, defines=[("SESSIONS", str(sessions))]).pipes
    units = [unit for gress in pipe.gresses for unit in gress.units]
    if not pipe.fits:
        reasons = (unit.why_not for unit in units if unit.why_not)
        return Outcome(sessions, why_not=next(reasons, "it takes too many stages"))
    return Outcome(
        sessions,
        100 * sum(unit.srams for unit in units) / (chip.STAGES * chip.SRAMS),
        100 * sum(unit.tcams for unit in units) / (chip.STAGES * TCAMS),
        max(number for number, stage in enumerate(pipe.stages, 1) if stage.logical_tables),
    )


# ---- What is told of it


@cache
def _origin(sessions: int) -> tidy.Origin:
    return tidy.origin(0, TNA_PROGRAM, [("SESSIONS", str(sessions))])


COLUMNS = (
    "sessions",
    "fits",
    "sram_percent",
    "tcam_percent",
    "stages",
    "why_not",
    "paper_sram_percent",
    "extrapolated_sram_percent",
    "paper_tcam_percent",
)


def records(found: Sequence[Outcome]) -> list[tidy.Row]:
    """One row per size."""
    return [
        {
            **_origin(one.sessions).columns,
            "sessions": one.sessions,
            "fits": one.stages is not None,
            "sram_percent": one.sram,
            "tcam_percent": one.tcam,
            "stages": one.stages,
            "why_not": one.why_not,
            "paper_sram_percent": PAPER_SRAM.get(one.sessions),
            "extrapolated_sram_percent": extrapolated(one.sessions),
            "paper_tcam_percent": PAPER_TCAM.get(one.sessions),
        }
        for one in found
    ]


def slopes(found: Sequence[Outcome]) -> tuple[float, float]:
    """Percent of SRAM for 1,000 sessions more: the paper's, and ours between its two sizes."""
    (low, first), (high, second) = sorted(PAPER_SRAM.items())
    ours = {one.sessions: one.sram or 0.0 for one in found}
    thousands = (high - low) / 1000
    return (second - first) / thousands, (ours[high] - ours[low]) / thousands


def table(found: Sequence[Outcome]) -> Table:
    """The paper's program beside ours."""
    from rich.table import Table  # heavy: rich

    table = Table(box=None, title="of a Tofino, %")
    for column in (
        "sessions",
        "SRAM,\npaper",
        "SRAM, its\nextrapolation",
        "SRAM,\nours",
        "TCAM,\npaper",
        "TCAM,\nours",
        "stages,\npaper",
        "stages,\nours",
    ):
        table.add_column(column, justify="right")
    for one in found:
        known = one.sessions in PAPER_SRAM
        table.add_row(
            f"{one.sessions:,}",
            f"{PAPER_SRAM[one.sessions]:.2f}" if known else "",
            f"{extrapolated(one.sessions):.1f}",
            _percent(one.sram),
            f"{PAPER_TCAM[one.sessions]:.2f}" if known else "",
            _percent(one.tcam),
            str(PAPER_STAGES) if known else "",
            "too large" if one.stages is None else str(one.stages),
        )
    return table


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def draw(found: Sequence[Outcome], path: Path, note: str) -> None:
    """SRAM and TCAM by sessions. Raises OSError, ValueError."""
    save(path, [partial(_draw, found=found)], note=note)


def _draw(axis: Any, *, found: Sequence[Outcome]) -> None:
    inside = [one for one in found if one.stages is not None]
    sizes = [one.sessions for one in inside]
    axis.plot(sizes, [one.sram for one in inside], "o-", color=BLUE, label="SRAM, this program")
    axis.plot(sizes, [one.tcam for one in inside], "o-", color=RED, label="TCAM, this program")
    ends = [one.sessions for one in found]
    line = [extrapolated(one) for one in ends]
    axis.plot(ends, line, ":", color=GREY, label="SRAM, paper, extrapolated")
    axis.plot(list(PAPER_SRAM), list(PAPER_SRAM.values()), "s", color=BLUE, label="SRAM, paper")
    axis.plot(list(PAPER_TCAM), list(PAPER_TCAM.values()), "s", color=RED, label="TCAM, paper")
    axis.axvline(GOAL, color=GREY, linewidth=0.8, label="35,000, the paper's goal")
    axis.set_xlabel("sessions that there is room for")
    axis.set_ylabel("of a Tofino's memory blocks [%]")
    axis.set_ylim(0, 100)
    axis.legend(fontsize=7)
