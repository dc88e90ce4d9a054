"""The documentation of the site in a browser: who reads it looks things up, and tries examples."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Literal

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")

from playwright.sync_api import Browser, Locator, expect

from book import chromium
from p4lab.cli.web_verb import SITE
from p4lab.course.home import names
from p4lab.paths import ROOT
from site_page import Site, browser, served

BROWSER = chromium()

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="needs Chromium (Debian: chromium)"),
    pytest.mark.skipif(
        not (SITE / "p4.wasm").is_file(), reason="the page is not built: ./lab build-web"
    ),
]

SAMPLE = 12
"""Pages of codes whose examples are tried; which ones, the number of pages says"""
OTHERWISE = {"E0006", "E0024", "E0601"}
"""Codes that a program on a page of the site does not give: of files that cannot be read, and of
one that is to be run and has no `main`"""


@pytest.fixture(scope="module")
def chromium_browser() -> Iterator[Browser]:
    assert BROWSER is not None
    with browser(BROWSER) as found:
        yield found


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served(SITE) as found:
        yield found


@pytest.fixture
def site(chromium_browser: Browser, address: str) -> Iterator[Site]:
    context = chromium_browser.new_context()
    found = Site(context.new_page(), address)
    yield found
    assert found.strangers == []
    assert found.errors == []
    context.close()


def tried(place: Locator) -> str:
    """What the compiler says of an example as it is."""
    place.locator(".try").click()
    told = place.locator(".well, .told").first
    told.wait_for()
    return told.inner_text()


def test_the_examples_of_codes_give_them_and_are_right(site: Site, address: str) -> None:
    codes = sorted(file.stem for file in (ROOT / "docs" / "errors").glob("*.md"))
    draw = random.Random(len(codes))
    # Of those that have to be asked for, one of each kind.
    asked = [
        draw.choice([one for one in codes if one.startswith(k)]) for k in ("W06", "W07", "E07")
    ]
    for code in {*draw.sample(codes, SAMPLE), *asked} - OTHERWISE:
        site.page.goto(f"{address}book/docs/errors/{code}.html")
        wrong, *_, right = site.page.locator(".live").all()
        tried(wrong)
        assert code in wrong.locator(".told").inner_text()
        assert "It compiles" in tried(right), code


def test_the_examples_of_handouts_compile_as_parts_of_their_labs(site: Site, address: str) -> None:
    count = 0
    for lab in names():
        site.page.goto(f"{address}book/labs/{lab}/README.html")
        for place in site.page.locator(".live").all():
            assert "It compiles" in tried(place), lab
            count += 1
    assert count > 30


def test_an_example_is_edited_where_it_is(site: Site, address: str) -> None:
    site.page.goto(f"{address}book/labs/01-bier/README.html")
    place = site.page.locator(".live").first
    tried(place)
    place.locator(".cm-content").focus()
    site.page.keyboard.press("Control+Home")
    site.page.keyboard.insert_text("wrong ")
    place.get_by_role("button", name="Compile").click()
    expect(place.locator(".told")).to_contain_text("bier/bier.p4:70")
    place.locator(".cm-lintRange-error").first.wait_for()
    link = place.locator(".told a").first
    assert re.fullmatch(r".*/book/docs/errors/E\d{4}\.html", link.get_attribute("href") or "")
    place.get_by_role("button", name="Reset").click()
    place.get_by_role("button", name="Compile").click()
    expect(place.locator(".well")).to_be_visible()


def test_a_packet_goes_through_an_example(site: Site, address: str) -> None:
    """Of a lab through its network; of a whole program through one switch."""
    site.page.goto(f"{address}book/labs/01-bier/README.html")
    lab = site.page.locator(".live").first
    tried(lab)
    lab.get_by_role("button", name="Send").click()
    expect(lab.locator(".hop summary").first).to_contain_text("r6, port")
    site.page.goto(f"{address}book/docs/errors/E0602.html")
    whole = site.page.locator(".live").last
    tried(whole)
    whole.get_by_role("button", name="Send").click()
    expect(whole.locator(".hop li").filter(has_text="counters.count(index=1)")).to_be_visible()


def test_what_is_looked_up_is_found(site: Site, address: str) -> None:
    site.page.goto(f"{address}book/index.html")
    site.page.locator("input[type=search]").fill("F-BM")
    site.page.keyboard.press("Enter")
    first = site.page.locator(".found a").first
    assert "F-BM" in first.inner_text()
    site.page.locator("input[type=search]").fill("E0305")  # while it is typed
    expect(first).to_contain_text("E0305")
    first.click()
    expect(site.page.locator("h1")).to_contain_text("E0305")
    site.page.goto(f"{address}book/search.html?q=xyzzyx")
    expect(site.page.get_by_role("status")).to_contain_text("Nothing found")


def test_labs_and_their_handouts_lead_to_each_other(site: Site, address: str) -> None:
    site.page.goto(f"{address}book/labs/03-protect/README.html")
    site.page.get_by_role("link", name="Open this lab").click()
    site.page.locator("html[data-lab='03-protect']").wait_for(state="attached")
    site.page.get_by_role("link", name="Documentation").click()
    expect(site.page.locator("h1")).to_have_text("Documentation")
    site.page.get_by_role("link", name="Labs", exact=True).click()
    site.page.locator(".cm-content").wait_for()


@pytest.mark.parametrize(("width", "height", "scheme"), [(1280, 900, "light"), (360, 740, "dark")])
def test_pages_are_accessible_also_on_a_phone_and_in_the_dark(
    site: Site, address: str, width: int, height: int, scheme: Literal["light", "dark"]
) -> None:
    site.page.set_viewport_size({"width": width, "height": height})
    site.page.emulate_media(color_scheme=scheme)
    for page in ("index", "README", "docs/glossary", "docs/checks", "notebooks/01-bier"):
        site.page.goto(f"{address}book/{page}.html")
        assert site.complaints() == [], page
    for page in ("labs/01-bier/README", "docs/errors/E0602", "search"):
        site.page.goto(f"{address}book/{page}.html?q=table")
        for place in site.page.locator(".live").all()[:2]:
            tried(place)
        site.page.wait_for_load_state("networkidle")
        assert site.complaints() == [], page


def test_the_keyboard_reaches_text_and_examples(site: Site, address: str) -> None:
    site.page.goto(f"{address}book/docs/errors/E0305.html")
    site.page.keyboard.press("Tab")
    site.page.keyboard.press("Enter")  # past the header
    site.page.keyboard.press("Tab")
    site.page.keyboard.press("Tab")  # the block itself, which may have to be scrolled
    assert site.page.evaluate("() => document.activeElement.className") == "try"
    site.page.keyboard.press("Enter")
    expect(site.page.locator(".live .told").first).to_contain_text("E0305")
