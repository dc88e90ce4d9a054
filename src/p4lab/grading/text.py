"""A verdict for a terminal: what passed, and the story of what did not."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from p4lab.command import command, pasted
from p4lab.course.home import command as command_here
from p4lab.grading.course import Course
from p4lab.grading.record import (
    CheckResult,
    PacketDifference,
    Story,
    Verdict,
    Warned,
    before,
    by_part,
    cause,
    of_part,
)
from p4lab.grading.writers import plain
from p4lab.plurals import count_of

MOST_WARNINGS = 5

_MARKS = {
    "passed": "[green]PASSED [/]",
    "failed": "[bold red]FAILED [/]",
    "skipped": "[yellow]SKIPPED[/]",
}


def render(
    course: Course,
    verdict: Verdict,
    *,
    stories: int = 1,
    folder: str = ".",
    part: str | None = None,
) -> RenderableType:
    """The whole verdict on the files in `folder`, or that of one part; the first `stories` failures
    are told in full."""
    checks = of_part(verdict, part)
    parts: list[RenderableType] = [_table(course, verdict, checks)]
    if verdict.trouble:
        parts.append(Text(verdict.trouble, style="bold red"))
    where = course.name if folder == "." else f"{course.name} {shlex.quote(folder)}"
    again = f"{command_here()} check {where}"
    if first := before(verdict, part):
        parts += [Text(), Text(f"First: {again} --part {first}", overflow="fold")]
    failed = [check for check in checks if check.story is not None]
    for check in failed[:stories]:
        number = number_of(course, check.id)
        title = f"{number} {check.title}" if number else check.title
        parts += [Text(), Rule(f"[bold red]{escape(title)}[/]", align="left")]
        if plain.lead(check):
            parts.append(Padding(Text(plain.lead(check)), (0, 2)))
        if check.story:
            explaining = [one for one in verdict.warnings if _explains(one, check.story)]
            parts.append(Padding(story(check.story, explaining), (0, 2)))
    if len(failed) > stories:
        left = len(failed) - stories
        only = f" --part {part}" if part else ""
        parts += [
            Text(),
            Text(f"{count_of(left, 'more failed check')}:"),
            Text(f"{again}{only} --all", overflow="fold"),
        ]
    shown = [check.story for check in failed[:stories] if check.story]
    parts += _warnings([w for w in verdict.warnings if not any(_explains(w, s) for s in shown)])
    if verdict.proof is not None:
        parts += [Text(), Text(plain.proof(verdict.proof))]
    return Group(*parts)


def number_of(course: Course, check: str) -> str:
    """The number of a check: that of its part, and its place there, as in 2.1; else empty."""
    for place, part in enumerate(course.parts, 1):
        own = [one.id for one in course.checks if one.part == part.id]
        if check in own:
            return f"{place}.{own.index(check) + 1}"
    return ""


def _warnings(warned: Sequence[Warned]) -> list[RenderableType]:
    """What the compiler warns of, a line each; it costs nothing here, but on the chip."""
    if not warned:
        return []
    parts: list[RenderableType] = [Text(), Text("The compiler warns (no points lost):")]
    for one in warned[:MOST_WARNINGS]:
        if one.listing:
            parts.append(printed(one.listing))
            continue
        where = f"{one.place.file}:{one.place.line}" if one.place else ""
        parts.append(Text.assemble(("  " + where, "cyan"), f"  {one.message} [{one.code}]"))
    if len(warned) > MOST_WARNINGS:
        parts.append(Text(f"  ... and {len(warned) - MOST_WARNINGS} more"))
    return [*parts, Text(f"More: {command()} explain {warned[0].code}", style="dim")]


def _table(course: Course, verdict: Verdict, checks: Sequence[CheckResult]) -> Table:
    titles = {part.id: f"{place} {part.title}" for place, part in enumerate(course.parts, 1)}
    table = Table(title=course.title, title_justify="left", box=None, pad_edge=False)
    table.add_column("")
    table.add_column("check", overflow="fold")
    table.add_column("points", justify="right")
    shown = _shown(checks)
    groups = by_part(shown)
    for part, own in groups.items():
        if part:
            points, most = (sum(values) for values in zip(*map(_both, own), strict=True))
            total = f"[bold]{points:g}/{most:g}[/]"
            table.add_row("", f"[bold]{escape(titles.get(part, part))}[/]", total)
        for check in own:
            indent = (0, 0, 0, 2) if part else (0, 0, 0, 0)
            row = Padding(_row(course, verdict, check), indent)
            table.add_row(_MARKS[check.status], row, _points(check))
    if left := len(checks) - len(shown):
        table.add_row(_MARKS["skipped"], f"all {left} others, which wait for that", "")
    if len(groups) > 1 or "" in groups:
        table.add_row("", "[bold]total[/]", _total(verdict, checks))
    return table


def _both(check: CheckResult) -> tuple[float, float]:
    return check.points, check.max_points


def _total(verdict: Verdict, checks: Sequence[CheckResult]) -> str:
    """The points of the checks, of a whole verdict with what an instructor has decided."""
    points, most = (sum(values) for values in zip(*map(_both, checks), strict=True))
    whole = len(checks) == len(verdict.checks)
    return f"[bold]{verdict.points if whole else points:g}/{most:g}[/]"


def _row(course: Course, verdict: Verdict, check: CheckResult) -> str:
    number = number_of(course, check.id)
    told = f"{number} {escape(check.title)}" if number else escape(check.title)
    if check.waits_for:
        told += f" [dim]({escape(waits(course, verdict, check))})[/]"
    if check.beyond:
        told += f" [dim](this target lacks {escape(check.beyond)})[/]"
    return f"[dim]{told}[/]" if check.status == "skipped" else told


def waits(course: Course, verdict: Verdict, check: CheckResult) -> str:
    """What a check that others stand in the way of has to do with the first of them."""
    other = cause(verdict, check)
    which = number_of(course, other.id) or other.title
    if check.status == "failed":
        return f"{which} fails, too, and may be the cause"
    return f"fails, perhaps because of {which}" if check.left else f"waits for {which}"


def _shown(checks: Sequence[CheckResult]) -> Sequence[CheckResult]:
    """The checks worth a row: of a program that cannot be run at all, those that say why."""
    ran = [check for check in checks if check.status != "skipped"]
    return ran if ran and all(not check.part for check in ran) else checks


def _points(check: CheckResult) -> str:
    return f"{check.points:g}/{check.max_points:g}" if check.max_points else ""


def _explains(warned: Warned, told: Story) -> bool:
    """Whether the compiler has warned of the line that a story ends at."""
    one, other = warned.place, told.place
    return bool(one and other and (one.file, one.line) == (other.file, other.line))


def story(told: Story, explaining: Sequence[Warned] = ()) -> RenderableType:
    """How a case failed, from top to bottom; `explaining` are warnings about its line."""
    if told.listing:
        code = told.why.strip("[]")
        more = [Text(f"What it means, with an example: {command()} explain {code}")] if code else []
        return Group(*map(printed, told.listing), *more)
    said, *steps = told.steps or ("",)
    parts: list[RenderableType] = [Text(said)]
    grid = Table.grid(padding=(0, 1))
    for step in steps:
        grid.add_row("-", Text(step))
    parts += [grid, Text(), Text(told.summary, style="bold")]
    groups = _alike(told.differences)
    for difference, ports in groups[:3]:
        parts += [Text(), packet(difference, ports)]
    if len(groups) > 3:
        left = count_of(len(groups) - 3, "more packet differs", "more packets differ")
        parts.append(Text(f"... and {left}", style="dim"))
    if told.place is not None:
        where = f"{told.place.file}:{told.place.line}"
        parts += [Text(), Text.assemble((where, "bold cyan"), ("  " + told.why, ""))]
        if told.place.text:
            parts.append(Text(f"{told.place.line:>6} | {told.place.text}", style="cyan"))
    elif told.why:
        parts += [Text(), Text(told.why)]
    if explaining:
        parts += [Text(), *(printed(one.listing or plain.warned(one)) for one in explaining)]
    return Group(*parts, *_hint(told))


def _hint(told: Story) -> list[RenderableType]:
    if not told.hint:
        return []
    return [Text(), Text.assemble(("Hint: ", "bold"), pasted(told.hint, "explain"))]


def printed(block: str) -> Text:
    """What the compiler has printed, with its lines as they are and its marks in colour."""
    text = Text(block, overflow="fold")
    text.highlight_regex(r"(?m)^\[E\d+\] Error:|^Error:", "bold red")
    text.highlight_regex(r"(?m)^\[W\d+\] Warning:|^Warning:", "bold yellow")
    text.highlight_regex(r"Help: .*", "green")
    return text


def _alike(packets: Sequence[PacketDifference]) -> list[tuple[PacketDifference, list[int]]]:
    """Packets that differ, those that do so in the same way as one, with the ports of all."""
    found: dict[object, tuple[PacketDifference, list[int]]] = {}
    for one in packets:
        port = one.expected_port if one.got_port is None else one.got_port
        same = (one.expected_headers, one.got_headers, one.shown)
        moved = None if one.expected_port == one.got_port else (one.expected_port, one.got_port)
        group = found.setdefault((moved, same), (one, []))
        if port is not None:
            group[1].append(port)
    return list(found.values())


def packet(told: PacketDifference, ports: Sequence[int] = ()) -> RenderableType:
    """What was expected beside what came, by field names: what differs, and which packet it is;
    `ports` are those of all packets that differ in this way."""
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    table.add_column("expected", overflow="fold")
    table.add_column("got", overflow="fold")
    rows = [row for row in _rows(told) if row[1] != row[2]]
    for name, expected, got in rows:
        table.add_row(escape(name), escape(expected), escape(got), style="red")
    which = _which(told, ports)
    return Group(*([Text(which, style="dim")] if which else []), *([table] if rows else []))


def _which(told: PacketDifference, ports: Sequence[int]) -> str:
    """Which packets these are, as far as they are as expected."""
    if told.expected_port is None or told.expected_port != told.got_port:
        return ""
    *most, last = sorted(map(str, ports), key=int) or ["?"]
    where = f"ports {', '.join(most)} and {last}, alike" if most else f"port {last}"
    same = told.expected_headers == told.got_headers
    return f"on {where}" + (f": {' '.join(told.got_headers)}" if same else "")


def _rows(told: PacketDifference) -> Iterable[tuple[str, str, str]]:
    if told.expected_port is not None or told.got_port is not None:
        yield "port", _port(told.expected_port), _port(told.got_port)
    expected = " ".join(told.expected_headers) or "-"
    got = " ".join(told.got_headers) or "-"
    yield "headers", expected, got
    for field in told.shown:
        yield field.field, field.expected or "-", field.got or "-"


def _port(port: int | None) -> str:
    return "no packet" if port is None else str(port)
