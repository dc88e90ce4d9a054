"""The page's verdicts are those of `p4lab check`: else a student is told that all is well and gets
other points.

One answer of each lab is drawn here; `./lab build-web --verify` compares all of them."""

from __future__ import annotations

import random
import shutil

import pytest

from p4lab.cli.web_verb import SITE
from p4lab.website.verify import differing, known

pytestmark = [
    pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js (Debian: nodejs)"),
    pytest.mark.skipif(
        not (SITE / "p4.wasm").is_file(), reason="the page is not built: ./lab build-web"
    ),
]


def test_the_page_judges_as_check_does() -> None:
    answers = known()
    draw = random.Random(len(answers))
    labs = sorted({lab for lab, _ in answers})
    chosen = [draw.choice([one for one in answers if one[0] == lab]) for lab in labs]
    found = dict(differing(SITE, chosen))
    assert len(found) == len(labs)
    assert {name: told for name, told in found.items() if told} == {}
