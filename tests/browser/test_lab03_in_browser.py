"""Lab 03's notebook in a real browser: the circle and the time diagram are drawn and can be stepped
through by keys. Only the cells that are looked at are run."""

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
    notebook = copy_of(ROOT / "notebooks" / "03-protect.ipynb", home / "files")
    with jupyter(notebook, home, P4LAB_FOLDER=str(HERE.sources)) as server:
        assert BROWSER is not None
        with opened(server.url, BROWSER) as book:
            book.run(book.cell("%load_ext p4lab"))
            book.run(book.cell('lab = open_lab("03-protect")'))
            book.run(book.cell("guess8 = predict"))
            book.run(book.cell("lost = lab.send"))
            yield book


def test_the_lost_packet_is_found_on_the_circle(book: Book) -> None:
    cell = book.cell("lab.circle_view(lost)")
    book.run(cell)
    view = cell.locator(".p4c-view")
    copy = view.locator("g[data-number]")
    expect(copy).to_have_attribute("data-number", "1", timeout=PATIENCE)
    view.focus()
    for _ in range(6):
        book.page.keyboard.press("ArrowRight")
    expect(copy).to_have_attribute("data-number", "3")
    expect(copy).to_have_attribute("data-verdict", "duplicate")
    expect(view.get_by_role("status")).to_contain_text("it is lost")
    expect(view.locator("li[aria-current]")).to_contain_text("the packet is lost")
    expect(view.locator("svg .p4c-hand.tip").first).to_be_visible()
    book.page.keyboard.press("Home")
    expect(copy).to_have_attribute("data-number", "1")
    assert book.errors == [] and book.strangers == []


def test_a_click_in_the_list_shows_that_packet(book: Book) -> None:
    cell = book.cell("lab.time_view(lost)")
    book.run(cell)
    view = cell.locator(".p4c-view")
    now = view.locator("path.now")
    expect(now).to_have_count(2, timeout=PATIENCE)
    view.locator("li", has_text="packet 3:").click()
    expect(view.get_by_role("status")).to_contain_text("h3 does not get this packet")
    expect(view.locator(".p4v-clock")).to_have_text("packet 3 / 8")
    expect(view.locator("g[data-packet='2']").first).to_be_visible()
    assert book.errors == []
