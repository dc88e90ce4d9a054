"""The views by themselves, in both themes and in a narrow pane: who cannot see well, or has no
mouse, or a small screen, can work with them, too."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")

from playwright.sync_api import Browser, Locator, expect

from book import chromium
from p4lab.course.home import HERE
from p4lab.course.material import start
from p4lab.notebook import open_lab
from p4lab.notebook.checks import check
from p4lab.notebook.folder import lab_folder
from p4lab.systems.bier_tna.views.provisioning import provisioning
from p4lab.widgets.view import View
from stage import NARROW, WIDE, Stage

pytestmark = [
    pytest.mark.skipif(chromium() is None, reason="needs Chromium (Debian: chromium)"),
    pytest.mark.beside(seconds=40),
]

RIGHT, WRONG = "carried.remaining & fbm;", "carried.remaining;"


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A student's folder of lab 01 with one mistake."""
    folder = tmp_path_factory.mktemp("mine") / "01-bier"
    list(start("01-bier", folder))
    text = (HERE.sources / "bier" / "bier.p4").read_text()
    assert text.count(RIGHT) == 1
    (folder / "bier" / "bier.p4").write_text(text.replace(RIGHT, WRONG))
    return folder


@pytest.fixture(scope="module")
def views(mine: Path) -> dict[str, Callable[[], Any]]:
    """Each view in a state that shows most of it."""
    frr = open_lab("02-frr", folder=HERE.sources)

    def links() -> Any:
        view = frr.link_buttons()
        if not frr.down:
            view.press("r1", "r2")
        return view

    def losses() -> Any:
        counter = frr.loss_counter(packets=3)
        if not frr.down:
            frr.link_buttons().press("r1", "r2")
        counter.send()
        return counter

    def verdict() -> Any:
        view = check(lab_folder("01-bier", mine)).view()
        view._message(None, {"do": "watch", "check": "forward-one"}, None)
        view._message(None, {"do": "hint", "check": "forward-one"}, None)
        return view

    def calculator() -> Any:
        view = provisioning({4: 0.2, 16: 0.1})
        view.set("loopback", 3)
        return view

    return {"links": links, "losses": losses, "verdict": verdict, "calculator": calculator}


@pytest.mark.parametrize("width", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["links", "losses", "verdict", "calculator"])
def test_everybody_can_use_it(
    browser: Browser, views: dict[str, Callable[[], Any]], name: str, dark: bool, width: int
) -> None:
    page = browser.new_page()
    stage = Stage(page, views[name](), dark=dark, width=width)
    assert stage.complaints() == []
    page.close()


def test_a_press_breaks_a_link_and_nothing_moves(browser: Browser) -> None:
    lab = open_lab("02-frr", folder=HERE.sources)
    stage = Stage(browser.new_page(), lab.link_buttons())
    button = stage.page.get_by_role("button", name="r2 – r3")
    before = button.bounding_box()
    button.focus()
    stage.page.keyboard.press("Enter")
    stage.settle()
    assert lab.down == {frozenset(("r2", "r3"))}
    expect(stage.page.get_by_role("button", name="r2 – r3 down: mend it")).to_be_focused()
    assert button.bounding_box() == before
    stage.page.get_by_label("tell the control plane").check()
    stage.settle()
    assert stage.view.tell
    stage.page.close()


def test_the_counter_sends_and_forgets(browser: Browser) -> None:
    lab = open_lab("02-frr", folder=HERE.sources)
    lab.set_link("r1", "r2", False, seen=False)
    stage = Stage(browser.new_page(), lab.loss_counter(packets=4))
    table = stage.page.locator("table")
    before = table.bounding_box()
    stage.click(stage.page.get_by_role("button", name="send 4 packets"))
    expect(stage.page.get_by_role("status")).to_contain_text("4 packets sent to 239.1.1.1, 12 lost")
    expect(table.locator("tr[data-host=h2] td.bad")).to_have_text("4")
    assert table.bounding_box() == before
    stage.click(stage.page.get_by_role("button", name="count from 0"))
    expect(stage.page.get_by_role("status")).to_contain_text("0 lost")
    stage.page.close()


def test_the_calculator_answers_its_sliders(browser: Browser) -> None:
    stage = Stage(browser.new_page(), provisioning())
    answer = stage.page.get_by_role("status")
    expect(answer).to_contain_text("31 ports with traffic, 1 in loopback mode")
    slider = stage.page.get_by_role("slider", name="to 16 next hops")
    slider.focus()
    for _ in range(10):
        stage.page.keyboard.press("ArrowRight")
    stage.settle()
    expect(answer).not_to_contain_text("31 ports with traffic")
    expect(slider).to_have_attribute("aria-valuetext", "5.0%")
    expect(slider).to_be_focused()
    rule = stage.page.get_by_label("as many ports in loopback mode as the rule wants")
    stage.click(rule)
    loopback = stage.page.get_by_role("slider", name="ports in loopback mode")
    expect(loopback).to_be_enabled()
    loopback.focus()
    stage.page.keyboard.press("Home")
    stage.settle()
    expect(answer).to_contain_text("% lost")
    stage.page.close()


def test_a_failed_check_is_watched_up_to_where_it_goes_wrong(browser: Browser, mine: Path) -> None:
    stage = Stage(browser.new_page(), check(lab_folder("01-bier", mine)).view())
    page = stage.page
    expect(page.locator(".p4v-film")).to_be_hidden()
    stage.click(page.locator("button[data-watch=forward-one]"))
    film = page.locator(".p4v-film")
    expect(film).to_be_focused()
    place = film.locator(".p4v-clock")
    last = int(place.text_content().split("/")[1])
    height = film.locator("table").bounding_box()
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    expect(place).to_have_text(f"{last - 1} / {last}")
    expect(film.get_by_role("status").first).to_contain_text("Here it goes wrong.")
    expect(film.locator(".p4v-code .here")).to_contain_text("hdr.bier.bit_string = carried")
    sides = {}
    for side in ("expected", "got"):
        cells = film.locator(f"tr.differs[data-side={side}] td.bit")
        sides[side] = "".join(cells.all_text_contents())
    assert sides == {"expected": "1000001", "got": "1101001"}
    assert film.locator("table").bounding_box() == height
    page.keyboard.press("Home")
    expect(place).to_have_text(f"1 / {last}")
    page.close()


def changed(folder: Path, lab: str, file: str, old: str, new: str) -> Any:
    """The lab with a copy of the solution in which a piece is another."""
    shutil.copytree(HERE.sources / lab.partition("-")[2], folder / lab.partition("-")[2])
    place = folder / lab.partition("-")[2] / file
    text = place.read_text()
    assert old in text
    place.write_text(text.replace(old, new))
    return open_lab(lab, folder=folder)


def test_a_host_that_cannot_read_its_packet_is_not_green(browser: Browser, tmp_path: Path) -> None:
    """What the picture says by colour is what the verdict says, and not by colour alone."""
    colours = {}
    for wrong in (False, True):
        new = "" if wrong else "hdr.inner_tag.setValid();"
        folder = tmp_path / str(wrong)
        lab = changed(folder, "06-bng", "downstream.p4", "hdr.inner_tag.setValid();", new)
        stage = Stage(browser.new_page(), lab.topology_view())
        alice = stage.page.locator("[data-node=alice]")
        verdict = stage.page.locator(".p4v-verdict")
        stage.page.locator(".p4v-topology").focus()
        stage.page.keyboard.press("Home")
        expect(verdict).to_have_text("")
        expect(verdict).to_have_css("border-left-color", "rgba(0, 0, 0, 0)")
        expect(alice.locator(".p4v-no")).to_be_hidden()
        stage.page.keyboard.press("End")
        expect(verdict).to_contain_text("nobody got a readable" if wrong else "alice got the")
        expect(alice.locator(".p4v-no")).to_be_visible(visible=wrong)
        colours[wrong] = alice.locator("rect").evaluate("box => getComputedStyle(box).stroke")
        border = verdict.evaluate("line => getComputedStyle(line).borderLeftColor")
        assert border == colours[wrong]
        assert stage.complaints() == []
        stage.page.close()
    assert colours[True] != colours[False]


@pytest.mark.parametrize("lab", ["04-msr6", "06-bng"])
def test_names_fit_and_nothing_covers_them(browser: Browser, lab: str) -> None:
    """A name is in its box; neither a frame on its way nor the number of frames is on a name."""
    stage = Stage(browser.new_page(), open_lab(lab, folder=HERE.sources).topology_view())
    page = stage.page
    for node in page.locator(".p4v-node.host").all():
        name = node.locator("text").first.bounding_box()
        box = node.locator("rect").bounding_box()
        assert box["x"] + 2 < name["x"] and name["x"] + name["width"] < box["x"] + box["width"] - 2
    names = [one.bounding_box() for one in page.locator(".p4v-node > text:first-of-type").all()]
    slider = page.get_by_role("slider")
    for part in range(0, 1001, 50):
        slider.evaluate(
            "(one, to) => { one.value = to; one.dispatchEvent(new Event('input')); }", part
        )
        shown = page.locator(".p4v-packet .p4v-pill:visible, .p4v-count, .p4v-mark").all()
        for over in (one.bounding_box() for one in shown):
            assert not any(_covers(over, name) for name in names), part
    page.close()


@pytest.mark.parametrize(("lab", "settings"), [("00-p4", {"level": 2}), ("03-protect", {})])
def test_a_frame_covers_neither_its_number_nor_a_name(
    browser: Browser, lab: str, settings: dict[str, int]
) -> None:
    """As the view is when it opens, in a cell beside a pane."""
    view = open_lab(lab, finished=True, **settings).topology_view()
    stage = Stage(browser.new_page(), view, width=480)
    frame = stage.page.locator(".p4v-packet .p4v-pill:visible").bounding_box()
    under = stage.page.locator(".p4v-count, .p4v-node > text:first-of-type").all()
    assert not any(_covers(frame, one.bounding_box()) for one in under)
    stage.page.close()


def test_what_a_wide_picture_says_can_be_read_beside_a_pane(browser: Browser) -> None:
    """Letters have 9 pixels at least, or the picture scrolls."""
    views = [
        open_lab("03-protect", finished=True).time_view(),
        open_lab("07-fabric", finished=True).leaf_view("suspend-small"),
    ]
    for view in views:
        stage = Stage(browser.new_page(), view, width=480)
        least = stage.page.evaluate(
            """() => {
              const size = (one) => parseFloat(getComputedStyle(one).fontSize);
              const shown = (one) => one.ownerSVGElement.getScreenCTM().a * size(one);
              return Math.min(...[...document.querySelectorAll("svg text")].map(shown));
            }"""
        )
        assert least >= 9
        assert stage.complaints() == []
        stage.page.close()


BESIDE = 496  # pixels of a cell beside the living network, in a window of 1280


@pytest.mark.parametrize("width", [NARROW, BESIDE, WIDE])
@pytest.mark.parametrize(
    ("lab", "table", "param"),
    [
        ("02-frr", "bier_backup", "fbm"),
        ("03-protect", "protected_flows", "mtu"),
        ("05-recirculation", "bift", "fbm"),
    ],
)
def test_each_value_of_a_row_is_seen(
    browser: Browser, lab: str, table: str, param: str, width: int
) -> None:
    """What an exercise is about is neither behind an edge nor under the buttons."""
    opened = open_lab(lab, finished=True)
    opened.send()
    stage = Stage(browser.new_page(), opened.table_view("r1", table), width=width)
    page = stage.page
    for row in page.locator("tr[data-handle]").all():
        field = row.locator(f"input[name='arg:{param}']")
        delete = row.get_by_role("button", name="Delete this row")
        for one in (field, delete):
            box = one.bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= width
        assert field.evaluate("one => one.scrollWidth <= one.clientWidth")
        assert not _covers(delete.bounding_box(), field.bounding_box())
    expect(page.locator(".p4v-hits")).to_contain_text("the last send (1 packet from h1)")
    assert stage.complaints() == []
    page.close()


def test_a_caret_stays_below_what_it_means(browser: Browser, tmp_path: Path) -> None:
    """Lines of a program are not broken in a narrow pane, sentences are."""
    lab = changed(tmp_path, "01-bier", "bier.p4", RIGHT, RIGHT)
    view = lab.topology_view()
    place = tmp_path / "bier" / "bier.p4"
    place.write_text(place.read_text().replace(RIGHT, "carried.remaining & fbmm;"))
    view.show(view.sent)
    assert view.broken
    stage = Stage(browser.new_page(), view, width=NARROW)
    excerpts = stage.page.locator(".p4v-excerpt")
    assert excerpts.count() > 3
    for one in excerpts.all():
        assert one.evaluate("line => line.getClientRects().length") == 1
    assert stage.complaints() == []
    stage.page.close()


WIDER = "carried.in_progress;"
HELP = "P4 does not convert widths or signs by itself"


def test_what_a_compiler_advises_is_not_cut_off(browser: Browser, tmp_path: Path) -> None:
    """Its last line is a sentence, too; in it stands what to write."""
    lab = changed(tmp_path, "01-bier", "bier.p4", RIGHT, RIGHT)
    view = lab.topology_view()
    place = tmp_path / "bier" / "bier.p4"
    place.write_text(place.read_text().replace(RIGHT, WIDER))
    view.show(view.sent)
    stage = Stage(browser.new_page(), view, width=BESIDE)
    advice = stage.page.locator(".p4v-help", has_text=HELP)
    _is_broken_and_whole(advice)
    stage.page.close()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_compilers_picture_in_a_verdict_does_not_fall_apart(
    browser: Browser, tmp_path: Path, dark: bool
) -> None:
    """A caret stays below what it means, and no sentence is cut off."""
    changed(tmp_path, "01-bier", "bier.p4", RIGHT, RIGHT)
    place = tmp_path / "bier" / "bier.p4"
    place.write_text(place.read_text().replace(RIGHT, WIDER))
    view = check(lab_folder("01-bier", tmp_path)).view()
    stage = Stage(browser.new_page(), view, width=BESIDE, dark=dark)
    lines = stage.page.locator(".p4c-story .p4c-line")
    assert lines.count() > 3
    for one in lines.all():
        assert one.evaluate("line => line.getClientRects().length") == 1
    _is_broken_and_whole(stage.page.locator(".p4c-help", has_text=HELP))
    assert stage.complaints() == []
    stage.page.close()


def _is_broken_and_whole(sentence: Locator) -> None:
    """It takes several lines, none of which is wider than its box."""
    box, room = sentence.bounding_box(), sentence.locator("xpath=..").bounding_box()
    assert box["height"] > 30
    assert box["x"] + box["width"] <= room["x"] + room["width"]


def test_a_picture_of_twenty_packets_has_room_beside_a_pane(browser: Browser) -> None:
    lab = open_lab("03-protect", finished=True)
    view = lab.time_view(lab.send(packets=20, cut=("r1", "r2", 5.5)))
    stage = Stage(browser.new_page(), view, width=BESIDE)
    scene = stage.page.locator(".p4c-scene")
    assert scene.evaluate("one => one.scrollWidth <= one.clientWidth")
    own = scene.bounding_box()
    for words in stage.page.locator(".p4c text").all():
        box = words.bounding_box()
        assert own["x"] <= box["x"] and box["x"] + box["width"] <= own["x"] + own["width"]
    stage.page.close()


def test_a_narrow_tree_has_no_gap_between_picture_and_header(browser: Browser) -> None:
    lab = open_lab("04-msr6", finished=True)
    stage = Stage(browser.new_page(), lab.tree_view(lab.send()), width=BESIDE)
    page = stage.page
    log, panel = page.locator(".p4m-log").bounding_box(), page.locator(".p4m-panel").bounding_box()
    ending = page.locator(".p4m-view > .p4v-verdict").bounding_box()
    assert log["y"] + log["height"] < panel["y"] < 420
    assert ending["y"] < 620
    page.close()


def test_the_bits_begin_where_there_are_some(browser: Browser) -> None:
    lab = open_lab("02-frr", finished=True)
    stage = Stage(browser.new_page(), lab.bit_view("r1", lab.send()), width=BESIDE)
    assert stage.page.locator(".p4v-bits td.on").count() > 0
    stage.page.locator(".p4v-stepper").focus()
    stage.page.keyboard.press("Home")
    expect(stage.page.locator(".p4v-said code")).to_have_text("now")
    stage.page.close()


def test_rows_of_a_wide_table_can_be_deleted_without_scrolling(browser: Browser) -> None:
    view = open_lab("06-bng", finished=True).table_view("r1", "lines")
    stage = Stage(browser.new_page(), view, width=420)
    for one in stage.page.get_by_role("button", name="Delete this row").all():
        box = one.bounding_box()
        assert box["x"] + box["width"] <= 420
    stage.page.close()


def _covers(over: Any, name: Any) -> bool:
    """Whether more of a name is covered than an edge."""
    ways = (("x", "width"), ("y", "height"))
    return all(
        min(over[at] + over[size], name[at] + name[size]) - max(over[at], name[at])
        > name[size] * 0.25
        for at, size in ways
    )


def test_fields_and_headers_of_a_failed_check_can_be_read(browser: Browser, tmp_path: Path) -> None:
    """The names of fields are not broken, and a list of headers is not cut off."""
    changed(tmp_path, "04-msr6", "te.p4", "hdr.routing.segments_left = entry;", "")
    view = check(lab_folder("04-msr6", tmp_path)).view()
    stage = Stage(browser.new_page(), view, width=1600)
    page = stage.page
    for field in page.locator(".p4c-wide tbody th").all():
        lines = field.evaluate(
            "cell => { const range = document.createRange(); range.selectNodeContents(cell);"
            " return range.getClientRects().length; }"
        )
        assert lines == 1, field.text_content()
    stage.click(page.locator("button[data-watch]").first)
    page.locator(".p4v-film").focus()
    page.keyboard.press("End")
    rows = page.locator(".p4v-film-rows")
    expect(rows).to_contain_text("segments[6] inner")
    assert rows.evaluate("one => one.scrollWidth <= one.clientWidth")
    page.close()


def test_a_press_of_hint_says_what_the_story_does_not(browser: Browser, mine: Path) -> None:
    (mine / "hints.toml").unlink(missing_ok=True)
    stage = Stage(browser.new_page(), check(lab_folder("01-bier", mine)).view())
    hints = stage.page.locator(".p4v-hints li")
    for _ in range(2):
        stage.click(stage.page.locator("button[data-hint=forward-one]"))
        expect(hints).to_have_count(1)
    expect(hints.last).to_contain_text("___")
    assert "forward-one = 1" in (mine / "hints.toml").read_text()
    stage.page.close()


def test_what_a_press_opens_comes_into_view(browser: Browser, mine: Path) -> None:
    """Film and hints are drawn below the checks, where a pane has long ended. Nothing moves for
    somebody who has pressed nothing."""
    (mine / "hints.toml").unlink(missing_ok=True)
    view = check(lab_folder("01-bier", mine)).view()
    view._message(None, {"do": "hint", "check": "forward-one"}, None)
    stage = Stage(browser.new_page(), view)
    page = stage.page
    page.set_viewport_size({"width": WIDE, "height": 300})
    hints, film = page.locator(".p4v-hints"), page.locator(".p4v-film")
    expect(hints).not_to_be_in_viewport()
    assert page.evaluate("() => scrollY") == 0
    for button, opened in (("hint", hints), ("watch", film), ("hint", hints), ("watch", film)):
        page.locator(f"button[data-{button}=forward-one]").scroll_into_view_if_needed()
        expect(opened).not_to_be_in_viewport()
        stage.click(page.locator(f"button[data-{button}=forward-one]"))
        expect(opened).to_be_in_viewport()
    expect(film).to_be_focused()
    stage.page.close()


def test_a_link_that_is_cut_with_enter_keeps_the_focus(browser: Browser) -> None:
    """Who has no mouse would begin with Tab at the top of the page to mend it."""
    lab = open_lab("01-bier", finished=True)
    stage = Stage(browser.new_page(), lab.topology_view())
    link = stage.page.locator("[data-touch='r1 r2']")
    for down in ({frozenset(("r1", "r2"))}, frozenset()):
        link.focus()
        stage.page.keyboard.press("Enter")
        stage.settle()
        assert lab.down == down
        expect(link).to_be_focused()
    stage.page.close()


class Html(View):
    """What a cell shows without a script, as a verdict in which nothing failed."""

    _esm = "export default { render({ model, el }) { el.innerHTML = model.get('data').html } }"

    def __init__(self, html: str) -> None:
        super().__init__()
        self.data = {"html": html}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_verdict_without_a_failure_can_be_read(
    browser: Browser, tmp_path: Path, dark: bool
) -> None:
    """Checks that pass and checks that wait have colours of their own in a dark theme."""
    changed(tmp_path, "01-bier", "bier.p4", RIGHT, RIGHT)
    passed = check(lab_folder("01-bier", tmp_path))
    waits = [replace(one, status="skipped") for one in passed.checks[-2:]]
    passed.verdict = replace(passed.verdict, checks=[*passed.checks[:-2], *waits])
    html = passed._repr_html_()
    assert "✓ passed" in html and "– waits" in html
    stage = Stage(browser.new_page(), Html(html), dark=dark)
    assert stage.complaints() == []
    stage.page.close()


def test_a_packet_that_is_dropped_can_be_looked_at(browser: Browser, tmp_path: Path) -> None:
    list(start("03-protect", tmp_path))
    lab = open_lab("03-protect", folder=tmp_path)
    lab.send()
    stage = Stage(browser.new_page(), lab.packet_view("r1"))
    page = stage.page
    expect(page.locator("[data-field='ipv4.dst_addr'] td")).to_have_text(["10.0.5.1"])
    expect(page.locator("thead th")).to_have_text(["header and field", "as it came"])
    assert stage.complaints() == []
    page.close()


def test_after_a_restart_a_view_says_what_to_do(browser: Browser, mine: Path) -> None:
    """No packet is being sent for ever."""
    stage = Stage(browser.new_page(), open_lab("01-bier", folder=HERE.sources).topology_view())
    view = stage.page.locator(".p4v-topology")
    before = "view => getComputedStyle(view, '::before').content"
    assert view.evaluate(before) == "none"
    stage.page.evaluate("() => window.restarted()")
    assert "restarted: run this cell again" in view.evaluate(before)
    view.locator(".p4v-send").click()
    expect(view.locator(".p4v-verdict")).to_have_text("sending…")
    expect(view.locator(".p4v-verdict")).to_be_hidden()
    stage.page.close()
