"""What students write: the code of a solution that its starter has not, as regions with marks.

Comments and blanks do not count. A region is widened until its brackets fit, and has the code that
the starter has in its place, so that what is cut at the marks is the exercise's own starter.
"""

from __future__ import annotations

import difflib
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from p4lab.adopt.pair import AdoptError, Pair
from p4lab.course import marks

_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_BLOCK = re.compile(r"^(parser|control|header|struct)\s+(\w+)")
_INNER = re.compile(r"^\s*(?:action|table|state)\s+(\w+)")
_BRACKETS = {"{": 1, "}": -1, "(": 1, ")": -1}
_TOKEN = re.compile(r"\w+|[^\w\s]")
_Run = tuple[int, int, int, int]
WORDS = 90  # characters of a task
_MISSING = "write what is missing in "


@dataclass(frozen=True)
class Region:
    """Lines of the solution, from 0, the last one included."""

    first: int
    last: int
    block: str
    """The parser, control, header or struct around it"""
    kind: str
    part: str
    task: str
    before: tuple[str, ...] = ()
    """What the starter has in their place"""


def regions(pair: Pair) -> list[Region]:
    """The regions in their order. Raises AdoptError if there is none."""
    code = _plain(pair.solution)
    both = _Aligned.of(pair)
    # A bracket alone belongs to what it closes, which may be far from where the lines differ.
    changed = [span for span in both.changed() if _has_code(code, span)]
    found = _joined([_widened(code, *span) for span in changed])
    if not found:
        raise AdoptError("starter and solution are the same but for comments.")
    todo = _tasks(pair)
    return [replace(_region(code, span, todo), before=both.before(*span)) for span in found]


def marked(text: str, wanted: Sequence[Region]) -> str:
    """The solution with marks around the regions."""
    lines = text.splitlines()
    for region in sorted(wanted, key=lambda one: -one.first):
        indent = re.match(r"\s*", lines[region.first])
        assert indent is not None
        begin = f"{indent[0]}// BEGIN SOLUTION {region.part}: {region.task}"
        before = [f"{indent[0]}//- {line}" for line in region.before]
        lines[region.last + 1 : region.last + 1] = [*before, f"{indent[0]}// END SOLUTION"]
        lines[region.first : region.first] = [begin]
    return "\n".join(lines) + "\n"


def cut(text: str, wanted: Sequence[Region]) -> str:
    """The solution without the regions, as marks cut it."""
    return marks.starter(marked(text, wanted), "solution")


def _plain(text: str) -> list[str]:
    """The lines without comments."""

    def blank(found: re.Match[str]) -> str:
        return found[0] if found[0].startswith('"') else re.sub(r"[^\n]", " ", found[0])

    return _COMMENT.sub(blank, text).splitlines()


def _numbered(text: str) -> tuple[tuple[int, str], ...]:
    """The lines that have code, as tokens with a blank between them, and their numbers."""
    lines = enumerate(" ".join(_TOKEN.findall(line)) for line in _plain(text))
    return tuple((number, line) for number, line in lines if line)


@dataclass(frozen=True)
class _Aligned:
    """Lines with code of starter and solution, with their numbers, and where they differ: runs of
    places in the one and in the other, the end excluded."""

    starter: tuple[tuple[int, str], ...]
    solution: tuple[tuple[int, str], ...]
    runs: tuple[_Run, ...]
    plain: tuple[str, ...]
    """All lines of the starter"""

    @classmethod
    def of(cls, pair: Pair) -> _Aligned:
        """Compares the tokens of each line, whatever blanks are between them."""
        starter, solution = _numbered(pair.starter), _numbered(pair.solution)
        before, after = ([line for _, line in side] for side in (starter, solution))
        matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
        runs = [code[1:] for code in matcher.get_opcodes() if code[0] != "equal"]
        slid = tuple(_slid(after, *run) for run in runs)
        return cls(starter, solution, slid, tuple(_plain(pair.starter)))

    def changed(self) -> Iterator[tuple[int, int]]:
        """Runs of the solution's lines that differ. Where only the starter has lines, the line
        before them counts as one."""
        for _, _, first, end in self.runs:
            at = max(first - 1, 0) if first == end else first
            yield self.solution[at][0], self.solution[max(end - 1, at)][0]

    def before(self, first: int, last: int) -> tuple[str, ...]:
        """The starter's lines in the place of these lines of the solution, without comments."""
        places = [at for at, (number, _) in enumerate(self.solution) if first <= number <= last]
        begin, end = self._place(places[0], False), self._place(places[-1] + 1, True)
        lines = (self.plain[number].rstrip() for number, _ in self.starter[begin:end])
        return tuple(textwrap.dedent("\n".join(lines)).splitlines())

    def _place(self, at: int, is_end: bool) -> int:
        """Where the starter is when the solution is at a place; what only the starter has there is
        behind an end and before a beginning."""
        behind = 0
        for begin, end, first, last in self.runs:
            if last < at or (last == at and (is_end or first < last)):
                behind += (end - begin) - (last - first)
            elif first < at < last:
                return begin if not is_end else end
        return at + behind


def _slid(lines: Sequence[str], begin: int, end: int, first: int, last: int) -> _Run:
    """A run that only the solution has, moved over equal lines to where it closes what it opens;
    else up as far as it goes, so that a bracket alone is the innermost that it can be."""
    if begin != end:
        return begin, end, first, last
    up = down = 0
    while first - up > 0 and lines[first - up - 1] == lines[last - up - 1]:
        up += 1
    while last + down < len(lines) and lines[first + down] == lines[last + down]:
        down += 1
    for at in (0, *range(-1, -up - 1, -1), *range(1, down + 1)):
        if _low_and_depth(lines[first + at : last + at]) == (0, 0):
            return begin + at, end + at, first + at, last + at
    return begin - up, end - up, first - up, last - up


def _has_code(code: Sequence[str], span: tuple[int, int]) -> bool:
    return any(line.strip("{}(); \t") for line in code[span[0] : span[1] + 1])


def _widened(code: Sequence[str], first: int, last: int) -> tuple[int, int]:
    """The lines with so many more before or behind that they close what they open, and no more."""
    while True:
        low, depth = _low_and_depth(code[first : last + 1])
        if low < 0 and first > 0:
            first -= 1
        elif depth > 0 and last + 1 < len(code):
            last += 1
        else:
            return first, last


def _low_and_depth(lines: Sequence[str]) -> tuple[int, int]:
    """How deep in brackets one is behind the lines, and behind the line where that is least."""
    low = depth = 0
    for line in lines:
        depth += _depth([line])
        low = min(low, depth)
    return low, depth


def _depth(lines: Sequence[str]) -> int:
    return sum(_BRACKETS.get(sign, 0) for line in lines for sign in line)


def _joined(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans that touch or overlap as one."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return joined


def _region(code: Sequence[str], span: tuple[int, int], todo: dict[str, str]) -> Region:
    kind = block = inner = ""
    for line in code[: span[0] + 1]:
        if found := _BLOCK.match(line):
            kind, block, inner = found[1], found[2], ""
        elif found := _INNER.match(line):
            inner = found[1]
        elif re.match(r"\s*apply\b", line):
            inner = "apply"
    place = f"{block}.{inner}" if inner else block
    task = todo.get(place) or f"{_MISSING}{place or 'the program'}"
    return Region(*span, block, kind, slug(block or "program"), task)


def _tasks(pair: Pair) -> dict[str, str]:
    """What TODO comments of the starter say, by the place in which they stand."""
    tasks: dict[str, str] = {}
    for comment in _COMMENT.finditer(pair.starter):
        task = _task(comment[0])
        if task:
            before = _plain(pair.starter[: comment.start()])
            place = _region([*before, ""], (len(before), len(before)), {})
            tasks.setdefault(place.task.removeprefix(_MISSING), task)
    return tasks


def _task(comment: str) -> str:
    """The sentence behind a TODO at the beginning of a line; else nothing."""
    lines = [line.strip(" \t*/") for line in comment.splitlines()]
    at = next((at for at, line in enumerate(lines) if line.startswith("TODO")), None)
    if at is None:
        return ""
    words = lines[at].removeprefix("TODO").lstrip(": ")
    for line in lines[at + 1 :]:
        if words and (not line or not line[0].islower() or words[-1] in ".:"):
            break
        words = f"{words} {line.lstrip('- ')}".strip()
    words = words.split(". ")[0].rstrip(" .:")
    if len(words) > WORDS:
        words = words[:WORDS].rpartition(" ")[0] + " ..."
    return words[:1].lower() + words[1:]


def slug(name: str) -> str:
    """A name as an id: MyParser is my-parser."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()
    return re.sub(r"[^a-z0-9]+", "-", words).strip("-") or "part"


def in_part(found: Sequence[Region], parts: dict[str, str]) -> list[Region]:
    """The regions with other parts for some."""
    return [replace(region, part=parts.get(region.part, region.part)) for region in found]
