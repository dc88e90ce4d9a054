"""The estimate as a stage chart in the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from p4lab.fit import chip
from p4lab.fit.compare import gress_truth, pipe_truth, table_rows
from p4lab.fit.estimate import Estimate, GressEstimate, PipeEstimate, Placed
from p4lab.fit.truth import PipeTruth, Truth

LEGEND = (
    "██ on the longest chain of dependencies, ▒▒ not, ‹ could lie here if memory were no matter"
)


def chart(estimate: Estimate, truth: Truth | None = None) -> RenderableType:
    """All there is to see; with `truth` the compiler's numbers beside ours."""
    parts: list[RenderableType] = [Text(caveat, style="bold") for caveat in estimate.caveats]
    for pipe in estimate.pipes:
        parts.append(Text(verdict(estimate, pipe)))
        parts.append(Text())
        parts.append(_stages(estimate, pipe))
        parts.append(Text(LEGEND, style="dim"))
        for gress in pipe.gresses:
            parts += _gress(gress)
        if truth:
            known = pipe_truth(truth, pipe.name, len(estimate.pipes))
            parts += [Text(), *_truth(estimate, pipe, known, truth)]
    return Group(*parts)


def verdict(estimate: Estimate, pipe: PipeEstimate) -> str:
    """One sentence: does it fit?"""
    where = estimate.program if len(estimate.pipes) == 1 else f"{estimate.program}, {pipe.name}"
    unplaced = [unit for gress in pipe.gresses for unit in gress.units if unit.why_not]
    if unplaced:
        first = unplaced[0]
        return f"{where}: does not fit: {first.name} (line {first.line}): {first.why_not}."
    used = max((gress.stages or 0 for gress in pipe.gresses), default=0)
    ending = f"{pipe.lower_bound} at least by dependencies alone"
    if estimate.architecture != "tna":
        return f"{where}: its tables would take {used} of {chip.STAGES} stages ({ending})."
    if used > chip.STAGES:
        return f"{where}: needs {used} stages, and the chip has {chip.STAGES} ({ending})."
    return f"{where}: fits, in {used} of {chip.STAGES} stages ({ending})."


def _stages(estimate: Estimate, pipe: PipeEstimate) -> Table:
    count = len(pipe.stages)
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), show_header=True)
    table.add_column("", no_wrap=True, overflow="ellipsis", min_width=8, max_width=28)
    table.add_column("line", justify="right", no_wrap=True)
    for number in range(count):
        table.add_column(f"{number}", justify="right", min_width=2, max_width=2, no_wrap=True)
    table.add_column("memory", min_width=16)
    for gress in pipe.gresses:
        conditions = sum(unit.kind == "condition" for unit in gress.units)
        title = f"{gress.gress}: {gress.control}"
        cells: list[RenderableType] = [Text(title, style="bold"), "", *[""] * count]
        table.add_row(*cells, f"{conditions} conditions" if conditions else "")
        critical = {(step.unit, step.line) for step in gress.critical_path}
        for unit in gress.units:
            if unit.kind != "condition":
                mark = (unit.name, unit.line) in critical
                table.add_row(*_row(estimate, unit, count, mark))
    table.add_row()
    rows = (
        ("SRAM blocks", chip.SRAMS, [stage.srams for stage in pipe.stages]),
        ("TCAM blocks", chip.TCAM_ROWS * chip.TCAM_COLUMNS, [s.tcams for s in pipe.stages]),
        ("logical tables", chip.LOGICAL_TABLES, [s.logical_tables for s in pipe.stages]),
    )
    for name, most, numbers in rows:
        used = [str(number) if number else "·" for number in numbers]
        table.add_row(name, "", *used, f"{sum(numbers)} in all, {most} a stage")
    return table


def _row(estimate: Estimate, unit: Placed, count: int, critical: bool) -> list[RenderableType]:
    cells: list[RenderableType] = []
    for number in range(count):
        if number in unit.stages:
            cells.append(Text("██" if critical else "▒▒", style="red" if critical else "cyan"))
        elif number == unit.earliest and unit.stages:
            cells.append(Text("‹"))
        else:
            cells.append(Text("·", style="dim"))
    name = "statements" if unit.kind == "statements" else unit.name
    return [Text(name), place(estimate, unit), *cells, Text(memory(unit))]


def place(estimate: Estimate, unit: Placed) -> str:
    """The line, with its file if that is not the program's own."""
    if unit.line is None:
        return ""
    if unit.file is None or unit.file == estimate.program:
        return str(unit.line)
    return f"{Path(unit.file).name}:{unit.line}"


def memory(unit: Placed) -> str:
    """What it takes, in words."""
    if unit.why_not:
        return f"not placed: {unit.why_not}"
    words = []
    if unit.entries:
        words.append(f"{unit.entries} x {unit.key_bits} b {unit.layout}")
    words += [f"{unit.tcams} TCAM"] if unit.tcams else []
    words += [f"{unit.srams} SRAM"] if unit.srams else []
    words += [resource for resource in unit.resources if not resource.startswith("hash ")]
    return ", ".join(words)


def _gress(gress: GressEstimate) -> Iterator[RenderableType]:
    if not gress.units:
        return
    yield Text()
    yield Text(
        f"{gress.gress}: the longest chain of dependencies takes {gress.lower_bound} stages",
        style="bold",
    )
    for step in gress.critical_path:
        reason = {
            None: "",
            "match": f"   waits for {step.because}, which it matches on or indexes by",
            "action": f"   waits for {step.because}, which its action reads",
            "output": f"   comes later than another one that writes {step.because}",
            "control": "   runs on a branch of the one above",
            "anti": f"   writes {step.because} only when that has been read",
        }[step.kind]
        yield Text(f"  {step.unit}{reason}")
    yield Text()
    if gress.cycles is not None and gress.nanoseconds is not None:
        sums = " + ".join(str(cycles) for cycles in gress.cycles_by_stage)
        yield Text(
            f"{gress.gress} latency: {gress.cycles} cycles, {gress.nanoseconds:.0f} ns at "
            f"{chip.CLOCK_GHZ} GHz: {sums}, and {chip.CORNER_TURN} for the corner turn"
        )
    yield Text(
        f"{gress.gress} fields that stages touch: {gress.phv_bits} of {chip.PHV_BITS} bits "
        "(ingress and egress together)"
    )
    for note in gress.notes:
        yield Text(note)


def _truth(
    estimate: Estimate, pipe: PipeEstimate, known: PipeTruth | None, truth: Truth
) -> Iterator[RenderableType]:
    if known is None:
        names = ", ".join(own.name for own in truth.pipes)
        yield Text(f"{truth.folder}: no pipe named {pipe.name} in it, but {names}.")
        return
    yield Text(f"Beside it what bf-p4c {truth.compiler} says ({truth.folder}):", style="bold")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("", no_wrap=True, overflow="ellipsis")
    for name in ("estimate", "compiler"):
        table.add_column(name, justify="right", no_wrap=True, min_width=len(name))
    sums = ("srams", "SRAM blocks"), ("tcams", "TCAM blocks"), ("map_rams", "map RAMs")
    for key, words in sums:
        ours = sum(getattr(stage, key) for stage in pipe.stages)
        table.add_row(words, str(ours), _number(getattr(known, key)))
    for gress in pipe.gresses:
        own = gress_truth(known, gress.gress)
        if own is None:
            continue
        table.add_row(f"{gress.gress} stages", _number(gress.stages), str(own.stages))
        table.add_row(f"{gress.gress} cycles", _number(gress.cycles), str(own.cycles))
        if own.assembler_cycles is not None:
            table.add_row("  the assembler's, without corner turn", "", str(own.assembler_cycles))
        if own.rule_cycles != own.cycles:
            table.add_row("  our rule with the compiler's stages", str(own.rule_cycles), "")
        for row in table_rows(estimate, gress, own):
            line = f" (line {row.line})" if row.line and not row.name.startswith("line ") else ""
            table.add_row(f"  {row.name}{line}", _list(row.estimate), _list(row.truth))
    yield table
    for sentence in truth.missing:
        yield Text(sentence)


def _number(number: int | None) -> str:
    return "?" if number is None else str(number)


def _list(stages: tuple[int, ...]) -> str:
    if not stages:
        return "-"
    return ", ".join(str(stage) for stage in stages)
