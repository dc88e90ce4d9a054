"""The living network in a real JupyterLab: what a student writes on the left is seen on the right.

Nothing is run and nothing is pressed before the first packet moves.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from p4lab.course.home import HERE

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect

from beginner import begun  # noqa: E402
from book import Book, chromium  # noqa: E402

BROWSER = chromium()
FILE = "bier/bier.p4"
SOLUTION = (HERE.sources / FILE).read_text()
# Where the packet has been drawn since the page was opened.
PLACES = """
  globalThis.places = new Set();
  const look = () => {
    const packet = document.querySelector(".p4l g[data-way='h1 r6']");
    if (packet) places.add(packet.getAttribute("transform"));
    requestAnimationFrame(look);
  };
  look();
"""
VERDICT = ".p4v-topology .p4v-verdict"
WRONG = SOLUTION.replace("in_progress = 1", "in_progres = 1", 1)  # one letter

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="needs Chromium (Debian: chromium)"),
    pytest.mark.beside(seconds=40),
]


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Book]:
    """JupyterLab as `./lab` opens it, on a lab that has just begun."""
    assert BROWSER is not None
    home = tmp_path_factory.mktemp("living")
    with begun("01-bier", home, BROWSER, ".p4l .p4v-topology") as book:
        yield book


def save(book: Book, text: str) -> None:
    """The file as another editor saves it; waits until the view has looked at it."""
    view = book.page.locator(".p4l")
    before = int(view.get_attribute("data-saves") or 0)
    (book.folder / FILE).write_text(text)
    expect(view).not_to_have_attribute("data-saves", str(before))


def at_the_end(book: Book) -> None:
    """All is over in the picture."""
    book.page.locator(".p4l .p4v-topology").focus()
    book.page.keyboard.press("End")


def test_a_packet_moves_beside_the_students_file(book: Book) -> None:
    page = book.page
    page.add_init_script(PLACES)
    page.reload()
    page.wait_for_function("places.size > 1")
    editor = page.locator(".jp-FileEditor").bounding_box()
    network = page.locator(".p4l").bounding_box()
    assert editor and network and editor["x"] + editor["width"] <= network["x"]
    expect(page.locator(".jp-FileEditor .cm-content")).to_contain_text("BIER")
    expect(page.locator(".lm-TabBar-tabLabel", has_text="01-bier.ipynb")).to_have_count(1)


def test_the_starters_packet_ends_at_the_first_router(book: Book) -> None:
    verdict = book.page.locator(".p4l").locator(VERDICT)
    expect(verdict).to_contain_text("nobody got the packet")
    forward = book.page.locator(".p4l-parts [data-part=forward]")
    expect(forward).to_have_class("failed")
    expect(book.page.locator(".p4l-parts .passed")).to_have_count(0)
    size = book.page.viewport_size
    book.page.set_viewport_size(
        {"width": 1440, "height": 640}
    )  # of a laptop: all that opens is below
    forward.click()
    checks = book.page.locator(".p4l .p4v-checks")
    expect(checks).to_contain_text("✗ failed")
    expect(checks.locator("tr[data-check=forward-one]")).to_be_in_viewport()
    checks.locator("[data-watch=forward-one]").click()
    expect(checks.locator(".p4v-film .p4v-next")).to_be_in_viewport()
    checks.locator("[data-hint=forward-one]").click()
    expect(checks.locator(".p4v-hints")).to_be_in_viewport()
    book.page.set_viewport_size(size)


def test_nodes_say_whose_bit_is_whose_and_who_waits_for_the_packet(book: Book) -> None:
    view = book.page.locator(".p4l")
    expect(view.locator("[data-node=r7] .p4v-mark")).to_have_text("bit 7")
    expect(view.locator("[data-node=h4] .p4v-mark")).to_have_text("receiver")
    expect(view.locator("[data-node=h1] .p4v-mark")).to_have_text("source")


def test_a_save_in_the_editor_is_a_new_picture(book: Book) -> None:
    """With Ctrl+S, and what does not compile takes the picture's place until it does."""
    page, view = book.page, book.page.locator(".p4l")
    page.locator(".jp-FileEditor .cm-content").click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("wrong ")
    # JupyterLab ignores a save while the checkpoint of the one before is still being written, and
    # by then the tab no longer shows the file as changed.
    with page.expect_response("**/bier.p4/checkpoints*"):
        page.keyboard.press("Control+s")
    expect(view.locator(".p4l-trouble")).to_contain_text("bier.p4:1:6")
    expect(view.locator(".p4l-network")).to_be_hidden()
    for _ in "wrong ":
        page.keyboard.press("Backspace")
    page.keyboard.press("Control+s")
    expect(view.locator(".p4l-trouble")).to_be_hidden()
    expect(view.locator(".p4l-network")).to_be_visible()


def test_the_solution_lights_up_every_part(book: Book) -> None:
    save(book, SOLUTION)
    view = book.page.locator(".p4l")
    at_the_end(book)
    expect(view.locator("[data-count='r1 r2']")).to_have_text("1")
    expect(view.locator(VERDICT)).to_contain_text("h2, h3, h4 and h5 got the packet")
    expect(view.locator(".p4l-parts .passed")).to_have_count(5)
    save(book, WRONG)
    expect(view.locator(".p4l-trouble")).to_contain_text("in_progres")
    save(book, SOLUTION)
    expect(view.locator(".p4l-trouble")).to_be_hidden()


def test_what_is_to_come_is_not_given_away(book: Book) -> None:
    view = book.page.locator(".p4l")
    view.locator("[data-node=r1]").click()
    view.locator(".p4v-topology").focus()
    book.page.keyboard.press("Home")
    expect(view.locator(".p4v-log li:visible")).to_have_count(0)
    expect(view.locator(VERDICT)).to_have_text("")
    expect(view.locator(".p4l-wait")).to_have_text("No packet has come to r1 yet.")
    expect(view.locator(".p4l-panes")).to_be_hidden()
    book.page.keyboard.press("End")
    expect(view.locator(".p4l-panes")).to_be_visible()


def test_a_router_shows_its_bits_and_tables(book: Book) -> None:
    view = book.page.locator(".p4l")
    at_the_end(book)
    view.locator("[data-node=r5]").click()
    view.get_by_role("tab", name="bits", exact=True).click()
    expect(view.locator(".p4v-stepper")).to_contain_text("r5, a packet from r2")
    view.get_by_role("tab", name="table bift").click()
    expect(view.locator(".p4v-table")).to_contain_text("r5, table bift")
    expect(view.locator(".p4v-table tr.met")).not_to_have_count(0)


def test_a_packet_shows_its_headers(book: Book) -> None:
    view = book.page.locator(".p4l")
    view.locator(".p4v-topology").focus()
    book.page.keyboard.press("Home")
    way = view.locator("g[data-way='r1 r2']")
    for _ in range(20):
        if way.count() and way.is_visible():
            break
        book.page.keyboard.press("ArrowRight")
    way.click()
    expect(view.get_by_role("tab", name="headers")).to_have_attribute("aria-selected", "true")
    expect(view.locator(".p4v-diff")).to_contain_text("as it left, to r2")


def test_a_link_is_cut_and_mended_by_a_click(book: Book) -> None:
    """And it stays cut when a file is saved: who tries out a reroute does not cut it each time."""
    view = book.page.locator(".p4l")
    at_the_end(book)
    view.locator("[data-touch='r1 r2']").click()
    expect(view.locator(".p4v-link.down")).to_have_count(1)
    at_the_end(book)
    expect(view.locator(VERDICT)).to_contain_text("h2 and h4 did not")
    save(book, SOLUTION + "\n")
    expect(view.locator(".p4v-link.down")).to_have_count(1)
    view.locator("[data-touch='r1 r2']").focus()
    book.page.keyboard.press("Enter")
    expect(view.locator(".p4v-link.down")).to_have_count(0)
    at_the_end(book)
    expect(view.locator(VERDICT)).to_contain_text("h2, h3, h4 and h5 got the packet")


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_it_is_accessible(book: Book, theme: str) -> None:
    """Names, roles and contrast, as axe-core judges them, in each tab and both themes."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is missing")
    settings = book.home / "jupyter_config_dir/lab/user-settings/@jupyterlab/apputils-extension"
    settings.mkdir(parents=True, exist_ok=True)
    (settings / "themes.jupyterlab-settings").write_text(f'{{"theme": "{theme}"}}')
    book.page.reload()
    expect(book.page.locator("body")).to_have_attribute("data-jp-theme-name", theme)
    expect(book.page.locator(".p4l .p4l-parts .passed")).to_have_count(5)
    at_the_end(book)
    book.page.locator(".p4l [data-node=r1]").click()
    tabs = book.page.locator(".p4l .p4l-details [role=tablist]").first.get_by_role("tab")
    for number in range(tabs.count()):
        tabs.nth(number).click()
        found = axe.Axe().run(book.page, context=".p4l", options={"resultTypes": ["violations"]})
        assert found.violations_count == 0, found.generate_report()


def test_after_a_reload_everything_is_there_once(book: Book) -> None:
    """The tests of the themes have loaded the page again."""
    for what in (".p4l", ".jp-FileEditor", ".jp-NotebookPanel"):
        expect(book.page.locator(what)).to_have_count(1)


def test_it_asks_nobody_else_and_throws_nothing(book: Book) -> None:
    """A lab room without a network: every request goes to this machine."""
    assert book.strangers == []
    assert book.errors == []
