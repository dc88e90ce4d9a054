"""A film in a terminal: a step at a time, by keys, or all of it where nobody types."""

from __future__ import annotations

import os
import sys
import termios
import tty
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from p4lab.grading.film.record import Film, Row
from p4lab.grading.record import Place

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

AROUND = 3  # lines of source before and after the one of a step
MOST_CELLS = 32  # longer sets are named by their members alone

KEYS = "Enter or space: next   b: back   q: quit"


def play(film: Film, sources: Mapping[str, str], shown: Console) -> None:
    """Shows a film on a console; `sources` are the student's files, text by path."""
    if film.missing:
        shown.print(film.missing, markup=False, highlight=False)
    elif sys.stdin.isatty() and shown.is_terminal:
        with _keys() as key:
            _step(film, sources, shown, key)
    else:
        for number in range(len(film.frames)):
            shown.print(_page(film, number, sources))
            shown.print()


def _step(film: Film, sources: Mapping[str, str], shown: Console, key: Callable[[], str]) -> None:
    """Shows one frame after the other, as the keys say."""
    at = 0
    while True:
        shown.clear()
        shown.print(_page(film, at, sources))
        shown.print(f"\n[dim]{KEYS}[/]")
        pressed = key()
        if pressed in ("q", "\x04", ""):
            return
        if pressed == "b":
            at = max(0, at - 1)
        elif pressed in ("\r", "\n", " "):
            if at == len(film.frames) - 1:
                return
            at += 1


@contextmanager
def _keys() -> Iterator[Callable[[], str]]:
    """A function that waits for a key; it is empty at the end of the input."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    tty.setcbreak(terminal, termios.TCSADRAIN)  # what was typed before counts
    try:
        yield lambda: os.read(terminal, 1).decode(errors="replace")
    except KeyboardInterrupt:  # as good as q
        return
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _page(film: Film, number: int, sources: Mapping[str, str]) -> RenderableType:
    """A frame: where it is in the film, what happened, what is known, and the line."""
    from rich.console import Group  # heavy: rich, for nothing but a terminal
    from rich.padding import Padding
    from rich.rule import Rule
    from rich.text import Text

    frame = film.frames[number]
    parts: list[RenderableType] = []
    if number == 0:
        parts += [Rule(f"[bold]{film.title}[/]", align="left")]
        parts += [Padding(Text(f"- {step}"), (0, 0, 0, 2)) for step in film.said] + [Text()]
    head = f"step {number + 1} of {len(film.frames)}, {frame.where}"
    parts.append(Text.assemble((f"{head}: ", "dim"), (frame.text, "bold")))
    parts.append(Padding(_table(frame.rows), (0, 2)))
    if number == len(film.frames) - 2 and film.why:
        parts.append(Text(f"Here it goes wrong. {film.why}", style="bold red"))
    if frame.place is not None:
        parts.append(Padding(_source(frame.place, sources), (0, 2)))
    if number == len(film.frames) - 1 and film.hint:
        parts.append(Text.assemble(("Hint: ", "bold"), film.hint))
    return Group(*parts)


def _table(rows: Sequence[Row]) -> RenderableType:
    """Expected above got where the two differ; else what is known."""
    from rich.table import Table
    from rich.text import Text

    cells = max((len(bits) for row in rows for bits in _bits(row)), default=0)
    table = Table.grid(padding=(0, 1))
    if 0 < cells <= MOST_CELLS:
        numbers = " ".join(f"{number:>2}" for number in range(cells, 0, -1))
        table.add_row("", "", Text(f"{numbers}  bit", style="dim"))
    for row in rows:
        for side, text, bits, style in _sides(row):
            drawn = _drawn(bits, cells) if 0 < cells <= MOST_CELLS and bits else ""
            table.add_row(row.label, side, Text(f"{drawn}  {text or '-'}".strip(), style=style))
    return table


def _bits(row: Row) -> tuple[str, str]:
    return row.expected_bits, row.got_bits


def _sides(row: Row) -> Iterator[tuple[str, str, str, str]]:
    if row.differs:
        yield "expected", row.expected, row.expected_bits, "green"
        yield "got", row.got, row.got_bits, "bold red"
    else:
        yield "", row.got, row.got_bits, ""


def _drawn(bits: str, cells: int) -> str:
    """A set as digits below the numbers of its bits, bit 1 on the right."""
    return " ".join(f"{'1' if bit == '1' else '.':>2}" for bit in bits.rjust(cells, "0"))


def _source(place: Place, sources: Mapping[str, str]) -> RenderableType:
    """The lines around a place, that one marked."""
    from rich.text import Text

    lines = sources.get(place.file, "").splitlines() or [""] * (place.line - 1) + [place.text]
    text = Text(f"{place.file}:{place.line}\n", style="cyan", overflow="fold")
    for number in range(max(1, place.line - AROUND), min(len(lines), place.line + AROUND) + 1):
        mark, style = ("▶", "bold cyan") if number == place.line else (" ", "dim")
        text.append(f"{mark}{number:>5} | {lines[number - 1]}\n", style=style)
    return text
