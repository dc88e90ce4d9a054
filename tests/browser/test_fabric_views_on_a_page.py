"""The fabric's views by themselves, in both themes and in a narrow pane, and as a page: everyone
can read them and use them without a mouse, and what is pressed has its effect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")

from playwright.sync_api import Browser, expect

from book import chromium
from p4lab.systems.fabric.exploring import search as searching
from p4lab.systems.fabric.exploring.cases import CASES
from p4lab.systems.fabric.runs import Flow, Scenario
from p4lab.systems.fabric.trees import broadcast
from p4lab.systems.fabric.views.leaf import LeafView, leaf_view
from p4lab.systems.fabric.views.page import page as written
from p4lab.systems.fabric.views.rack import rack_view
from stage import NARROW, WIDE, Stage

pytestmark = [
    pytest.mark.skipif(chromium() is None, reason="needs Chromium (Debian: chromium)"),
    pytest.mark.beside(seconds=15),
]


def leaf() -> LeafView:
    flows = (Flow([(0, [1, 2, 8])], 99), Flow([(1, [2, 9])], 60))
    return leaf_view(Scenario(2, flows, 100, 0, {"cache.lines": 32}), slots=60)


def stuck() -> LeafView:
    """The film of the wrong variant's deadlock."""
    case = CASES["newest"]
    found = searching.search(case)
    assert found.stuck is not None
    return LeafView(searching.filmed(case, found.stuck, "Nothing moves any more."))


def rack() -> Any:
    return rack_view(Scenario(40, (Flow(broadcast(40), 50),), 4, 0), every=1)


@pytest.mark.parametrize(("dark", "width"), [(False, WIDE), (True, NARROW)], ids=["light", "dark"])
@pytest.mark.parametrize("view", [leaf, stuck, rack])
def test_everyone_can_use_it(browser: Browser, view: Any, dark: bool, width: int) -> None:
    stage = Stage(browser.new_page(), view(), dark=dark, width=width)
    stage.page.locator(".p4v").focus()
    stage.page.keyboard.press("End")
    assert stage.complaints() == []
    stage.page.close()


def test_a_leaf_fits_into_half_a_screen(browser: Browser) -> None:
    """A notebook beside its checks, 1440 pixels together: no credits are cut off at the right, and
    none beside a wider window either."""
    stage = Stage(browser.new_page(), leaf(), width=556)
    page = stage.page
    scene = page.locator(".p4f-scene")
    for width in (556, WIDE, 556):
        page.set_viewport_size({"width": width, "height": 900})
        narrow = width < WIDE
        box = scene.locator(f"svg[viewBox^='0 0 {672 if narrow else 920} ']")
        expect(box).to_have_count(1)
        assert scene.evaluate("one => one.scrollWidth <= one.clientWidth")
        own = scene.bounding_box()
        for words in scene.locator("text").all():
            at = words.bounding_box()
            assert at["x"] + at["width"] <= own["x"] + own["width"] + 1, words.text_content()
    page.close()


def test_a_leaf_is_stepped_and_jumped_through_by_keys(browser: Browser) -> None:
    stage = Stage(browser.new_page(), leaf())
    page = stage.page
    said = page.get_by_role("status")
    page.locator(".p4f-leaf").focus()
    page.keyboard.press("s")
    expect(said).to_contain_text("0.0→0.1 is suspended")
    expect(page.locator(".voq.suspended")).to_have_count(2)
    page.keyboard.press("e")
    expect(said).to_contain_text("evicts cell")
    page.keyboard.press("Home")
    expect(page.locator(".p4v-clock")).to_have_text("17.6 ns")
    # What is not in the film any more is asked of the fabric.
    before = len(stage.view.data["moments"])
    for _ in range(30):
        page.keyboard.press("s")
    stage.settle()
    assert len(stage.view.data["moments"]) > before
    expect(said).to_contain_text("is suspended")
    second = page.locator(".p4f-log li").nth(1)  # of two at the same moment
    second.click()
    expect(second).to_have_attribute("aria-current", "step")
    assert stage.errors == []
    page.close()


def test_a_jump_to_what_never_happens_says_so_where_one_looks(browser: Browser) -> None:
    """With a large cache nothing is evicted. A button without an answer seems broken."""
    flow = Flow([(0, [1, 2])], 50)
    stage = Stage(browser.new_page(), leaf_view(Scenario(2, (flow,), 100, 0, {}), slots=5))
    said = stage.page.get_by_role("status")
    stage.page.get_by_role("button", name="On to the next eviction").click()
    expect(said).to_have_text("Looking for the next eviction …")
    stage.settle()
    expect(said).to_contain_text("No other eviction comes before 200,")
    assert stage.errors == []
    stage.page.close()


def test_a_deadlock_shows_its_circle_at_the_end(browser: Browser) -> None:
    stage = Stage(browser.new_page(), stuck())
    page = stage.page
    page.locator(".p4f-leaf").focus()
    expect(page.locator(".p4f-ring")).to_be_hidden()
    page.keyboard.press("End")
    expect(page.locator(".p4f-waits li")).to_have_count(2)
    expect(page.locator(".p4f-ring svg .edge")).to_have_count(2)
    expect(page.locator(".p4v-verdict")).to_have_text("Nothing moves any more.")
    assert stage.errors == []
    page.close()


def test_the_rack_tells_of_the_leaf_that_is_chosen(browser: Browser) -> None:
    stage = Stage(browser.new_page(), rack())
    page = stage.page
    page.locator(".p4f-rack").focus()
    page.keyboard.press("End")
    expect(page.get_by_role("status")).to_contain_text("of 40 leaves send to servers")
    page.get_by_label("leaf").select_option("32")
    expect(page.locator(".p4f-one")).to_contain_text("Leaf 32, a surrogate of level 1: ")
    page.locator(".tile").nth(1).click()
    expect(page.locator(".p4f-one")).to_contain_text("Leaf 1, a surrogate of level 1: ")
    assert stage.errors == []
    page.close()


def test_a_page_runs_from_a_file_in_the_browsers_theme(browser: Browser, tmp_path: Path) -> None:
    """Without a kernel: the buttons that need one are not there."""
    file = tmp_path / "leaf.html"
    file.write_text(
        written("A leaf", [("What happens.", leaf()), ("All of them.", rack())]), "utf-8"
    )
    context = browser.new_context(color_scheme="dark")
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(file.as_uri())
    expect(page.locator(".p4f-rack")).to_be_visible()
    page.keyboard.press("s")  # before anything has the focus
    expect(page.get_by_role("status").first).to_contain_text("is suspended")
    expect(page.locator(".p4f-more")).to_be_hidden()
    assert page.evaluate("() => document.body.dataset.jpThemeLight") == "false"
    assert errors == []
    context.close()
