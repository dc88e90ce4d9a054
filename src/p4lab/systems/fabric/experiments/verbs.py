"""`p4lab experiment fabric` and `p4lab fabric-parameters`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from p4lab.cli.errors import fail
from p4lab.cli.options import Json, existing_file
from p4lab.cli.results import carefully, show, write
from p4lab.cli.sweeps import Dask, Threads, with_sweep
from p4lab.experiment.confidence import seeds_of
from p4lab.spread.sweep import Sweep
from p4lab.systems.fabric.experiments import (
    copies,
    drops,
    equations,
    machine,
    mixes,
    notified,
    report,
)
from p4lab.systems.fabric.experiments.drawing import draw
from p4lab.systems.fabric.experiments.figure import Figure, Point, cells, judged, rows
from p4lab.systems.fabric.parameters import Value, differing, named, parameters, read
from p4lab.systems.fabric.ports import LEAVES

Figures = Annotated[
    list[str] | None,
    typer.Argument(metavar="[FIGURE]...", help="Such as 2c or 15-16; without one, all."),
]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the figures and CSV.")]
Runs = Annotated[int, typer.Option("--runs", min=1, max=100, help="Runs, each with its own seed.")]
Seed = Annotated[
    int, typer.Option("--seed", min=0, max=(1 << 31) - 1, help="Seed of the first run.")
]
File = Annotated[
    Path | None,
    typer.Option("--parameters", metavar="FILE", help="TOML with the parameters that differ."),
]
Leaves = Annotated[
    int, typer.Option("--leaves", min=2, max=LEAVES, help="Leaves of the whole machine.")
]
Micros = Annotated[
    float, typer.Option("--micros", min=100, max=10_000, help="Length of a run of it in us.")
]


def figures(size: machine.Size) -> dict[str, Figure]:
    """All figures by name, in the paper's order."""
    found = (
        machine.IDLE,
        copies.FIGURE_2C,
        copies.FIGURE_4,
        copies.FIGURE_4C,
        drops.FIGURE_5,
        drops.FIGURE_6,
        notified.FIGURE_9,
        notified.FIGURE_10,
        machine.FIGURE_13,
        machine.figure_broadcast(size),
        mixes.figure_mix(size),
        equations.EQUATIONS,
    )
    return {figure.name: figure for figure in found}


def fabric(
    figure: Figures = None,
    out: Out = Path("fabric"),
    runs: Runs = 1,
    seed: Seed = 1,
    parameters: File = None,
    leaves: Leaves = LEAVES,
    micros: Micros = 200,
    threads: Threads = 1,
    dask: Dask = None,
    as_json: Json = False,
) -> None:
    """The multicast of a 640-port fabric: the paper's figures, simulated (docs/fabric.md).

    Figures idle, 2c, 4ab, 4c, 5, 6, 9, 10, 13, 15-16, mix and equations. Writes fabric.csv (one row
    for each seed and point: paper, formula, simulated) and a plot of each figure, .png and .svg.
    Ctrl-C keeps what is there, and the same command goes on from it. Exits 1 if something that must
    hold does not. A file of parameters must not have those that a chosen figure sets itself.
    The JSON object has `measured` (for each figure its cells, with _half_width of the 95 %
    confidence interval, and claims), `seeds`, `parameters` (those that differ), `stopped`, `csv`,
    `figures` and `wrong`.
    """
    known = figures(machine.Size(leaves, micros, 0.3 * micros))
    if unknown := next((name for name in figure or () if name not in known), None):
        fail(f"there is no figure {unknown!r}; choose from {', '.join(known)}.")
    chosen = [known[name] for name in known if name in (figure or known)]
    extra = carefully(out, lambda: read(existing_file(parameters, "file"))) if parameters else ""
    _check_own(chosen, known, extra, parameters)
    found, stopped = _measured(chosen, range(seed, seed + runs), extra, out, threads, dask)
    seeds = seeds_of(seed, runs)
    own = differing(extra)
    note = "; ".join([seeds, *([_own_in_words(own)] if own else [])])
    table_rows: list[dict[str, Any]] = []
    plots: dict[str, Callable[[Path], None]] = {}
    tables, records, wrong, judgements = [], [], [], []
    for one in chosen:
        by_seed = found.get(one.name, {})
        if not by_seed:
            continue
        table_rows += rows(one, by_seed, extra)
        merged = cells(by_seed)
        plots[f"fabric-{one.name}"] = partial(_draw, one, merged, note)
        judgement = [] if one.name in stopped else judged(one, by_seed)
        if not one.series:
            tables.append(report.table(one, merged))
        records.append(report.record(one, merged, judgement))
        judgements.append((one.name, judgement))
        wrong += report.wrong(one.name, judgement)
    if not records:
        fail("stopped before there was anything to keep.")
    files = write(out, "fabric", table_rows, plots)
    missing = f"stopped; runs are missing in figures: {', '.join(stopped)}"
    lines = [missing, note] if stopped else [note]
    record = {"measured": records, "seeds": seeds, "parameters": own, "stopped": stopped, **files}
    show(as_json, record, [*tables, report.claims_table(judgements)], lines, wrong)


def _check_own(
    chosen: Sequence[Figure], known: Mapping[str, Figure], extra: str, file: Path | None
) -> None:
    """Status 2 if the user's file has what a figure sets, since its labels would not be true."""
    given = named(extra)
    for one in chosen:
        if clash := next((name for name in given if name in one.own), None):
            free = [name for name, other in known.items() if not set(given) & set(other.own)]
            fail(
                f"figure {one.name} has its own {clash}: take it out of {file}, or choose from the "
                f"figures {', '.join(free)}."
            )


def _own_in_words(own: Mapping[str, Value]) -> str:
    return "parameters changed: " + ", ".join(f"{name} = {value}" for name, value in own.items())


def _draw(figure: Figure, merged: Sequence[Any], note: str, path: Path) -> None:
    draw(figure, merged, path, note)


def _measured(
    chosen: Sequence[Figure],
    seeds: Sequence[int],
    extra: str,
    out: Path,
    threads: int,
    dask: str | None,
) -> tuple[dict[str, dict[int, list[Point]]], list[str]]:
    """All points by figure and seed, and the figures that miss some, after Ctrl-C."""
    runs = [
        (one.name, seed, task) for one in chosen for seed in seeds for task in one.runs(extra, seed)
    ]
    found: dict[int, list[Point]] = {}

    def work(sweep: Sweep) -> None:
        for number, points in sweep.each([task for _, _, task in runs]):
            found[number] = points

    with suppress(KeyboardInterrupt):
        with_sweep(out, "fabric", threads, dask, work)
    missing = [name for number, (name, _, _) in enumerate(runs) if number not in found]
    points: dict[str, dict[int, list[Point]]] = {}
    for number in sorted(found):
        name, seed, _ = runs[number]
        points.setdefault(name, {}).setdefault(seed, []).extend(found[number])
    return points, list(dict.fromkeys(missing))


def fabric_parameters(as_json: Json = False) -> None:
    """The parameters of the fabric: value, unit, source, and which of them are assumed.

    The JSON array has an object for each, with the same fields.
    """
    found = parameters()
    if as_json:
        typer.echo(json.dumps([vars(one) for one in found], indent=2))
        return
    from rich.table import Table  # heavy: rich

    from p4lab.cli.console import print_whole

    table = Table("parameter", "value", "unit", "origin", "source")
    for one in found:
        table.add_row(one.name, str(one.value), one.unit, one.origin, one.source)
    print_whole(table)
