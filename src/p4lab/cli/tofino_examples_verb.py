"""`p4lab tofino-examples`: the SDE's example programs, judged by the SDE's own tests."""

from __future__ import annotations

import json
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from p4lab.cli.console import print_whole
from p4lab.cli.errors import VERDICT_NO, fail
from p4lab.cli.hosts import linux_hosts
from p4lab.cli.options import Json
from p4lab.cli.running import reporting
from p4lab.p4runtime.veths import PortsError
from p4lab.sde.board import Result, Row, judge_all
from p4lab.sde.checkout import Example, SdeError, examples_of
from p4lab.sde.environment import environment
from p4lab.sde.exceptions import OWN, read_exceptions
from p4lab.sde.scoreboard import markdown

if TYPE_CHECKING:
    from rich.console import RenderableType

Sdk = Annotated[
    Path,
    typer.Option("--sdk", metavar="DIR", help="A checkout of p4lang/open-p4studio; only read."),
]
Only = Annotated[
    list[str] | None,
    typer.Option("--only", metavar="NAME", help="This example; several times for several."),
]
Manifest = Annotated[
    Path | None,
    typer.Option(
        "--manifest", metavar="FILE", help="Exceptions to use instead of the project's own."
    ),
]
Logs = Annotated[
    Path | None,
    typer.Option(
        "--logs", metavar="DIR", help="Keep what switch and tests print, in a new folder."
    ),
]


Markdown = Annotated[
    bool,
    typer.Option("--markdown", help="Print only the table of docs/tofino-examples.md."),
]


def tofino_examples(
    sdk: Sdk,
    only: Only = None,
    manifest: Manifest = None,
    logs: Logs = None,
    as_markdown: Markdown = False,
    as_json: Json = False,
) -> None:
    """Run the SDE's examples on our switch, judged by the SDE's own tests: a scoreboard.

    Needs a checkout of open-p4studio, but nothing built of it, and root. Exits 0 if every method
    passes or has its exception in the manifest.

    The JSON object has ok, passed, total and examples (name, seconds, refused, left_out, methods:
    name, passed, seconds, told, reason).
    """
    try:
        examples = _wanted(examples_of(sdk), only or [])
        exceptions = read_exceptions(manifest or OWN)
        linux_hosts()
        with ExitStack() as stack:
            say = stack.enter_context(reporting())
            own = environment(sdk, say)
            place = logs or Path(
                stack.enter_context(tempfile.TemporaryDirectory(prefix="p4lab-sde-"))
            )
            place.mkdir(parents=True, exist_ok=True)
            rows = judge_all(examples, own, exceptions, place.resolve(), say)
    except (SdeError, PortsError) as error:
        fail(str(error))
    except FileExistsError as error:
        fail(f"{error.filename} is there already; name a new folder with --logs.")
    ok = all(row.ok for row in rows)
    if as_json:
        typer.echo(json.dumps(_json(rows, ok), indent=2))
    elif as_markdown:
        typer.echo(markdown(rows))
    else:
        print_whole(*_report(rows))
    if not ok:
        raise typer.Exit(VERDICT_NO)


def _wanted(examples: dict[str, Example], only: list[str]) -> list[Example]:
    for name in only:
        if name not in examples:
            raise SdeError(f"there is no example {name}; DIR has {', '.join(examples) or 'none'}.")
    return [one for name, one in examples.items() if not only or name in only]


def _json(rows: list[Row], ok: bool) -> dict[str, object]:
    return {
        "ok": ok,
        "passed": sum(row.passed for row in rows),
        "total": sum(len(row.results) for row in rows),
        "examples": [
            {
                "name": row.name,
                "seconds": round(row.seconds, 1),
                "refused": row.refused,
                "left_out": row.left_out,
                "methods": [vars(one) for one in row.results],
            }
            for row in rows
        ],
    }


def _report(rows: list[Row]) -> list[RenderableType]:
    from rich.table import Table  # heavy: rich
    from rich.text import Text

    table = Table(box=None)
    table.add_column("example")
    for name in ("methods", "pass", "fail", "excepted", "seconds"):
        table.add_column(name, justify="right")
    for row in rows:
        failed = Text(str(len(row.failed)), style="red" if row.failed else "")
        counts = (len(row.results), row.passed)
        table.add_row(
            row.name, *map(str, counts), failed, str(len(row.excepted)), f"{row.seconds:.0f}"
        )
    told = [f"{row.name} is not run: {row.left_out}" for row in rows if row.left_out]
    told += [f"{row.name} cannot be run: {row.refused}" for row in rows if row.refused]
    told += [_line(row, one, f"fails: {one.told}") for row in rows for one in row.failed]
    told += [_line(row, one, f"excepted: {one.reason}") for row in rows for one in row.excepted]
    told += [
        _line(row, one, "passes; take it out of the manifest") for row in rows for one in row.stale
    ]
    total, passed = (
        sum(f(row) for row in rows) for f in (lambda r: len(r.results), lambda r: r.passed)
    )
    share = f" ({passed / total:.0%})" if total else ""
    return [table, *map(Text, told), Text(f"{passed} of {total} methods pass{share}")]


def _line(row: Row, one: Result, what: str) -> str:
    return f"{row.name} {one.name} {what}"
