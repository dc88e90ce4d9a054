"""The lab as a page in Firefox: half of a class would lose it if this failed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("websocket", reason="websocket-client is not installed")
pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from cli_runner import p4lab
from firefox import Tab, firefox, opened
from p4lab.cli.web_verb import SITE
from p4lab.paths import ROOT
from site_page import served

PROGRAM = firefox()

pytestmark = [
    pytest.mark.skipif(PROGRAM is None, reason="needs Firefox (Debian: firefox-esr)"),
    pytest.mark.skipif(
        not (SITE / "p4.wasm").is_file(), reason="the page is not built: ./lab build-web"
    ),
]

BIER = (ROOT / "p4" / "bier" / "bier.p4").read_text("utf-8")

OPEN = "(lab) => document.documentElement.dataset.lab === lab"
CLICK = "(what) => document.querySelector(what).click()"


@pytest.fixture
def address() -> Iterator[str]:
    with served(SITE) as found:
        yield found


@pytest.fixture
def tab(address: str) -> Iterator[Tab]:
    assert PROGRAM is not None
    with opened(PROGRAM) as found:
        yield found
        strangers = [one for one in found.asked if not one.startswith((address, "data:", "blob:"))]
        assert strangers == []
        assert found.errors == []


def test_a_lab_is_done_in_firefox(tab: Tab, address: str, tmp_path: Path) -> None:
    """Open, write, send, step through, check: with the verdict of the command line."""
    tab.open(address)
    tab.wait(OPEN, "00-p4")
    tab.run("(text) => localStorage.setItem('p4lab/01-bier/bier/bier.p4', text)", BIER)
    tab.open(f"{address}?again#lab=01-bier")
    tab.wait(OPEN, "01-bier")
    tab.run(CLICK, "#sending button")
    hops = tab.wait(
        "() => [...document.querySelectorAll('#trace summary')].map((h) => h.innerText)"
    )
    assert len(hops) > 5
    assert hops[0].startswith("r6, port")

    tab.run(CLICK, "#step")
    says = "(text) => document.getElementById('living').innerText.includes(text)"
    tab.wait(says, "14 / 26")  # where the first bits are read
    tab.run(CLICK, "#living .p4v-stepper .p4v-next")
    tab.wait(says, "15 / 26")

    tab.run(CLICK, "#check")
    seen = json.loads(tab.wait("() => document.getElementById('verdict').dataset.verdict"))
    (tmp_path / "bier").mkdir()
    (tmp_path / "bier" / "bier.p4").write_text(BIER, "utf-8")
    told = json.loads(p4lab("check", "01-bier", tmp_path, "--json").stdout)
    assert seen == {name: told[name] for name in seen}


def test_the_documentation_is_read_and_tried_in_firefox(tab: Tab, address: str) -> None:
    tab.open(f"{address}book/docs/errors/E0305.html")
    tab.wait("() => document.querySelectorAll('.try').length")
    tab.run(CLICK, ".try")
    assert "E0305" in tab.wait("() => document.querySelector('.told')?.innerText")
    tab.open(f"{address}book/search.html?q=F-BM")
    assert "F-BM" in tab.wait("() => document.querySelector('.found a')?.innerText")
