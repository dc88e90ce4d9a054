"""The interface of systems has types that hold.

If this fails, who writes a system is told one thing by the signatures and another by the house.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from p4lab.paths import ROOT


def test_mypy_has_nothing_to_say(tmp_path: Path) -> None:
    """[tool.mypy] in pyproject.toml names the files."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("Success")
