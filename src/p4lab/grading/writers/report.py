"""The report that a student gets: one Markdown and one HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from p4lab.grading.record import CheckResult, PacketDifference, Story, Verdict, by_part
from p4lab.grading.writers import plain
from p4lab.grading.writers.text import (
    clean,
    escaped,
    markdown,
    markdown_cell,
    markdown_code,
    number,
)

STYLE = """
:root { color-scheme: light dark; --ok: #0b6e4f; --bad: #b3261e; --off: #6b6b6b; --line: #8884; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: .5rem 0; display: block; overflow-x: auto; }
/* On a telephone a wide table scrolls; no column gets as narrow as a letter. */
th, td { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
th:first-child, td:first-child, th:last-child:not(.n), td:last-child:not(.n) { min-width: 9rem; }
td.n, th.n { text-align: right; white-space: nowrap; }
code, pre { font: 14px/1.4 ui-monospace, monospace; white-space: pre-wrap;
  overflow-wrap: anywhere; }
pre { border-left: 3px solid var(--bad); padding: .3rem .8rem; margin: .5rem 0; }
.passed { color: var(--ok); } .failed { color: var(--bad); } .skipped { color: var(--off); }
.trouble { border: 1px solid var(--bad); padding: .5rem 1rem; }
.hint { border-left: 3px solid var(--ok); padding: .2rem .8rem; }
@media (prefers-color-scheme: dark) { :root { --ok: #6fcf97; --bad: #ff8a80; --off: #aaa; } }
""".strip()

# Whatever slips through the escaping can neither run nor load anything.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


@dataclass(frozen=True)
class Heading:
    """What a report says of the lab; `parts` are titles by id, `cases` a sentence about those that
    nobody sees."""

    title: str
    parts: Mapping[str, str]
    cases: str = ""

    def part(self, name: str) -> str:
        return self.parts.get(name, name)


def as_markdown(verdict: Verdict, heading: Heading, notes: tuple[str, ...] = ()) -> str:
    return "\n".join(_markdown(verdict, heading, notes)) + "\n"


def as_html(verdict: Verdict, heading: Heading, notes: tuple[str, ...] = ()) -> str:
    title = f"{verdict.lab}: {verdict.student}"
    return page(title, "\n".join(_html(verdict, heading, notes)))


def page(title: str, body: str) -> str:
    """An HTML page that needs nothing else."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{escaped(title)}</title>\n<style>\n{STYLE}\n</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _score(verdict: Verdict) -> str:
    return f"{number(verdict.points)} of {number(verdict.max_points)} points"


# ---- Markdown -----------------------------------------------------------------------------------


def _markdown(verdict: Verdict, heading: Heading, notes: tuple[str, ...]) -> Iterator[str]:
    yield f"# {markdown(verdict.lab)}: {markdown(heading.title)}"
    yield ""
    yield f"Submission of {markdown_code(verdict.student)}: **{_score(verdict)}**"
    if heading.cases:
        yield from ("", heading.cases)
    if verdict.trouble:
        yield from ("", f"> **{markdown(verdict.trouble)}**")
    if notes:
        yield ""
        yield from (f"- {markdown(note)}" for note in notes)
    yield from ("", "| check | result | points |", "|---|---|---:|")
    for check in verdict.checks:
        points = plain.score(check) if check.max_points else ""
        outcome = markdown(plain.outcome(check, verdict))
        yield f"| {markdown(check.title)} | {outcome} | {points} |"
    if verdict.warnings:
        yield from ("", plain.WARNINGS, "")
        yield from (f"- {markdown(plain.warned(one))}" for one in verdict.warnings)
    if verdict.trouble:
        return
    for part, checks in by_part(verdict.checks).items():
        failed = [check for check in checks if check.status == "failed"]
        if failed:
            yield from ("", f"## {markdown(heading.part(part)) or 'Before anything else'}")
        for check in failed:
            yield from ("", f"### {markdown(check.title)}", "")
            yield from _story_markdown(check, check.story)


def _story_markdown(check: CheckResult, story: Story | None) -> Iterator[str]:
    if story is None:
        return
    if plain.lead(check):
        yield from (plain.lead(check), "")
    if story.summary:
        yield from (f"**{markdown(story.summary)}**", "")
    yield f"Kind: {markdown(story.signature)}"
    if story.steps:
        yield ""
        yield from (f"{count}. {markdown(step)}" for count, step in enumerate(story.steps, 1))
    for packet in story.differences[: plain.SHOWN_PACKETS]:
        yield from ("", plain.headline(packet))
        lines = [f"- {markdown(line)}" for line in plain.header_lines(packet)]
        if lines:
            yield from ("", *lines)
        if packet.shown:
            yield from ("", "| field | expected | got |", "|---|---|---|")
        for item in packet.shown:
            values = (item.field, item.expected or plain.NOTHING, item.got or plain.NOTHING)
            yield f"| {' | '.join(map(markdown_cell, values))} |"
    yield from (line for text in plain.more(story) for line in ("", text))
    lines = list(plain.where(story))
    if lines:
        yield from ("", "First wrong:", "")
        yield from (f"- {markdown_code(line)}" for line in lines)
    for block in story.listing:  # no fence: a line of the student's could end it
        yield from ("", *(f"    {line}" for line in clean(block).splitlines()))
    if story.hint:
        yield from ("", f"**Hint.** {markdown(story.hint)}")


# ---- HTML ---------------------------------------------------------------------------------------


def _html(verdict: Verdict, heading: Heading, notes: tuple[str, ...]) -> Iterator[str]:
    yield f"<h1>{escaped(verdict.lab)}: {escaped(heading.title)}</h1>"
    yield (
        f"<p>Submission of <code>{escaped(verdict.student)}</code>: "
        f"<strong>{_score(verdict)}</strong></p>"
    )
    if heading.cases:
        yield f"<p>{escaped(heading.cases)}</p>"
    if verdict.trouble:
        yield f'<p class="trouble">{escaped(verdict.trouble)}</p>'
    if notes:
        yield f"<ul>{''.join(f'<li>{escaped(note)}</li>' for note in notes)}</ul>"
    yield '<table><tr><th>check</th><th>result</th><th class="n">points</th></tr>'
    for check in verdict.checks:
        points = plain.score(check) if check.max_points else ""
        yield (
            f'<tr><td>{escaped(check.title)}</td><td class="{check.status}">'
            f'{escaped(plain.outcome(check, verdict))}</td><td class="n">{points}</td></tr>'
        )
    yield "</table>"
    if verdict.warnings:
        listed = "".join(f"<li>{escaped(plain.warned(one))}</li>" for one in verdict.warnings)
        yield f"<p>{plain.WARNINGS}</p>\n<ul>{listed}</ul>"
    if verdict.trouble:
        return
    for part, checks in by_part(verdict.checks).items():
        failed = [check for check in checks if check.status == "failed"]
        if failed:
            yield f"<h2>{escaped(heading.part(part)) or 'Before anything else'}</h2>"
        for check in failed:
            yield f"<h3>{escaped(check.title)}</h3>"
            yield from _story_html(check, check.story)


def _story_html(check: CheckResult, story: Story | None) -> Iterator[str]:
    if story is None:
        return
    if plain.lead(check):
        yield f"<p>{plain.lead(check)}</p>"
    if story.summary:
        yield f"<p><strong>{escaped(story.summary)}</strong></p>"
    yield f"<p>Kind: {escaped(story.signature)}</p>"
    if story.steps:
        yield f"<ol>{''.join(f'<li>{escaped(step)}</li>' for step in story.steps)}</ol>"
    for packet in story.differences[: plain.SHOWN_PACKETS]:
        yield from _packet_html(packet)
    yield from (f"<p>{text}</p>" for text in plain.more(story))
    lines = list(plain.where(story))
    if lines:
        yield "<p>First wrong:</p>"
        yield f"<pre>{escaped(chr(10).join(lines))}</pre>"
    if story.listing:
        yield f"<pre>{escaped(chr(10).join(story.listing))}</pre>"
    if story.hint:
        yield f'<p class="hint"><strong>Hint.</strong> {escaped(story.hint)}</p>'


def _packet_html(packet: PacketDifference) -> Iterator[str]:
    yield f"<p>{plain.headline(packet)}</p>"
    lines = list(plain.header_lines(packet))
    if lines:
        yield f"<ul>{''.join(f'<li>{escaped(line)}</li>' for line in lines)}</ul>"
    if not packet.shown:
        return
    yield "<table><tr><th>field</th><th>expected</th><th>got</th></tr>"
    for item in packet.shown:
        values = (item.field, item.expected or plain.NOTHING, item.got or plain.NOTHING)
        cells = "".join(f"<td><code>{escaped(value)}</code></td>" for value in values)
        yield f"<tr>{cells}</tr>"
    yield "</table>"
