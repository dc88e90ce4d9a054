"""`p4lab lsp`: the language server that editors start."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import typer

from p4lab import _engine
from p4lab.cli.errors import BAD_INPUT, fail
from p4lab.cli.options import Defines, IncludeDirs, existing_dirs, split_defines
from p4lab.paths import ROOT


def lsp(include: IncludeDirs = None, define: Defines = None) -> None:
    """Speak the Language Server Protocol on standard input and output, for editors.

    docs/editors.md says how to set up VS Code and JupyterLab.
    """
    dirs, defines = existing_dirs(include), split_defines(define)
    if sys.stdin.isatty():
        fail("lsp is for editors to start, not for a terminal; see docs/editors.md.")

    shared, pages = ROOT / "p4" / "include", ROOT / "docs" / "errors"
    if shared.is_dir():
        dirs.append(str(shared))
    # The server waits in the engine, where Python's own handler for Ctrl-C would not get its turn.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        orderly = _engine.serve_lsp(
            [os.path.abspath(folder) for folder in dirs],
            defines,
            cache=_cache(),
            pages=str(pages) if pages.is_dir() else None,
        )
    except OSError as error:
        fail(f"lsp: {error}.")
    if not orderly:
        raise typer.Exit(BAD_INPUT)


def _cache() -> Path | None:
    """Where core.p4 and v1model.p4 are put, so that an editor can open them."""
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return Path(base) / "p4lab" if base else Path.home() / ".cache" / "p4lab"
    except RuntimeError:  # no home
        return None
