"""Takes the pictures of docs/notebook.md: python tests/browser/pictures.py [living] [LAB...]

Run it after a change of the views and look at what it made, in docs/pictures/.
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests" / "browser")]

from PIL import Image  # noqa: E402
from playwright.sync_api import Locator  # noqa: E402

from book import Book, chromium, code_cells, copy_of, opened  # noqa: E402
from jupyter import jupyter  # noqa: E402
from p4lab.notebook.pace import solved  # noqa: E402

FOLDER = ROOT / "docs" / "pictures"
COLOURS = 160  # enough for lines and letters, and a fifth of the size

LARGEST = 80_000  # bytes

LIVING = "living"  # in the place of a lab's name: JupyterLab as `./lab` opens it


def take(book: Book, name: str, what: Locator) -> None:
    """A picture of one view as a small PNG."""
    what.scroll_into_view_if_needed()
    book.page.mouse.move(0, 0)
    picture = Image.open(io.BytesIO(what.screenshot())).convert("RGB")
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.png"
    picture.quantize(COLOURS).save(path, optimize=True)
    if path.stat().st_size > LARGEST:
        picture.quantize(COLOURS // 4).save(path, optimize=True)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1024} KB")


def press(book: Book, view: Locator, *keys: str) -> None:
    """Keys typed into a view."""
    view.focus()
    for key in keys:
        book.page.keyboard.press(key)
    view.blur()


def all_pictures(book: Book) -> None:
    """Each view in a state that shows what it is for."""
    view = book.cell("lab.topology_view(sent)").locator(".p4v-topology")
    press(book, view, "Home", *["ArrowRight"] * 3)
    take(book, "topology", view)
    stepper = book.cell('lab.bit_view("r1"').locator(".p4v-stepper")
    press(book, stepper, "Home", "PageDown", "ArrowRight")  # a line that gives no answer away
    take(book, "bits", stepper)
    take(book, "packet", book.cell('lab.packet_view("r1"').locator(".p4v-diff"))
    wide = book.cell("wide.topology_view(sent)").locator(".p4v-topology")
    press(book, wide, "End")
    take(book, "sets", wide.locator(".p4v-scene"))
    cell = book.cell('lab.table_view("r1", "bift")')
    row = cell.locator("tr", has=book.page.locator("input[name='key:remaining'][value='bit 7']"))
    field = row.locator("input[name='arg:fbm']")
    field.fill("{7}")
    field.press("Enter")
    cell.locator(".p4v-table .p4v-verdict").get_by_text("The switch has").wait_for()
    take(book, "table", cell.locator(".p4v-table"))
    cell = book.cell("lab.link_buttons()")
    cell.get_by_role("button", name="r1 – r2").click()
    cell.locator(".p4v-send").click()
    cell.locator(".p4v-verdict").get_by_text("did not").wait_for()
    press(book, cell.locator(".p4v-topology"), "Home", *["ArrowRight"] * 3)
    take(book, "links", cell.locator(".jp-OutputArea").first)


def picture_of_losses(book: Book) -> None:
    """Lab 02's counter: 20 packets before the routers see the failure, 20 when they have."""
    cell = book.cell("counter = lab.loss_counter()")
    cell.get_by_role("button", name="count from 0").click()
    seen = cell.get_by_label("the routers at its ends see it")
    seen.uncheck()
    cell.get_by_role("button", name="r1 – r2").click()
    cell.get_by_role("button", name="send 20 packets").click()
    cell.get_by_text("20 packets sent").wait_for()
    cell.get_by_role("button", name="r1 – r2").click()
    seen.check()
    cell.get_by_role("button", name="r1 – r2").click()
    cell.get_by_role("button", name="send 20 packets").click()
    cell.get_by_text("40 packets sent").wait_for()
    take(book, "losses", cell.locator(".jp-OutputArea").first)


def pictures_of_copies(book: Book) -> None:
    """Lab 03: the copy that is lost, on the circle and in time."""
    for code, name, steps in (("circle_view(lost)", "circle", 5), ("time_view(lost)", "times", 2)):
        view = book.cell(f"lab.{code}").locator(".p4c-view")
        press(book, view, "Home", *["ArrowRight"] * steps)
        take(book, name, view)


def picture_of_a_tree(book: Book) -> None:
    """Lab 04: the copy to r5 is on its way, and its entry is pointed at."""
    view = book.cell("goal.tree_view(sent)").locator(".p4m-view")
    press(book, view, "Home", *["ArrowRight"] * 5)
    view.locator("tr[data-cell='entry 5']").click()
    take(book, "tree", view)


def picture_of_the_living_network(browser: str) -> None:
    """The student's file and the network, where the packet has come to r1's neighbours."""
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        notebook = copy_of(ROOT / "notebooks" / "01-bier.ipynb", home / "files")
        folder = solved("01-bier", notebook.parent / "01-bier")
        with (
            jupyter(notebook, home, folder, P4LAB_FOLDER=str(folder.path)) as server,
            opened(server.url, browser, ".p4l .p4l-parts .passed") as book,
        ):
            book.page.set_viewport_size({"width": 1240, "height": 800})
            view = book.page.locator(".p4l")
            view.locator("[data-node=r1]").click()
            press(book, view.locator(".p4v-topology"), "Home", *["ArrowRight"] * 3)
            take(book, LIVING, book.page.locator("#jp-main-dock-panel"))


def main() -> None:
    browser = chromium()
    if browser is None:
        sys.exit("pictures need Chromium (Debian: chromium).")
    labs = {
        "01-bier": all_pictures,
        "02-frr": picture_of_losses,
        "03-protect": pictures_of_copies,
        "04-msr6": picture_of_a_tree,
    }
    chosen = sys.argv[1:] or [LIVING, *labs]
    if LIVING in chosen:
        picture_of_the_living_network(browser)
    for lab in (one for one in chosen if one != LIVING):
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder)
            notebook = copy_of(ROOT / "notebooks" / f"{lab}.ipynb", home / "files")
            with (
                jupyter(notebook, home, P4LAB_FOLDER=str(ROOT / "p4")) as server,
                opened(server.url, browser) as book,
            ):
                book.run_all(code_cells(notebook))
                book.page.set_viewport_size({"width": 1360, "height": 1500})
                labs[lab](book)


if __name__ == "__main__":
    main()
