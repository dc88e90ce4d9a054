"""`p4lab fabric-explore`: small fabrics, searched for deadlocks and for caches that thrash."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from p4lab.cli.errors import VERDICT_NO, fail
from p4lab.cli.options import Json, existing_file
from p4lab.cli.results import carefully
from p4lab.plurals import count_of
from p4lab.systems.fabric.exploring import search as searching
from p4lab.systems.fabric.exploring.cases import CASES, Case
from p4lab.systems.fabric.exploring.search import STATES, Finding
from p4lab.systems.fabric.parameters import read
from p4lab.systems.fabric.views import words

Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[CASE]...", help="Such as newest; without one, all."),
]
Frames = Annotated[
    int | None,
    typer.Option("--frames", min=1, max=40, help="Try up to so many frames, not the case's."),
]
States = Annotated[
    int, typer.Option("--states", min=1, max=100_000_000, help="Stop after so many states.")
]
Seed = Annotated[
    int, typer.Option("--seed", min=0, max=(1 << 31) - 1, help="Seed of the random searches.")
]
File = Annotated[
    Path | None,
    typer.Option("--parameters", metavar="FILE", help="TOML with the parameters that differ."),
]
Random = Annotated[
    int | None,
    typer.Option("--random", metavar="WAYS", min=1, help="Try so many random ways instead of all."),
]
Page = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="A page with the film of what was found."),
]


def fabric_explore(
    case: Names = None,
    frames: Frames = None,
    states: States = STATES,
    seed: Seed = 1,
    parameters: File = None,
    random: Random = None,
    html: Page = None,
    as_json: Json = False,
) -> None:
    """Small fabrics, searched for deadlocks and for caches that thrash (docs/fabric.md).

    Every way in which up to some number of frames can come is tried, with one frame, then two, and
    so on; a state that was seen before is not followed again. Exits 1 if a deadlock is found where
    none is expected, or none where one is. The JSON array has an object for each case: `stuck` is
    the schedule after which nothing moves, `circle` who waits for whom, `evicted` the most cells
    that caches lost on one way, `timeouts` the most suspensions that only the timeout ended.
    """
    if unknown := next((name for name in case or () if name not in CASES), None):
        fail(f"there is no case {unknown!r}; choose from {', '.join(CASES)}.")
    chosen = [CASES[name] for name in CASES if name in (case or CASES)]
    if frames is not None:
        chosen = [replace(one, frames=frames) for one in chosen]
    if random is not None:
        chosen = [replace(one, runs=random) for one in chosen]
    where = html or Path("fabric-explore")
    extra = carefully(where, lambda: read(existing_file(parameters, "file"))) if parameters else ""
    found = carefully(where, lambda: _searched(chosen, states, seed, extra))
    if as_json:
        typer.echo(json.dumps([_record(one, extra) for one in found], indent=2))
    else:
        _show(found, extra)
    if html is not None:
        carefully(html, lambda: html.write_text(_page(found, extra), "utf-8"))
    wrong = [one for one in found if not one.is_expected]
    for one in wrong:
        expected = "a" if one.case.stuck else "no"
        typer.echo(f"p4lab: {one.case.name}: {expected} deadlock was expected.", err=True)
    if wrong:
        raise typer.Exit(VERDICT_NO)


def _searched(chosen: list[Case], states: int, seed: int, extra: str) -> list[Finding]:
    """Ctrl-C keeps the cases that are done."""
    from rich.console import Console  # heavy: rich

    found: list[Finding] = []
    with Console(stderr=True).status("starting") as status:
        try:
            for case in chosen:
                found.append(searching.search(case, states, seed, extra, status.update))
        except KeyboardInterrupt:
            if not found:
                fail("stopped before there was anything to keep.")
    return found


def _record(one: Finding, extra: str) -> dict[str, Any]:
    circle = searching.circle(one.case, one.stuck, extra) if one.stuck is not None else ()
    return {
        "case": one.case.name,
        "what": one.case.what,
        "frames": one.frames,
        "states": one.states,
        "complete": one.complete,
        "stuck": one.stuck,
        "circle": [words.waiting(edge) for edge in circle],
        "evicted": one.evicted,
        "thrashing": one.thrashing,
        "timeouts": one.timeouts,
        "expected": one.is_expected,
    }


def _show(found: list[Finding], extra: str) -> None:
    from rich.table import Table

    from p4lab.cli.console import print_whole

    table = Table("case", "frames", "states", "searched", "deadlock", "lost cells", "timeouts")
    for one in found:
        searched = "at random" if one.case.runs else "all" if one.complete else "a part"
        verdict = "no" if one.stuck is None else "yes"
        numbers = (str(one.evicted), str(one.timeouts))
        table.add_row(
            one.case.name, str(one.frames), f"{one.states:,}", searched, verdict, *numbers
        )
    print_whole(table)
    for one in found:
        if one.stuck is not None:
            typer.echo(f"\n{one.case.name}: {one.case.what}. {_ending(one)}")
            for edge in searching.circle(one.case, one.stuck, extra):
                typer.echo(f"  {words.waiting(edge)}")


def _ending(one: Finding) -> str:
    """How the film of a finding ends."""
    if one.stuck is not None:
        return f"Nothing moves any more after {searching.told(one.stuck)}."
    if one.evicted:
        lost = count_of(one.evicted, "cell")
        return f"The cache lost {lost}, which had to be sent again."
    return "Nothing was found."


def _page(found: list[Finding], extra: str) -> str:
    from p4lab.systems.fabric.views.leaf import LeafView  # heavy: anywidget
    from p4lab.systems.fabric.views.page import page

    views = []
    for one in found:
        schedule = one.stuck if one.stuck is not None else one.thrashing
        if not schedule:
            continue
        film = searching.filmed(one.case, schedule, _ending(one), extra=extra)
        views.append((f"{one.case.name}: {one.case.what}.", LeafView(film)))
    if not views:
        raise ValueError("nothing was found, so there is no film to write.")
    return page("What was found in small fabrics", views)
