"""A smaller program that still differs, and a folder for it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from differential.program import File, Program

MOST_SECONDS = 60
"""Each try takes a compilation and a start of the switch."""


def smallest(file: File, differs: Callable[[File], str]) -> tuple[File, str]:
    """Leaves out statements, entries and packets of a file's one program as long as it differs;
    gives what `differs` says of the rest."""
    told = differs(file)
    first = re.search(r"packet \d+ ([0-9a-f]+)", told)
    if first:
        alone = replace(file, packets=[p for p in file.packets if p[1].hex() == first[1]])
        if now := differs(alone):
            file, told = alone, now
    deadline, again = time.monotonic() + MOST_SECONDS, True
    while again:
        again = False
        for program in _smaller(file.programs[0]):
            if time.monotonic() > deadline:
                return file, told
            one = replace(file, programs=[program])
            if now := differs(one):
                file, told, again = one, now, True
                break
    return file, told


def _smaller(program: Program) -> Iterator[Program]:
    """The program without one statement, or with what is within one in its place."""
    for part in ("ingress", "egress"):
        rows: list[str] = getattr(program, part)
        for i in range(len(rows)):
            yield replace(program, **{part: rows[:i] + rows[i + 1 :]})
        for i, row in enumerate(rows):
            if "instance_type" in row or "pass" in row:
                continue  # without the condition a packet would go round for ever
            for inner in _inner(row):
                yield replace(program, **{part: [*rows[:i], *inner, *rows[i + 1 :]]})
    for i, row in enumerate(program.declarations):
        empty = re.sub(r"\{ .* \}$", "{ }", row)
        if row.startswith("action ") and row != empty:
            rows = list(program.declarations)
            rows[i] = empty
            yield replace(program, declarations=rows)


def _inner(row: str) -> Iterator[list[str]]:
    """The statements within the outermost braces."""
    depth, start = 0, 0
    for at, sign in enumerate(row):
        if sign == "{":
            depth += 1
            start = at + 1 if depth == 1 else start
        elif sign == "}":
            depth -= 1
            if depth == 0 and ";" in row[start:at]:
                yield [row[start:at].strip()]


def save(file: File, folder: Path, told: str) -> None:
    """Writes program, entries and packets, in the form in which sessions are recorded, beside what
    happened."""
    number = file.programs[0].number
    own = folder / f"{file.seed.replace('/', '-')}-{number}"
    own.mkdir(parents=True, exist_ok=True)
    (own / "prog.p4").write_text(file.text())
    rows = [f"cli {line}" for line in file.lines()]
    rows += [f"packet {port} {data.hex()}" for port, data in file.packets]
    (own / "session.txt").write_text("\n".join(rows) + "\n")
    (own / "note.txt").write_text(f"{told}\n")
