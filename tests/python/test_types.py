"""The layers' interfaces have types that hold, and the engine's are those of the module.

If this fails, who writes a system, a check or a notebook is told one thing by the signatures and
another by the house.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from p4lab.paths import ROOT

CACHE = ROOT / ".lab" / "mypy"
"""Stays, so that only what has changed is looked at again"""


def test_mypy_has_nothing_to_say() -> None:
    """[tool.mypy] in pyproject.toml names the files."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", str(CACHE)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("Success")


def test_the_engine_is_what_its_stub_says(tmp_path: Path) -> None:
    """Each name, its parameters and their defaults, in `_engine.pyi` and in the module built from
    crates/p4-py, none left out on either side. What classes of Rust may be bases of is left to
    `final`."""
    allowed = tmp_path / "allowed"
    allowed.write_text("p4lab._engine.__all__  # PyO3 makes it of the names themselves\n")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy.stubtest", "p4lab._engine", "--concise"),
            *("--mypy-config-file", "pyproject.toml", "--ignore-disjoint-bases"),
            *("--allowlist", str(allowed)),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
