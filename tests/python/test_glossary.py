"""A student who clicks on a term reads what it means.

If these fail, a link from a notebook or handout ends at the top of a long page, or an entry cannot
be found by leafing through the glossary, or sends its reader to a section that is no longer there.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from p4lab.paths import ROOT

GLOSSARY = ROOT / "docs" / "glossary.md"
ENTRIES = re.findall(r"^### (.+)\n((?:(?!^###).*\n?)+)", GLOSSARY.read_text("utf-8"), re.MULTILINE)
NOTEBOOKS = sorted(ROOT.glob("notebooks/*.ipynb"))
HANDOUTS = sorted(ROOT.glob("labs/*/README.md"))
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")
RFC = re.compile(r"\]\(https://www\.rfc-editor\.org/rfc/rfc\d+(#[^)]*)?\)")
MOST_WORDS = 60


def anchor(title: str) -> str:
    """The fragment under which a heading is found, as GitHub makes it."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    return {
        anchor(title) for title in re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    }


def words_of(page: Path) -> str:
    """The text that a reader sees: of a notebook, its markdown cells."""
    text = page.read_text("utf-8")
    if page.suffix != ".ipynb":
        return text
    cells = json.loads(text)["cells"]
    return "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")


def test_the_terms_are_sorted_and_each_has_one_entry():
    titles = [title.casefold() for title, _ in ENTRIES]
    assert titles == sorted(set(titles))


def test_an_entry_is_short_and_says_where_to_read_on():
    for title, text in ENTRIES:
        assert len(text.split()) <= MOST_WORDS, title
        assert LINK.search(text) or RFC.search(text), f"{title}: no lab, page or RFC"


@pytest.mark.parametrize(
    "page", [GLOSSARY, *NOTEBOOKS, *HANDOUTS], ids=lambda page: str(page.relative_to(ROOT))
)
def test_links_lead_to_a_page_and_a_section_of_it(page):
    for target, fragment in LINK.findall(words_of(page)):
        other = (page.parent / target).resolve() if target else page
        assert other.exists(), target
        if fragment:
            assert fragment in anchors(other), f"{target}#{fragment}"


@pytest.mark.parametrize("page", [*NOTEBOOKS, *HANDOUTS], ids=lambda page: str(page.parent.name))
def test_every_notebook_and_handout_leads_to_the_glossary(page):
    ours = [f for target, f in LINK.findall(words_of(page)) if target.endswith("glossary.md")]
    assert "" in ours, "the glossary as a whole"
    assert any(ours), "one of its terms"
