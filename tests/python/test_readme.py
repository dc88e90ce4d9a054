"""README.md is always true: every command it shows is run here, as a newcomer would type it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from p4lab.lab.plan import ROOT

COMMANDS = re.findall(r"^(?:sudo )?\./lab .+$", (ROOT / "README.md").read_text(), re.MULTILINE)

# `./lab test` is what runs this test.
RUN_ELSEWHERE = {"./lab test"}


def test_the_readme_shows_commands() -> None:
    assert len(COMMANDS) > 5


@pytest.mark.parametrize("command", [c for c in COMMANDS if c not in RUN_ELSEWHERE])
def test_the_command_works(command: str, tmp_path: Path) -> None:
    if command.startswith("sudo ") and os.geteuid() != 0:
        pytest.skip("needs root, as it says")
    words = shlex.split(command)
    arguments = words[words.index("./lab") + 1 :]
    arguments = [str(tmp_path / "captures") if a == "captures" else a for a in arguments]
    if arguments == ["bench"]:
        arguments += ["--seconds", "0.1"]  # the same, but short: what it prints is not judged here
    done = subprocess.run(
        [sys.executable, "-m", "p4lab", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


def test_the_links_lead_somewhere() -> None:
    for page in ("README.md", "ARCHITECTURE.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", (ROOT / page).read_text()):
            assert (ROOT / target).exists(), f"{page} links to {target}"
