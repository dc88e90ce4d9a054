"""Sentences and the compiler's diagnostics in the output of a cell."""

from __future__ import annotations

import os
from dataclasses import dataclass
from html import escape
from pathlib import Path

from p4lab import _engine
from p4lab.errors import Plain
from p4lab.notebook.diagnostics import Diagnostics
from p4lab.plurals import count_of


class DoesNotCompile(Plain, Exception):
    """A program that does not compile. The cell's output has said why, so there is no traceback."""


def does_not_compile(
    name: str, compilation: _engine.Compilation, folder: Path | None
) -> DoesNotCompile:
    """Shows the diagnostics in the cell; gives the exception to raise."""
    show(Diagnostics(compilation, folder))
    count = sum(1 for one in compilation.diagnostics if one["severity"] == "error")
    errors = count_of(count, "error") if count else "no package named main"
    return DoesNotCompile(f"{name} does not compile: {errors}. Correct it and run this cell again.")


@dataclass(frozen=True)
class Said:
    """A line in a cell's output, which may end in files to open."""

    text: str
    files: tuple[Path, ...] = ()

    def __repr__(self) -> str:
        return " ".join([self.text, ", ".join(map(str, self.files))]).rstrip()

    def _repr_html_(self) -> str:
        # JupyterLab opens files by their place beside the notebook, where the kernel runs.
        places = [escape(os.path.relpath(file)) for file in self.files]
        links = ", ".join(f'<a href="{one}"><code>{one}</code></a>' for one in places)
        return f"<div>{' '.join([escape(self.text), links]).rstrip()}</div>"


def say(text: str, *files: Path | None) -> None:
    """One line in the cell's output; files that are None are left out."""
    show(Said(text, tuple(file for file in files if file is not None)))


def show(thing: object) -> None:
    """Displays an object in the cell's output, or prints it where there is no notebook."""
    from IPython.display import display  # heavy: IPython

    display(thing)
