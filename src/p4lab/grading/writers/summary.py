"""The class, for the instructor: how checks went, what went wrong most, everybody's points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from p4lab.grading.alike import Alike
from p4lab.grading.attempts import FAILS
from p4lab.grading.record import Verdict
from p4lab.grading.writers import heatmap, plain, statistics
from p4lab.grading.writers.changes import Change
from p4lab.grading.writers.report import Heading, page
from p4lab.grading.writers.text import (
    clipped,
    escaped,
    markdown,
    markdown_cell,
    number,
    one_line,
)
from p4lab.plurals import count_of

COMMON = 10
"""How many kinds of mistakes are listed."""
SAMPLE_CHARACTERS = 80
ALIKE = (
    "Lines that few of the class have, and that are neither in the starter nor in an answer kept "
    "with the lab; or nearly all lines of such an answer. A reason to look, not a proof."
)
STATISTICS = (
    "Difficulty is the share of the points that the class got; discrimination how much more those "
    "got who are good elsewhere, from -1 to 1. A check with less than 0.2 tells little, and one "
    "with less than 0 may be wrong."
)
MOST_NAMES = 12
"""Of a larger group the others are counted; alike.csv has all"""
MOST_ROWS = 40
MORE_ALIKE = "There are more: alike.csv has all of them."


@dataclass(frozen=True)
class CheckCount:
    """How one check went; numbers of students."""

    title: str
    passed: int
    failed: int
    hidden: int
    """failed in hidden cases only"""
    skipped: int
    trouble: int


@dataclass(frozen=True)
class Mistake:
    """A kind of difference in one check, and how many students have it."""

    check: str
    signature: str
    students: int


@dataclass(frozen=True)
class Aside:
    """Who handed in nothing, sentences that an instructor should read, the names of students as
    far as a roster has them, and teams."""

    absent: frozenset[str] = frozenset()
    remarks: Sequence[str] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    teams: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Those who handed in together, by each of them"""

    def called(self, student: str) -> str:
        """A student's id, and the name if that is another."""
        name = self.names.get(student, "")
        return f"{student} ({name})" if name not in ("", student) else student

    def present(self, verdicts: Sequence[Verdict]) -> list[Verdict]:
        """Those on what was handed in."""
        return [verdict for verdict in verdicts if verdict.student not in self.absent]

    def handed_in(self, verdicts: Sequence[Verdict]) -> str:
        """How many submissions there are, a team's counted once, and of how many students."""
        students = [verdict.student for verdict in self.present(verdicts)]
        count = len({self.teams.get(student, (student,)) for student in students})
        told = count_of(count, "submission")
        return told if count == len(students) else f"{told} of {count_of(len(students), 'student')}"


NOTHING_ASIDE = Aside()


def counts(verdicts: Sequence[Verdict]) -> list[CheckCount]:
    """In the order of the lab."""
    rows = []
    for place, check in enumerate(verdicts[0].checks if verdicts else ()):
        tally = Counter(heatmap.state(verdict, verdict.checks[place]) for verdict in verdicts)
        rows.append(CheckCount(check.title, *(tally[name] for name in _ORDER)))
    return rows


_ORDER = ("passed", "failed", "hidden", "skipped", "trouble")
_HEADS = ("passed", "failed", "hidden only", "not run", "not graded")


def mistakes(verdicts: Sequence[Verdict]) -> list[Mistake]:
    """The most frequent ones first."""
    tally = Counter(
        (check.title, check.story.signature)
        for verdict in verdicts
        for check in verdict.checks
        if check.status == "failed" and check.story
    )
    ranked = sorted(tally.items(), key=lambda item: (-item[1], item[0]))
    return [Mistake(check, kind, students) for (check, kind), students in ranked[:COMMON]]


def median(verdicts: Sequence[Verdict]) -> float:
    """Of the points; 0 if there are none."""
    points = sorted(verdict.points for verdict in verdicts) or [0]
    middle = len(points) // 2
    return points[middle] if len(points) % 2 else (points[middle - 1] + points[middle]) / 2


def _facts(verdicts: Sequence[Verdict], aside: Aside) -> str:
    most = verdicts[0].max_points
    handed_in = aside.handed_in(verdicts)
    verdicts = aside.present(verdicts)
    full = sum(verdict.passed for verdict in verdicts)
    trouble = sum(bool(verdict.trouble) for verdict in verdicts)
    told = (
        f"{handed_in}, median {number(median(verdicts))} of "
        f"{number(most)} points, {full} with every check passed, {trouble} that could not be graded"
    )
    return "; ".join(filter(None, (told, proofs(verdicts))))


def proofs(verdicts: Sequence[Verdict]) -> str:
    """How many are proven, refuted, sampled, of those that were tried to be proven; empty if nobody
    asked, and why if none was tried although some pass all checks."""
    found = [verdict.proof for verdict in verdicts if verdict.proof]
    if not found:
        return ""
    tried = [one for one in found if plain.is_tried(one)]
    if not tried:
        told = sorted({one.told for one in found} - {FAILS})
        return f"nothing proven: {'; '.join(told)}" if told else ""
    tally = Counter(one.status for one in tried)
    return (
        f"{tally['proven']} proven within bounds, {tally['refuted']} refuted by a proof, "
        f"{tally['sampled']} sampled only"
    )


def as_markdown(
    lab: str,
    verdicts: Sequence[Verdict],
    heading: Heading,
    files: Mapping[str, str],
    alike: Sequence[Alike] = (),
    changed: Sequence[Change] = (),
    aside: Aside = NOTHING_ASIDE,
) -> str:
    """`files` are the names of the students' reports."""
    return "\n".join(_markdown(lab, verdicts, heading, files, alike, changed, aside)) + "\n"


def _markdown(
    lab: str,
    verdicts: Sequence[Verdict],
    heading: Heading,
    files: Mapping[str, str],
    alike: Sequence[Alike] = (),
    changed: Sequence[Change] = (),
    aside: Aside = NOTHING_ASIDE,
) -> Iterator[str]:
    yield f"# {markdown(lab)}: {markdown(heading.title)}"
    yield from ("", f"{_facts(verdicts, aside)}.")
    for remark in aside.remarks:
        yield from ("", markdown(remark))
    yield from ("", "## Checks", "")
    yield f"| check | {' | '.join(_HEADS)} |"
    yield f"|---|{'---:|' * len(_HEADS)}"
    for row in counts(verdicts):
        yield f"| {markdown(row.title)} | {' | '.join(map(str, _numbers(row)))} |"
    found = mistakes(verdicts)
    if found:
        yield from ("", "## Most frequent mistakes", "")
        yield from ("| check | kind | students |", "|---|---|---:|")
        for one in found:
            yield f"| {markdown(one.check)} | {markdown(one.signature)} | {one.students} |"
    measured = statistics.items(verdicts)
    if any(item.difficulty is not None for item in measured):
        yield from ("", "## Checks as questions", "", STATISTICS, "")
        yield from ("| check | points | difficulty | discrimination |", "|---|---:|---:|---:|")
        for item in measured:
            figures = (statistics.shown(item.difficulty), statistics.shown(item.discrimination))
            yield f"| {markdown(item.title)} | {number(item.points)} | {' | '.join(figures)} |"
    if changed:
        yield from ("", "## Changed points", "")
        yield from ("| student | before | now | by |", "|---|---:|---:|---|")
        for change in changed:
            points = f"{_maybe(change.before)} | {_maybe(change.after)}"
            why = markdown("; ".join((*change.checks, *change.why)))
            yield f"| {markdown_cell(aside.called(change.student))} | {points} | {why} |"
    if alike:
        yield from ("", "## Shared lines", "", ALIKE, "")
        yield from ("| students | lines | such as |", "|---|---:|---|")
        for group in alike[:MOST_ROWS]:
            called = map(aside.called, group.students[:MOST_NAMES])
            names = ", ".join(map(markdown_cell, called))
            told = f"{names}{_others(group)}"
            yield f"| {told} | {len(group.lines)} | {markdown_cell(_sample(group))} |"
        yield from ("", MORE_ALIKE) if len(alike) > MOST_ROWS else ()
    yield from ("", "![One row per student, one column per check](heatmap.svg)", "")
    yield from ("## Students", "", "| student | points | |", "|---|---:|---|")
    for verdict in verdicts:
        name = markdown_cell(aside.called(verdict.student))
        link = f"[report](students/{_quoted(files[verdict.student])}.md)"
        yield f"| {name} | {number(verdict.points)} | {link} {markdown(verdict.trouble)} |"


def as_html(
    lab: str,
    verdicts: Sequence[Verdict],
    heading: Heading,
    files: Mapping[str, str],
    alike: Sequence[Alike] = (),
    changed: Sequence[Change] = (),
    aside: Aside = NOTHING_ASIDE,
) -> str:
    """The same with the heat map in it."""
    return page(
        f"{lab}: {aside.handed_in(verdicts)}",
        "\n".join(_html(lab, verdicts, heading, files, alike, changed, aside)),
    )


def _html(
    lab: str,
    verdicts: Sequence[Verdict],
    heading: Heading,
    files: Mapping[str, str],
    alike: Sequence[Alike] = (),
    changed: Sequence[Change] = (),
    aside: Aside = NOTHING_ASIDE,
) -> Iterator[str]:
    yield f"<h1>{escaped(lab)}: {escaped(heading.title)}</h1>"
    yield f"<p>{_facts(verdicts, aside)}.</p>"
    for remark in aside.remarks:
        yield f"<p>{escaped(remark)}</p>"
    heads = "".join(f'<th class="n">{name}</th>' for name in _HEADS)
    yield f"<h2>Checks</h2><table><tr><th>check</th>{heads}</tr>"
    for row in counts(verdicts):
        cells = "".join(f'<td class="n">{value}</td>' for value in _numbers(row))
        yield f"<tr><td>{escaped(row.title)}</td>{cells}</tr>"
    yield "</table>"
    found = mistakes(verdicts)
    if found:
        yield "<h2>Most frequent mistakes</h2>"
        yield '<table><tr><th>check</th><th>kind</th><th class="n">students</th></tr>'
        for one in found:
            yield (
                f"<tr><td>{escaped(one.check)}</td><td>{escaped(one.signature)}</td>"
                f'<td class="n">{one.students}</td></tr>'
            )
        yield "</table>"
    yield from _statistics_html(verdicts)
    if changed:
        yield "<h2>Changed points</h2><table><tr><th>student</th>"
        yield '<th class="n">before</th><th class="n">now</th><th>by</th></tr>'
        for change in changed:
            why = escaped("; ".join((*change.checks, *change.why)))
            yield f"<tr><td>{escaped(aside.called(change.student))}</td>"
            yield f'<td class="n">{_maybe(change.before)}</td>'
            yield f'<td class="n">{_maybe(change.after)}</td><td>{why}</td></tr>'
        yield "</table>"
    if alike:
        yield f"<h2>Shared lines</h2><p>{ALIKE}</p>"
        yield '<table><tr><th>students</th><th class="n">lines</th><th>such as</th></tr>'
        for group in alike[:MOST_ROWS]:
            called = map(aside.called, group.students[:MOST_NAMES])
            names = ", ".join(map(escaped, called))
            yield (
                f"<tr><td>{names}{escaped(_others(group))}</td>"
                f'<td class="n">{len(group.lines)}</td>'
                f"<td><code>{escaped(_sample(group))}</code></td></tr>"
            )
        yield "</table>"
        yield f"<p>{MORE_ALIKE}</p>" if len(alike) > MOST_ROWS else ""
    yield "<h2>Students and checks</h2>"
    yield f'<p class="wide">{heatmap.draw(lab, verdicts)}</p>'
    yield '<h2>Students</h2><table><tr><th>student</th><th class="n">points</th>'
    yield "<th></th></tr>"
    for verdict in verdicts:
        link = f"students/{_quoted(files[verdict.student])}.html"
        yield (
            f'<tr><td><a href="{link}">{escaped(aside.called(verdict.student))}</a></td>'
            f'<td class="n">{number(verdict.points)}</td>'
            f"<td>{escaped(verdict.trouble)}</td></tr>"
        )
    yield "</table>"


def _statistics_html(verdicts: Sequence[Verdict]) -> Iterator[str]:
    measured = statistics.items(verdicts)
    if all(item.difficulty is None for item in measured):
        return
    yield f"<h2>Checks as questions</h2><p>{STATISTICS}</p><table><tr><th>check</th>"
    yield '<th class="n">points</th><th class="n">difficulty</th>'
    yield '<th class="n">discrimination</th></tr>'
    for item in measured:
        yield f'<tr><td>{escaped(item.title)}</td><td class="n">{number(item.points)}</td>'
        yield f'<td class="n">{statistics.shown(item.difficulty)}</td>'
        yield f'<td class="n">{statistics.shown(item.discrimination)}</td></tr>'
    yield "</table>"


def _maybe(points: float | None) -> str:
    return "-" if points is None else number(points)


def _others(group: Alike) -> str:
    """The rest of a large group, and the known text that is shared, if it is one."""
    left = len(group.students) - MOST_NAMES
    return (f" and {left} others" if left > 0 else "") + (
        f" and {group.other}" if group.other else ""
    )


def _sample(group: Alike) -> str:
    """The longest line of what is shared."""
    return clipped(one_line(max(group.lines, key=len)), SAMPLE_CHARACTERS)


def _numbers(row: CheckCount) -> tuple[int, ...]:
    return row.passed, row.failed, row.hidden, row.skipped, row.trouble


def _quoted(name: str) -> str:
    """A name of `text.file_names` in a link: a per cent sign is its only special character."""
    return name.replace("%", "%25")
