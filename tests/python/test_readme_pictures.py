"""README's film and pictures show what the views show today, and no more than a page may hold."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from p4lab.paths import ROOT
from readme_pictures import PICTURES, draw, path_of

pytestmark = pytest.mark.beside(seconds=8)

README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_as_the_views_are(name: str) -> None:
    """Stale? python tests/python/readme_pictures.py"""
    assert path_of(name).read_text(encoding="utf-8") == draw(name)


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_can_stand_on_a_page(name: str) -> None:
    """It is XML, small, named for those who do not see it, and asks nobody for anything."""
    text = path_of(name).read_text(encoding="utf-8")
    picture = ElementTree.fromstring(text)
    title = picture.find("{http://www.w3.org/2000/svg}title")
    assert title is not None and title.text
    assert len(text) < 60_000
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|<script|@import", text)
    image = rf'<img src="docs/pictures/readme-{name}\.svg"[^>]* alt="([^"]+)"'
    (words,) = re.findall(image, README)
    assert len(words) > 20


def test_the_film_begins_anew() -> None:
    film = path_of("film").read_text(encoding="utf-8")
    times = set(re.findall(r'dur="([\d.]+)s"', film))
    assert len(times) == 1 and 6 < float(times.pop()) < 20
    assert film.count('repeatCount="indefinite"') == film.count("<animate")
