"""`p4lab experiment encodings` and `msr6-failure`: MSR6 beside others that carry their tree."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from p4lab.cli.errors import fail
from p4lab.cli.options import Json, existing_file
from p4lab.cli.results import carefully, show, write
from p4lab.cli.sweeps import Dask, Threads, with_sweep
from p4lab.experiment.confidence import seeds_of
from p4lab.systems.msr6.encoded import MOST_ENTRIES
from p4lab.systems.msr6.experiments import comparison, failure, failure_report, networks
from p4lab.systems.msr6.experiments.comparison import SIZES, Scope
from p4lab.systems.msr6.experiments.encodings_report import Report
from p4lab.systems.msr6.experiments.stages import estimates
from p4lab.systems.msr6.experiments.summary import records
from p4lab.systems.msr6.settings import SEGMENTS, Shape

Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the figures and CSV.")]
Seed = Annotated[
    int, typer.Option("--seed", min=0, max=(1 << 31) - 1, help="Seed of the first draw.")
]
Draws = Annotated[
    int, typer.Option("--draws", min=1, max=1000, help="Draws of each network, with their seeds.")
]
Nodes = Annotated[
    int, typer.Option("--nodes", min=20, max=networks.MOST_NODES, help="Routers of a network.")
]
Segments = Annotated[
    int, typer.Option("--segments", min=1, max=MOST_ENTRIES, help="Entries that a list may have.")
]
TreeShape = Annotated[
    str,
    typer.Option(
        "--tree",
        metavar="cheapest|steiner",
        help="What TE, RLB, RBS and RTS encode; bit strings follow unicast.",
    ),
]
Payload = Annotated[
    int, typer.Option("--payload", min=0, max=9000, help="Bytes of a packet after its headers.")
]
Chosen = Annotated[
    list[str] | None,
    typer.Option("--network", metavar="NAME", help="Only in this network; several times for more."),
]
Map = Annotated[
    Path | None,
    typer.Option("--graphml", metavar="FILE", help="A map of a network to compare in, too."),
]
Runs = Annotated[int, typer.Option("--runs", min=1, max=1000, help="Runs, each with its own seed.")]
FirstRun = Annotated[
    int, typer.Option("--seed", min=0, max=(1 << 31) - 1, help="Seed of the first run.")
]
Rate = Annotated[int, typer.Option("--pps", min=1000, max=100_000, help="Packets per second.")]
Sweeps = Annotated[
    bool, typer.Option("--sweeps/--no-sweeps", help="Also larger networks, and more groups.")
]
Sizes = Annotated[
    bool, typer.Option("--sizes/--no-sizes", help="Also let the network grow around its group.")
]


def encodings(
    out: Out = Path("encodings"),
    draws: Draws = 20,
    seed: Seed = 1,
    nodes: Nodes = 200,
    segments: Segments = SEGMENTS,
    tree: TreeShape = "cheapest",
    payload: Payload = 1000,
    network: Chosen = None,
    graphml: Map = None,
    sizes: Sizes = True,
    threads: Threads = 1,
    dask: Dask = None,
    as_json: Json = False,
) -> None:
    """How many bytes, packets, copies, passes, rows and stages it takes to name receivers.

    BIER, MSR6 (TE, TE with RLB, BE), RBS and RTS in drawn networks, a fat tree, and a map of yours.
    Writes encodings.csv (one row per draw, group and encoding) and figures: encodings-bytes,
    encodings-work, encodings-size and encodings-state, each .png and .svg.
    The JSON object has `cells` (means by panel and encoding, with _half_width of the 95 %
    confidence interval), `crossovers` (where the first of two needs less), `shortest` (which needs
    the least, and where), `refused` (what could not be encoded), `stages`, `seeds`, `csv` and
    `figures`.
    """
    if tree not in comparison.SHAPES:
        fail(f"there is no tree called {tree!r}; choose from {' and '.join(comparison.SHAPES)}.")
    shape: Shape = tree
    known = networks.sources(nodes)
    if unknown := next((name for name in network or () if name not in known), None):
        fail(f"there is no network called {unknown!r}; choose from {', '.join(known)}.")
    chosen = {name: source for name, source in known.items() if name in (network or known)}
    if graphml is not None:
        given = carefully(out, lambda: networks.read_graphml(existing_file(graphml, "map")))
        chosen[graphml.stem] = networks.Given(given)
    scope = Scope(chosen, draws, seed, segments, shape, SIZES if sizes else ())
    found = with_sweep(
        out, "encodings", threads, dask, lambda sweep: comparison.measure(scope, sweep)
    )
    report = Report(scope, found, carefully(out, estimates), payload)
    files = write(out, "encodings", records(found, scope), report.figures)
    show(as_json, {**report.record, **files}, report.tables, report.lines)


def msr6_failure(
    out: Out = Path("msr6-failure"),
    runs: Runs = 10,
    pps: Rate = 10_000,
    seed: FirstRun = 1,
    sweeps: Sweeps = True,
    threads: Threads = 1,
    dask: Dask = None,
    as_json: Json = False,
) -> None:
    """A link fails: what it costs to compute MSR6's trees anew, beside BIER and BIER-FRR.

    The failure and all delays are those of the restoration experiment. Writes msr6-failure.csv (one
    row per run), .png and .svg. Exits 1 if a packet came twice, or an outage is not what detection,
    distance, computation and rows add up to.
    The JSON object has `cells` (means by part, way, routers and groups, with _half_width of the
    95 % confidence interval: outage_ms, lost, rows, routers_touched, header_before and
    header_after), `first_back` (up to how many groups TE and RLB are, by formula), `wrong`,
    `seeds`, `csv` and `figures`.
    """
    found = with_sweep(
        out,
        "msr6-failure",
        threads,
        dask,
        lambda sweep: failure.measure(runs, pps, seed, sweeps, sweep),
    )
    rows = failure_report.records(found)
    cells, seeds = failure_report.summary(rows), seeds_of(seed, runs)
    notes = failure_report.notes(pps, runs, seeds, sweeps)
    figure = {"msr6-failure": lambda path: failure_report.draw(cells, path, notes)}
    first = failure.first_back()
    record = {"cells": cells, "first_back": first, "seeds": seeds}
    lines = [
        f"{way} is back before {other} with up to {groups} groups"
        if groups
        else f"{way} is never back before {other}"
        for way, others in first.items()
        for other, groups in others.items()
    ]
    show(
        as_json,
        {**record, **write(out, "msr6-failure", rows, figure)},
        [failure_report.table(cells)],
        [*lines, seeds],
        failure.wrong(found),
    )
