"""What students write: the code of a solution that its starter has not, as regions with marks.

Comments and blanks do not count. A region is widened until its brackets fit, so that the starter
that is cut at the marks is a program.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from p4lab.adopt.pair import AdoptError, Pair
from p4lab.course import marks

_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_BLOCK = re.compile(r"^(parser|control|header|struct)\s+(\w+)")
_INNER = re.compile(r"^\s*(?:action|table|state)\s+(\w+)")
_BRACKETS = {"{": 1, "}": -1, "(": 1, ")": -1}
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


def regions(pair: Pair) -> list[Region]:
    """The regions in their order. Raises AdoptError if there is none."""
    code = _plain(pair.solution)
    # A bracket alone belongs to what it closes, which may be far from where the lines differ.
    changed = [span for span in _changed(pair) if _has_code(code, span)]
    found = _joined([_widened(code, *span) for span in changed])
    if not found:
        raise AdoptError("starter and solution are the same but for comments.")
    todo = _tasks(pair)
    return [_region(code, span, todo) for span in found]


def marked(text: str, wanted: Sequence[Region]) -> str:
    """The solution with marks around the regions."""
    lines = text.splitlines()
    for region in sorted(wanted, key=lambda one: -one.first):
        indent = re.match(r"\s*", lines[region.first])
        assert indent is not None
        begin = f"{indent[0]}// BEGIN SOLUTION {region.part}: {region.task}"
        lines[region.last + 1 : region.last + 1] = [f"{indent[0]}// END SOLUTION"]
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


def _changed(pair: Pair) -> Iterator[tuple[int, int]]:
    """Runs of lines that only the solution has."""
    sides = []
    for text in (pair.starter, pair.solution):
        lines = [(number, " ".join(line.split())) for number, line in enumerate(_plain(text))]
        sides.append([(number, line) for number, line in lines if line])
    before, after = sides
    matcher = difflib.SequenceMatcher(
        None, [line for _, line in before], [line for _, line in after], autojunk=False
    )
    for kind, _, _, first, end in matcher.get_opcodes():
        if kind in ("insert", "replace"):
            yield after[first][0], after[end - 1][0]


def _has_code(code: Sequence[str], span: tuple[int, int]) -> bool:
    return any(line.strip("{}(); \t") for line in code[span[0] : span[1] + 1])


def _widened(code: Sequence[str], first: int, last: int) -> tuple[int, int]:
    """The lines with so many more before or behind that as many brackets close as open."""
    depth = _depth(code[first : last + 1])
    while depth > 0 and last + 1 < len(code):
        last += 1
        depth += _depth(code[last : last + 1])
    while depth < 0 and first > 0:
        first -= 1
        depth += _depth(code[first : first + 1])
    return first, last


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
