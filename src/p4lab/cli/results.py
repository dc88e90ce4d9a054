"""What verbs of experiments share: they say what they do, write CSV and figures, and tell it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from p4lab.cli.console import print_whole
from p4lab.cli.errors import VERDICT_NO, fail, fail_at
from p4lab.cli.options import output_folder
from p4lab.engine import ProgramError
from p4lab.experiment import tidy
from p4lab.network.base import NetworkError

if TYPE_CHECKING:
    from rich.console import RenderableType

Found = TypeVar("Found")


def with_status(out: Path, work: Callable[[Callable[[str], object]], Found]) -> Found:
    """Does something that says what it does, once the folder for its results is there."""
    from rich.console import Console  # heavy: rich

    output_folder(out)
    with Console(stderr=True).status("starting") as status:
        return carefully(out, lambda: work(status.update))


def carefully(out: Path, work: Callable[[], Found]) -> Found:
    """Does something whose results go to a folder; status 2 and one sentence if it cannot."""
    try:
        return work()
    except (NetworkError, ProgramError, ValueError) as error:
        fail(str(error))
    except OSError as error:
        fail_at(error, out)


def write(
    out: Path,
    name: str,
    rows: Sequence[tidy.Row],
    figures: Mapping[str, Callable[[Path], None]],
) -> dict[str, Any]:
    """A CSV of this name, and figures by theirs, each .png and .svg; where they are."""
    csv = out / f"{name}.csv"
    drawn = [out / f"{figure}.{ending}" for figure in figures for ending in ("png", "svg")]

    def work() -> None:
        tidy.write_csv(rows, csv)
        for path in drawn:
            figures[path.stem](path)

    carefully(out, work)
    return {"csv": str(csv), "figures": [str(path) for path in drawn]}


def show(
    as_json: bool,
    record: Mapping[str, Any],
    tables: Sequence[RenderableType],
    lines: Sequence[str],
    wrong: Sequence[str] | None = None,
) -> None:
    """All that was found, with what `write` wrote; status 1 if something is wrong with it, where
    that can be said."""
    if as_json:
        more = {} if wrong is None else {"wrong": list(wrong)}
        typer.echo(json.dumps({**record, **more}, indent=2))
    else:
        from rich.console import Console  # heavy: rich

        print_whole(*tables)
        console = Console(emoji=False)
        for line in (*(wrong or ()), *lines, f"{record['csv']}, {record['figures'][0]}"):
            console.print(line, highlight=False, markup=False)
    if wrong:
        raise typer.Exit(VERDICT_NO)
