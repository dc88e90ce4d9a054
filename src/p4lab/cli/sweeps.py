"""What verbs with many points share: how many run at a time, where, and how far they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from p4lab.cli.errors import fail
from p4lab.cli.options import output_folder
from p4lab.cli.results import Found, carefully
from p4lab.spread.sweep import Heard, Sweep, opened

if TYPE_CHECKING:
    from rich.progress import Progress

Threads = Annotated[
    int,
    typer.Option(
        "--threads",
        metavar="N",
        min=1,
        max=256,
        help="Threads on this machine: so many runs at a time.",
    ),
]
Dask = Annotated[
    str | None,
    typer.Option("--dask", metavar="ADDRESS", help="Run on a Dask cluster: its scheduler."),
]


def only_virtual(net: str, threads: int, dask: str | None) -> None:
    """Status 2 if runs on Linux hosts are to be shared out: each takes the machine as it is."""
    if net != "virtual" and (threads > 1 or dask):
        fail(f"--net {net} has one run at a time: leave out {'--dask' if dask else '--threads'}.")


def with_sweep(
    out: Path, name: str, threads: int, dask: str | None, work: Callable[[Sweep], Found]
) -> Found:
    """Does something in many tasks, once the folder for its results is there, and shows how far it
    is. What is done when it fails or is stopped is in NAME.unfinished.jsonl there, and is not done
    again. Status 2 and one sentence if it cannot be done."""
    if dask is not None and threads > 1:
        fail("--threads is for this machine and --dask for a cluster: give one of them.")
    from rich.console import Console  # heavy: rich
    from rich.progress import Progress

    output_folder(out)
    path = out / f"{name}.unfinished.jsonl"

    def carried_out() -> Found:
        with (
            Progress(console=Console(stderr=True), transient=True) as bar,
            opened(path, threads, dask, _shown(bar)) as sweep,
        ):
            return work(sweep)

    try:
        return carefully(out, carried_out)
    except KeyboardInterrupt:
        if path.exists():
            typer.echo(f"stopped; the same command goes on from {path}", err=True)
        raise


def _shown(bar: Progress) -> Heard:
    """Tasks as a bar; its text is the task that runs here, or the last that was done elsewhere."""
    shown = bar.add_task("starting", total=0)
    total = 0

    def more(count: int) -> None:
        nonlocal total
        total += count
        bar.update(shown, total=total)

    def begins(what: str) -> None:
        bar.update(shown, description=what)

    def done(what: str) -> None:
        bar.update(shown, description=what, advance=1)

    return Heard(more, begins, done)
