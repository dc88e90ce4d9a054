"""Marks in a solution, from which starters and quotations are cut.

The solution is the one source of a lab's code. A region between

    // BEGIN SOLUTION part: what is to be done
    // END SOLUTION

is what a student writes for that part of the lab; the starter has one line there,
`// TODO part: what is to be done`. Lines in the region that begin with `//-` are code that the
starter has behind that line, and the solution has not. A region between `// BEGIN QUOTE name` and
`// END QUOTE` is code that a handout shows. In files that are not P4 the marks begin with `#`.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass

_MARK = re.compile(
    r"^(?P<indent>[ \t]*)(?P<sign>//|#) (?P<end>BEGIN|END) (?P<kind>SOLUTION|QUOTE)\b(?P<rest>.*)$"
)
_BEFORE = re.compile(r"^(?P<indent>[ \t]*)(?://|#)- ?(?P<code>.*\n?)$")
_LOOSE = re.compile(r"\b(BEGIN|END)\s+(SOLUTION|QUOTE)\b", re.IGNORECASE)
_BEGIN_SOLUTION = re.compile(r" (?P<name>[a-z][a-z0-9-]*): (?P<task>\S.*)$")
_BEGIN_QUOTE = re.compile(r" (?P<name>[a-z][a-z0-9-]*)$")


class MarkError(Exception):
    """A mark that does not fit; the message has file and line."""


@dataclass(frozen=True)
class Region:
    """Lines between two marks. `first` and `last` are the lines of the marks, from 1."""

    kind: str  # SOLUTION or QUOTE
    name: str
    task: str  # empty for QUOTE
    indent: str
    sign: str  # how a comment begins
    first: int
    last: int

    @property
    def todo(self) -> str:
        """What a starter has in the place of a solution."""
        return f"{self.sign} TODO {self.name}: {self.task}"


def regions(text: str, file: str) -> list[Region]:
    """All regions in the order of their first lines. Regions of one kind do not nest.

    `file` is named in messages. Raises MarkError.
    """
    found: list[Region] = []
    open_marks: dict[str, tuple[int, re.Match[str], str, str]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        mark = _MARK.match(line)
        if mark is None:
            if _LOOSE.search(line):
                raise MarkError(
                    f"{file}:{number}: a mark stands alone on its line, as in "
                    "'// BEGIN SOLUTION name: task' or '// END SOLUTION'."
                )
            continue
        kind = mark["kind"]
        if mark["end"] == "BEGIN":
            if kind in open_marks:
                line_before = open_marks[kind][0]
                raise MarkError(
                    f"{file}:{number}: BEGIN {kind} inside of the one in line {line_before}; "
                    f"end that first."
                )
            open_marks[kind] = (number, mark, *_begin(mark, file, number))
            continue
        if kind not in open_marks or mark["rest"].strip():
            raise MarkError(f"{file}:{number}: END {kind} without a BEGIN {kind} before it.")
        first, begin, name, task = open_marks.pop(kind)
        found.append(Region(kind, name, task, begin["indent"], begin["sign"], first, number))
    for kind, (first, *_) in open_marks.items():
        raise MarkError(f"{file}:{first}: BEGIN {kind} is never ended; add '// END {kind}'.")
    return sorted(found, key=lambda region: region.first)


def _begin(mark: re.Match[str], file: str, number: int) -> tuple[str, str]:
    """Name and task of a BEGIN."""
    if mark["kind"] == "SOLUTION":
        words = _BEGIN_SOLUTION.match(mark["rest"])
        if words is None:
            raise MarkError(f"{file}:{number}: write '// BEGIN SOLUTION name: what is to be done'.")
        return words["name"], words["task"]
    words = _BEGIN_QUOTE.match(mark["rest"])
    if words is None:
        raise MarkError(f"{file}:{number}: write '// BEGIN QUOTE name'.")
    return words["name"], ""


def starter(text: str, file: str) -> str:
    """What a student begins with: a TODO for every solution. Raises MarkError."""
    lines = text.splitlines(keepends=True)
    found = regions(text, file)
    kept = _replace(lines, [one for one in found if one.kind == "SOLUTION"], 0, len(lines))
    return "".join(line for line in kept if _MARK.match(line) is None)


def solution(text: str, file: str) -> str:
    """The solution as an instructor hands it out: all code, no marks. Raises MarkError."""
    lines = text.splitlines(keepends=True)
    before = {
        number
        for region in regions(text, file)
        if region.kind == "SOLUTION"
        for number in range(region.first, region.last)
        if _BEFORE.match(lines[number - 1])
    }
    return "".join(
        line
        for number, line in enumerate(lines, 1)
        if number not in before and _MARK.match(line) is None
    )


def quotation(text: str, file: str, name: str) -> str:
    """The code of the QUOTE regions of that name, without its common indent. Raises MarkError."""
    all_regions = regions(text, file)
    lines = text.splitlines(keepends=True)
    parts = [
        textwrap.dedent("".join(_plain(lines, region, all_regions)))
        for region in all_regions
        if region.kind == "QUOTE" and region.name == name
    ]
    if not parts:
        known = sorted({region.name for region in all_regions if region.kind == "QUOTE"})
        raise MarkError(f"{file}: no QUOTE named {name!r}; it has {', '.join(known) or 'none'}.")
    return "\n".join(parts)


def _plain(lines: list[str], quote: Region, all_regions: list[Region]) -> list[str]:
    """The lines of a quotation as the starter has them: it never shows a solution."""
    inside = [
        region
        for region in all_regions
        if quote.first < region.first and region.last < quote.last and region.kind == "SOLUTION"
    ]
    return _replace(lines, inside, quote.first, quote.last - 1)


def _replace(lines: list[str], solutions: list[Region], start: int, end: int) -> list[str]:
    """Lines `start`..`end` (from 0, end excluded) with a TODO for every solution, and the code that
    is there before it."""
    result, at = [], start
    for region in solutions:
        result += lines[at : region.first - 1]
        result.append(f"{region.indent}{region.todo}\n")
        inside = map(_BEFORE.match, lines[region.first : region.last - 1])
        result += [one["indent"] + one["code"] for one in inside if one is not None]
        at = region.last
    return result + lines[at:end]
