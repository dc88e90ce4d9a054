"""The documentation as pages of the site.

If these fail, a reader follows a link into nothing, or tries an example that is not the one that
the handout shows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

import pytest

from p4lab.course.home import HERE, home_of, names
from p4lab.grading.course import load
from p4lab.paths import ROOT
from p4lab.website.book import FOLDER, Book
from p4lab.website.build import OWN
from p4lab.website.markdown import rendered
from p4lab.website.material import files_of
from p4lab.website.snippets import pieces

pytestmark = pytest.mark.beside(seconds=20)

LABS = [name for name in names() if home_of(name) == HERE]
MADE = {*OWN, "views.css", "book.js"}
"""What other parts of the build put beside the pages"""


@pytest.fixture(scope="module")
def files() -> dict[str, dict[str, str]]:
    return {lab: files_of(load(lab)) for lab in LABS}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, files: dict[str, dict[str, str]]) -> Path:
    folder = tmp_path_factory.mktemp("site")
    Book(files).write(folder)
    for name in MADE:
        (folder / name).touch()
    return folder


class Reader(HTMLParser):
    """What a page leads to, and the places on it; live examples by their attributes."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.leads: list[str] = []
        self.places: list[str] = []
        self.live: list[dict[str, str | None]] = []
        self.tags: list[str] = []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        self.tags.append(tag)
        self.leads += [told[name] or "" for name in ("href", "src", "action") if name in told]
        if place := told.get("id"):
            self.places.append(place)
        if told.get("class") == "live":
            self.live.append(told)


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Reader]:
    return {path: Reader(path) for path in site.rglob("*.html") if path.parent != site}


def broken(pages: dict[Path, Reader]) -> Iterator[str]:
    for page, read in pages.items():
        for lead in read.leads:
            if lead.startswith(("http:", "https:", "data:")):
                continue
            path, _, place = lead.partition("#")
            found = (page.parent / unquote(path)).resolve() if path else page
            if not found.is_file():
                yield f"{page}: {lead}"
            elif place and found in pages and place not in pages[found].places:
                yield f"{page}: there is no such place: {lead}"


def test_every_link_picture_and_anchor_is_there(pages: dict[Path, Reader]) -> None:
    assert len(pages) > 280
    assert sum(len(page.leads) for page in pages.values()) > 4000
    assert list(broken(pages)) == []


def test_no_page_has_two_places_of_one_name(pages: dict[Path, Reader]) -> None:
    twice = {
        path: {one for one in read.places if read.places.count(one) > 1}
        for path, read in pages.items()
    }
    assert {path: found for path, found in twice.items() if found} == {}


def test_every_page_is_reached_from_the_contents_and_found(
    site: Path, pages: dict[Path, Reader]
) -> None:
    contents = pages[site / FOLDER / "index.html"]
    listed = {lead for lead in contents.leads if lead.endswith(".html")}
    sections = json.loads((site / FOLDER / "search.json").read_text("utf-8"))
    found = {address.partition("#")[0] for address, *_ in sections}
    assert found <= listed
    for pattern in ("docs/*.md", "docs/errors/*.md", "labs/*/README.md", "notebooks/*.ipynb"):
        for file in ROOT.glob(pattern):
            page = file.relative_to(ROOT).with_suffix(".html").as_posix()
            assert page in found, page


def test_no_page_shows_a_solution(pages: dict[Path, Reader]) -> None:
    assert not [path for path in pages if "solutions" in path.parts]


def test_every_block_of_p4_can_be_tried(site: Path) -> None:
    """Fences are counted in the files by lines alone, which is another way than the pages'."""
    for file in [*ROOT.glob("docs/errors/*.md"), *ROOT.glob("labs/*/README.md")]:
        lines = file.read_text("utf-8").splitlines()
        quotes = [n for n, line in enumerate(lines) if line == "```p4"]
        page = site / FOLDER / file.relative_to(ROOT).with_suffix(".html")
        assert len(Reader(page).live) >= len(quotes), file  # a quotation may be of several places


def test_an_example_of_a_handout_is_in_the_labs_file(
    pages: dict[Path, Reader], files: dict[str, dict[str, str]]
) -> None:
    quoted = [told for read in pages.values() for told in read.live if told.get("data-lab")]
    assert len(quoted) > 30
    for told in quoted:
        lab, file = told["data-lab"] or "", told["data-file"] or ""
        line = files[lab][file].splitlines()[int(told["data-first"] or 0) - 1]
        indent = told.get("data-indent") or ""
        assert line.startswith(indent) and not line[len(indent) :].startswith(" "), told


def test_a_quotation_of_two_places_is_two_examples() -> None:
    text = "a\n  b\n  c\nd\n    e\n"
    found = pieces("b\nc\n\ne\n", text)
    assert [(one.text, one.first, one.indent) for one in found] == [
        ("b\nc\n", 2, "  "),
        ("e\n", 5, "    "),
    ]
    with pytest.raises(ValueError, match="not in the file: 'x'"):
        pieces("x\n", text)


def test_markdown_is_led_to_the_site() -> None:
    links = "[x](y.md#z) ![p](q.png) [gone](away)"
    page = rendered(
        f"# A `b`!\n\n{links}\n\n# A b\n\n```\n[x](y)\n```\n",
        lambda target: None if target == "away" else f"/{target}",
        lambda comment, text: None,
    )
    assert '<h1 id="a-b">' in page.html and '<h1 id="a-b-1">' in page.html
    assert '<a href="/y.md#z">x</a>' in page.html and 'src="/q.png"' in page.html
    assert "gone" in page.html and "away" not in page.html
    assert "[x](y)" in page.html
    assert (page.title, page.sections[1].text) == ("A b!", "[x](y)\n")


def test_a_link_that_leads_nowhere_is_refused(
    files: dict[str, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from p4lab.website import book

    monkeypatch.setattr(book, "_text", lambda path: "[x](no-such-page.md)\n")
    with pytest.raises(book.BookError, match="no-such-page"):
        Book(files).render(PurePosixPath("docs/web.md"))
