"""Tidy data: one observation per row, one variable per column, and in each row where it is from.

A table is a list of dictionaries with the same columns, in the same order. Units are in the names
of columns (`outage_ms`, `rate_bps`). Values are numbers, text, truth values or None. Every row
carries its seed and its versions, so that a row copied out of a table still says what made it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias

from p4lab import __version__, _engine
from p4lab.engine import ProgramError

Value: TypeAlias = "int | float | str | bool | None"
Row: TypeAlias = dict[str, Value]

_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
_FIELD = re.compile(r'(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|\Z)')
_NUMBER = re.compile(r"-?[0-9]+\Z")


@dataclass(frozen=True)
class Origin:
    """What made a row: the seed, the versions, and the program by its text."""

    seed: int
    version: str
    engine: str
    program: str

    @property
    def columns(self) -> Row:
        """As the columns that every row begins with."""
        return {
            "seed": self.seed,
            "p4lab_version": self.version,
            "engine_build": self.engine,
            "program_hash": self.program,
        }


def origin(
    seed: int,
    program: str | Path,
    defines: Sequence[tuple[str, str]] = (),
    *,
    engine: str = "interpreter",
) -> Origin:
    """The origin of rows that come from this seed and the program in a file, on `engine`
    ("interpreter" or "jit"). Raises ProgramError for a program that does not compile."""
    return Origin(seed, __version__, f"{engine} {engine_build()}", program_hash(program, defines))


@cache
def engine_build() -> str:
    """The engine's own file, condensed."""
    return _short(Path(_engine.__file__).read_bytes())


def program_hash(program: str | Path, defines: Sequence[tuple[str, str]] = ()) -> str:
    """All files of a program and its definitions, condensed; where they lie does not matter.

    Files that the engine itself brings are left out: they are in `engine_build`. Raises
    ProgramError for a program that does not compile.
    """
    compilation = _engine.compile(str(program), [], list(defines))
    if not compilation.ok:
        raise ProgramError(str(program), compilation)
    files = [Path(name) for name in compilation.files]
    parts = [hashlib.sha256(file.read_bytes()).digest() for file in files if file.is_file()]
    return _short(b"".join(parts) + repr(sorted(defines)).encode())


def _short(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()[:16]}"


def table(observations: Iterable[Mapping[str, Value]], origin: Origin) -> list[Row]:
    """Observations that share an origin, as rows. Raises ValueError for what is not tidy."""
    rows = [{**origin.columns, **observation} for observation in observations]
    check(rows)
    return rows


def check(rows: Sequence[Row]) -> None:
    """Raises ValueError unless all rows have the same well-named columns and plain values."""
    for number, row in enumerate(rows, start=1):
        if list(row) != list(rows[0]):
            raise ValueError(f"row {number} has other columns than the first: {', '.join(row)}")
        for name, value in row.items():
            if not _NAME.match(name):
                raise ValueError(f"{name!r} is not a column name; use a-z, 0-9 and _")
            if not (value is None or isinstance(value, int | float | str)):
                kind = type(value).__name__
                raise ValueError(f"row {number}, {name}: a {kind} is not a number, text or truth")


def to_csv(rows: Sequence[Row]) -> str:
    """A table as CSV (RFC 4180) that `from_csv` reads back exactly: text is in quotes, numbers and
    truth values are not, None is empty. Raises ValueError for what is not tidy."""
    check(rows)
    if not rows:
        return ""
    lines = [",".join(rows[0])]
    lines += [",".join(_written(value) for value in row.values()) for row in rows]
    return "\r\n".join(lines) + "\r\n"


def _written(value: Value) -> str:
    if isinstance(value, str):
        return '"' + value.replace('"', '""') + '"'
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else repr(value)


def from_csv(text: str) -> list[Row]:
    """A table from what `to_csv` has written. Raises ValueError with the number of a wrong row."""
    rows: list[list[Value]] = []
    row: list[Value] = []
    position = 0
    while position < len(text):
        field = _FIELD.match(text, position)
        if field is None:
            raise ValueError(f"row {len(rows)}: quotes that do not match")
        quoted, bare, end = field.groups()
        row.append(quoted.replace('""', '"') if quoted is not None else _read(bare, len(rows)))
        position = field.end()
        if end != ",":
            rows.append(row)
            row = []
    if not rows:
        return []
    names = [str(name) for name in rows[0]]
    for number, values in enumerate(rows[1:], start=1):
        if len(values) != len(names):
            raise ValueError(f"row {number} has {len(values)} values, not {len(names)}")
    return [dict(zip(names, values, strict=True)) for values in rows[1:]]


def _read(bare: str, row: int) -> Value:
    if row == 0:
        return bare  # a column's name
    if bare in ("", "true", "false"):
        return {"": None, "true": True, "false": False}[bare]
    if _NUMBER.match(bare):
        return int(bare)
    try:
        return float(bare)
    except ValueError:
        raise ValueError(f"row {row}: {bare!r} is not a number; text is in quotes") from None


def write_csv(rows: Sequence[Row], path: Path) -> None:
    """Raises OSError, and ValueError for what is not tidy."""
    path.write_bytes(to_csv(rows).encode())


def read_csv(path: Path) -> list[Row]:
    """Raises OSError, and ValueError for what is not a table."""
    return from_csv(path.read_bytes().decode())
