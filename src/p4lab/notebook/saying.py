"""Sentences and the compiler's diagnostics in the output of a cell."""

from __future__ import annotations

from pathlib import Path

from p4lab import _engine
from p4lab.notebook.diagnostics import Diagnostics


class DoesNotCompile(Exception):
    """A program that does not compile. The cell's output has said why, so there is no traceback."""

    def _render_traceback_(self) -> list[str]:
        """What IPython shows in place of a traceback."""
        return [str(self)]


def does_not_compile(
    name: str, compilation: _engine.Compilation, folder: Path | None
) -> DoesNotCompile:
    """Shows the diagnostics in the cell; gives the exception to raise."""
    show(Diagnostics(compilation, folder))
    count = sum(1 for one in compilation.diagnostics if one["severity"] == "error")
    errors = f"{count} error{'s' if count != 1 else ''}" if count else "no package named main"
    return DoesNotCompile(f"{name} does not compile: {errors}. Correct it and run this cell again.")


def say(text: str) -> None:
    """One line in the cell's output."""
    print(text)


def show(thing: object) -> None:
    """Displays an object in the cell's output, or prints it where there is no notebook."""
    from IPython.display import display

    display(thing)
