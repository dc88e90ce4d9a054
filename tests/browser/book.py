"""A notebook in JupyterLab, in a browser: what a student does with it, as verbs."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Locator, Page, expect, sync_playwright

from p4lab.notebook.pace import chromium

__all__ = ["IDLE", "Book", "chromium", "code_cells", "copy_of", "opened"]

PATIENCE = 60_000  # milliseconds: a test fails by what it sees, not by how fast
IDLE = "text=| Idle"  # in the status bar, after the kernel's name
SIZE = {"width": 1360, "height": 1000}


class Book:
    """A notebook of `folder` that is open in a browser. `strangers` are requests to other machines,
    `errors` what scripts threw."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.url = ""
        self.folder = self.home = Path()
        self.strangers: list[str] = []
        self.errors: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.on("request", self._request)
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def _request(self, request: object) -> None:
        url = request.url  # type: ignore[attr-defined]
        if not url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:")):
            self.strangers.append(url)

    def open(self, url: str, sign: str) -> None:
        """Opens an address and waits for what a selector finds."""
        self.url = url
        self.page.goto(url)
        self.page.locator(sign).first.wait_for()

    def menu(self, name: str, item: str) -> None:
        """Chooses from the menu bar."""
        self.page.locator(".lm-MenuBar-item", has_text=name).first.click()
        self.page.get_by_role("menuitem", name=item, exact=True).click()

    def cell(self, code: str) -> Locator:
        """The first code cell whose source has this text."""
        cell = self.page.locator(".jp-CodeCell").filter(
            has=self.page.locator(".cm-content", has_text=code)
        )
        return cell.first

    def run_all(self, cells: int) -> None:
        """Runs every cell from top to bottom, and waits for the last of so many code cells: a long
        notebook comes to the page bit by bit, and another may be the last one there."""
        shown = self.page.locator(".jp-CodeCell")
        expect(shown).to_have_count(cells, timeout=PATIENCE)
        self.menu("Run", "Run All Cells")
        last = shown.last
        expect(last.locator(".jp-InputPrompt")).to_have_text("[*]:", timeout=PATIENCE)
        self.finished(last)

    def run(self, cell: Locator) -> None:
        """Runs one cell again."""
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Control+Enter")
        self.finished(cell)

    def finished(self, cell: Locator) -> None:
        """Waits until a cell has a number."""
        number = cell.locator(".jp-InputPrompt")
        self.page.wait_for_function(
            "prompt => /\\[\\d+\\]/.test(prompt.textContent)", arg=number.element_handle()
        )


@contextmanager
def opened(url: str, browser_path: str, sign: str = IDLE) -> Iterator[Book]:
    """The page at `url` in a fresh browser, as soon as a selector finds something: the sign of an
    idle kernel, unless another is given."""
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=arguments)
        book = Book(browser.new_context(viewport=SIZE).new_page())
        book.open(url, sign)
        yield book
        browser.close()


def code_cells(notebook: Path) -> int:
    """How many cells of a notebook are run."""
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    return sum(cell["cell_type"] == "code" for cell in cells)


def copy_of(notebook: Path, folder: Path) -> Path:
    """A copy of a notebook, to be changed."""
    folder.mkdir(parents=True)
    return Path(shutil.copy(notebook, folder / notebook.name))
