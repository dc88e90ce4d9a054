"""A crate says which kinds of tests it has in its sources, so that it is not compiled once more for
none. Without this a test could be written there that never runs."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from p4lab.paths import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CRATES = sorted(path.parent for path in (ROOT / "crates").glob("*/Cargo.toml"))
UNIT_TEST = re.compile(r"#\[(\w+::)?test\]|\bproptest!|#\[cfg\(test\)\]")
FENCE = re.compile(r"^ *//[/!] ?```(\w*)", re.MULTILINE)


@pytest.mark.parametrize("crate", CRATES, ids=lambda path: path.name)
def test_a_crate_says_which_tests_it_has(crate: Path) -> None:
    said = tomllib.loads((crate / "Cargo.toml").read_text("utf-8")).get("lib", {})
    texts = [path.read_text("utf-8") for path in sorted((crate / "src").rglob("*.rs"))]
    has_tests = any(UNIT_TEST.search(text) for text in texts)
    # Every second fence closes a block; what is Rust has no word behind its fence.
    has_examples = any("" in FENCE.findall(text)[::2] for text in texts)
    assert (said.get("test", True), said.get("doctest", True)) == (has_tests, has_examples)
