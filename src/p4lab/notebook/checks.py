"""The verdict of `p4lab check` in a notebook."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from p4lab.course.material import lacking, remedied
from p4lab.errors import ArgumentError
from p4lab.grading import asked
from p4lab.grading.course import Course, load
from p4lab.grading.progress import ProgressError, recorded
from p4lab.grading.record import (
    CheckResult,
    PacketDifference,
    Story,
    Verdict,
    Warned,
    before,
    by_part,
    of_part,
    opened,
)
from p4lab.grading.steps import Help, ask
from p4lab.grading.submission import Submission, not_judged
from p4lab.grading.text import MOST_WARNINGS, number_of, waits
from p4lab.notebook.folder import Folder

if TYPE_CHECKING:
    from p4lab.widgets.verdict import Answer, Failed, VerdictView

_SIGNS = {"passed": "✓ passed", "failed": "✗ failed", "skipped": "– waits"}
_COLOURS = {
    "passed": "var(--good, #237032)",
    "failed": "var(--hot, #c2410c)",
    "skipped": "var(--dim, #5c6773)",
}

STYLE = """
.p4c { font: 13px/1.45 var(--jp-ui-font-family, system-ui, sans-serif);
  color: var(--jp-ui-font-color1, currentColor); max-width: 62em }
.p4c table { border-collapse: collapse; margin: 6px 0; font-size: 13px }
.p4c td, .p4c th { text-align: left !important; padding: 2px 10px 2px 2px; background: none }
.p4c th { padding-top: 6px; color: inherit } .p4c-wide th { padding-top: 2px }
.p4c td.n { text-align: right !important } .p4c .s { font-weight: 600; white-space: nowrap }
.p4c .dim { color: var(--dim, #5c6773) }
.p4c-story { border-left: 4px solid var(--hot, #c2410c); padding: 2px 12px; margin: 8px 0 }
.p4c-story.warning { border-color: #c28a00 }
.p4c .p4c-story pre { margin: 4px 0; background: none; color: inherit; white-space: pre-wrap;
  word-break: normal; overflow-wrap: normal; overflow-x: auto;
  font: 13px/1.4 var(--jp-code-font-family, monospace) }
.p4c .p4c-line { white-space: pre }
.p4c .p4c-help { display: inline-block; box-sizing: border-box; max-width: 100%;
  vertical-align: top; white-space: pre-wrap; overflow-wrap: anywhere;
  padding-left: var(--inset); text-indent: calc(-1 * var(--inset));
  background: linear-gradient(currentColor 0 0) no-repeat;
  background-position: calc(var(--inset) - 7.5ch) 1.4em; background-size: 1px 100% }
.p4c-wide { overflow-x: auto } .p4c-wide th { white-space: nowrap }
.p4c li, .p4c div { overflow-wrap: anywhere }
div.p4c { container-type: inline-size }
@container (max-width: 400px) { /* a title below what became of it, not in a column of two words */
  .p4c :is(table, tbody):has(> tr[data-check], > tbody > tr[data-check]) { display: block }
  .p4c tbody:has(> tr[data-check]) > tr { display: grid; grid-template-columns: 1fr auto }
  .p4c tr[data-check] td:nth-child(2) { grid-area: 2 / 1 / auto / -1; padding-bottom: 6px }
}
[data-jp-theme-light="false"] .p4c { --good: #69c97d; --hot: #ff8a4c; --dim: #a9b1b8 }
.p4c .differs { color: var(--hot, #c2410c); font-weight: 600 }
"""


class Checked:
    """What the checks said, of one part of the lab or of all parts."""

    def __init__(
        self,
        course: Course,
        verdict: Verdict,
        part: str | None,
        folder: Folder,
        found: Submission,
        progress: str = "",
    ) -> None:
        """`found` is what was read in the student's folder, `progress` says what is done of a lab
        that keeps that."""
        self.progress = progress
        self._whole = verdict
        self.verdict = opened(verdict, part)
        self.trouble, lacks = remedied(verdict.trouble, lacking(course.name, folder.path))
        self.notes = [*map(not_judged, found.changed), *found.notes, *lacks]
        self.folder = folder
        self._found = found
        self.course = course
        self.part = part

    @property
    def checks(self) -> Sequence[CheckResult]:
        """The checks of the part, and those without a part that did not pass."""
        return of_part(self.verdict, self.part)

    @property
    def passed(self) -> bool:
        return not self.verdict.trouble and all(one.status == "passed" for one in self.checks)

    def __repr__(self) -> str:
        lines = [f"{_SIGNS[one.status]}: {self._name(one)}" for one in self.checks]
        told = next((one.story for one in self.checks if one.story), None)
        told_lines = [told.summary, told.hint] if told else []
        said = [self._first(), self.progress, *self.notes, self.trouble, *told_lines]
        return "\n".join([*lines, self._sum(), *filter(None, said)])

    def _name(self, one: CheckResult) -> str:
        """A check's number and its title."""
        return f"{number_of(self.course, one.id)} {one.title}".lstrip()

    def _first(self) -> str:
        """What to do first, if all of the part waits."""
        first = before(self.verdict, self.part)
        return f'First: lab.check("{first}")' if first else ""

    def _sum(self) -> str:
        return f"{_points(self.checks, ' of ')} points"

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        if not any(one.story for one in self.checks):
            return {"text/html": self._repr_html_(), "text/plain": repr(self)}
        return self.view()._repr_mimebundle_(**kwargs)

    def view(self) -> VerdictView:
        """The verdict with a film and hints for each check that failed."""
        from p4lab.widgets.verdict import VerdictView  # heavy: ipywidgets

        return VerdictView(*self.shown())

    def show_in(self, view: VerdictView) -> None:
        """Puts the verdict in the place of the one that a view shows."""
        view.show(*self.shown())

    def of(self, part: str | None) -> Checked:
        """The same for one part of the lab."""
        return Checked(self.course, self._whole, part, self.folder, self._found, self.progress)

    def shown(self) -> tuple[str, str, list[Failed], Answer, Answer]:
        """What a view of it takes: the verdict as HTML and as text, the checks that failed, what
        makes their films, and what gives hints."""
        with_packet = {one.id for one in self.course.checks if one.scenario or one.parses}
        failed: list[Failed] = [
            {
                "id": one.id,
                "title": one.title,
                "film": one.id in with_packet and not one.story.listing,
            }
            for one in self.checks
            if one.story
        ]
        return self._repr_html_(), repr(self), failed, self._film_of, self._hint_of

    def _film_of(self, check: str) -> dict[str, Any]:
        """The film of a check, with the lines of the files in it."""
        film = _grader().film_here(self._found.files, check, self.course)
        files = {**self.course.sources, **self.course.starter, **self._found.files}
        named = {frame.place.file for frame in film.frames if frame.place}
        sources = {name: files[name].splitlines() for name in named if name in files}
        return {**film.to_json(), "sources": sources}

    def _hint_of(self, check: str) -> dict[str, Any]:
        """The hints to a check, one step more than the student's folder says."""
        folder = self.folder.path
        try:
            return ask(self.course, self.verdict, check, folder, asked.kept(folder)).to_json()
        except OSError as error:
            why = f"The hint cannot be kept in {folder / asked.FILE}: {error.strerror}."
            return Help(check, "", why=why).to_json()

    def _repr_html_(self) -> str:
        rows = "".join(self._rows())
        parts = [f"<table><tbody>{rows}</tbody></table><b>{self._sum()}</b>"]
        for line in filter(None, [self._first(), self.progress]):
            parts.append(f"<div>{escape(line)}</div>")
        parts.extend(f'<div class="differs">{escape(note)}</div>' for note in self.notes)
        if self.trouble:
            parts.append(f'<div class="p4c-story">{escape(self.trouble)}</div>')
        told = next((one for one in self.checks if one.story), None)
        if told is not None and told.story is not None:
            parts.append(f'<div class="p4c-story"><b>{escape(self._name(told))}</b>')
            parts.extend(_told(told.story))
            parts.append("</div>")
        parts.extend(_warned(one) for one in self.verdict.warnings[:MOST_WARNINGS])
        return f'<div class="p4c"><style>{STYLE}</style>{"".join(parts)}</div>'

    def _rows(self) -> Iterator[str]:
        """The checks below the parts that they are of; one part alone needs no heading."""
        groups = by_part(self.checks)
        titles = {part.id: f"{at} {part.title}" for at, part in enumerate(self.course.parts, 1)}
        for part, own in groups.items():
            if part and self.part is None:
                title = escape(titles.get(part, part))
                yield f'<tr><th scope="rowgroup" colspan=2>{title}<td class="n">{_points(own)}</tr>'
            yield from map(self._row, own)

    def _row(self, one: CheckResult) -> str:
        points = _points([one]) if one.max_points else ""
        told = f"({waits(self.course, self.verdict, one)})" if one.waits_for else ""
        more = f' <span class="dim">{escape(told)}</span>' if told else ""
        return (
            f'<tr data-check="{escape(one.id)}"><td class="s" style="color:{_COLOURS[one.status]}">'
            f'{_SIGNS[one.status]}<td>{escape(self._name(one))}{more}<td class="n">{points}</tr>'
        )


def _points(checks: Sequence[CheckResult], of: str = "/") -> str:
    points, most = sum(one.points for one in checks), sum(one.max_points for one in checks)
    return f"{points:g}{of}{most:g}"


def _warned(one: Warned) -> str:
    if one.listing:
        return f'<div class="p4c-story warning">{_listed(one.listing)}</div>'
    where = f"{one.place.file}:{one.place.line}: " if one.place else ""
    return f'<div class="dim">warning: {escape(where + one.message)} [{escape(one.code)}]</div>'


def _told(story: Story) -> Iterator[str]:
    """What was done, what came of it, where, and a hint."""
    if story.listing:
        yield from map(_listed, story.listing)
        return
    steps = "".join(f"<li>{escape(step)}</li>" for step in story.steps)
    yield f"<ol>{steps}</ol><div>{escape(story.summary)}</div>"
    for packet in story.differences[:2]:
        yield _difference(packet)
    if story.place is not None:
        yield f"<div><b>{escape(story.place.file)}:{story.place.line}</b> {escape(story.why)}</div>"
        if story.place.text:
            yield _listed(f"{story.place.line:>5} | {story.place.text}")
    elif story.why:
        yield f"<div>{escape(story.why)}</div>"
    if story.hint:
        yield f"<div><b>Hint:</b> {escape(story.hint)}</div>"


_LINES = re.compile(r"^([ \d]*[|│╭├╰─╯].*)$", re.MULTILINE)
_HELP = re.compile(r" *│ (?:Help|Note): ")


def _listed(block: str) -> str:
    """What the compiler says, as parts in which sentences may be broken, but no line of a program
    and no caret below one (`excerpted` in common.js)."""
    parts = [
        _framed(part) if index % 2 else escape(part)
        for index, part in enumerate(_LINES.split(block))
    ]
    return f"<pre tabindex=0>{''.join(parts)}</pre>"


def _framed(line: str) -> str:
    found = _HELP.match(line)
    kind = f'p4c-help" style="--inset: {found.end()}ch' if found else "p4c-line"
    return f'<span class="{kind}">{escape(line)}</span>'


def _difference(packet: PacketDifference) -> str:
    ports = (packet.expected_port, packet.got_port)
    rows = [
        *([("port", *map(_port, ports))] if ports != (None, None) else []),
        ("headers", " ".join(packet.expected_headers) or "–", " ".join(packet.got_headers) or "–"),
        *((field.field, field.expected or "–", field.got or "–") for field in packet.shown),
    ]
    body = "".join(
        f"<tr><th>{escape(name)}<td>{escape(expected)}"
        f'<td class="{"differs" if expected != got else ""}">{escape(got)}</tr>'
        for name, expected, got in rows
    )
    return (
        '<div class="p4c-wide" tabindex=0 role=region aria-label="Expected and got"><table>'
        f"<thead><tr><td><th>expected<th>got</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _port(port: int | None) -> str:
    return "no packet" if port is None else str(port)


def check(folder: Folder, part: str | None = None) -> Checked:
    """Judges the student's files as `p4lab check` does; `part` shows one part of the lab.

    Raises LabError and GradingError for a lab that is not sound, ValueError for a part that it does
    not have.
    """
    course = load(folder.lab)
    parts = [one.id for one in course.parts]
    if part is not None and part not in parts:
        raise ArgumentError(f"{folder.lab} has no part {part!r}; it has {', '.join(parts)}.")
    found, verdict = _grader().check_here(folder.path, course)
    progress = _progress(course, folder, verdict)
    return Checked(course, verdict, part, folder, found, progress)


def _grader() -> Any:
    """Who judges: a worker, since a kernel has many threads, which stays for the next time. A
    browser has no processes."""
    if sys.platform == "emscripten":
        from p4lab.grading import within as grader
    else:
        from p4lab.grading import workers as grader  # heavy: processes
    return grader


def _progress(course: Course, folder: Folder, verdict: Verdict) -> str:
    """What is done in the folder, this verdict included, or why that is not kept."""
    try:
        kept = recorded(course, folder.path, verdict)
    except ProgressError as error:
        return str(error)
    return str(kept) if kept else ""
