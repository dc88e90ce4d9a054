"""Runs `python -m p4lab` as a user does: a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def p4lab(
    *arguments: object, timeout: float = 300, path: Path | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """The finished process, begun in `cwd`; it finds packages in the folder `path`, too. A
    traceback on standard error is always a failure."""
    found = os.pathsep.join(map(str, filter(None, [ROOT / "src", path])))
    env = {**os.environ, "PYTHONPATH": found, "NO_COLOR": "1", "COLUMNS": "100"}
    done = subprocess.run(
        [sys.executable, "-m", "p4lab", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done
