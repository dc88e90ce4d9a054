"""The page of a class's instructor: read at a glance, also by who does not see it.

If these fail, the instructor of eighty cannot see who is stuck, or a student's name is a script.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")

from playwright.sync_api import Page

from p4lab.classroom.page import STATIC, page
from p4lab.notebook.pace import chromium
from site_page import Site, browser, served

pytestmark = [
    pytest.mark.beside(seconds=20),
    pytest.mark.skipif(chromium() is None, reason="there is no Chromium"),
]
CHECKS = [{"id": f"c{n}", "title": f"Check number {n} <of> the lab"} for n in range(20)]
SEED = 5


def student(number: int, chance: random.Random) -> dict[str, Any]:
    """Somebody who passes some checks, fails one and waits with the others."""
    passed = chance.randrange(21)
    statuses = ["passed"] * passed + ["failed"] * (passed < 20) + ["skipped"] * 20
    return {
        "login": f"p4-s{number}",
        "id": f"s{number}",
        "name": f"Student {number}",
        "changed": "2026-11-23T20:00:00Z",
        "trouble": "",
        "points": 5 * passed,
        "checks": {check["id"]: status for check, status in zip(CHECKS, statuses, strict=False)},
    }


@pytest.fixture(scope="module")
def state() -> dict[str, Any]:
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    hostile = {"name": "<script>document.title = 'mine'</script>", "id": '../.." onload="x'}
    away = {"points": 0, "checks": {}, "trouble": "The submission is a symbolic link."}
    return {
        "lab": "01-bier",
        "looked": "2026-11-23T20:00:00Z",
        "collected": "",
        "handins": "/srv/p4lab-class/handins/01-bier",
        "roster": "/srv/p4lab-class/roster.csv",
        "max_points": 100,
        "checks": CHECKS,
        "students": [
            *(student(number, chance) for number in range(30)),
            {**student(30, chance), **hostile},
            {**student(31, chance), **away},
        ],
    }


@pytest.fixture(scope="module")
def opened(state: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("dashboard")
    shutil.copytree(STATIC, folder / "static")
    here = {f"p4-s{number}": number % 7 > 0 for number in range(20)}
    (folder / "index.html").write_text(page(state, here, False, "token", "/"), "utf-8")
    path = chromium()
    assert path is not None
    with served(folder) as address, browser(path) as found:
        opened = found.new_page(viewport={"width": 1280, "height": 900})
        opened.goto(address)
        yield opened


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing(opened: Page, scheme: Any, width: int) -> None:
    opened.set_viewport_size({"width": width, "height": 900})
    opened.emulate_media(color_scheme=scheme)
    assert Site(opened, opened.url).complaints() == []


def test_the_numbers_are_those_of_the_class(opened: Page, state: dict[str, Any]) -> None:
    figures = opened.locator(".figures b").all_inner_texts()
    done = sum(one["points"] == 100 for one in state["students"])
    assert figures == ["20", str(done), "32"]
    failed = [
        sum(one["checks"].get(check["id"]) == "failed" for one in state["students"])
        for check in CHECKS
    ]
    first = opened.locator(".failing li").first
    assert (
        f"{max(failed)} of 32: {CHECKS[failed.index(max(failed))]['title']}" in first.inner_text()
    )
    assert opened.locator("tbody tr").count() == 32


def test_a_name_is_text(opened: Page) -> None:
    assert opened.title() == "01-bier: the class"
    assert opened.get_by_text("<script>document.title = 'mine'</script>").count() == 1


def test_the_page_says_so_before_there_is_anything_to_show(opened: Page, tmp_path: Path) -> None:
    text = page(None, {}, False, "token", "/")
    assert "takes a minute" in text and "<table" not in text
