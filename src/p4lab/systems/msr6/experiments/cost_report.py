"""What MSR6 costs a chip, as tables for a terminal, as rows of a file and as a figure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from p4lab.experiment import tidy
from p4lab.systems.msr6.experiments.clones import LOAD, Copy, packet_time
from p4lab.systems.msr6.experiments.cost import (
    ALL,
    COPYING,
    ENCAPSULATES,
    LENGTHS,
    REFERENCE,
    WAITS,
    Encapsulation,
    Program,
    between,
    delays,
    frame_of,
    gap_by_formula,
)
from p4lab.systems.msr6.experiments.figures import BLUE, GREEN, GREY, ORANGE, RED, save
from p4lab.systems.msr6.experiments.router import PROGRAMS, Task
from p4lab.systems.msr6.experiments.slides import (
    CLONES,
    ENCAPSULATION,
    IPV6,
    RLB,
    SAID_PERCENT,
    SOURCE,
    TABLE_1,
    TE,
    WAYS,
    above_ipv6,
    cycles,
    gap,
)

if TYPE_CHECKING:
    from rich.table import Table

ROUTER = "a Tofino 1 by p4lab fit, 100 Gb/s, virtual time"


def name_of(task: Task) -> str:
    """A task in words."""
    if task.way != IPV6 or task.encapsulates:
        return task.way
    return f"{IPV6}, one port" if task.one_port else f"{IPV6}, own ports"


# ---- Tables


def tables(
    known: dict[str, Program], encapsulated: Sequence[Encapsulation], found: Sequence[Copy]
) -> list[Table]:
    """All of them; none is wider than 80 columns."""
    return [
        _averages(known),
        _blocks(known[TE]),
        _encapsulation(encapsulated, found),
        _clones(found, known),
        _lengths(found),
        _waits(),
    ]


def _table(title: str, *columns: str) -> Table:
    from rich.table import Table  # heavy: rich

    table = Table(box=None, title=f"\n{title}", title_justify="left", padding=(0, 1, 0, 0))
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", no_wrap=True)
    return table


def _averages(known: dict[str, Program]) -> Table:
    """Table 1, its averages."""
    title = "Table 1: percent of the chip, average of 12 stages (ours: p4lab fit)"
    ours = {"ours: TE": TE, "with RLB": RLB, "and BE": ALL}
    table = _table(title, "", "slides", "sum / 12", *ours, "bf-p4c: TE")
    for row in TABLE_1:
        table.add_row(
            row.name,
            f"{row.average:.1f}",
            f"{row.recomputed:.1f}",
            *(_percent(known[name].percent(row)) for name in ours.values()),
            _percent(known[TE].compiled(row)),
        )
    return table


def _blocks(program: Program) -> Table:
    """Table 1 by stages, in blocks."""
    used = max(gress.stages or 0 for gress in program.pipe.gresses)
    stages = [str(stage) for stage in range(len(TABLE_1[0].stages))]
    ours = [str(stage) for stage in range(used)]
    title = f"Table 1 in blocks, by stage: slides | our {program.name}"
    table = _table(title, "", "of", *stages, "|", *ours)
    for row in TABLE_1:
        blocks = program.blocks(row)
        cells = ["-"] * used if blocks is None else [str(count) for count in blocks[:used]]
        table.add_row(row.name, str(row.there_are), *map(str, row.blocks), "|", *cells)
    return table


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _encapsulation(encapsulated: Sequence[Encapsulation], found: Sequence[Copy]) -> Table:
    title = f"Encapsulation: slides, fit, and virtual time ({REFERENCE} bytes); % above IPv6"
    columns = ("ns", "+ %", "said", "fit: cycles", "passes", "ns", "+ %", "virtual: ns", "+ %")
    table = _table(title, "", *columns)
    (plain,) = (one for one in encapsulated if one.way == IPV6)
    times = {task.way: delays(found, task)[0].delay for task in ENCAPSULATES}
    for one in encapsulated:
        table.add_row(
            one.way,
            f"{ENCAPSULATION[one.way].average:.2f}",
            _above(above_ipv6(one.way)),
            f"{SAID_PERCENT[one.way]:g}" if one.way in SAID_PERCENT else "",
            f"{one.ingress} + {one.egress}",
            str(one.passes),
            f"{one.nanoseconds:.1f}",
            _above(100 * (one.nanoseconds / plain.nanoseconds - 1)),
            f"{times[one.way]:.1f}",
            _above(100 * (times[one.way] / times[IPV6] - 1)),
        )
    return table


def _above(percent: float) -> str:
    return "" if percent == 0 else f"{percent:.1f}"


def _clones(found: Sequence[Copy], known: dict[str, Program]) -> Table:
    title = f"Copies: slides, and virtual time for {REFERENCE} bytes; ns after the packet"
    columns = ("slides: 1st", "2nd", "gap", "virtual: 1st", "2nd", "3rd", "gap", "formula")
    table = _table(title, "", *columns)
    for task in COPYING:
        paper = [f"{clone.average:.2f}" for clone in CLONES[task.way]]
        table.add_row(
            name_of(task),
            *paper,
            f"{gap(task.way):.2f}",
            *(f"{copy.delay:.1f}" for copy in delays(found, task)),
            f"{between(found, task):.1f}",
            f"{gap_by_formula(task, REFERENCE, known):.1f}",
        )
    return table


def _lengths(found: Sequence[Copy]) -> Table:
    title = "The gap by length of the frame at its sender, in virtual time: ns"
    table = _table(title, "bytes", "packet time", *(name_of(task) for task in COPYING))
    for length in LENGTHS:
        gaps = (f"{between(found, task, length):.1f}" for task in COPYING)
        table.add_row(str(length), f"{packet_time(length):.1f}", *gaps)
    return table


def _waits() -> Table:
    title = "Ways to a second copy on a Tofino 1: is the slides' gap long enough?"
    table = _table(title, "", "at least ns", *WAYS)
    table.add_row("the slides' gap", "", *(f"{gap(way):.2f}" for way in WAYS))
    for wait in WAITS:
        verdicts = ("yes" if wait.possible(way) else "no" for way in WAYS)
        table.add_row(wait.name, f"{wait.least:.1f}", *verdicts)
    return table


# ---- In words


def said_aloud(known: dict[str, Program], found: Sequence[Copy]) -> list[str]:
    """What can be concluded, and what cannot."""
    printed = ", ".join(
        f"{row.name} is {row.recomputed:.1f} %, not {row.average} %"
        for row in TABLE_1
        if not row.agrees
    )
    missing = ", ".join(row.name for row in TABLE_1 if row.fit is None)
    plain = ENCAPSULATION[IPV6].average
    ratios = "; ".join(
        f"{way} {ENCAPSULATION[way].average} / {plain} - 1 = {above_ipv6(way):.1f} % "
        f"(slide: {SAID_PERCENT[way]:g} %)"
        for way in (TE, RLB)
    )
    passes = " and ".join(
        f"{100 * (known[way].pass_time / known[IPV6].pass_time - 1):.1f} % ({way})"
        for way in (TE, RLB)
    )
    longer = CLONES[RLB][0].average - CLONES[TE][0].average
    shorter = gap(TE) - gap(RLB)
    (again,) = (wait.least for wait in WAITS if wait.name.startswith("mirror in egress"))
    ours = sorted(between(found, task) for task in COPYING if task.way != IPV6)
    log = "No log of the chip's compiler is known for our programs; --compiled reads one."
    return [
        f"Averages are what all stages take, over 12 times what one has. {printed}.",
        f"p4lab fit does not estimate: {missing}.",
        *([] if known[TE].truth else [log]),
        f"Encapsulation above IPv6: {ratios}.",
        f"A pass of ours is above plain IPv6's by {passes}, and encapsulation takes two.",
        f"On a Tofino 1 the slides' second clone cannot have been recirculated: egress alone takes "
        f"{again:.1f} ns. Ours are, and their gap is {ours[0]:.0f} to {ours[-1]:.0f} ns.",
        f"Nor does it wait for what makes RLB slow: RLB's first clone is {longer:.1f} ns later "
        f"than TE's ({cycles(longer):.0f} cycles, as for two more stages that wait), and its gap "
        f"is {shorter:.1f} ns shorter.",
        f"At one port of 100 Gb/s IPv6's gap is the packet time of {frame_of(gap(IPV6)):.0f} "
        f"bytes, and TE's that of {frame_of(gap(TE)):.0f}: no packet explains both.",
        "What is left is a mirror in ingress, resubmission if RLB's two stages are in egress, or "
        "time that the replication engine takes for a copy. Chip, program, size and rate of "
        "packets would tell; the slides do not say them.",
    ]


# ---- Rows


def records(
    found: Sequence[Copy], known: dict[str, Program], packets: int, seed: int
) -> list[tidy.Row]:
    """One row per copy, task and length of frames."""
    origins = {way: tidy.origin(seed, *PROGRAMS[way]) for way in WAYS}
    rows: list[tidy.Row] = []
    for copy in found:
        task = copy.task
        first = delays(found, task, copy.length)[0]
        paper = ENCAPSULATION[task.way] if task.encapsulates else None
        if not task.encapsulates and copy.number <= len(CLONES[task.way]):
            paper = CLONES[task.way][copy.number - 1]
        only_copies = not task.encapsulates
        rows.append(
            {
                **origins[task.way].columns,
                "way": task.way,
                "task": "encapsulate" if task.encapsulates else "copy",
                "one_port": task.one_port,
                "frame_bytes": copy.length,
                "copy": copy.number,
                "packets": packets,
                "load": LOAD,
                "pass_ns": known[task.way].pass_time,
                "delay_ns": copy.delay,
                "variance_ns2": copy.variance,
                "after_first_ns": copy.delay - first.delay,
                "after_first_by_formula_ns": (copy.number - 1)
                * gap_by_formula(task, copy.length, known)
                if only_copies
                else None,
                "slides_ns": paper.average if paper and copy.number <= 2 else None,
                "slides_variance_ns2": paper.variance if paper and copy.number <= 2 else None,
            }
        )
    return rows


def to_dict(
    known: dict[str, Program], encapsulated: Sequence[Encapsulation], found: Sequence[Copy]
) -> dict[str, Any]:
    """The tables as data."""
    return {
        "resources": [
            {
                "name": row.name,
                "slides": row.average,
                "recomputed": row.recomputed,
                "slides_blocks": row.blocks,
                "of": row.there_are,
                **{
                    f"fit_{key}": program.percent(row)
                    for key, program in (
                        ("te", known[TE]),
                        ("rlb", known[RLB]),
                        ("all", known[ALL]),
                    )
                },
                "compiler_te": known[TE].compiled(row),
            }
            for row in TABLE_1
        ],
        "encapsulation": [
            {
                "way": one.way,
                "slides_ns": ENCAPSULATION[one.way].average,
                "slides_percent": above_ipv6(one.way),
                "said_percent": SAID_PERCENT.get(one.way),
                "ingress_cycles": one.ingress,
                "egress_cycles": one.egress,
                "passes": one.passes,
                "fit_ns": one.nanoseconds,
                "virtual_ns": delays(found, Task(one.way, encapsulates=True))[0].delay,
            }
            for one in encapsulated
        ],
        "copies": [
            {
                "way": task.way,
                "one_port": task.one_port,
                "frame_bytes": length,
                "slides_gap_ns": gap(task.way),
                "gap_ns": between(found, task, length),
                "gap_by_formula_ns": gap_by_formula(task, length, known),
                "delays_ns": [copy.delay for copy in delays(found, task, length)],
                "variances_ns2": [copy.variance for copy in delays(found, task, length)],
            }
            for length in LENGTHS
            for task in COPYING
        ],
        "waits": [
            {
                "name": wait.name,
                "least_ns": wait.least,
                "possible_ipv6": wait.possible(IPV6),
                "possible_te": wait.possible(TE),
                "possible_rlb": wait.possible(RLB),
            }
            for wait in WAITS
        ],
    }


# ---- Figure

COLOURS = {IPV6: BLUE, TE: RED, RLB: ORANGE}
MARKS = {IPV6: "s", TE: "o", RLB: "v"}


def draw(found: Sequence[Copy], known: dict[str, Program], path: Path, packets: int) -> None:
    """The gap by length of frames, and when copies arrive. Raises OSError, ValueError."""
    notes = (
        f"Lines: {ROUTER}, {packets} packets of each point at {100 * LOAD:g} % load; parsers, "
        "traffic manager, deparsers and MACs take no time.",
        f"Dashed and hatched: {SOURCE}; their chip, program, size and rate of packets are unknown.",
    )
    left = partial(_draw_gaps, found=found, known=known)
    right = partial(_draw_delays, found=found)
    save(path, [[left, right]], notes=notes, size=(4.6, 3.04))


def _draw_gaps(axis: Any, *, found: Sequence[Copy], known: dict[str, Program]) -> None:
    for task in COPYING:
        values = [between(found, task, length) for length in LENGTHS]
        own_ports = task.way == IPV6 and not task.one_port
        look = {"color": COLOURS[task.way], "marker": "x" if own_ports else MARKS[task.way]}
        axis.plot(LENGTHS, values, label=name_of(task), clip_on=False, **look)
    for way in WAYS:
        axis.axhline(gap(way), color=COLOURS[way], linestyle="--", linewidth=1)
    again = {wait.name.partition(":")[0]: wait.least for wait in WAITS}
    for name in ("mirror in egress", "recirculation"):
        axis.axhline(again[name], color=GREY, linestyle=":", linewidth=1)
        axis.annotate(f"least for {name}", (LENGTHS[-1], again[name]), **_LABEL)
    for way, text, length in ((TE, "TE and RLB", LENGTHS[2]), (IPV6, "IPv6", LENGTHS[-1])):
        axis.annotate(f"slides, {text}", (length, gap(way)), **_LABEL)
    axis.set_ylim(0, None)
    axis.set_xlabel("frame at its sender [bytes]")
    axis.set_ylabel("from first to second copy [ns]")
    axis.set_title("what a second copy waits for", fontsize=9)
    axis.legend(fontsize=7, loc="center right", bbox_to_anchor=(1, 0.68))


_LABEL: dict[str, Any] = {
    "xytext": (0, 2),
    "textcoords": "offset points",
    "ha": "right",
    "fontsize": 6.5,
    "color": "#555555",
}


def _draw_delays(axis: Any, *, found: Sequence[Copy]) -> None:
    shown = [task for task in COPYING if not (task.way == IPV6 and not task.one_port)]
    width, colours = 0.16, (BLUE, ORANGE, GREEN)
    for place, task in enumerate(shown):
        bars = [(clone.average, "slides") for clone in CLONES[task.way]]
        bars += [(copy.delay, "virtual") for copy in delays(found, task)]
        for number, (value, source) in enumerate(bars):
            copy = number if source == "slides" else number - len(CLONES[task.way])
            axis.bar(
                place + (number - (len(bars) - 1) / 2) * width,
                value,
                width * 0.92,
                color=colours[copy],
                alpha=0.45 if source == "slides" else 1,
                hatch="///" if source == "slides" else None,
                edgecolor="#555555" if source == "slides" else None,
                label=f"{('first', 'second', 'third')[copy]} copy, {source}" if not place else None,
            )
            at = (place + (number - (len(bars) - 1) / 2) * width, value)
            text = {"xytext": (0, 2), "textcoords": "offset points", "ha": "center", "fontsize": 6}
            axis.annotate(f"{value:.0f}", at, **text)
    axis.set_xticks(range(len(shown)), [name_of(task) for task in shown])
    axis.set_ylabel("after the packet came in [ns]")
    axis.set_title(f"when copies arrive, frames of {REFERENCE} bytes", fontsize=9)
    axis.legend(fontsize=6.5, loc="upper left")
