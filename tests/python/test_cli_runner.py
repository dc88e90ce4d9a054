"""What most tests of commands stand on: a command that is forked is the one that a user starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli_runner import ROOT, p4lab


@pytest.mark.parametrize(
    "words", [["--help"], ["run", "01-bier", "--json"], ["compile", "wrong.p4"], ["nope"]]
)
def test_it_is_what_a_process_from_the_start_is(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In its folder and its environment: the help names the command that the latter names."""
    (tmp_path / "wrong.p4").write_text("control c() { apply { x = 1 } }\n")
    monkeypatch.setenv("P4LAB_COMMAND", "./elsewhere/lab")
    started = subprocess.run(
        [sys.executable, "-m", "p4lab", *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1", "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
    forked = p4lab(*words, cwd=tmp_path)
    assert forked.stdout == started.stdout
    assert forked.stderr == started.stderr
    assert forked.returncode == started.returncode


def test_what_takes_too_long_is_ended() -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        p4lab("run", "01-bier", timeout=0)
