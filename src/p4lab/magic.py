"""The cell magic `%%p4`: a P4 program in a cell, compiled, with its mistakes in place.

    %load_ext p4lab

    %%p4 mine -D SIZE=64
    #include <core.p4>
    ...

makes `mine`, which `open_lab("01-bier", program=mine)` runs.

    %%p4 mine --lab 01-bier --file bier/bier.p4

compiles the cell as that file of the lab, with the student's other files around it. Without text
the cell is first filled with the file as it is.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from p4lab import _engine
from p4lab.course.labs import load_plan
from p4lab.course.material import student
from p4lab.errors import Plain
from p4lab.notebook.diagnostics import Diagnostics
from p4lab.notebook.folder import lab_folder

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


USAGE = "Write: %%p4 NAME [-D NAME=VALUE] [--lab LAB --file FILE] [--lint TARGET,...]"


@dataclass(frozen=True)
class P4Cell:
    """A program from a cell. `sources` are the texts of its files, by name."""

    name: str
    compilation: _engine.Compilation
    sources: Mapping[str, str]
    own: str
    """The file that the cell is"""

    @property
    def ok(self) -> bool:
        return self.compilation.program is not None

    @property
    def program(self) -> _engine.Program:
        """What a switch runs. Raises ValueError if the cell did not compile."""
        if self.compilation.program is None:
            raise ValueError(f"{self.name} does not compile; its cell says why.")
        return self.compilation.program

    def __repr__(self) -> str:
        found = self.compilation.diagnostics
        return self.compilation.render() if found else f"{self.name}: compiled, no warnings"

    def _repr_html_(self) -> str:
        if self.compilation.diagnostics:
            return Diagnostics(self.compilation, None, self.sources)._repr_html_()
        if self.compilation.program is None:
            return "<div>✓ No mistakes. Without <code>main</code> there is nothing to run.</div>"
        summary = self.compilation.program.summary
        tables = [table["name"].rsplit(".", 1)[-1] for table in summary["tables"]]
        more = f"; tables: {', '.join(tables)}" if tables else ""
        return f"<div>✓ <b>{self.name}</b> compiles{more}.</div>"


class _Options(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise UsageError(f"%%p4: {message}. {USAGE}")


class UsageError(Plain, Exception):
    """A wrong `%%p4` line; there is no use in a traceback."""


def _options() -> _Options:
    options = _Options(prog="%%p4", add_help=False, exit_on_error=False)
    options.add_argument("name", nargs="?", default="program")
    options.add_argument("-D", dest="defines", action="append", default=[], metavar="NAME=VALUE")
    options.add_argument("--lab", metavar="LAB")
    options.add_argument("--file", metavar="FILE")
    options.add_argument("--lint", default="", metavar="TARGET,...")
    return options


def compile_cell(line: str, text: str) -> P4Cell:
    """The program of a `%%p4` cell: `line` are the options. Raises UsageError or LabError."""
    try:
        chosen = _options().parse_args(shlex.split(line))
    except (argparse.ArgumentError, ValueError) as error:
        raise UsageError(f"%%p4: {error}. {USAGE}") from error
    if not chosen.name.isidentifier():
        raise UsageError(f"%%p4: {chosen.name} cannot name a program; write a name as in Python.")
    pairs = (define.partition("=") for define in chosen.defines)
    defines = [(name, value or "1") for name, _, value in pairs]
    lints = [lint for lint in chosen.lint.split(",") if lint]
    entry = f"{chosen.name}.p4"
    sources: dict[str, str] = {}
    if chosen.lab:
        told = dict(defines)
        defines += [own for own in load_plan(chosen.lab).defines if own[0] not in told]
        entry, sources = _around(chosen.lab)
        file = chosen.file or entry
        if file not in sources:
            raise UsageError(f"%%p4: {chosen.lab} has no file {file}; it has {', '.join(sources)}.")
        sources[file] = text
    elif chosen.file:
        raise UsageError("%%p4: --file names a file of a lab: say --lab LAB, too.")
    else:
        sources = {entry: text}
    around = {name: source for name, source in sources.items() if name != entry}
    try:
        compilation = _engine.compile_text(entry, sources[entry], around, defines, lints=lints)
    except ValueError as error:
        raise UsageError(f"%%p4: {error}") from error
    return P4Cell(chosen.name, compilation, sources, chosen.file or entry)


def _around(lab: str) -> tuple[str, dict[str, str]]:
    """A lab's program and the texts of the student's files, by path in the folder."""
    folder = lab_folder(lab)
    texts = {
        path.relative_to(folder.path).as_posix(): path.read_text(encoding="utf-8", errors="replace")
        for path in folder.files
    }
    return student(lab).program, texts


def load(shell: InteractiveShell) -> None:
    """Gives an IPython shell the magic `%%p4`."""

    def p4(line: str, cell: str | None = None) -> P4Cell | None:
        """A P4 program: %%p4 NAME [-D NAME=VALUE] [--lab LAB --file FILE] [--lint TARGETS]"""
        if cell is None or (not cell.strip() and "--lab" in line):
            chosen = _options().parse_args(shlex.split(line))
            if not chosen.lab:
                raise UsageError("%p4: a line alone loads a file of a lab: --lab LAB --file FILE.")
            entry, texts = _around(chosen.lab)
            shell.set_next_input(f"%%p4 {line}\n{texts[chosen.file or entry]}", replace=True)
            return None
        made = compile_cell(line, cell)
        shell.push({made.name: made})
        return made

    shell.magics_manager.register_function(p4, "line_cell")
    if sys.platform == "emscripten":
        from p4lab.notebook.browser import speak_json  # heavy: a browser

        speak_json(shell)
