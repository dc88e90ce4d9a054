"""A program as one text: what it includes put in the place of the directive."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.ASCII)
BUILT_IN = frozenset({"core.p4", "v1model.p4", "tofino.p4", "tna.p4"})
"""What no file of a program can take the place of"""
DEEPEST = 64  # files that include one another


def whole_source(
    program: Path, include_dirs: Sequence[str] = (), defines: Sequence[tuple[str, str]] = ()
) -> str:
    """The text of a program that compiles, with what is defined from outside as `#define`s. Raises
    OSError and UnicodeDecodeError."""
    dirs = [Path(folder) for folder in include_dirs]
    head = [f"#define {name} {value}" for name, value in defines]
    return "\n".join([*head, *_lines(program, dirs, (program.resolve(),))]) + "\n"


def _lines(file: Path, dirs: Sequence[Path], inside: tuple[Path, ...]) -> Iterator[str]:
    """The lines of a file; `inside` are the files that include one another, down to this one."""
    yield _place(1, file)
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        match = _INCLUDE.match(line)
        included = match and _find(match[1], match[2], file.parent, dirs)
        if not included:
            yield line
        elif included.resolve() in inside or len(inside) == DEEPEST:
            yield ""  # its guard would leave nothing of it
        else:
            yield from _lines(included, dirs, (*inside, included.resolve()))
            yield _place(number + 1, file)


def _find(quoted: str | None, pointed: str | None, near: Path, dirs: Sequence[Path]) -> Path | None:
    """The file that a directive means; None for what is built in, or what is not there, as in a
    branch that is not compiled."""
    name = quoted or pointed or ""
    if name in BUILT_IN:
        return None
    places = [near, *dirs] if quoted else dirs
    return next((place / name for place in places if (place / name).is_file()), None)


def _place(line: int, file: Path) -> str:
    return f'#line {line} "{file}"'
