"""Without these, one packet could be `1 packets` somewhere, as it was in many places."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from p4lab.plurals import count_of

PACKAGE = Path(__file__).parents[2] / "src/p4lab"
BY_HAND = re.compile(
    r"""\{'' if [^{}]+ == 1 else 's'\}|\{[^{}]+\} ?\w+\{'s' if [^{}]+\}"""
    r"""|"1 \w+" if [^"]+ == 1 else f"\{"""
)


@pytest.mark.parametrize(
    ("told", "wanted"),
    [
        (count_of(0, "packet"), "0 packets"),
        (count_of(1, "packet"), "1 packet"),
        (count_of(2, "packet"), "2 packets"),
        (count_of(1, "entry", "entries"), "1 entry"),
        (count_of(2, "entry", "entries"), "2 entries"),
        (count_of("0.5", "point"), "0.5 points"),
        (count_of("1", "point"), "1 point"),
    ],
)
def test_one_is_one_and_all_else_several(told: str, wanted: str) -> None:
    assert told == wanted


def test_nobody_makes_a_plural_by_hand() -> None:
    """`p4lab.plurals` is the one place for it."""
    found = [
        f"{path.relative_to(PACKAGE)}: {one[0]}"
        for path in PACKAGE.rglob("*.py")
        for one in BY_HAND.finditer(path.read_text())
    ]
    assert not found
