"""Lab 05's notebook in a real browser: the looped port of a pass is to be seen, and the calculator
answers its sliders. Only the cells that are looked at are run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from p4lab.course.home import HERE
from p4lab.paths import ROOT

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect

from book import PATIENCE, Book, chromium, copy_of, opened  # noqa: E402
from jupyter import jupyter  # noqa: E402

BROWSER = chromium()

pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs Chromium (Debian: chromium)")


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Book]:
    home = tmp_path_factory.mktemp("home")
    notebook = copy_of(ROOT / "notebooks" / "05-recirculation.ipynb", home / "files")
    with jupyter(notebook, home, P4LAB_FOLDER=str(HERE.sources)) as server:
        assert BROWSER is not None
        with opened(server.url, BROWSER) as book:
            book.run(book.cell("%load_ext p4lab"))
            book.run(book.cell('lab = open_lab("05-recirculation")'))
            yield book


def test_a_pass_says_by_which_looped_port_the_packet_comes_back(book: Book) -> None:
    cell = book.cell("guess3.reveal")
    book.run(book.cell("guess3 = predict"))
    book.run(cell)
    expect(cell.get_by_role("status")).to_contain_text("The network says: 3")
    view = book.cell('lab.bit_view("r1"')
    book.run(view)
    stepper = view.locator(".p4v-stepper")
    expect(stepper).to_contain_text("a copy goes round once more by port 68", timeout=PATIENCE)
    stepper.focus()
    book.page.keyboard.press("PageDown")
    expect(stepper).to_contain_text("a copy goes round once more by port 69")
    assert book.errors == [] and book.strangers == []


def test_the_calculator_answers_its_sliders(book: Book) -> None:
    cell = book.cell("provisioning()")
    book.run(cell)
    told = cell.locator(".jp-OutputArea")
    expect(told).to_contain_text("31 ports with traffic, 1 in loopback mode", timeout=PATIENCE)
    cell.get_by_role("slider", name="to 16 next hops").focus()
    for _ in range(10):
        book.page.keyboard.press("ArrowRight")
    expect(told).not_to_contain_text("31 ports with traffic")
    assert book.errors == []
