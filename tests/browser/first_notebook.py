"""Notebook 01 in a JupyterLab of its own, for tests that look at it in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import expect

from book import PATIENCE, Book, chromium, code_cells, copy_of, opened
from jupyter import jupyter
from p4lab.course.home import HERE
from p4lab.course.material import start
from p4lab.paths import ROOT

BROWSER = chromium()

RIGHT, WRONG = "in_progress = 1", "in_progres"  # one letter in a student's file


@contextmanager
def running(home: Path) -> Iterator[Book]:
    """The notebook, run from top to bottom on the solution."""
    notebook = copy_of(ROOT / "notebooks" / "01-bier.ipynb", home / "files")
    list(start("01-bier", notebook.parent / "mine"))
    program = notebook.parent / "mine" / "bier" / "bier.p4"
    program.write_text(program.read_text().replace(RIGHT, f"{WRONG} = 1"))
    expect.set_options(timeout=PATIENCE)
    with jupyter(notebook, home, P4LAB_FOLDER=str(HERE.sources)) as server:
        assert BROWSER is not None
        with opened(server.url, BROWSER) as book:
            book.folder = notebook.parent
            book.run_all(code_cells(notebook))
            yield book
