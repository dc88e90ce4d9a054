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
from p4lab.grading.record import CheckResult, PacketDifference, Story, Verdict, Warned
from p4lab.grading.writers import plain

MOST_WARNINGS = 5

_MARKS = {
    "passed": "[green]PASSED [/]",
    "failed": "[bold red]FAILED [/]",
    "skipped": "[yellow]SKIPPED[/]",
}


def render(
    course: Course, verdict: Verdict, *, stories: int = 1, folder: str = "."
) -> RenderableType:
    """The whole verdict on the files in `folder`; the first `stories` failures are told in full."""
    parts: list[RenderableType] = [_table(course, verdict)]
    if verdict.trouble:
        parts.append(Text(verdict.trouble, style="bold red"))
    failed = [check for check in verdict.checks if check.story is not None]
    for check in failed[:stories]:
        parts += [Text(), Rule(f"[bold red]{escape(check.title)}[/]", align="left")]
        if plain.lead(check):
            parts.append(Padding(Text(plain.lead(check)), (0, 2)))
        if check.story:
            explaining = [one for one in verdict.warnings if _explains(one, check.story)]
            parts.append(Padding(story(check.story, explaining), (0, 2)))
    if len(failed) > stories:
        left = len(failed) - stories
        word = "check" if left == 1 else "checks"
        where = course.name if folder == "." else f"{course.name} {shlex.quote(folder)}"
        parts += [Text(), Text(f"{left} more failed {word}: {command_here()} check {where} --all")]
    shown = [check.story for check in failed[:stories] if check.story]
    parts += _warnings([w for w in verdict.warnings if not any(_explains(w, s) for s in shown)])
    if verdict.proof is not None:
        parts += [Text(), Text(plain.proof(verdict.proof))]
    return Group(*parts)


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


def _table(course: Course, verdict: Verdict) -> Table:
    titles = {part.id: part.title for part in course.parts}
    table = Table(title=course.title, title_justify="left", box=None, pad_edge=False)
    table.add_column("")
    table.add_column("check", overflow="fold")
    table.add_column("points", justify="right")
    part = None
    shown = _shown(verdict)
    for check in shown:
        if check.part and check.part != part:
            part = check.part
            table.add_row("", f"[bold]{escape(titles.get(part, part))}[/]", "")
        told = escape(check.title)
        if check.waits_for:
            told += f" [dim](waits for: {escape(waits(course, check))})[/]"
        if check.beyond:
            told += f" [dim](this target lacks {escape(check.beyond)})[/]"
        table.add_row(_MARKS[check.status], told, _points(check))
    if left := len(verdict.checks) - len(shown):
        table.add_row(_MARKS["skipped"], f"all {left} others, which wait for that", "")
    table.add_row("", "[bold]total[/]", f"{verdict.points:g}/{verdict.max_points:g}")
    return table


def _shown(verdict: Verdict) -> list[CheckResult]:
    """The checks worth a row: of a program that cannot be run at all, those that say why."""
    ran = [check for check in verdict.checks if check.status != "skipped"]
    return ran if ran and all(not check.part for check in ran) else list(verdict.checks)


def waits(course: Course, check: CheckResult) -> str:
    """What a skipped check waits for: the first of it, and how much more."""
    first, *others = check.waits_for
    title = next((one.title for one in course.checks if one.id == first), first)
    return f"{title}, and {len(others)} more" if others else title


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
    parts: list[RenderableType] = [Text("These are the steps:", style="dim")]
    parts += [Text(f"{number:>3}. {step}") for number, step in enumerate(told.steps, 1)]
    parts += [Text(), Text(told.summary, style="bold")]
    for difference in told.differences[:3]:
        parts += [Text(), packet(difference)]
    if len(told.differences) > 3:
        parts.append(Text(f"... and {len(told.differences) - 3} more packets differ", style="dim"))
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


def packet(told: PacketDifference) -> RenderableType:
    """What was expected beside what came, by field names."""
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    table.add_column("expected", overflow="fold")
    table.add_column("got", overflow="fold")
    for name, expected, got in _rows(told):
        style = "red" if expected != got else None
        table.add_row(escape(name), escape(expected), escape(got), style=style)
    return table


def _rows(told: PacketDifference) -> Iterable[tuple[str, str, str]]:
    if told.expected_port is not None or told.got_port is not None:
        yield "port", _port(told.expected_port), _port(told.got_port)
    expected = " ".join(told.expected_headers) or "-"
    got = " ".join(told.got_headers) or "-"
    yield "headers", expected, got
    for field in told.fields:
        yield field.field, field.expected or "-", field.got or "-"


def _port(port: int | None) -> str:
    return "no packet" if port is None else str(port)
