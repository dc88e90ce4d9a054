"""Lab 07 in a real browser, as `./lab notebook 07-fabric` opens it: a lab without packets offers
nothing that is about packets, and its pictures are there to be used."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect

from beginner import begun  # noqa: E402
from book import Book, chromium  # noqa: E402

BROWSER = chromium()

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="needs Chromium (Debian: chromium)"),
    pytest.mark.beside(seconds=30),
]


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Book]:
    """JupyterLab on a lab that has just begun, with the notebook in front."""
    assert BROWSER is not None
    with begun("07-fabric", tmp_path_factory.mktemp("home"), BROWSER, ".p4l-parts li") as book:
        book.page.locator(".lm-TabBar-tab", has_text="07-fabric.ipynb").click()
        yield book


def test_beside_the_file_is_a_verdict_and_no_word_of_packets(book: Book) -> None:
    expect(book.page.locator(".lm-TabBar-tab", has_text="checks of 07-fabric")).to_be_visible()
    pane = book.page.locator(".p4l")
    expect(pane.get_by_role("button", name="A hint: ")).to_have_count(5)
    expect(pane.get_by_role("button", name="Watch it: ")).to_have_count(0)
    expect(pane.locator(".p4l-hint")).to_be_hidden()


def test_the_first_picture_is_stepped_through(book: Book) -> None:
    book.run(book.cell("%load_ext p4lab"))
    cell = book.cell('goal.leaf_view("suspend-small")')
    book.run(cell)
    cell.get_by_role("button", name="On to the next suspension").click()
    expect(cell.locator(".p4f-leaf .p4v-said")).to_contain_text("is suspended")
    cell.get_by_role("button", name="On to the next eviction").click()
    expect(cell.locator(".p4f-leaf .p4v-said")).to_contain_text("No other eviction comes")
    assert book.errors == [] and book.strangers == []
