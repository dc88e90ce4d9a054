"""Notebook 01 in a real JupyterLab in a real browser: what a student clicks has its effect.

The other tests see the data of the views; only these see whether anything of it can be seen.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect

from book import PATIENCE, Book  # noqa: E402
from first_notebook import BROWSER, WRONG, running  # noqa: E402

pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs Chromium (Debian: chromium)")


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Book]:
    with running(tmp_path_factory.mktemp("home")) as book:
        yield book


def test_it_runs_from_top_to_bottom(book: Book) -> None:
    last = book.page.locator(".jp-CodeCell").last
    expect(last).to_contain_text("100 of 100 points")
    expect(book.page.locator(".jp-RenderedText[data-mime-type*=error]")).to_have_count(0)
    assert book.errors == []


def test_it_asks_nobody_else(book: Book) -> None:
    """A lab room without a network: every request goes to this machine."""
    assert book.strangers == []


def test_p4_cells_have_the_colours_of_p4(book: Book) -> None:
    cell = book.cell("%%p4 hop")
    keyword = cell.locator(".cm-line span", has_text="header").first
    plain = cell.locator(".cm-content")
    colour = "element => getComputedStyle(element).color"
    assert keyword.evaluate(colour) != plain.evaluate(colour)


def test_the_compiler_speaks_in_place(book: Book) -> None:
    cell = book.cell("%%p4 hop")
    expect(cell.locator(".p4d-one.error")).to_contain_text("E0305")
    expect(cell.locator(".p4d-caret")).to_have_text("^^^")
    cell.locator("summary").click()
    expect(cell.locator("details")).to_contain_text("The name after the dot")


def test_the_stepper_goes_forward_and_back(book: Book) -> None:
    stepper = book.cell('lab.bit_view("r1"').locator(".p4v-stepper")
    bits = stepper.locator("tr[data-row=remaining] td")

    def remaining() -> str:
        return "".join(bits.all_text_contents())

    assert remaining() == ""
    stepper.locator("[data-pass='1']").click()
    seen = [remaining()]
    for _ in range(40):
        if not stepper.locator(".p4v-next").is_enabled():
            break
        stepper.locator(".p4v-next").click()
        if remaining() != seen[-1]:
            seen.append(remaining())
    # Bits 1, 7, 8 and 9; then without r1 itself; without what is behind r2; without r8.
    assert seen == ["", "0111000001", "0111000000", "0010000000", "0000000000"]
    stepper.focus()
    book.page.keyboard.press("PageUp")
    expect(stepper.locator("[data-fact=pass]")).to_have_text("2")
    book.page.keyboard.press("Home")
    assert remaining() == ""
    expect(stepper.locator(".p4v-source")).to_contain_text("parser.p4")


def test_the_packet_flies_and_can_be_stepped(book: Book) -> None:
    view = book.cell("lab.topology_view(sent)").first.locator(".p4v-topology")
    view.focus()
    book.page.keyboard.press("Home")
    way = 'g[data-way="r1 r2"]:visible'
    for _ in range(3):
        expect(view.locator(way)).to_have_count(0)
        book.page.keyboard.press("ArrowRight")
    expect(view.locator(way)).to_have_count(1)
    assert "".join(view.locator(f"{way} .on, {way} .off").all_text_contents()) == "0101000000"
    expect(view.locator("li[aria-current]")).to_contain_text("to r2 with bits 7 and 9")
    book.page.keyboard.press("End")
    expect(view.locator('[data-node="h4"]')).to_have_class("p4v-node host receiver reached")
    view.locator(".p4v-play").click()
    expect(view.locator(".p4v-play")).to_contain_text("pause")
    expect(view.locator(".p4v-play")).to_contain_text("play", timeout=PATIENCE)


def test_a_prediction_is_compared_with_the_network(book: Book) -> None:
    book.cell("guess3 = predict").locator("label", has_text="3").click()
    reveal = book.cell("guess3.reveal")
    expect(reveal).to_contain_text("The network says")
    book.run(reveal)
    expect(reveal).to_contain_text("That is what you predicted")


def test_an_edited_table_changes_the_next_packet(book: Book) -> None:
    cell = book.cell('lab.table_view("r1", "bift")')
    view = cell.locator(".p4v-topology")
    count = view.locator('[data-count="r1 r2"]')
    view.focus()
    book.page.keyboard.press("End")
    expect(count).to_have_text("1")
    row = cell.locator("tr", has=book.page.locator("input[name='key:remaining'][value='bit 7']"))
    field = row.locator("input[name='arg:fbm']")
    field.fill("bits 7")
    field.press("Enter")
    expect(cell.locator(".p4v-table .p4v-verdict.bad")).to_contain_text("is not a number")
    expect(field).to_have_value("0b1101011110")
    field.fill("{7}")
    field.press("Enter")
    expect(cell.locator(".p4v-table .p4v-verdict")).to_contain_text("The switch has the new row")
    expect(field).to_have_value("0b0001000000")
    view.locator(".p4v-send").click()
    expect(view.locator(".p4v-play")).to_contain_text("pause")
    view.focus()
    book.page.keyboard.press("End")
    expect(count).to_have_text("2")


def test_a_broken_link_is_seen_and_felt(book: Book) -> None:
    cell = book.cell("lab.link_buttons()")
    view = cell.locator(".p4v-topology")
    cell.get_by_role("button", name="r1 – r2").click()
    expect(view.locator(".p4v-link.down")).to_have_count(1)
    view.locator(".p4v-send").click()
    expect(view.locator(".p4v-verdict")).to_contain_text("h2 and h4 did not")
    view.focus()
    book.page.keyboard.press("End")
    expect(view.locator(".p4v-trail.lost")).not_to_have_count(0)
    cell.get_by_role("button", name="r1 – r2").click()
    expect(view.locator(".p4v-link.down")).to_have_count(0)


def test_a_mistake_in_a_file_is_underlined(book: Book) -> None:
    """The language server runs in the student's JupyterLab, with nothing to be set up."""
    page = book.page.context.new_page()
    page.goto(book.url.replace("01-bier.ipynb", "mine/bier/bier.p4"))
    editor = page.locator(".jp-FileEditor .cm-scroller")
    editor.wait_for()
    line = book.folder.joinpath("mine/bier/bier.p4").read_text().split(f"{WRONG} =")[0].count("\n")
    # Far lines are drawn when they come into sight.
    height = page.locator(".jp-FileEditor .cm-line").first.bounding_box()["height"]
    editor.evaluate("(element, top) => { element.scrollTop = top }", (line - 10) * height)
    expect(page.locator(".cm-lintRange-error")).to_have_text(WRONG)
    page.close()
