"""`p4lab experiment encodings` and `msr6-failure`: MSR6 beside others that carry their tree."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from p4lab.cli.console import print_whole
from p4lab.cli.errors import VERDICT_NO, fail, fail_at
from p4lab.cli.options import Json, existing_file, output_folder
from p4lab.engine import ProgramError
from p4lab.experiment import tidy
from p4lab.network.base import NetworkError
from p4lab.systems.msr6.encoded import MOST_ENTRIES
from p4lab.systems.msr6.experiments import comparison, failure, failure_report, networks
from p4lab.systems.msr6.experiments.comparison import SIZES, Scope
from p4lab.systems.msr6.experiments.encodings_report import Report
from p4lab.systems.msr6.experiments.stages import estimates
from p4lab.systems.msr6.experiments.summary import records
from p4lab.systems.msr6.settings import SEGMENTS, Shape

if TYPE_CHECKING:
    from rich.console import RenderableType

Found = TypeVar("Found")

Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where figures and CSV go.")]
Seed = Annotated[int, typer.Option("--seed", min=0, max=(1 << 31) - 1, help="Of the first draw.")]
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
        help="What TE, RLB, RBS and RTS encode; bit strings go as unicast goes.",
    ),
]
Payload = Annotated[
    int, typer.Option("--payload", min=0, max=9000, help="Bytes of a packet behind its headers.")
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
    int, typer.Option("--seed", min=0, max=(1 << 31) - 1, help="Of the first run.")
]
Rate = Annotated[int, typer.Option("--pps", min=1000, max=100_000, help="Packets per second.")]
Sweeps = Annotated[
    bool, typer.Option("--sweeps/--no-sweeps", help="Also larger networks, and more groups.")
]
Sweep = Annotated[
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
    sizes: Sweep = True,
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
        fail(f"there is no tree called {tree!r}; there is {' and '.join(comparison.SHAPES)}.")
    shape: Shape = tree
    known = networks.sources(nodes)
    if unknown := next((name for name in network or () if name not in known), None):
        fail(f"there is no network called {unknown!r}; there is {', '.join(known)}.")
    chosen = {name: source for name, source in known.items() if name in (network or known)}
    if graphml is not None:
        given = _carefully(out, lambda: networks.read_graphml(existing_file(graphml, "map")))
        chosen[graphml.stem] = lambda _: given
    scope = Scope(chosen, draws, seed, segments, shape, SIZES if sizes else ())
    output_folder(out)
    found = _with_bar(scope.steps, lambda say: comparison.measure(scope, say))
    report = Report(scope, found, _carefully(out, estimates), payload)
    files = _write(out, "encodings", records(found, scope), report.figures)
    _show(as_json, {**report.record, **files}, report.tables, report.lines)


def msr6_failure(
    out: Out = Path("msr6-failure"),
    runs: Runs = 10,
    pps: Rate = 10_000,
    seed: FirstRun = 1,
    sweeps: Sweeps = True,
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
    output_folder(out)
    found = _carefully(
        out,
        lambda: _with_bar(
            failure.planned(runs, sweeps), lambda say: failure.measure(runs, pps, seed, sweeps, say)
        ),
    )
    rows = failure_report.records(found)
    cells, seeds = failure_report.summary(rows), _seeds(seed, runs)
    notes = failure_report.notes(pps, runs, seeds, sweeps)
    figure = {"msr6-failure": lambda path: failure_report.draw(cells, path, notes)}
    first = failure.first_back()
    record = {"cells": cells, "first_back": first, "seeds": seeds}
    lines = [
        f"{way} is back before {other} with up to {groups} groups"
        for way, others in first.items()
        for other, groups in others.items()
    ]
    _show(
        as_json,
        {**record, **_write(out, "msr6-failure", rows, figure)},
        [failure_report.table(cells)],
        [*lines, seeds],
        failure.wrong(found),
    )


# ---- What comes of it


def _with_bar(steps: int, work: Callable[[Callable[[str], object]], Found]) -> Found:
    """Does something that says what it does next, so many times."""
    from rich.console import Console  # heavy: rich
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=steps)

        def say(what: str) -> None:
            bar.update(task, description=what, advance=1)

        return work(say)


def _carefully(out: Path, work: Callable[[], Found]) -> Found:
    try:
        return work()
    except (NetworkError, ProgramError, ValueError) as error:
        fail(str(error))
    except OSError as error:
        fail_at(error, out)


def _seeds(first: int, count: int) -> str:
    return f"seed {first}" if count == 1 else f"seeds {first} to {first + count - 1}"


def _write(
    out: Path,
    name: str,
    rows: Sequence[tidy.Row],
    figures: dict[str, Callable[[Path], None]],
) -> dict[str, Any]:
    """CSV and figures; where they are."""
    csv = out / f"{name}.csv"
    drawn = [out / f"{figure}.{ending}" for figure in figures for ending in ("png", "svg")]

    def work() -> None:
        tidy.write_csv(rows, csv)
        for path in drawn:
            figures[path.stem](path)

    _carefully(out, work)
    return {"csv": str(csv), "figures": [str(path) for path in drawn]}


def _show(
    as_json: bool,
    record: dict[str, Any],
    tables: Sequence[RenderableType],
    lines: Sequence[str],
    wrong: Sequence[str] | None = None,
) -> None:
    """All that was found; status 1 if something is wrong with it, where that can be said."""
    if as_json:
        more = {} if wrong is None else {"wrong": list(wrong)}
        typer.echo(json.dumps({**record, **more}, indent=2))
    else:
        from rich.console import Console

        print_whole(*tables)
        console = Console(emoji=False)
        for line in (*(wrong or ()), *lines, f"{record['csv']}, {record['figures'][0]}"):
            console.print(line, highlight=False, markup=False)
    if wrong:
        raise typer.Exit(VERDICT_NO)
