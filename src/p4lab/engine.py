"""Programs from files, for the rest of the package."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from p4lab import _engine

NO_MAIN = "It has no package instance called main, so there is nothing that could run."
"""Said of a file without errors that is not a whole program"""


class ProgramError(Exception):
    """A program that does not compile. The message is what the compiler said, with the places."""

    def __init__(self, path: str, compilation: _engine.Compilation) -> None:
        self.path = path
        self.diagnostics = compilation.diagnostics
        text = compilation.render() or f"{path} has no package instance called main.\n"
        super().__init__(text)


def load_program(
    path: str | Path,
    defines: Sequence[tuple[str, str]] = (),
    include_dirs: Sequence[str] = (),
    *,
    bmv2_compat: bool = False,
    undefined: int | None = None,
) -> _engine.Program:
    """The program in a file, ready to run, undefined values as noise from the seed `undefined` if
    there is one. Raises ProgramError."""
    compilation = _engine.compile(
        str(path), list(include_dirs), list(defines), bmv2_compat=bmv2_compat
    )
    if compilation.program is None:
        raise ProgramError(str(path), compilation)
    if undefined is not None:
        return compilation.program.with_undefined(undefined)
    return compilation.program
