"""The scoreboard as a table for docs/tofino-examples.md."""

from __future__ import annotations

from collections.abc import Sequence

from p4lab.sde.board import Row

TITLES = ("example", "methods", "pass", "excepted", "fail")


def markdown(rows: Sequence[Row]) -> str:
    """A row for each example that is run, its counts and those of all; then one for each that is
    not."""
    ran = [row for row in rows if not row.left_out]
    counts = [(len(row.results), row.passed, len(row.excepted), len(row.failed)) for row in ran]
    lines = [_line(TITLES), "|---|" + "--:|" * (len(TITLES) - 1)]
    lines += [_line((row.name, *own)) for row, own in zip(ran, counts, strict=True)]
    lines.append(_line(("all", *(sum(column) for column in zip(*counts, strict=True)))))
    lines += [_line((row.name, *("not run" for _ in TITLES[1:]))) for row in rows if row.left_out]
    return "\n".join(lines)


def _line(cells: Sequence[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"
