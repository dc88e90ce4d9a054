"""The class at a glance: one row per student, one column per check, as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from p4lab.grading.record import CheckResult, Verdict
from p4lab.grading.writers.text import clean, clipped, escaped, number
from p4lab.plurals import count_of

# Colours that people who confuse red and green tell apart, and a mark for those who see none.
STATES = {
    "passed": ("#4477aa", "passed"),
    "hidden": ("#eecc66", "failed in hidden cases only"),
    "failed": ("#cc3311", "failed"),
    "skipped": ("#cccccc", "not run: an earlier check failed"),
    "trouble": ("#222222", "could not be graded"),
}
COLUMN, ROW = 26, 11  # pixels of a cell
LEFT, RIGHT, TOP, BOTTOM = 190, 150, 260, 36
NAME_CHARACTERS = 26
TITLE_CHARACTERS = 42


def state(verdict: Verdict, check: CheckResult) -> str:
    """Which of STATES a cell shows."""
    if verdict.trouble:
        return "trouble"
    if check.status == "failed":
        return "hidden" if check.hidden else "failed"
    return check.status


def draw(lab: str, verdicts: Sequence[Verdict]) -> str:
    """The heat map of a class, those with most points first. Two pixels for each point of a line,
    so that 300 students make a page that is long and not small."""
    rows = sorted(verdicts, key=lambda verdict: (-verdict.points, verdict.student))
    checks = rows[0].checks if rows else ()
    width = LEFT + max(len(checks) * COLUMN, 420) + RIGHT
    height = TOP + len(rows) * ROW + BOTTOM
    title = f"{lab}: {count_of(len(rows), 'submission')}, check by check"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" font-family="sans-serif" font-size="10">',
        f"<title>{escaped(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        _text(12, 20, title, size=14),
        *_columns(checks),
        *_names(rows, len(checks)),
        *_cells(rows),
        *_marks(rows),
        _text(LEFT - 6, TOP - 24, "check", size=11, more=' text-anchor="end"'),
        _text(12, TOP - 6, "student, most points first", size=11),
        _text(LEFT + len(checks) * COLUMN + 6, TOP - 6, "points", size=11),
        *_legend(36),
        _text(12, height - 10, f"Source: records.json of p4lab grade {lab}", size=9),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _text(x: float, y: float, text: str, *, size: int = 10, more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}"{more}>{escaped(text)}</text>'


def _columns(checks: Iterable[CheckResult]) -> list[str]:
    found = []
    for column, check in enumerate(checks):
        x = LEFT + (column + 0.65) * COLUMN
        turned = f' transform="rotate(-50 {x:g} {TOP - 8})"'
        found.append(_text(x, TOP - 8, clipped(check.title, TITLE_CHARACTERS), more=turned))
    return found


def _names(rows: Sequence[Verdict], columns: int) -> list[str]:
    found = []
    for row, verdict in enumerate(rows):
        y = TOP + (row + 0.8) * ROW
        name = clipped(clean(verdict.student).replace("\n", " "), NAME_CHARACTERS)
        found.append(_text(LEFT - 6, y, name, size=9, more=' text-anchor="end"'))
        found.append(_text(LEFT + columns * COLUMN + 6, y, number(verdict.points), size=9))
    return found


def _cells(rows: Sequence[Verdict]) -> list[str]:
    """One path per state: a class of 300 stays a small file."""
    shapes: dict[str, list[str]] = {name: [] for name in STATES}
    for row, verdict in enumerate(rows):
        for column, check in enumerate(verdict.checks):
            x, y = LEFT + column * COLUMN, TOP + row * ROW
            shapes[state(verdict, check)].append(f"M{x} {y}h{COLUMN - 1}v{ROW - 1}h-{COLUMN - 1}z")
    return [
        f'<path fill="{STATES[name][0]}" d="{"".join(shape)}"/>'
        for name, shape in shapes.items()
        if shape
    ]


def _marks(rows: Sequence[Verdict]) -> list[str]:
    shape = [
        _mark(state(verdict, check), LEFT + column * COLUMN, TOP + row * ROW)
        for row, verdict in enumerate(rows)
        for column, check in enumerate(verdict.checks)
    ]
    return [f'<path stroke="#ffffff" fill="none" d="{"".join(shape)}"/>'] if any(shape) else []


def _mark(name: str, x: int, y: int) -> str:
    """A cross where a check failed, a bar where it failed in hidden cases only."""
    if name == "failed":
        return f"M{x + 10} {y + 2.5}l5 5m0 -5l-5 5"
    return f"M{x + 8} {y + 5}h9" if name == "hidden" else ""


def _legend(y: float) -> list[str]:
    found = []
    for index, (name, (colour, label)) in enumerate(STATES.items()):
        x, line = 12 + (index % 3) * 220, y + (index // 3) * 18
        found.append(
            f'<path fill="{colour}" d="M{x} {line:g}h{COLUMN - 1}v{ROW - 1}h-{COLUMN - 1}z"/>'
        )
        mark = _mark(name, x, int(line))
        if mark:
            found.append(f'<path stroke="#ffffff" fill="none" d="{mark}"/>')
        found.append(_text(x + COLUMN + 6, line + 9, label))
    return found
