"""Blocks of P4 on pages as live examples: what the page's script needs to compile one."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import PurePosixPath

_QUOTE = re.compile(r"quote (?P<file>\S+) (?P<name>\S+)")
_ASKED = {"W06": {"lint": "bmv2"}, "W07": {"lint": "tofino"}, "E07": {"p4info": "yes"}}
"""What the compiler has to be asked for by name before it gives a code, by how that begins"""


@dataclass(frozen=True)
class Piece:
    """Lines of a file: their text without indentation, the first one's number from 1, and what
    stands before each of them in the file."""

    text: str
    first: int
    indent: str


def pieces(quotation: str, text: str) -> list[Piece]:
    """Where a quotation is in a file. It may be of several places, in their order, with an empty
    line between them. Raises ValueError if it is not there."""
    wanted, lines = quotation.splitlines(), text.splitlines()
    found = []
    at, after = 0, 0
    while at < len(wanted):
        piece = _longest(wanted[at:], lines, after)
        found.append(piece)
        count = len(piece.text.splitlines())
        at, after = at + count + 1, piece.first - 1 + count
    return found


def _longest(wanted: list[str], lines: list[str], after: int) -> Piece:
    """The longest beginning, up to an empty line or the end, that is in a file."""
    ends = [
        count for count in range(len(wanted), 0, -1) if count == len(wanted) or not wanted[count]
    ]
    for count in ends:
        for start in range(after, len(lines) - count + 1):
            here = "\n".join(lines[start : start + count])
            if textwrap.dedent(here).splitlines() == wanted[:count]:
                first = next(line for line in wanted[:count] if line)
                indent = lines[start + wanted.index(first)].removesuffix(first)
                return Piece("\n".join(wanted[:count]) + "\n", start + 1, indent)
    raise ValueError(f"it is not in the file: {wanted[0]!r}")


def live(page: PurePosixPath, files: Mapping[str, str], comment: str, text: str) -> str:
    """The HTML of a block of P4 on a page. A quotation is of one of a lab's `files`, and
    is compiled as part of it. Raises ValueError for a quotation of something else."""
    quote = _QUOTE.fullmatch(comment)
    if quote is None:
        return _block(text, program=f"{page.stem}.p4", **_ASKED.get(page.stem[:3], {}))
    if quote["file"] not in files:
        raise ValueError(f"{page}: {quote['file']} is not a file of the lab")
    found = pieces(text, files[quote["file"]])
    return "".join(_quoted(page.parent.name, quote["file"], piece) for piece in found)


def _quoted(lab: str, file: str, piece: Piece) -> str:
    return _block(piece.text, lab=lab, file=file, first=str(piece.first), indent=piece.indent)


def _block(text: str, **told: str) -> str:
    attributes = "".join(f' data-{name}="{escape(value)}"' for name, value in told.items())
    code = f'<pre><code tabindex="0" class="language-p4">{escape(text)}</code></pre>'
    return f'<div class="live"{attributes}>{code}</div>\n'
