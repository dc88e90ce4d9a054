"""The lab as a page: a student without p4lab would lose all of it if these failed."""

from __future__ import annotations

import json
import random
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")

from playwright.sync_api import Browser, expect

from book import chromium
from cli_runner import p4lab
from hostile.programs import endless
from p4lab._engine import format_text
from p4lab.cli.web_verb import SITE
from p4lab.course.home import names
from p4lab.course.labs import load_plan
from p4lab.grading.course import load
from p4lab.grading.known import wanted
from p4lab.grading.mutants import Answer, answers
from p4lab.grading.submission import read
from p4lab.paths import ROOT
from p4lab.tracing import Hop, copies, trace
from site_page import PATIENCE, Site, browser, served

BROWSER = chromium()

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="needs Chromium (Debian: chromium)"),
    pytest.mark.skipif(
        not (SITE / "p4.wasm").is_file(), reason="the page is not built: ./lab build-web"
    ),
]

BIER = (ROOT / "p4" / "bier" / "bier.p4").read_text("utf-8")


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
    context = chromium_browser.new_context(accept_downloads=True)
    found = Site(context.new_page(), address)
    yield found
    assert found.strangers == []
    assert found.errors == []
    context.close()


def routers(hop: Hop) -> list[str]:
    """The routers of a trace, each as often as a packet came to it."""
    return sorted([hop.router, *(name for one in hop.next.values() for name in routers(one))])


def test_a_packet_takes_the_path_in_the_page_that_it_takes_with_trace(
    site: Site, address: str
) -> None:
    site.open(address, "01-bier")
    site.write(BIER)
    seen = sorted(line.partition(",")[0] for line in site.send())
    first = trace(load_plan("01-bier", packets=1))
    assert seen == routers(first)
    # The frame of the source itself is a copy, too, by the count of `copies`.
    drawn = site.page.locator("#network svg").get_attribute("aria-label")
    links = {f"{a} to {b}: {count}" for (a, b), count in copies(first).items()}
    assert drawn is not None
    assert set(drawn.partition(": ")[2].split(", ")) == links


def test_the_packet_of_every_lab_is_sent(site: Site, address: str) -> None:
    """Through what its control plane has written; a lab without one offers no packet."""
    site.open(address)
    for lab in names():
        site.bring(lab, {})
        if not load(lab).is_p4:
            assert not site.page.locator("#sending").is_visible()
            continue
        assert site.send() != [], lab
        assert site.page.locator("#trace pre.trouble").all_inner_texts() == [], lab


def test_a_mistake_has_its_place_and_the_page_goes_on(site: Site, address: str) -> None:
    site.open(address, "01-bier")
    site.write(BIER.replace("port_mac.apply();", "port_mac.aply();"))
    [told] = site.send()
    assert "bier/bier.p4" in told
    assert "aply" in told
    site.page.locator(".cm-lintRange-error").first.wait_for()  # by the language server
    site.write(BIER)
    assert len(site.send()) > 1


def test_handouts_lead_to_places_and_pictures_that_are_there(site: Site, address: str) -> None:
    site.open(address)
    for lab in names():
        site.bring(lab, {})
        broken = site.page.evaluate(
            "async () => {"
            "  const handout = document.getElementById('handout');"
            "  const links = [...handout.querySelectorAll('a[href^=\"#\"]')];"
            "  const images = [...handout.querySelectorAll('img')];"
            "  const loads = (image) => image.decode().then(() => true, () => false);"
            "  const found = await Promise.all(images.map(loads));"
            "  return [...links.map((one) => one.getAttribute('href'))"
            "    .filter((href) => !document.getElementById(href.slice(1))),"
            "    ...images.filter((_, at) => !found[at]).map((one) => one.src)];"
            "}"
        )
        assert broken == [], lab


def test_a_packet_is_stepped_through_bit_by_bit(site: Site, address: str) -> None:
    site.open(address, "01-bier")
    site.write(BIER)
    site.page.locator("#step").click()
    living = site.page.locator("#living")
    living.get_by_role("tab", name="bits", exact=True).wait_for(
        timeout=2 * PATIENCE
    )  # with Python's start
    living.locator(".p4v-net .p4v-node.host.reached").first.wait_for()
    sent = load_plan("01-bier", packets=1)
    receivers = [host.name for host in sent.streams[0].receivers]
    expect(living.locator(".p4v-log")).to_contain_text(
        f"{', '.join(receivers[:-1])} and {receivers[-1]}"
    )
    bits = living.locator(".p4v-bits")
    before = bits.inner_html()
    # It begins where the first bits are read, and has come there.
    expect(living.get_by_text("14 / 26")).to_be_visible(timeout=PATIENCE)
    step = living.locator(".p4v-stepper .p4v-next")
    step.focus()
    for _ in range(8):
        site.page.keyboard.press("Enter")
    expect(living.get_by_text("22 / 26")).to_be_visible()
    assert site.complaints() == []
    site.page.keyboard.press("End")
    expect(living.get_by_text("26 / 26")).to_be_visible()
    assert bits.inner_html() != before
    site.write(BIER.replace("port_mac.apply();", "port_mac.aply();"))  # the network follows
    expect(living.get_by_role("alert").filter(has_text="aply")).to_be_visible()


def test_format_does_what_fmt_does(site: Site, address: str) -> None:
    site.open(address, "00-p4")
    messy = "control  c( inout bit<8> x){apply{x=x+1;}}\n"
    site.write(messy)
    site.page.locator("#format").click()
    expect(site.page.locator(".cm-content")).to_contain_text("x = x + 1;")
    assert site.page.locator(".cm-line").all_text_contents() == format_text(messy).split("\n")


def test_what_is_saved_is_what_grade_reads(site: Site, address: str, tmp_path: Path) -> None:
    site.open(address, "01-bier")
    site.write(BIER)
    with site.page.expect_download() as waiting:
        site.page.locator("#export").click()
    waiting.value.save_as(tmp_path / "01-bier.zip")
    assert zipfile.ZipFile(tmp_path / "01-bier.zip").testzip() is None
    found = read(tmp_path / "01-bier.zip", wanted(load("01-bier")))
    assert (found.trouble, dict(found.files)) == ("", {"bier/bier.p4": BIER})


def test_work_is_there_after_a_reload_and_a_link_does_not_replace_it(
    site: Site, address: str, chromium_browser: Browser
) -> None:
    site.open(address, "01-bier")
    site.write(BIER)
    site.page.locator("#link").click()
    site.page.wait_for_url("**#work=*")
    linked = site.page.url
    site.open(address, "01-bier")
    assert len(site.send()) > 1  # the solution's packet, not the starter's

    context = chromium_browser.new_context()
    other = Site(context.new_page(), address)
    other.open(linked)
    assert len(other.send()) > 1
    other.write(BIER + "\n")
    assert other.page.evaluate("() => localStorage.length") == 0
    context.close()


def test_a_link_opens_in_a_page_that_is_open_and_a_damaged_one_is_said_to_be(
    site: Site, address: str
) -> None:
    site.open(address, "01-bier")
    site.write(BIER)
    site.page.locator("#link").click()
    site.page.wait_for_url("**#work=*")
    linked = site.page.url
    site.open(f"{address}?other#lab=03-protect")
    opened = site.page.locator("html[data-lab='01-bier']")
    site.page.evaluate("url => { location.hash = new URL(url).hash }", linked)  # as a paste does
    opened.wait_for(state="attached")
    assert len(site.send()) > 1
    for damaged in ("#work=abc", "#lab=nope"):
        site.open(f"{address}?{damaged[1:]}{damaged}")  # the lab that was open last
        site.page.locator("html[data-lab='03-protect']").wait_for(state="attached")
        expect(site.page.get_by_role("status")).to_contain_text(
            "damaged" if "work" in damaged else "no lab nope"
        )


def test_what_is_shown_of_a_program_before_a_change_is_said_to_be(site: Site, address: str) -> None:
    site.open(address, "01-bier")
    site.send()
    changed = site.page.get_by_text("Your program has changed since this packet")
    expect(changed).not_to_be_visible()
    site.write(BIER)
    expect(changed).to_be_visible()
    site.send()
    expect(changed).not_to_be_visible()


def test_a_slow_network_is_not_taken_for_a_program_that_never_ends(
    site: Site, address: str
) -> None:
    late = 12_000  # milliseconds: more than the engine may take for an answer
    site.page.route(
        "**/p4.wasm", lambda route: (site.page.wait_for_timeout(late), route.continue_())
    )
    site.open(address, "01-bier")
    assert site.send()[0].startswith("r6, port")


def test_a_file_that_does_not_arrive_is_said_and_asked_for_again(site: Site, address: str) -> None:
    site.page.route("**/p4.wasm", lambda route: route.abort())
    site.open(address, "01-bier")
    assert "did not arrive" in site.send()[0]
    site.page.unroute("**/p4.wasm")
    assert site.send()[0].startswith("r6, port")
    site.write(BIER.replace("port_mac.apply();", "port_mac.aply();"))
    site.page.locator(".cm-lintRange-error").first.wait_for()  # the language server is back, too


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (360, 740)])
def test_the_page_is_accessible_also_on_a_phone(
    site: Site, address: str, width: int, height: int
) -> None:
    site.page.set_viewport_size({"width": width, "height": height})
    site.open(address, "01-bier")
    site.write(BIER)
    site.send()
    site.page.locator("#trace summary").nth(1).click()  # the next switch, as a tap opens it
    assert site.page.locator("#trace details[open]").nth(1).is_visible()
    found = site.complaints()
    assert found == [], "\n".join(found)


def test_a_macro_bomb_ends_with_its_sentence_and_the_page_goes_on(site: Site, address: str) -> None:
    bomb = "#define A0 x x x x x x x x\n" + "".join(
        f"#define A{n + 1} " + " ".join([f"A{n}"] * 8) + "\n" for n in range(12)
    )
    site.open(address, "01-bier")
    site.write(bomb + "A12\n")
    [told] = site.send()
    assert "E0026" in told  # as on the command line
    site.write(BIER)
    assert len(site.send()) > 1


def test_a_packet_that_is_busy_for_long_is_shown_in_part(site: Site, address: str) -> None:
    """All of its steps would be more than a browser can draw."""
    for name in ("for", "loop-recirculate"):
        site.open(address, "01-bier")
        site.write(next(one.text for one in endless(BIER) if one.name == name))
        assert site.send()[0].startswith("r6, port"), name
        expect(site.page.get_by_text(re.compile(r"^… and \d+ more$")).first).to_be_visible()
        assert site.page.locator(".hop").first.locator(".fate").last.is_visible()


def drawn(lab: str) -> Answer:
    """A mutant, a variant or the solution of a lab; another when there is one more of them."""
    known = [one for one in answers(load(lab)) if one.kind != "empty"]
    return random.Random(f"{lab} {len(known)}").choice(known)


def on_the_command_line(lab: str, files: Mapping[str, str], folder: Path) -> dict[str, Any]:
    """What `p4lab check` says of these files."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    told: dict[str, Any] = json.loads(p4lab("check", lab, folder, "--json").stdout)
    return told


def test_the_verdict_in_the_page_is_that_of_check(site: Site, address: str, tmp_path: Path) -> None:
    """Of one lab; of all labs in test_verdicts_of_the_page.py, without a browser."""
    site.open(address)
    lab = "02-frr"
    answer = drawn(lab)
    site.bring(lab, answer.files)
    seen = site.check()
    told = on_the_command_line(lab, answer.files, tmp_path / lab)
    assert seen == {name: told[name] for name in seen}, answer.name


def test_a_program_whose_packets_go_around_is_judged_as_by_check(
    site: Site, address: str, tmp_path: Path
) -> None:
    loop = next(one.text for one in endless(BIER) if one.name == "loop-clone")
    site.open(address)
    site.bring("01-bier", {"bier/bier.p4": loop})
    seen = site.check()
    told = on_the_command_line("01-bier", {"bier/bier.p4": loop}, tmp_path)
    assert seen == {name: told[name] for name in seen}


def test_a_failed_check_has_its_film_and_hints_that_are_kept(site: Site, address: str) -> None:
    site.open(address, "01-bier")
    verdict = site.check()
    failed = next(one["id"] for one in verdict["checks"] if one["status"] == "failed")
    site.page.locator(f"[data-watch='{failed}']").click()
    site.page.locator(".p4v-film .p4v-source").wait_for()
    site.page.locator(f"[data-hint='{failed}']").click()
    site.page.locator(".p4v-hints li").wait_for()
    assert f"{failed} = 1" in site.page.evaluate("() => JSON.stringify({ ...localStorage })")
