"""The gateway's views by themselves, in both themes and in a narrow pane: everyone can read them
and use them without a mouse, and what is pressed has its effect."""

from __future__ import annotations

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")

from playwright.sync_api import Browser, expect

from book import chromium
from p4lab.course.home import HERE
from p4lab.notebook import Lab, open_lab
from stage import NARROW, WIDE, Stage

pytestmark = [
    pytest.mark.skipif(chromium() is None, reason="needs Chromium (Debian: chromium)"),
    pytest.mark.beside(seconds=15),
]


@pytest.fixture(scope="module")
def lab() -> Lab:
    return open_lab("06-bng", folder=HERE.sources)


@pytest.mark.parametrize(("dark", "width"), [(False, WIDE), (True, NARROW)], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["dial_view", "speed_view", "spoof_view"])
def test_everyone_can_use_it(browser: Browser, lab: Lab, name: str, dark: bool, width: int) -> None:
    page = browser.new_page()
    stage = Stage(page, getattr(lab, name)(), dark=dark, width=width)
    assert stage.complaints() == []
    page.close()


def test_a_call_is_stepped_through_by_keys(browser: Browser, lab: Lab) -> None:
    stage = Stage(browser.new_page(), lab.dial_view(who="alice"))
    page = stage.page
    said = page.get_by_role("status")
    expect(said).to_contain_text("alice sends PADI")
    ending = page.get_by_text("alice is online")
    expect(ending).to_be_hidden()
    page.locator(".p4d-view").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(said).to_contain_text("the gateway sends PADS")
    expect(page.locator(".p4d-known td.new").first).to_contain_text("session")
    page.keyboard.press("End")
    expect(page.locator(".p4d-message.now")).to_contain_text("DHCPv6 Reply")
    expect(ending).to_be_visible()
    page.locator("[data-step='0']").click()
    expect(said).to_contain_text("PADI")
    assert stage.errors == []
    page.close()


def test_the_ladder_cuts_no_message(browser: Browser, lab: Lab) -> None:
    stage = Stage(browser.new_page(), lab.dial_view(who="alice"), width=496)
    page = stage.page
    cut = """scene => {
      const { top, bottom } = scene.getBoundingClientRect();
      return [...scene.querySelectorAll(".p4d-row")].filter((row) => {
        const own = row.getBoundingClientRect();
        return [top, bottom].some((edge) => own.top + 3 < edge && edge < own.bottom - 3);
      }).length;
    }"""
    page.locator(".p4d-view").focus()
    for key in ("Home", *["ArrowRight"] * 8, "End"):
        page.keyboard.press(key)
        assert page.locator(".p4d-scene").evaluate(cut) == 0
    page.close()


def test_a_state_is_one_word(browser: Browser, lab: Lab) -> None:
    """Beside the ladder, in a notebook beside the network."""
    stage = Stage(browser.new_page(), lab.dial_view(who="bob"), width=560)
    page = stage.page
    page.locator(".p4d-view").focus()
    cell = page.locator(".p4d-known td", has_text="challenged")
    for _ in range(8):
        page.keyboard.press("ArrowRight")
    lines = cell.evaluate(
        "cell => { const range = document.createRange(); range.selectNodeContents(cell);"
        " return new Set([...range.getClientRects()].map(one => one.top)).size; }"
    )
    assert lines == 1
    page.close()


def test_keys_work_on_at_both_ends_of_a_call(browser: Browser, lab: Lab) -> None:
    """A button that goes nowhere keeps the focus: without it, no key would reach the view."""
    stage = Stage(browser.new_page(), lab.dial_view(who="alice"))
    page = stage.page
    for button, end, key in (("next", "End", "ArrowLeft"), ("back", "Home", "ArrowRight")):
        step = page.locator(f".p4v-{button}")
        step.focus()
        page.keyboard.press(end)
        expect(step).to_be_focused()
        expect(step).to_have_attribute("aria-disabled", "true")
        page.keyboard.press(key)
        expect(step).to_have_attribute("aria-disabled", "false")
    page.close()


def test_another_class_moves_one_needle(browser: Browser, lab: Lab) -> None:
    stage = Stage(browser.new_page(), lab.speed_view())
    card = stage.page.locator(".p4d-card")
    expect(card.nth(1)).to_contain_text("gets 10 of 20 Mbit/s")
    small = card.nth(1).locator("svg .p4d-small").all_text_contents()
    assert small[-7:] == ["0", "Mbit/s", "0", "50", "100", "150", "200 ms"]
    stage.page.locator("select[data-who=bob]").select_option("5 Mbit/s")
    stage.settle()
    expect(card.nth(1)).to_contain_text("gets 5 of 20 Mbit/s")
    expect(card.nth(0)).to_contain_text("gets 10 of 20 Mbit/s")
    expect(stage.page.get_by_role("status")).to_contain_text("0.4 s")
    assert stage.errors == []
    stage.page.close()
