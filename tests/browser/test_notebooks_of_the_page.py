"""The notebooks of the site: who has a browser only would lose them if these failed."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")

from playwright.sync_api import Page, expect

from book import IDLE, chromium
from cli_runner import p4lab
from p4lab.cli.web_verb import SITE
from p4lab.course.home import names
from p4lab.paths import ROOT
from site_page import PATIENCE, Site, browser, served

BROWSER = chromium()

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="needs Chromium (Debian: chromium)"),
    pytest.mark.skipif(
        not (SITE / "notebooks").is_dir(), reason="the page is not built: ./lab build-web"
    ),
]

BIER = (ROOT / "p4" / "bier" / "bier.p4").read_text("utf-8")


class Notebook:
    """A notebook of the site in JupyterLab, and what was asked of other hosts meanwhile."""

    def __init__(self, page: Page, address: str) -> None:
        self._site = Site(page, address)
        page.set_default_timeout(4 * PATIENCE)  # a Python and JupyterLab have to start
        expect.set_options(timeout=PATIENCE)
        self._address = address
        self.page = page
        # A service worker asks, too, and no page sees that.
        page.context.on("request", lambda request: self._site._asked(request.url, address))

    def open(self, lab: str) -> None:
        """From the lab in the page, by its link."""
        self._site.open(self._address, lab)
        self.page.get_by_role("link", name="Notebook", exact=True).click()
        self.page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
        # What is asked of a kernel that has not come yet may be forgotten.
        self.page.locator(IDLE).first.wait_for(timeout=8 * PATIENCE)

    def run(self) -> list[str]:
        """Runs all cells; the texts of their outputs."""
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.get_by_text("Run All Cells", exact=True).click()
        # The last cell has a number when all have run, or one has failed.
        self.page.wait_for_function(
            """() => {
              const all = [...document.querySelectorAll(".jp-CodeCell .jp-InputPrompt")];
              const told = all.map((prompt) => prompt.textContent);
              const has = (what) => told.some((text) => what.test(text));
              return has(/\\d/) && !has(/\\*/);
            }""",
            timeout=8 * PATIENCE,
        )
        return self.page.locator(".jp-OutputArea-output").all_text_contents()

    def sound(self) -> None:
        """Nothing failed, in no cell and no script, and no other host was asked."""
        failed = self.page.locator("[data-mime-type='application/vnd.jupyter.error']")
        assert failed.all_text_contents() == []
        not_run = self.page.locator(".jp-CodeCell .jp-InputPrompt", has_text="[ ]")
        expect(not_run).to_have_count(0)
        assert self._site.errors == []
        assert self._site.strangers == []


@pytest.fixture
def notebook() -> Iterator[Notebook]:
    assert BROWSER is not None
    with served(SITE) as address, browser(BROWSER) as found:
        yield Notebook(found.new_page(viewport={"width": 1400, "height": 1000}), address)


def test_they_are_those_of_the_checkout_with_packages_of_the_site() -> None:
    for lab in names():
        name = f"notebooks/{lab}.ipynb"
        own = (ROOT / name).read_bytes()
        assert (SITE / "notebooks" / "files" / name).read_bytes() == own, name
    file = SITE / "notebooks" / "packages.json"
    packages = json.loads(file.read_text("utf-8"))["packages"]
    assert "p4lab" in packages
    for package in packages.values():
        place = (file.parent / package["file_name"]).resolve()
        assert place.is_relative_to(SITE.resolve())
        assert place.is_file(), package["file_name"]


def test_a_student_solves_a_lab_there_and_has_the_work_after_a_reload(
    notebook: Notebook, tmp_path: Path
) -> None:
    notebook.open("01-bier")
    told = notebook.run()
    notebook.sound()
    # A view whose file nobody has touched does not say that it is old.
    assert not [one for one in told if "before your last change" in one]
    page = notebook.page
    own = "p4lab/01-bier/bier/bier.p4"
    page.locator(".jp-OutputArea-output a", has_text=own).first.click()
    editor = page.locator(".jp-FileEditor .cm-content")
    editor.click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(BIER)
    page.keyboard.press("Control+S")
    saved = f"document.querySelectorAll('.jp-mod-dirty[title*=\"{Path(own).name}\"]').length === 0"
    page.wait_for_function(saved)
    notebook.open("01-bier")
    notebook.run()
    notebook.sound()
    (tmp_path / "bier").mkdir()
    (tmp_path / "bier" / "bier.p4").write_text(BIER, "utf-8")
    verdict = json.loads(p4lab("check", "01-bier", tmp_path, "--json").stdout)
    most = sum(check["max_points"] for check in verdict["checks"])
    assert sum(check["points"] for check in verdict["checks"]) == most
    last = page.locator(".jp-CodeCell").last
    last.scroll_into_view_if_needed()
    expect(last).to_contain_text(f"{most:g} of {most:g} points")


def test_a_notebook_runs_to_its_end(notebook: Notebook) -> None:
    """Another when there is one more; all of them were run when this was written."""
    others = [lab for lab in names() if lab != "01-bier"]
    notebook.open(random.Random(len(others)).choice(others))
    notebook.run()
    notebook.sound()
