"""Lab 04's notebook in a real browser: the tree beside its header can be pointed at on both sides
and stepped through. Only the cells that are looked at are run."""

from __future__ import annotations

import re
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

LIT, GONE = re.compile(r"\blit\b"), re.compile(r"\bgone\b")


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Book]:
    home = tmp_path_factory.mktemp("home")
    notebook = copy_of(ROOT / "notebooks" / "04-msr6.ipynb", home / "files")
    with jupyter(notebook, home, P4LAB_FOLDER=str(HERE.sources)) as server:
        assert BROWSER is not None
        with opened(server.url, BROWSER) as book:
            book.run(book.cell("%load_ext p4lab"))
            book.run(book.cell("sent = goal.send()"))
            book.run(book.cell("goal.tree_view(sent)"))
            yield book


def at_the_root(book: Book) -> playwright.Locator:
    """The view, at the step at which the whole tree is in the header."""
    view = book.cell("goal.tree_view(sent)").locator(".p4m-view")
    view.focus()
    book.page.keyboard.press("Escape")
    book.page.keyboard.press("Home")
    book.page.keyboard.press("ArrowRight")
    expect(view.get_by_role("status")).to_contain_text(
        "r1 puts the tree in front", timeout=PATIENCE
    )
    return view


def test_pointing_at_an_entry_shows_its_node_and_branch(book: Book) -> None:
    view = at_the_root(book)
    view.locator("tr[data-cell='entry 5']").hover()
    expect(view.locator("g[data-node='r5']")).to_have_class(LIT)
    expect(view.locator("g[data-node='r3']")).not_to_have_class(LIT)
    for way in ("r2 r5", "r5 r8", "r5 r9", "r8 h8"):
        expect(view.locator(f".p4m-glow[data-way='{way}']")).to_have_class(LIT)
    expect(view.locator(".p4m-glow.lit")).to_have_count(5)
    expect(view.locator("tr.lit")).to_have_count(3)  # itself, and the two that it reads
    view.locator(".p4v-verdict").hover()
    expect(view.locator(".lit")).to_have_count(0)


def test_pointing_at_a_node_shows_what_it_reads(book: Book) -> None:
    view = at_the_root(book)
    view.locator("g[data-node='r7']").hover()
    for entry in (0, 1, 4):
        expect(view.locator(f"tr[data-cell='entry {entry}']")).to_have_class(LIT)
    expect(view.locator("tr.lit")).to_have_count(3)
    view.locator("g[data-node='r7']").click()  # holds it
    view.locator(".p4v-verdict").hover()
    expect(view.locator("tr.lit")).to_have_count(3)
    view.locator("g[data-node='r7']").click()
    view.locator(".p4v-verdict").hover()
    expect(view.locator("tr.lit")).to_have_count(0)


def test_entries_turn_pale_as_the_packet_goes_on(book: Book) -> None:
    """With the keyboard alone: focus a row, step on, and stay at that row."""
    view = at_the_root(book)
    row = view.locator("tr[data-cell='entry 5']")
    row.focus()
    expect(view.locator("g[data-node='r5']")).to_have_class(LIT)
    expect(row).not_to_have_class(GONE)
    for _ in range(4):
        book.page.keyboard.press("ArrowRight")
    expect(view.get_by_role("status")).to_contain_text("r2 → r5, the copy for entry 5")
    expect(row).to_have_class(GONE)
    expect(row).to_be_focused()
    expect(row.locator(".p4m-arrow")).to_have_text("SL ▸")
    expect(view.locator("tr.gone")).to_have_count(3)
    expect(view.locator(".p4m-copy.now")).to_have_attribute("data-way", "r2 r5")
    expect(view.locator(".p4v-clock")).to_have_text("step 6 / 22")
    assert book.errors == [] and book.strangers == []


def test_a_click_in_the_list_goes_to_that_step(book: Book) -> None:
    view = at_the_root(book)
    view.locator("li", has_text="r8 → h8").click()
    expect(view.get_by_role("status")).to_have_text("r8 hands the packet inside to h8.")
    expect(view.locator("g[data-node='h8']")).to_have_class(re.compile(r"\breached\b"))
    expect(view.locator("tr.p4m-entry")).to_have_count(0)
    assert book.errors == []
