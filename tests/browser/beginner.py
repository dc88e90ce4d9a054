"""A lab that has just begun, as `./lab` opens it in JupyterLab."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import expect

from book import PATIENCE, Book, copy_of, opened
from jupyter import jupyter
from p4lab.notebook.folder import lab_folder
from p4lab.paths import ROOT


@contextmanager
def begun(lab: str, home: Path, browser: str, sign: str) -> Iterator[Book]:
    """The page with the student's folder and notebook of `lab` in `home`, as soon as the selector
    `sign` finds something; `browser` is the path of Chromium."""
    notebook = copy_of(ROOT / "notebooks" / f"{lab}.ipynb", home / "files")
    folder = lab_folder(lab, notebook.parent / lab)
    expect.set_options(timeout=PATIENCE)
    with jupyter(notebook, home, folder, P4LAB_FOLDER=str(folder.path)) as server:
        server.warm()
        with opened(server.url, browser, sign) as book:
            book.folder, book.home = folder.path, home
            yield book
