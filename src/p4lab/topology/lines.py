"""Where in a TOML file a value stands: the parser in the standard library forgets it.

An error message is only useful when it names the line. This scanner walks a text that
`tomllib` has already accepted, so it may assume valid TOML and only has to keep count.
"""

from __future__ import annotations

import re
from bisect import bisect_left

Path = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}\n#]*")
_ESCAPED = {
    '"""': re.compile(r'"""(?:\\.|(?!"""(?!"))[\s\S])*"""', re.S),
    "'''": re.compile(r"'''(?:(?!'''(?!'))[\s\S])*'''"),
    '"': re.compile(r'"(?:\\.|[^"\\\n])*"'),
    "'": re.compile(r"'[^'\n]*'"),
}


def line_table(text: str) -> dict[Path, int]:
    """Map the path of every table, array element and key in `text` to its line, from 1.

    A path is what one would write to reach the value in the parsed data, for example
    `("link", 3, "rate")`.
    """
    return _Scanner(text).document()


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.newlines = [hit.start() for hit in re.finditer("\n", text)]
        self.found: dict[Path, int] = {}
        self.arrays: dict[Path, int] = {}

    def document(self) -> dict[Path, int]:
        table: Path = ()
        while not self.ended():
            if self.text.startswith("[[", self.at):
                table = self.header("[[", "]]")
            elif self.text[self.at] == "[":
                table = self.header("[", "]")
            else:
                self.assignment(table)
        return self.found

    def ended(self) -> bool:
        self.match(_BLANK)
        return self.at >= len(self.text)

    def match(self, pattern: re.Pattern[str]) -> str:
        hit = pattern.match(self.text, self.at)
        if hit is None:
            return ""
        self.at = hit.end()
        return hit.group()

    def note(self, path: Path) -> None:
        self.found.setdefault(path, bisect_left(self.newlines, self.at) + 1)

    def header(self, opening: str, closing: str) -> Path:
        self.at += len(opening)
        keys = self.key()
        path: Path = ()
        for key in keys[:-1]:
            path = self.enter((*path, key))
        path = (*path, keys[-1])
        if opening == "[[":
            index = self.arrays.get(path, -1) + 1
            self.arrays[path] = index
            self.note(path)
            path = (*path, index)
        else:
            path = self.enter(path)
        self.note(path)
        self.match(_BLANK)
        self.at += len(closing)
        return path

    def enter(self, path: Path) -> Path:
        """A key that names an array of tables means its last element."""
        return (*path, self.arrays[path]) if path in self.arrays else path

    def key(self) -> list[str]:
        parts: list[str] = []
        while True:
            self.match(_BLANK)
            quoted = self.string()
            parts.append(quoted[1:-1] if quoted else self.match(_BARE_KEY))
            self.match(_BLANK)
            if not self.text.startswith(".", self.at):
                return parts
            self.at += 1

    def string(self) -> str:
        for quote, pattern in _ESCAPED.items():
            if self.text.startswith(quote, self.at):
                return self.match(pattern)
        return ""

    def assignment(self, table: Path) -> None:
        self.match(_BLANK)
        start = self.at
        path = (*table, *self.key())
        end, self.at = self.at, start
        self.note(path)
        self.at = end + 1  # the equals sign
        self.value(path)

    def value(self, path: Path) -> None:
        self.match(_BLANK)
        if self.text.startswith("[", self.at):
            self.array(path)
        elif self.text.startswith("{", self.at):
            self.inline_table(path)
        elif not self.string():
            self.match(_SCALAR)

    def array(self, path: Path) -> None:
        self.at += 1
        index = 0
        while not self.ended() and self.text[self.at] != "]":
            self.note((*path, index))
            self.value((*path, index))
            index += 1
            self.separator()
        self.at += 1

    def inline_table(self, path: Path) -> None:
        self.at += 1
        while not self.ended() and self.text[self.at] != "}":
            self.assignment(path)
            self.separator()
        self.at += 1

    def separator(self) -> None:
        self.match(_BLANK)
        if self.text.startswith(",", self.at):
            self.at += 1
