"""Text of unknown origin, such as names of files and lines of source, made harmless."""

from __future__ import annotations

import hashlib
import html
import re
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any

STRING_CHARACTERS = 4_000
"""Longest text of one field of a record."""
LIST_ITEMS = 200
"""Most items of one list of a record."""
FILE_NAME_CHARACTERS = 80
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

# What Markdown takes for a mark within a line; an underscore only at the edge of a word.
_PUNCTUATION = re.compile(
    r"([\\`*{}\[\]#!|~@]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|(?<=:)//|(?<=www)\.)"
)
# What makes a list, a quotation or a heading of a line that begins with it.
_BLOCK = re.compile(r"^([-+=:>]|\d+(?=[.)]))")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
# What a spreadsheet takes for a formula: at the beginning of a cell, and behind whatever begins a
# cell for one that divides lines elsewhere, as at semicolons in half of Europe. East Asian ones
# take the wide signs, too.
_FORMULA = re.compile(r"(^|[;,\t\r\n|\"'])(\s*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20]\s*\S)")
_FORMS = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def clean(text: str) -> str:
    """Without what could control a terminal, turn the direction of writing or break a file: such
    characters become U+FFFD. Line ends and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char if char in "\n\t" or unicodedata.category(char) not in _FORMS else REPLACEMENT
        for char in text.replace("\r\n", "\n")
    )


def clipped(text: str, most: int = STRING_CHARACTERS) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def tidied(data: Any) -> Any:
    """A record's plain data with clean text of bounded length, and lists of bounded length."""
    if isinstance(data, str):
        return clipped(clean(data))
    if isinstance(data, Mapping):
        return {key: tidied(item) for key, item in data.items()}
    if isinstance(data, list | tuple):
        return [tidied(item) for item in data[:LIST_ITEMS]]
    return data


def one_line(text: str) -> str:
    return " ".join(clean(text).split())


def markdown(text: str) -> str:
    """Words in Markdown, which stay words: no link, tag, emphasis, list or table comes of them."""
    line = one_line(text).replace("&", "&amp;").replace("<", "&lt;")
    return _BLOCK.sub(_guarded, _PUNCTUATION.sub(r"\\\1", line))


def _guarded(match: re.Match[str]) -> str:
    return f"{match[0]}\\" if match[0].isdigit() else f"\\{match[0]}"


def markdown_code(text: str) -> str:
    """A code span on one line."""
    line = one_line(text)
    longest = max((len(run) for run in re.findall("`+", line)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if line.startswith("`") or line.endswith("`") or not line else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def markdown_cell(text: str) -> str:
    """A code span in a table, where a bar would end the cell."""
    return markdown_code(text).replace("|", "\\|")


def escaped(text: str) -> str:
    """For HTML, in text and in attributes, and for XML."""
    return html.escape(clean(text), quote=True)


def spreadsheet(text: str) -> str:
    """For a cell of a CSV file: never a formula, wherever a spreadsheet divides the line."""
    line = clean(text)
    guarded = _FORMULA.sub(r"\1\2'", line)
    return f"'{guarded}" if guarded[:1] in ("\t", "\r", "\n") else guarded


def number(value: float) -> str:
    """Points: at most two digits, none that say nothing."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def file_names(names: Iterable[str]) -> dict[str, str]:
    """A file name without suffix for each name: plain ASCII, not hidden, and no two of them alike,
    also not to a file system that takes capitals for small letters."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(names):
        plain = _UNSAFE.sub(_percent, name).lstrip(".-") or "_"
        if len(plain) > FILE_NAME_CHARACTERS or plain.casefold() in taken:
            digest = hashlib.sha256(_bytes(name)).hexdigest()[:12]
            plain = f"{plain[: FILE_NAME_CHARACTERS - 13]}-{digest}"
        found[name] = plain
        taken.add(plain.casefold())
    return found


def _percent(match: re.Match[str]) -> str:
    if match[0] == " ":
        return "_"
    return "".join(f"%{byte:02X}" for byte in _bytes(match[0]))


def _bytes(name: str) -> bytes:
    """The bytes of a name as the file system has it; any other text is not refused either."""
    try:
        return name.encode(errors="surrogateescape")
    except UnicodeEncodeError:  # half a pair, which no file name of ours has
        return name.encode(errors="surrogatepass")


_HANDED_IN = frozenset(
    {".zip", ".p4", ".py", ".toml", ".txt", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".rar", ".7z"}
    | {".doc", ".docx", ".odt", ".pdf", ".rtf"}
)
"""Ends of the names of what students hand in, whether it can be graded or not"""


def student_of(entry: PurePath) -> str:
    """Whose submission a file or folder is: its name, without what says of which kind it is, such
    as .p4.txt or .tar.gz."""
    while entry.suffix.lower() in _HANDED_IN and entry.stem.strip("."):
        entry = entry.with_name(entry.stem)
    return entry.name
