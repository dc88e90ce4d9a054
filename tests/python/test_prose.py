"""What people read is English that a native would write.

If these fail, a phrase came back that sounds translated: "nobody" waits "behind" a packet that is
"no" BIER packet and "shall" be read "anew". A reader stumbles there, and reads the sentence twice.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from p4lab.paths import ROOT

PLACES = [
    "README.md",
    "docs/**/*.md",
    "labs/*/README.md",
    "solutions/*/README.md",
    "p4/*/README.md",
    "wireshark/README.md",
    "notebooks/*.ipynb",
]
PAGES = sorted(page for place in PLACES for page in ROOT.glob(place))

PLAIN = {
    r"\banew\b": "again; re-",
    r"\b(no|some|any|every)body\b": "no one, nothing, no router; someone; anyone; everyone",
    r"(?<!\bthere )\b(is|are|was|were) no\b(?! (longer|more|less|faster|slower|one\b))": "is not a",
    r"\bknows? no\b": "does not know, does not have",
    r"\b(unless|until) told\b": "by default",
    r"\bbeside\b": "next to, along with, in addition to",
    r"\bshall\b": "should, must, is to",
    r"\bto and fro\b": "back and forth",
    r"\bbelongs? into\b": "belongs in",
    r"\bbecomes? of\b": "happens to",
    r"\b(stands?|stood) (in|on|at|before|beside|between|behind|there|here|once)\b": "is, appears",
    r"\blies? (in|at|before|beside|behind|there|here)\b": "is",
    r"\bbehind\b": "after, beyond, reached through",
    r"\b(is|are|was|were) told\b": "is reported, is notified",
    r"\bas (it|they) (is|are)\b": "unchanged",
    r"\bon (the|its|their) way\b": "on the path, in flight",
    r"\b(two|both|second|shorter|longer|several) ways? (to|of|from)\b": "path",
    r"\bwarns? of\b": "warns about",
    r"\boutside of\b": "outside",
}
"""Phrases that a reader stumbles over, and what to write: "Words" in the design, and their kin"""

FINE = {
    "of demands that a table quotes": r"docs/p4runtime\.md: .*\|.*\|",
    "of numbers, the opposite of ahead": (
        r"behind[.|,]|behind( it)? (\||and|\(with)|behind (it\?|the highest)"
    ),
    "of sockets and what they are wired to": r"docs/hardware\.md: .*behind",
    "left behind": r"(leaves nothing|left) behind",
    "an idiom": r"stands? in (for|by)|the student is told",
    "of a packet that travels there": r"on (its|their) way to|(on|for) the way (back|to)",
    "a comparison": r"as it is in Linux",
    "a reason": r"is no reason",
}
"""Where such a phrase is right: why, and a pattern of "page: phrase with its surroundings\""""

AROUND = 40  # characters on each side of a phrase


def prose(page: Path) -> str:
    """What is read as text, on one line: without code, and of a notebook its markdown."""
    text = page.read_text("utf-8")
    if page.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    text = re.sub(r"^ *(`{3,})[^\n]*\n.*?^ *\1 *$", "", text, flags=re.MULTILINE | re.DOTALL)
    return " ".join(re.sub(r"`[^`\n]*`", "`code`", text).split())


def stumbles(name: str, text: str) -> list[str]:
    """Every phrase that is not fine where it is, with its surroundings and what to write."""
    found = []
    for pattern, better in PLAIN.items():
        for phrase in re.finditer(pattern, text, re.IGNORECASE):
            around = text[max(0, phrase.start() - AROUND) : phrase.end() + AROUND]
            where = f"{name}: {around}"
            if not any(re.search(fine, where, re.IGNORECASE) for fine in FINE.values()):
                found.append(f"{phrase[0]!r} ({better}) in: {around}")
    return found


def test_nothing_sounds_translated():
    assert len(PAGES) > 200
    found = {str(page.relative_to(ROOT)): prose(page) for page in PAGES}
    wrong = {name: stumbles(name, text) for name, text in found.items()}
    assert not {name: phrases for name, phrases in wrong.items() if phrases}


def test_a_phrase_is_found_across_lines_and_not_in_code(tmp_path):
    page = tmp_path / "x.md"
    page.write_text("It is\nno port.\n\n```\nnobody\n```\n`anew` is code; there is no loop.\n")
    assert [found.partition(" (")[0] for found in stumbles("x.md", prose(page))] == ["'is no'"]
