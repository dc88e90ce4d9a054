"""`p4lab conformance`: how much of p4c's test data the engine agrees with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from p4lab import _engine
from p4lab.cli.errors import VERDICT_NO, fail, no_file
from p4lab.cli.options import Json, existing_file

if TYPE_CHECKING:
    from rich.table import Table  # heavy: only those who print need it

P4c = Annotated[
    Path, typer.Option("--p4c", metavar="DIR", help="A clone of p4lang/p4c; it is only read.")
]
Only = Annotated[
    str | None,
    typer.Option(
        "--only",
        metavar="GLOB",
        help="Judge only what matches, as in 'stf-*:*issue561*'; names are BOARD:FILE.",
    ),
]
ManifestFile = Annotated[
    Path | None,
    typer.Option(
        "--manifest", metavar="FILE", help="Exceptions to use instead of the project's own."
    ),
]
Missing = Annotated[
    bool,
    typer.Option(
        "--missing",
        help="Print the manifest lines that are missing, without a reason, and nothing else.",
    ),
]
Excluded = Annotated[
    bool, typer.Option("--excluded", help="Also list the files that no board judges, and why.")
]


def conformance(
    p4c: P4c,
    only: Only = None,
    manifest: ManifestFile = None,
    missing: Missing = False,
    excluded: Excluded = False,
    as_json: Json = False,
) -> None:
    """Judge the engine by p4c's test data: a scoreboard, and every exception with its reason.

    Exits 0 if every program passes or fails exactly as the manifest says, 1 otherwise.

    The JSON object has `ok`, `p4c` and `made_for` (each release, commit), `boards` (board,
    total, passed, expected, unexpected), `unexpected_failures` (board, file, stage, code,
    detail, foreseen: the manifest's line or null), `expected_failures` (the same, and reason),
    `unexpected_passes` and `stale` (lines of the manifest: line, board, file, stage, code,
    reason), `excluded` (file, reason), `sizes` (sentences) and `sizes_are_wrong`.
    """
    if not p4c.is_dir():
        no_file(p4c, "directory")
    report = _judge(p4c, _text(manifest), only)
    if not report["boards"]:
        fail(
            f"Nothing matches --only {only}; names are BOARD:FILE, as in "
            f"stf-lax:p4_16_samples/x.p4."
        )
    if as_json:
        typer.echo(json.dumps(report, indent=2))
    elif missing:
        for case in report["unexpected_failures"]:
            typer.echo(f"{case['board']}:{case['file']}  {case['stage']}  {case['code']}  ")
    else:
        _show(report, excluded)
    if not report["ok"]:
        raise typer.Exit(VERDICT_NO)


def _text(manifest: Path | None) -> str | None:
    if manifest is None:
        return None
    try:
        return existing_file(manifest, "manifest").read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        fail(f"{manifest}: I cannot read it: {reason}.")


def _judge(p4c: Path, manifest: str | None, only: str | None) -> dict[str, Any]:
    from rich.console import Console  # heavy: rich
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("programs", total=None)

        def tell(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        try:
            return _engine.conformance(str(p4c), manifest=manifest, only=only, progress=tell)
        except ValueError as error:
            problem = str(error)
    fail(problem)


def _show(report: dict[str, Any], excluded: bool) -> None:
    from rich.console import Console

    # Lines for a person or for grep: never wrapped in the middle of a name.
    console = Console(soft_wrap=True, highlight=False, markup=False)
    for case in report["expected_failures"]:
        console.print(f"{_name(case)}  {case['stage']}  {case['code']}  {case['reason']}")
    for case in report["unexpected_failures"]:
        line = case["foreseen"]
        foreseen = f" (line {line['line']} says {line['stage']} {line['code']})" if line else ""
        what = f"{case['stage']}  {case['code']}  {case['detail']}{foreseen}"
        console.print(f"UNEXPECTED {_name(case)}  {what}", style="red")
    for line in report["unexpected_passes"]:
        console.print(
            f"PASSES {_name(line)}: take line {line['line']} out of the manifest", style="red"
        )
    for line in report["stale"]:
        console.print(
            f"NOT THERE {_name(line)} of line {line['line']} of the manifest", style="red"
        )
    if excluded:
        for file in report["excluded"]:
            console.print(f"not judged: {file['file']}: {file['reason']}")
    console.print(_table(report))
    for sentence in report["sizes"]:
        console.print(sentence, style="red" if report["sizes_are_wrong"] else "yellow")
    console.print(_versions(report))


def _name(case: dict[str, Any]) -> str:
    return f"{case['board']}:{case['file']}"


def _table(report: dict[str, Any]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None)
    table.add_column("board")
    for column in ("programs", "pass", "", "in the manifest", "unexpected"):
        table.add_column(column, justify="right")
    for row in report["boards"]:
        unexpected = row["unexpected"]
        table.add_row(
            row["board"],
            str(row["total"]),
            str(row["passed"]),
            f"{row['passed'] / row['total']:.1%}",
            str(row["expected"]),
            Text(str(unexpected), style="red" if unexpected else ""),
        )
    return table


def _versions(report: dict[str, Any]) -> str:
    def version(which: dict[str, str | None]) -> str:
        commit = (which["commit"] or "")[:12]
        return f"{which['release'] or 'unknown'} {commit}".strip()

    reasons: dict[str, int] = {}
    for file in report["excluded"]:
        reasons[file["reason"]] = reasons.get(file["reason"], 0) + 1
    counts = [f"{count} {reason}" for reason, count in sorted(reasons.items())]
    excluded = f"Not judged: {'; '.join(counts)}.\n" if counts else ""
    here, made_for = version(report["p4c"]), version(report["made_for"])
    return f"{excluded}p4c {here}; the manifest was made for {made_for}."
