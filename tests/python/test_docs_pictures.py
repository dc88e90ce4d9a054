"""The pictures of the documentation: each is drawn by a command that is there, and is shown."""

from __future__ import annotations

import re

import pytest

from docs_pictures import BROWSER, EXPERIMENTS, FOLDER, main, pictures
from p4lab.cli import reading
from p4lab.cli.verbs import Later
from p4lab.paths import ROOT


def test_every_picture_is_drawn_by_a_command() -> None:
    """Which one? tests/python/docs_pictures.py"""
    assert {path.name for path in FOLDER.iterdir()} == pictures()


def test_every_picture_is_shown() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    shown = {
        name
        for page in pages
        for name in re.findall(r"pictures/([\w.-]+)", page.read_text("utf-8"))
    }
    assert shown == pictures()


@pytest.mark.parametrize("arguments", EXPERIMENTS, ids=" ".join)
def test_the_experiment_can_be_run(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Later, "callback_instead", None)
    monkeypatch.setattr("sys.argv", ["p4lab", "experiment", *arguments, "--out", "any"])
    with pytest.raises(SystemExit) as ended:
        reading.main()
    assert ended.value.code == reading.TO_BE_RUN


@pytest.mark.parametrize("script", BROWSER, ids=" ".join)
def test_the_script_takes_the_picture(script: tuple[str, ...]) -> None:
    text = (ROOT / "tests" / "browser" / script[0]).read_text("utf-8")
    assert [name for name in (*script[1:], *BROWSER[script]) if f'"{name}"' not in text] == []


def test_a_picture_that_nothing_draws_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["docs_pictures.py", "fabric-5", "fabric-nosuch"])
    with pytest.raises(SystemExit, match="nothing draws fabric-nosuch"):
        main()
