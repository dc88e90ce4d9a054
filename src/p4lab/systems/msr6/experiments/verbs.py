"""`p4lab experiment encodings`: MSR6 beside others that carry their tree."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from p4lab.cli.console import print_whole
from p4lab.cli.errors import fail, fail_at
from p4lab.cli.options import Json, existing_file, output_folder
from p4lab.engine import ProgramError
from p4lab.experiment import tidy
from p4lab.network.base import NetworkError
from p4lab.systems.msr6.encoded import MOST_ENTRIES
from p4lab.systems.msr6.experiments import comparison, networks
from p4lab.systems.msr6.experiments.comparison import SIZES, Scope
from p4lab.systems.msr6.experiments.encodings_report import Report
from p4lab.systems.msr6.experiments.stages import estimates
from p4lab.systems.msr6.experiments.summary import records
from p4lab.systems.msr6.groups import SEGMENTS
from p4lab.systems.msr6.settings import Shape

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
Map = Annotated[
    Path | None,
    typer.Option("--graphml", metavar="FILE", help="A map of a network to compare in, too."),
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
    chosen = networks.sources(nodes)
    if graphml is not None:
        given = _carefully(out, lambda: networks.read_graphml(existing_file(graphml, "map")))
        chosen[graphml.stem] = lambda _: given
    scope = Scope(chosen, draws, seed, segments, shape, SIZES if sizes else ())
    output_folder(out)
    found = _with_bar(scope.steps, lambda say: comparison.measure(scope, say))
    report = Report(scope, found, _carefully(out, estimates), payload)
    files = _write(out, "encodings", records(found, scope), report.figures)
    _show(as_json, {**report.record, **files}, report.tables, report.lines)


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
) -> None:
    """All that was found."""
    if as_json:
        typer.echo(json.dumps(record, indent=2))
        return
    from rich.console import Console

    print_whole(*tables)
    console = Console()
    for line in (*lines, f"{record['csv']}, {record['figures'][0]}"):
        console.print(line, highlight=False, markup=False)
