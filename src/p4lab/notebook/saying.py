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
    """A line in a cell's output, which may end in a file to open."""

    text: str
    file: Path | None = None

    def __repr__(self) -> str:
        return f"{self.text} {self.file}" if self.file else self.text

    def _repr_html_(self) -> str:
        if self.file is None:
            return f"<div>{escape(self.text)}</div>"
        # JupyterLab opens files by their place beside the notebook, where the kernel runs.
        beside = escape(os.path.relpath(self.file))
        return f'<div>{escape(self.text)} <a href="{beside}"><code>{beside}</code></a></div>'


def say(text: str, file: Path | None = None) -> None:
    """One line in the cell's output."""
    show(Said(text, file))


def show(thing: object) -> None:
    """Displays an object in the cell's output, or prints it where there is no notebook."""
    from IPython.display import display  # heavy: IPython

    display(thing)
